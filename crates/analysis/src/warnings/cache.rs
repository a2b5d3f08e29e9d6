//! Where the page cache was measured in the place of a disk.

use bakeoff_results::measure::{READ, RETURNED};
use bakeoff_results::{Run, Scope, TrialSummary};

use super::{Tally, part, percent};
use crate::warning::{Warning, WarningKind};
use crate::work::of_device;

/// The share of the bytes that have to come from the disk, so that it is the disk that is measured.
const FROM_DISK: f64 = 0.5;

/// Trials of files that fewer than half of the bytes were read from a disk for.
pub(super) fn answered(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let cached = |trial: &TrialSummary| {
        let share = from_disk(trial).filter(|share| *share < FROM_DISK);
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

/// The part of the bytes that clients read from files that came from a disk; `None` for an engine, which
/// has caches of its own, and where nothing was read or nobody counted.
fn from_disk(trial: &TrialSummary) -> Option<f64> {
    if trial.levels.contains_key("engine") {
        return None;
    }
    let read = trial.measures.get(&RETURNED, &Scope::Clients).filter(|bytes| *bytes > 0.0)?;
    Some(of_device(&trial.measures, &READ)? / read)
}

#[cfg(test)]
mod tests {
    use bakeoff_results::{Levels, Measures};

    use super::*;

    /// A trial that read so many bytes, of which these came from somewhere.
    fn trial(levels: &[(&str, &str)], read: f64, from: &[(Scope, f64)]) -> TrialSummary {
        let levels = levels.iter().map(|(name, level)| ((*name).into(), (*level).into()));
        let mut measures = Measures::default();
        measures.set(&RETURNED, Scope::Clients, read);
        for (scope, bytes) in from {
            measures.set(&READ, scope.clone(), *bytes);
        }
        TrialSummary {
            repetition: 0,
            block: 0,
            attempt: 0,
            order: 0,
            levels: levels.collect::<Levels>(),
            started_s: 0.0,
            ran_s: Some(1.0),
            window_s: Some((0.0, 1.0)),
            operations: Vec::new(),
            measures,
            warnings: Vec::new(),
            valid: true,
            reason: None,
        }
    }

    #[test]
    fn what_came_from_a_disk_is_told_by_the_virtual_disk_or_else_by_the_kernel() {
        let files = Scope::Processes("files".into());
        let share = |from: &[(Scope, f64)]| from_disk(&trial(&[("disk", "host")], 100.0, from));
        assert_eq!(share(&[(files.clone(), 40.0)]), Some(0.4));
        assert_eq!(share(&[(files.clone(), 40.0), (Scope::Disk, 90.0)]), Some(0.9));
        assert_eq!(share(&[]), None, "nobody counted");
        assert_eq!(from_disk(&trial(&[("disk", "host")], 0.0, &[(files.clone(), 1.0)])), None);
        let engine = trial(&[("engine", "it")], 100.0, &[(files, 1.0)]);
        assert_eq!(from_disk(&engine), None, "it has caches of its own");
    }
}
