//! Blocks that run again because the machine was disturbed.

use std::collections::BTreeMap;

use bakeoff_experiment::TrialBlock;
use bakeoff_results::{Error, RunFolder};

use super::DueBlock;

/// How many of so many blocks may run again after a disturbance: a tenth, and one at least. A
/// machine that is never quiet gains nothing by more.
pub fn most_repeats(blocks: usize) -> usize {
    blocks.div_ceil(10)
}

/// Sets aside the disturbed blocks that may run again, and returns their next attempts. Each block
/// runs again once, and not more blocks do than `most_repeats(blocks)`. `find_block` knows the
/// blocks that matter still. Only the run folder remembers, so it is the same after an interruption.
pub fn repeat_disturbed(
    folder: &mut RunFolder,
    blocks: usize,
    find_block: impl Fn(u32) -> Option<TrialBlock>,
) -> Result<Vec<DueBlock>, Error> {
    let mut latest: BTreeMap<u32, u32> = BTreeMap::new();
    for trial in folder.read_ended_trials()? {
        let attempt = latest.entry(trial.block).or_default();
        *attempt = trial.attempt.max(*attempt);
    }
    let noted = folder.read_disturbed()?;
    let is_latest = |block: u32, attempt: u32| latest.get(&block) == Some(&attempt);
    let repeated = noted.iter().filter(|it| !is_latest(it.block, it.attempt)).count();
    let once = |block: u32| noted.iter().filter(|it| it.block == block).count() == 1;
    let fresh = noted.iter().filter(|it| is_latest(it.block, it.attempt) && once(it.block));
    let found = fresh.filter_map(|it| Some((it, find_block(it.block)?)));
    let allowed = most_repeats(blocks).saturating_sub(repeated);
    found
        .take(allowed)
        .map(|(it, block)| repeat_block(folder, block, it.attempt, &it.what))
        .collect()
}

/// Sets an attempt of a block aside, and returns the next one. `what` was not as before.
pub fn repeat_block(
    folder: &mut RunFolder,
    block: TrialBlock,
    attempt: u32,
    what: &str,
) -> Result<DueBlock, Error> {
    let reason = format!("the machine was disturbed ({what}); the block was run again");
    folder.invalidate_block(block.number, attempt, &reason)?;
    Ok(DueBlock { block, attempt: attempt + 1 })
}
