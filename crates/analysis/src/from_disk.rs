//! How much of what clients read from files came from a disk, and not from the page cache.

use bakeoff_results::measure::{READ, RETURNED};
use bakeoff_results::{Scope, TrialSummary};

use crate::document::CellView;
use crate::work::of_device;

/// The share of the bytes that has to come from the disk, so that it is the disk that is measured.
const LEAST: f64 = 0.5;

impl CellView {
    /// Whether the page cache answered more than half of what its clients read from files: its figures are
    /// of memory and not of a disk.
    pub fn is_from_cache(&self) -> bool {
        self.from_disk.is_some_and(is_too_little)
    }
}

/// Whether a share from the disk is so small that another thing was measured.
pub(crate) fn is_too_little(share: f64) -> bool {
    share < LEAST
}

/// The part of the bytes that clients read from files that came from a disk, over all these trials; it can be
/// above 1 where whole pages are fetched for less. `None` for an engine, which has caches of its own, and where
/// nothing was read or nobody counted.
pub(crate) fn from_disk(trials: &[&TrialSummary]) -> Option<f64> {
    let (mut read, mut fetched) = (0.0, 0.0);
    for trial in trials {
        if trial.levels.contains_key("engine") {
            return None;
        }
        read += trial.measures.get(&RETURNED, &Scope::Clients)?;
        fetched += of_device(&trial.measures, &READ)?;
    }
    (read > 0.0).then(|| fetched / read)
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
        let share = |from: &[(Scope, f64)]| from_disk(&[&trial(&[("disk", "host")], 100.0, from)]);
        assert_eq!(share(&[(files.clone(), 40.0)]), Some(0.4));
        assert_eq!(share(&[(files.clone(), 40.0), (Scope::Disk, 90.0)]), Some(0.9));
        assert_eq!(share(&[]), None, "nobody counted");
        assert_eq!(from_disk(&[&trial(&[("disk", "host")], 0.0, &[(files.clone(), 1.0)])]), None);
        let engine = trial(&[("engine", "it")], 100.0, &[(files, 1.0)]);
        assert_eq!(from_disk(&[&engine]), None, "it has caches of its own");
    }
}
