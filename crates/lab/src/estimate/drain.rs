//! Estimates the drain of what clients leave in the page cache of a virtual disk.

use std::cell::RefCell;
use std::time::Duration;

use bakeoff_devices::ext4::Ext4MountOptions;
use bakeoff_devices::limit::{ClientLoad, simulate_rate};
use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_devices::spec::Spec;

use crate::driving::Drive;
use crate::spec::{DiskSpec, TrialSpec};
use crate::targets::UnsyncedData;

/// How much of a device's time is simulated: a hard disk writes about a hundred blocks in it.
const SIMULATED: Duration = Duration::from_secs(1);
/// The same for all trials, so that one result serves all.
const SEED: u64 = 1;
/// A disk can sort this many writes of a file's dirty pages at once.
const MOST_AT_ONCE: u64 = 32;
/// Bytes of a write if neighbouring pages are all dirty.
const MERGED: u64 = 1 << 20;

struct DeviceWriteRate {
    disk: Spec,
    neighbours: NeighbourLevel,
    load: ClientLoad,
    /// Requests; `None` for a device that takes no time.
    per_second: Option<f64>,
}

/// How fast modelled devices write back page caches: each is simulated once.
#[derive(Default)]
pub struct Drains(RefCell<Vec<DeviceWriteRate>>);

impl Drains {
    /// Zero on the machine's own disk, whose rate is unknown. Cut off at the clients' time.
    pub fn seconds(&self, trial: &TrialSpec, drive: &Drive) -> f64 {
        let (subject, clients) = (&trial.setup.subject, drive.clients);
        let left = || {
            let DiskSpec::Virtual(disk) = &trial.disk else { return None };
            let unsynced = subject.unsynced_writes(clients).filter(|it| it.bytes > 0)?;
            let (load, requests) = written_back(unsynced, subject.device_load(clients)?);
            Some(requests / self.per_second(disk, trial.neighbours, load)?)
        };
        left().unwrap_or(0.0).min(drive.planned_duration().as_secs_f64())
    }

    fn per_second(&self, disk: &Spec, neighbours: NeighbourLevel, load: ClientLoad) -> Option<f64> {
        let mut all = self.0.borrow_mut();
        let is_it = |it: &&DeviceWriteRate| {
            it.disk == *disk && it.neighbours == neighbours && it.load == load
        };
        if let Some(known) = all.iter().find(is_it) {
            return known.per_second;
        }
        let time = SIMULATED.as_nanos() as u64;
        let per_second = simulate_rate(disk, SEED, neighbours, &load, time);
        all.push(DeviceWriteRate { disk: disk.clone(), neighbours, load, per_second });
        per_second
    }
}

/// The load that the page cache hands to the device, and its requests. Above a limit writers wait,
/// so no more is left.
fn written_back(
    UnsyncedData { bytes, files }: UnsyncedData,
    load: ClientLoad,
) -> (ClientLoad, f64) {
    let bytes = bytes.min(Ext4MountOptions::default().dirty_limit);
    let is_whole = bytes >= load.span;
    let block = if is_whole { MERGED.min(load.span) } else { load.block };
    let requests = bytes.div_ceil(block);
    // Files are synced one after the other.
    let depth = requests.div_ceil(files.max(1)).clamp(1, MOST_AT_ONCE);
    let in_order = is_whole || load.in_order;
    (ClientLoad { clients: 1, depth, reads: 0, in_order, block, ..load }, requests as f64)
}

#[cfg(test)]
mod tests {
    use super::super::RunEstimate;
    use super::*;
    use crate::tests::load;
    use crate::{Plan, Registry};

    /// The seconds of a drain that a trial of a second is estimated at on this disk, beside one that leaves nothing.
    fn drain_s(disk: &str, levels: &str) -> f64 {
        let registry = Registry::standard();
        let trials_s = |access: &str| {
            let lines = "block = '16K'\nrepetitions = 2\nseconds = 1\nworkload = 'fileio'\n";
            let text = format!("{lines}disk = '{disk}'\naccess = '{access}'\n{levels}");
            let experiment = load(&text);
            let plan = Plan::from_experiment(&registry, &experiment);
            assert_eq!(plan.trials.count_trials(), 2, "{:?}", plan.left_out);
            RunEstimate::on_files(&plan).trials_s
        };
        (trials_s("buffered") - trials_s("direct")) / 2.0
    }

    #[test]
    fn what_is_left_between_two_syncs_is_drained_by_the_model() {
        // About a hundred requests a second, one after the other: half of what is between two syncs.
        let all = "files = 128\nsize = '64M'\nsync = 'all:100'\n";
        let written = drain_s("ebs-magnetic", &format!("{all}pattern = 'randwrite'\n"));
        assert!((0.25..1.0).contains(&written), "{written}");
        let mixed = drain_s("ebs-magnetic", &format!("{all}pattern = 'randrw:60'\n"));
        assert!(mixed > 0.0 && mixed < 0.5 * written, "{mixed} of {written}");
    }

    #[test]
    fn what_is_never_synced_is_drained_for_as_long_as_its_clients_ran() {
        let never = "pattern = 'randwrite'\nsync = 'never'\n";
        // 200 MiB in places all over a file.
        let scattered = drain_s("hdd-7200", &format!("{never}size = '1G'\n"));
        assert!((scattered - 1.0).abs() < 1e-6, "{scattered}");
        // All of a small one is written in order.
        let whole = drain_s("hdd-7200", &format!("{never}size = '16M'\n"));
        assert!(whole > 0.0 && whole < 0.5, "{whole}");
        // Nothing is where nothing is left or nobody knows how fast.
        for (disk, levels) in [
            ("hdd-7200", "pattern = 'randread'\n"),
            ("hdd-7200", "pattern = 'randwrite'\nsync = 'dsync'\n"),
            ("hdd-7200", "pattern = 'randwrite'\nsync = 'fdatasync:1'\n"),
            ("null", never),
            ("host", never),
        ] {
            let seconds = drain_s(disk, &format!("size = '16M'\n{levels}"));
            assert!(seconds.abs() < 1e-6, "{disk}, {levels}: {seconds}");
        }
    }

    #[test]
    fn a_rate_is_simulated_once_for_all_trials_that_need_it() {
        let drains = Drains::default();
        let disk = bakeoff_devices::models::Models::standard().parse("hdd-7200").unwrap();
        let (clients, reads, in_order, block, span) = (1, 0, false, 4096, 1 << 24);
        let load = |depth| ClientLoad { clients, depth, reads, in_order, block, span };
        let first = drains.per_second(&disk, NeighbourLevel::None, load(1));
        assert_eq!(drains.per_second(&disk, NeighbourLevel::None, load(1)), first);
        assert_eq!(drains.0.borrow().len(), 1);
        drains.per_second(&disk, NeighbourLevel::None, load(2));
        drains.per_second(&disk, NeighbourLevel::Streams(1), load(2));
        assert_eq!(drains.0.borrow().len(), 3);
    }
}
