//! Run folders of the shards of a plan, a machine each, of synthetic test data.

use std::path::Path;

use bakeoff_results::{HostIdentity, PlanShard, Result, Run, RunFolder, Status};

use crate::data::ENGINES;
use crate::folder;

/// How many trials a block has.
pub const OF_A_BLOCK: u32 = ENGINES.len() as u32;

/// Writes `count` finished shards of a plan of `trials` trials into `dir`, as `shard-1` and so on. Each has as
/// many whole blocks as the others.
pub fn write(dir: &Path, trials: u32, count: u32) -> Result<()> {
    let each = trials / OF_A_BLOCK / count;
    let whole = folder::run(trials);
    for index in 1..=count {
        let first = (index - 1) * each;
        write_one(dir, &shard(&whole, index, count, first, each))?;
    }
    Ok(())
}

/// A shard with so many blocks from `first` on.
fn shard(whole: &Run, index: u32, count: u32, first: u32, each: u32) -> Run {
    let shard = PlanShard {
        plan: "synthetic".to_owned(),
        program_sha256: None,
        index,
        count,
        trials: whole.planned,
        host: HostIdentity { name: format!("machine-{index}"), boot: format!("start-{index}") },
        blocks: (first..first + each).map(|number| (number, OF_A_BLOCK)).collect(),
        cuts: Vec::new(),
    };
    Run { planned: each * OF_A_BLOCK, cuts: None, shard: Some(shard), ..whole.clone() }
}

fn write_one(dir: &Path, run: &Run) -> Result<()> {
    let shard = run.shard.as_ref().expect("it is a shard");
    let path = dir.join(format!("shard-{}", shard.index));
    let mut folder = RunFolder::create(&path, run, folder::EXPERIMENT)?;
    let mut generator = folder::generator(shard.index.into());
    let at_s = |number: u32| run.started_s + f64::from(number);
    for (number, _) in &shard.blocks {
        folder.commit_canary(&folder::canary(at_s(*number)))?;
        for trial in folder::block(&mut generator, *number) {
            folder.commit_trial(&trial)?;
        }
    }
    let last = shard.blocks.last().map_or(0, |(number, _)| number + 1);
    folder.set_status(Status::Finished, Some(at_s(last)))
}
