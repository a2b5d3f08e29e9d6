//! Where the page cache was measured in the place of a disk, and where nobody can tell.

use bakeoff_results::{Run, TrialSummary};

use super::{WarningTally, part, percent};
use crate::from_disk::{AccessDirection, is_too_little, is_unknown, share};
use crate::warning::{Warning, WarningKind};

/// Trials of files whose clients read most of what they read from memory, or wrote most of what they wrote there.
pub(super) fn answered(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let cached = |way: AccessDirection, trial: &TrialSummary| {
        let share = share(way, &[trial]).filter(|share| is_too_little(*share));
        share.map_or(0.0, |share| 1.0 - share)
    };
    let either = |trial: &TrialSummary| {
        cached(AccessDirection::Reads, trial).max(cached(AccessDirection::Writes, trial))
    };
    let [reads, writes] = occurs(counted, |way, trial| cached(way, trial) > 0.0);
    let had = match (reads, writes) {
        (_, false) => "answered more than half of what clients read",
        (false, true) => "still had more than half of what clients wrote when they had stopped",
        (true, true) => {
            "answered more than half of what clients read, or still had more than half of what they wrote \
             when they had stopped"
        }
    };
    WarningTally::of_trials(counted, either).say(run, |n, m, worst, at| {
        let text = format!(
            "in {} the page cache {had}, at worst {}, at {at}: these figures are of memory and not of a disk",
            part(n, m),
            percent(worst)
        );
        Warning::new(WarningKind::FromCache, text).remedy(remedy(reads, writes))
    })
}

/// What to do against a page cache that answers reads, or keeps writes.
fn remedy(reads: bool, writes: bool) -> &'static str {
    match (reads, writes) {
        (_, false) => {
            "take `access` direct, files larger than the memory (`size`), less memory (`memory`), or a \
             cache that is empty at the start (`state` cold)"
        }
        (false, true) => {
            "take `access` direct, syncs (`sync` fdatasync:1), or more time (`seconds`)"
        }
        (true, true) => {
            "take `access` direct; or, for reads, files larger than the memory (`size`), less memory \
             (`memory`), or a cache that is empty at the start (`state` cold), and for writes, syncs (`sync` \
             fdatasync:1), or more time (`seconds`)"
        }
    }
}

/// Trials of files for which nobody counted what reached a disk.
pub(super) fn not_known(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let of = |trial: &TrialSummary| {
        is_unknown(AccessDirection::Reads, trial) || is_unknown(AccessDirection::Writes, trial)
    };
    let what = match occurs(counted, is_unknown) {
        [true, true] => "reads and writes",
        [_, false] => "reads",
        [false, true] => "writes",
    };
    WarningTally::of_trials(counted, |trial| f64::from(u8::from(of(trial)))).say(run, |n, m, _, at| {
        let text = format!(
            "in {} it is not known which {what} reached the device, first at {at}: the kernel has no counts of a \
             block device under these files, so that the page cache can't be told from a disk",
            part(n, m)
        );
        Warning::new(WarningKind::CacheNotKnown, text)
            .remedy("use `--path` on a file system on a block device, or a virtual disk (`--disk`)")
    })
}

/// Whether it is so of the reads of any trial, and of the writes of any.
fn occurs(
    trials: &[&TrialSummary],
    is_so: impl Fn(AccessDirection, &TrialSummary) -> bool,
) -> [bool; 2] {
    [AccessDirection::Reads, AccessDirection::Writes]
        .map(|way| trials.iter().any(|&trial| is_so(way, trial)))
}
