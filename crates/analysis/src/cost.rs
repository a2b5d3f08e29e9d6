//! The cost of the clients' work: raw sums, so that trials can be added up, and the figures that
//! follow from them.

use bakeoff_results::measure::{COMMITS, CPU, OPERATIONS, PAYLOAD, SYNCS, WORK_WRITTEN};
use bakeoff_results::{Measures, Scope};
use serde::{Deserialize, Serialize};

/// Processor seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    pub client: f64,
    /// The engine's calls and its own threads or processes.
    pub engine: f64,
    pub engine_drain: Option<f64>,
    /// The virtual disk's daemon, including its model of the neighbours.
    pub disk_daemon: Option<f64>,
    /// Neighbours on the machine's own disk.
    pub neighbours: Option<f64>,
}

/// The clients' work over the whole time that they ran, and its cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkCost {
    /// With those that ended in an error.
    pub operations: u64,
    pub commits: Option<u64>,
    /// Bytes that these transactions wrote, as the application sees them: the parameters of their
    /// inserts, upserts, updates and deletes. An integer has 8 bytes, a text its own.
    pub application_bytes: Option<u64>,
    /// Bytes that went to the device for them, including the drain: the bytes given to a virtual
    /// disk's device, or the lesser of what the kernel counted for the engine's processes and for
    /// the whole device.
    pub device_bytes: Option<u64>,
    pub engine_cpu_s: Option<f64>,
    pub syncs: Option<SyncCount>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncCount {
    pub counted_by: SyncObserver,
    pub count: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SyncObserver {
    /// Each fsync, fdatasync and msync of a file in the virtual disk, and each write through a
    /// descriptor opened with `O_SYNC` or `O_DSYNC`.
    Disk,
    /// The same in the kernel's file system, for the processes of the engine.
    Kernel,
    /// Flushes of the device's cache, by any process. A device without a volatile cache needs none,
    /// several syncs can share one, and other programs use the device too.
    Device,
}

impl SyncObserver {
    pub fn name(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::Kernel => "kernel",
            Self::Device => "device",
        }
    }

    /// Whether it counts each of the engine's syncs, and nothing else.
    pub fn is_exact(self) -> bool {
        self != Self::Device
    }
}

impl WorkCost {
    pub fn from_measures(measures: &Measures) -> Option<Self> {
        let count = |measure, scope| measures.get(measure, &scope).map(|value| value as u64);
        Some(Self {
            operations: count(&OPERATIONS, Scope::Clients)?,
            commits: count(&COMMITS, Scope::Clients),
            application_bytes: count(&PAYLOAD, Scope::Clients),
            device_bytes: count(&WORK_WRITTEN, Scope::Trial),
            engine_cpu_s: measures.of_database(&CPU),
            syncs: SyncCount::from_measures(measures),
        })
    }

    /// Bytes that went to the device for each byte that the application wrote.
    pub fn write_amplification(&self) -> Option<f64> {
        divide_by_count(self.device_bytes? as f64, self.application_bytes?)
    }

    pub fn syncs_per_commit(&self) -> Option<f64> {
        divide_by_count(self.syncs?.count as f64, self.commits?)
    }

    pub fn engine_cpu_per_operation_s(&self) -> Option<f64> {
        divide_by_count(self.engine_cpu_s?, self.operations)
    }

    /// A figure is `None` where one of the two lacks it, or had it counted by another observer.
    pub fn plus(&self, other: &Self) -> Self {
        let syncs = self.syncs.zip(other.syncs).filter(|(a, b)| a.counted_by == b.counted_by);
        Self {
            operations: self.operations.saturating_add(other.operations),
            commits: add_known(self.commits, other.commits),
            application_bytes: add_known(self.application_bytes, other.application_bytes),
            device_bytes: add_known(self.device_bytes, other.device_bytes),
            engine_cpu_s: self.engine_cpu_s.zip(other.engine_cpu_s).map(|(a, b)| a + b),
            syncs: syncs.map(|(a, b)| SyncCount { count: a.count.saturating_add(b.count), ..a }),
        }
    }
}

impl SyncCount {
    /// The best observer first: a virtual disk and the kernel see each sync of the engine and
    /// nothing else.
    fn from_measures(measures: &Measures) -> Option<Self> {
        let counters = [
            (SyncObserver::Disk, Scope::Disk),
            (SyncObserver::Kernel, Scope::DATABASE),
            (SyncObserver::Device, Scope::Device),
        ];
        let counted = |(counted_by, scope)| {
            let count = measures.get(&SYNCS, &scope)? as u64;
            Some(Self { counted_by, count })
        };
        counters.into_iter().find_map(counted)
    }
}

fn add_known(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    Some(one?.saturating_add(other?))
}

fn divide_by_count(sum: f64, number: u64) -> Option<f64> {
    (number > 0).then(|| sum / number as f64)
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "WorkCost")]
pub struct CostView {
    #[serde(flatten)]
    pub sums: WorkCost,
    pub write_amplification: Option<f64>,
    pub syncs_per_commit: Option<f64>,
    pub engine_cpu_per_operation_s: Option<f64>,
}

impl From<WorkCost> for CostView {
    fn from(sums: WorkCost) -> Self {
        Self {
            sums,
            write_amplification: sums.write_amplification(),
            syncs_per_commit: sums.syncs_per_commit(),
            engine_cpu_per_operation_s: sums.engine_cpu_per_operation_s(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COST: WorkCost = WorkCost {
        operations: 10,
        commits: Some(4),
        application_bytes: Some(1000),
        device_bytes: Some(3500),
        engine_cpu_s: Some(0.5),
        syncs: Some(SyncCount { counted_by: SyncObserver::Disk, count: 6 }),
    };

    #[test]
    fn figures_follow_from_the_sums() {
        let both = COST.plus(&WorkCost { commits: Some(0), ..COST });
        assert_eq!(both.write_amplification(), Some(3.5));
        assert_eq!(both.syncs_per_commit(), Some(3.0));
        assert_eq!(both.engine_cpu_per_operation_s(), Some(0.05));
        assert_eq!(WorkCost::default().write_amplification(), None);
        assert_eq!(WorkCost { commits: Some(0), ..COST }.syncs_per_commit(), None);
    }

    #[test]
    fn what_one_does_not_know_or_counts_otherwise_is_not_known() {
        let device = Some(SyncCount { counted_by: SyncObserver::Device, count: 6 });
        let other = WorkCost { device_bytes: None, syncs: device, ..COST };
        let both = COST.plus(&other);
        assert_eq!((both.device_bytes, both.syncs), (None, None));
        assert_eq!(both.engine_cpu_s, Some(1.0));
    }

    #[test]
    fn the_best_witness_counts_the_syncs() {
        let mut measures = Measures::default();
        assert_eq!(SyncCount::from_measures(&measures), None);
        for (scope, counted_by, count) in [
            (Scope::Device, SyncObserver::Device, 1),
            (Scope::DATABASE, SyncObserver::Kernel, 2),
            (Scope::Disk, SyncObserver::Disk, 3),
        ] {
            measures.set(&SYNCS, scope, count as f64);
            assert_eq!(SyncCount::from_measures(&measures), Some(SyncCount { counted_by, count }));
        }
        assert_eq!(WorkCost::from_measures(&measures), None, "its operations were not counted");
    }
}
