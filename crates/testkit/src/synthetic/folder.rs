use std::ops::Range;
use std::path::Path;

use bakeoff_results::{Canary, HostIdentity, PlanShard, Result, Run, RunFolder, Status, Trial};

use super::data::{self, ENGINES, TrialGenerator};

pub const BLOCK_TRIALS: u32 = ENGINES.len() as u32;

const EXPERIMENT: &str = "# synthetic test data\n";

const CLIENTS: [&str; 5] = ["1", "2", "4", "8", "16"];
const NEIGHBOURS: [&str; 5] = ["0", "25%", "x1", "x2", "x4"];
const COMBINATIONS: u32 = (CLIENTS.len() * NEIGHBOURS.len()) as u32;

/// A run of this many trials, over all combinations.
fn run(trials: u32) -> Run {
    data::run(&CLIENTS, &NEIGHBOURS, trials)
}

fn generate_block(generator: &mut TrialGenerator, number: u32) -> Vec<Trial> {
    let combination = (number % COMBINATIONS) as usize;
    let cell =
        [CLIENTS[combination / NEIGHBOURS.len()], NEIGHBOURS[combination % NEIGHBOURS.len()]];
    generator.generate_block(number / COMBINATIONS, number, cell)
}

/// Writes a finished run of these blocks, of `trials` trials at most.
fn write_blocks(dir: &Path, run: &Run, blocks: Range<u32>, seed: u64, trials: u32) -> Result<()> {
    let mut folder = RunFolder::create(dir, run, EXPERIMENT)?;
    let mut generator = TrialGenerator::new(seed, 40);
    let at_s = |number: u32| run.started_s + f64::from(number);
    for number in blocks.clone() {
        let (cpu_s, memory_s, sync_s) = (0.1, 0.05, 0.001);
        let at_s = at_s(number);
        folder.commit_canary(&Canary { at_s, cpu_s, memory_s, sync_s, read_s: None, off: None })?;
        let left = trials - (number - blocks.start) * BLOCK_TRIALS;
        let trials = generate_block(&mut generator, number);
        trials.iter().take(left as usize).try_for_each(|trial| folder.commit_trial(trial))?;
    }
    folder.set_status(Status::Finished, Some(at_s(blocks.end)))
}

/// Writes a finished run of `trials` trials into `dir`.
pub fn write_folder(dir: &Path, trials: u32) -> Result<()> {
    write_blocks(dir, &run(trials), 0..trials.div_ceil(BLOCK_TRIALS), 1, trials)
}

/// Writes `count` finished shards of a plan of `trials` trials into `dir`, as `shard-1` and so on,
/// each from another machine. All have the same number of whole blocks.
pub fn write_shards(dir: &Path, trials: u32, count: u32) -> Result<()> {
    let each = trials / BLOCK_TRIALS / count;
    let whole = run(trials);
    for index in 1..=count {
        let blocks = (index - 1) * each..index * each;
        let shard = PlanShard {
            plan: "synthetic".to_owned(),
            program_sha256: None,
            index,
            count,
            trials: whole.planned,
            host: HostIdentity { name: format!("machine-{index}"), boot: format!("start-{index}") },
            blocks: blocks.clone().map(|number| (number, BLOCK_TRIALS)).collect(),
            cuts: Vec::new(),
        };
        let planned = each * BLOCK_TRIALS;
        let run = Run { planned, cuts: None, shard: Some(shard), ..whole.clone() };
        write_blocks(&dir.join(format!("shard-{index}")), &run, blocks, index.into(), planned)?;
    }
    Ok(())
}
