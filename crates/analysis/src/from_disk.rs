//! How much of what clients read from files and wrote to them reached a disk, and did not stay in the page cache.

use bakeoff_results::measure::{PAYLOAD, READ, RETURNED, WRITTEN};
use bakeoff_results::{Measure, Measures, Scope, TrialSummary};

use crate::document::CellView;
use crate::groups;

/// The share of the bytes that has to reach the disk, so that it is the disk that is measured.
const LEAST: f64 = 0.5;

/// What clients do with files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessDirection {
    /// They read them.
    Reads,
    /// They write to them.
    Writes,
}

impl AccessDirection {
    /// The bytes that clients read or wrote so.
    fn moved(self) -> &'static Measure {
        match self {
            Self::Reads => &RETURNED,
            Self::Writes => &PAYLOAD,
        }
    }

    /// Bytes that went from or to a disk so while the clients ran. A virtual disk knows. On the machine's own
    /// disk the kernel counts for a process what it read from a block device, and takes a write for sent as soon
    /// as the page cache has it: so writes are those of the whole device, whoever made them, and at least the
    /// clients' own. `None` where the kernel has no counts of a block device: those of processes are 0 there,
    /// whatever was read.
    fn reached(self, measures: &Measures) -> Option<f64> {
        let measure = match self {
            Self::Reads => &READ,
            Self::Writes => &WRITTEN,
        };
        let of_host = || {
            let device = measures.get(measure, &Scope::Device)?;
            match self {
                Self::Reads => groups::sum(measures, measure),
                Self::Writes => Some(device),
            }
        };
        measures.get(measure, &Scope::Disk).or_else(of_host)
    }
}

impl CellView {
    /// Whether the page cache had more than half of what its clients read from files, or of what they wrote: its
    /// figures are of memory and not of a disk.
    pub fn is_from_cache(&self) -> bool {
        [self.from_disk, self.to_disk].into_iter().flatten().any(is_too_little)
    }
}

/// Whether a share that reached the disk is so small that another thing was measured.
pub(crate) fn is_too_little(share: f64) -> bool {
    share < LEAST
}

/// The part of the bytes that clients read from files, or wrote to them, that reached a disk, over all these
/// trials; it can be above 1 where whole pages are moved for less. `None` for an engine, which has caches of its
/// own, and where nothing was moved or nobody counted.
pub(crate) fn share(way: AccessDirection, trials: &[&TrialSummary]) -> Option<f64> {
    let (mut moved, mut reached) = (0.0, 0.0);
    for trial in trials {
        moved += moved_by_clients(way, trial)?;
        reached += way.reached(&trial.measures)?;
    }
    (moved > 0.0).then(|| reached / moved)
}

/// Whether clients read files, or wrote to them, and nobody counted what of it reached a disk.
pub(crate) fn is_unknown(way: AccessDirection, trial: &TrialSummary) -> bool {
    let moved = moved_by_clients(way, trial).is_some_and(|bytes| bytes > 0.0);
    moved && way.reached(&trial.measures).is_none()
}

/// The bytes that clients read from files or wrote to them; `None` for an engine.
fn moved_by_clients(way: AccessDirection, trial: &TrialSummary) -> Option<f64> {
    let is_of_files = !trial.levels.contains_key("engine");
    trial.measures.get(way.moved(), &Scope::Clients).filter(|_| is_of_files)
}

#[cfg(test)]
mod tests {
    use bakeoff_results::{Levels, Measures};

    use super::*;

    /// A trial that moved so many bytes one way, with these readings of what reached a disk.
    fn trial(
        levels: &[(&str, &str)],
        way: AccessDirection,
        moved: f64,
        reached: &[(Scope, f64)],
    ) -> TrialSummary {
        let levels = levels.iter().map(|(name, level)| ((*name).into(), (*level).into()));
        let mut measures = Measures::default();
        measures.set(way.moved(), Scope::Clients, moved);
        let measure = if way == AccessDirection::Reads { &READ } else { &WRITTEN };
        for (scope, bytes) in reached {
            measures.set(measure, scope.clone(), *bytes);
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

    fn files() -> Scope {
        Scope::Processes("files".into())
    }

    const HOST: &[(&str, &str)] = &[("disk", "host")];

    #[test]
    fn what_came_from_a_disk_is_told_by_the_virtual_disk_or_else_by_the_kernel() {
        let of = |from: &[(Scope, f64)]| {
            share(AccessDirection::Reads, &[&trial(HOST, AccessDirection::Reads, 100.0, from)])
        };
        let host = [(files(), 40.0), (Scope::Device, 95.0)];
        assert_eq!(of(&host), Some(0.4), "others read from the device, too");
        assert_eq!(of(&[(files(), 40.0), (Scope::Disk, 90.0)]), Some(0.9));
        assert_eq!(of(&[]), None, "nobody counted");
        let nothing = trial(HOST, AccessDirection::Reads, 0.0, &host);
        assert_eq!(share(AccessDirection::Reads, &[&nothing]), None);
        let engine = trial(&[("engine", "it")], AccessDirection::Reads, 100.0, &host);
        assert_eq!(share(AccessDirection::Reads, &[&engine]), None, "it has caches of its own");
        assert_eq!(
            share(AccessDirection::Writes, &[&trial(HOST, AccessDirection::Reads, 100.0, &host)]),
            None
        );
    }

    /// A process is charged with a write when the page cache has it.
    #[test]
    fn what_reached_a_disk_is_told_by_the_disk_and_not_by_what_processes_handed_to_the_kernel() {
        let of = |to: &[(Scope, f64)]| {
            share(AccessDirection::Writes, &[&trial(HOST, AccessDirection::Writes, 100.0, to)])
        };
        assert_eq!(of(&[(files(), 100.0), (Scope::Device, 20.0)]), Some(0.2));
        assert_eq!(of(&[(files(), 100.0), (Scope::Disk, 110.0)]), Some(1.1));
        assert_eq!(of(&[(files(), 100.0)]), None, "nobody counted");
    }

    #[test]
    fn without_a_block_device_it_is_not_known_what_reached_one() {
        for way in [AccessDirection::Reads, AccessDirection::Writes] {
            let uncounted = trial(HOST, way, 100.0, &[(files(), 0.0)]);
            assert_eq!(share(way, &[&uncounted]), None, "{way:?}");
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
