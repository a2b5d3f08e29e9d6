//! Warnings where the page cache was measured instead of a disk, and where this is unknown.

use bakeoff_results::{Run, TrialSummary};

use super::{WarningTally, tally_trials};
use crate::page_cache::{AccessDirection, compute_disk_share, is_too_little, is_unknown};
use crate::warning::{Warning, WarningKind};

pub(super) fn warn_of_cached_files(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let cached = |way: AccessDirection, trial: &TrialSummary| {
        let share = compute_disk_share(way, &[trial]).filter(|share| is_too_little(*share));
        share.map_or(0.0, |share| 1.0 - share)
    };
    let either = |trial: &TrialSummary| {
        cached(AccessDirection::Reads, trial).max(cached(AccessDirection::Writes, trial))
    };
    let [reads, writes] = occurs_in_any(counted, |way, trial| cached(way, trial) > 0.0);
    let had = match (reads, writes) {
        (_, false) => "answered more than half of what clients read",
        (false, true) => "still had more than half of what clients wrote when they had stopped",
        (true, true) => {
            "answered more than half of what clients read, or still had more than half of what \
             they wrote when they had stopped"
        }
    };
    let WarningTally { part, share, at, .. } = tally_trials(run, counted, either)?;
    let text = format!(
        "in {part} the page cache {had}, at worst {share}, at {at}: these figures are of memory and not of a disk"
    );
    Some(Warning::new(WarningKind::FromCache, text).with_remedy(choose_remedy(reads, writes)))
}

fn choose_remedy(reads: bool, writes: bool) -> &'static str {
    match (reads, writes) {
        (_, false) => {
            "take `access` direct, files larger than the memory (`size`), less memory (`memory`), \
             or a cache that is empty at the start (`state` cold)"
        }
        (false, true) => {
            "take `access` direct, syncs (`sync` fdatasync:1), or more time (`seconds`)"
        }
        (true, true) => {
            "take `access` direct; or, for reads, files larger than the memory (`size`), less \
             memory (`memory`), or a cache that is empty at the start (`state` cold), and for \
             writes, syncs (`sync` fdatasync:1), or more time (`seconds`)"
        }
    }
}

pub(super) fn warn_of_unknown_cache(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let of = |trial: &TrialSummary| {
        is_unknown(AccessDirection::Reads, trial) || is_unknown(AccessDirection::Writes, trial)
    };
    let what = match occurs_in_any(counted, is_unknown) {
        [true, true] => "reads and writes",
        [_, false] => "reads",
        [false, true] => "writes",
    };
    let WarningTally { part, at, .. } =
        tally_trials(run, counted, |trial| f64::from(u8::from(of(trial))))?;
    let text = format!(
        "in {part} it is not known which {what} reached the device, first at {at}: the kernel has \
         no counts of a block device under these files, so that the page cache can't be told from \
         a disk"
    );
    Some(Warning::new(WarningKind::CacheNotKnown, text).with_remedy(
        "use `--path` on a file system on a block device, or a virtual disk (`--disk`)",
    ))
}

fn occurs_in_any(
    trials: &[&TrialSummary],
    is_so: impl Fn(AccessDirection, &TrialSummary) -> bool,
) -> [bool; 2] {
    [AccessDirection::Reads, AccessDirection::Writes]
        .map(|way| trials.iter().any(|&trial| is_so(way, trial)))
}
