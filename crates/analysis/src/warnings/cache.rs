//! Where the page cache was measured in the place of a disk.

use bakeoff_results::{Run, TrialSummary};

use super::{Tally, part, percent};
use crate::from_disk::{from_disk, is_too_little};
use crate::warning::{Warning, WarningKind};

/// Trials of files whose clients read most of what they read from memory.
pub(super) fn answered(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let cached = |trial: &TrialSummary| {
        let share = from_disk(&[trial]).filter(|share| is_too_little(*share));
        share.map_or(0.0, |share| 1.0 - share)
    };
    Tally::of_trials(counted, cached).say(run, |n, m, worst, at| {
        let text = format!(
            "in {} the page cache answered more than half of what clients read, at worst {}, at {at}: \
             these figures are of memory and not of a disk",
            part(n, m),
            percent(worst)
        );
        Warning::new(WarningKind::FromCache, text).remedy(
            "take `access` direct, files larger than the memory (`size`), less memory (`memory`), or a \
             cache that is empty at the start (`state` cold)",
        )
    })
}
