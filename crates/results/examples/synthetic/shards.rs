//! The run folders of all shards of a run of synthetic test data.

use std::num::NonZeroU32;
use std::path::Path;

use bakeoff_results::{Host, PlanShard, Result, Run};

use crate::data::{self, ENGINES};
use crate::folder::{self, CLIENTS, NEIGHBOURS};

/// Writes `shards` shards of a run of `trials` trials, each on a machine of its own, into folders below `dir`
/// whose names are their numbers. All have as many whole blocks; what is left over of the trials is left out.
pub fn write(dir: &Path, trials: u32, shards: NonZeroU32) -> Result<()> {
    let (count, in_block) = (shards.get(), ENGINES.len() as u32);
    let blocks = trials / count / in_block;
    let whole = data::run(&CLIENTS, &NEIGHBOURS, blocks * count * in_block);
    for index in 1..=count {
        let first = (index - 1) * blocks;
        let shard = PlanShard {
            plan: "synthetic".to_owned(),
            index,
            count,
            trials: whole.planned,
            host: Host { name: format!("machine-{index}"), boot: format!("boot {index}") },
            blocks: (first..first + blocks).map(|block| (block, in_block)).collect(),
            cuts: Vec::new(),
        };
        let run = Run { shard: Some(shard), ..whole.clone() };
        folder::write_part(&dir.join(index.to_string()), &run, first, blocks * in_block)?;
    }
    Ok(())
}
