//! The share of the clients' reads and writes of files that reached a disk, not only the page
//! cache.

use bakeoff_results::measure::{PAYLOAD, READ, RETURNED, WRITTEN};
use bakeoff_results::{CellLevels, Measure, Measures, OwnFactor, Scope, TrialSummary};

use crate::document::CellView;
use crate::groups;

/// With a smaller share on the disk, memory was measured.
const LEAST: f64 = 0.5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessDirection {
    Reads,
    Writes,
}

impl AccessDirection {
    fn moved_measure(self) -> &'static Measure {
        match self {
            Self::Reads => &RETURNED,
            Self::Writes => &PAYLOAD,
        }
    }

    /// Bytes that went from or to a disk. A virtual disk knows them. On the machine's own disk the
    /// kernel counts what a process read from a block device, but takes a write for sent once the
    /// page cache has it: so writes are those of the whole device, whoever made them. `None` where
    /// the kernel counts no block device: the counts of processes are 0 there.
    fn read_disk_bytes(self, measures: &Measures) -> Option<f64> {
        let measure = match self {
            Self::Reads => &READ,
            Self::Writes => &WRITTEN,
        };
        let of_host = || {
            let device = measures.get(measure, &Scope::Device)?;
            match self {
                Self::Reads => groups::sum_groups(measures, measure),
                Self::Writes => Some(device),
            }
        };
        measures.get(measure, &Scope::Disk).or_else(of_host)
    }
}

impl CellView {
    pub fn is_from_cache(&self) -> bool {
        [self.from_disk, self.to_disk].into_iter().flatten().any(is_too_little)
    }
}

pub(crate) fn is_too_little(share: f64) -> bool {
    share < LEAST
}

/// The share that reached a disk, over all these trials. It can exceed 1, where whole pages are
/// moved for less. `None` for an engine, which has caches of its own.
pub(crate) fn compute_disk_share(way: AccessDirection, trials: &[&TrialSummary]) -> Option<f64> {
    let (mut moved, mut reached) = (0.0, 0.0);
    for trial in trials {
        moved += moved_by_clients(way, trial)?;
        reached += way.read_disk_bytes(&trial.measures)?;
    }
    (moved > 0.0).then(|| reached / moved)
}

pub(crate) fn is_unknown(way: AccessDirection, trial: &TrialSummary) -> bool {
    let moved = moved_by_clients(way, trial).is_some_and(|bytes| bytes > 0.0);
    moved && way.read_disk_bytes(&trial.measures).is_none()
}

fn moved_by_clients(way: AccessDirection, trial: &TrialSummary) -> Option<f64> {
    let is_of_files = !trial.levels.has(OwnFactor::Engine);
    trial.measures.get(way.moved_measure(), &Scope::Clients).filter(|_| is_of_files)
}

#[cfg(test)]
mod tests {
    use bakeoff_results::Measures;

    use super::*;
    use crate::tests::trial_at;

    /// A trial that moved so many bytes one way, with these readings of what reached a disk.
    fn trial(
        levels: &[(&str, &str)],
        way: AccessDirection,
        moved: f64,
        reached: &[(Scope, f64)],
    ) -> TrialSummary {
        let mut measures = Measures::default();
        measures.set(way.moved_measure(), Scope::Clients, moved);
        let measure = if way == AccessDirection::Reads { &READ } else { &WRITTEN };
        for (scope, bytes) in reached {
            measures.set(measure, scope.clone(), *bytes);
        }
        trial_at(levels, measures)
    }

    fn files() -> Scope {
        Scope::Processes("files".into())
    }

    const HOST: &[(&str, &str)] = &[("disk", "host")];

    /// What reached a disk of 100 bytes that were moved one way, as these count it.
    fn share(way: AccessDirection, reached: &[(Scope, f64)]) -> Option<f64> {
        compute_disk_share(way, &[&trial(HOST, way, 100.0, reached)])
    }

    /// Of writes a process is charged when the page cache has them, so that it is no witness.
    #[test]
    fn what_came_from_a_disk_is_told_by_the_virtual_disk_or_else_by_the_kernel() {
        use AccessDirection::{Reads, Writes};
        let host = [(files(), 40.0), (Scope::Device, 95.0)];
        assert_eq!(share(Reads, &host), Some(0.4), "others read from the device, too");
        assert_eq!(share(Reads, &[(files(), 40.0), (Scope::Disk, 90.0)]), Some(0.9));
        assert_eq!(share(Writes, &[(files(), 100.0), (Scope::Device, 20.0)]), Some(0.2));
        assert_eq!(share(Writes, &[(files(), 100.0), (Scope::Disk, 110.0)]), Some(1.1));
        let uncounted = [share(Reads, &[]), share(Writes, &[(files(), 100.0)])];
        assert_eq!(uncounted, [None; 2], "nobody counted");
        // Nothing was moved; an engine has caches of its own; and what was read says nothing of writes.
        for (way, trial) in [
            (Reads, trial(HOST, Reads, 0.0, &host)),
            (Reads, trial(&[("engine", "it")], Reads, 100.0, &host)),
            (Writes, trial(HOST, Reads, 100.0, &host)),
        ] {
            assert_eq!(compute_disk_share(way, &[&trial]), None);
        }
    }

    #[test]
    fn without_a_block_device_it_is_not_known_what_reached_one() {
        for way in [AccessDirection::Reads, AccessDirection::Writes] {
            let uncounted = trial(HOST, way, 100.0, &[(files(), 0.0)]);
            assert_eq!(compute_disk_share(way, &[&uncounted]), None, "{way:?}");
            assert!(is_unknown(way, &uncounted), "{way:?}");
            for (counted, moved) in [(Scope::Disk, 100.0), (Scope::Device, 100.0), (files(), 0.0)] {
                let known = trial(HOST, way, moved, &[(counted, 0.0), (files(), 0.0)]);
                assert!(!is_unknown(way, &known), "{way:?}");
            }
            let engine = trial(&[("engine", "it")], way, 100.0, &[]);
            assert!(!is_unknown(way, &engine), "{way:?}");
        }
    }
}
