//! How long files take to be drained when their clients have stopped: what these have left in the page cache of a
//! virtual disk is written to its device then.

use std::cell::RefCell;
use std::time::Duration;

use bakeoff_devices::ext4::Ext4MountOptions;
use bakeoff_devices::limit::{ClientLoad, rate};
use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_devices::spec::Spec;

use crate::Registry;
use crate::driving::Drive;
use crate::spec::{DiskSpec, TrialSpec};
use crate::targets::Unsynced;

/// So much of a device's time is simulated: a hard disk writes about a hundred blocks in it.
const SIMULATED: Duration = Duration::from_secs(1);
/// Whatever a trial's own seed is, so that what is known of one trial is known of all.
const SEED: u64 = 1;
/// As many writes of a file's dirty pages are in flight at once as a disk can sort.
const MOST_AT_ONCE: u64 = 32;
/// Bytes of a write where neighbouring pages are all dirty.
const MERGED: u64 = 1 << 20;

/// How fast a device writes.
struct DeviceWriteRate {
    disk: Spec,
    neighbours: NeighbourLevel,
    load: ClientLoad,
    /// Requests; `None` of a device that takes no time.
    per_second: Option<f64>,
}

/// How fast modelled devices write what page caches hand them: each simulated once.
#[derive(Default)]
pub struct Drains(RefCell<Vec<DeviceWriteRate>>);

impl Drains {
    /// Seconds that a trial's drain takes by the model of its disk; 0 on the machine's own, whose rate nobody
    /// knows. One that takes longer than the clients ran is cut off.
    pub fn seconds(&self, registry: &Registry, trial: &TrialSpec, drive: &Drive) -> f64 {
        let (subject, clients) = (&trial.setup.subject, drive.clients);
        let left = || {
            let DiskSpec::Virtual(disk) = &trial.disk else { return None };
            let target = registry.target(trial.setup.target)?;
            let unsynced = target.unsynced(subject, clients).filter(|it| it.bytes > 0)?;
            let (load, requests) = written_back(unsynced, target.device_load(subject, clients)?);
            Some(requests / self.per_second(disk, trial.neighbours, load)?)
        };
        left().unwrap_or(0.0).min(drive.duration().as_secs_f64())
    }

    /// What a device serves of such a load, a second.
    fn per_second(&self, disk: &Spec, neighbours: NeighbourLevel, load: ClientLoad) -> Option<f64> {
        let mut all = self.0.borrow_mut();
        let is_it = |it: &&DeviceWriteRate| {
            it.disk == *disk && it.neighbours == neighbours && it.load == load
        };
        if let Some(known) = all.iter().find(is_it) {
            return known.per_second;
        }
        let time = SIMULATED.as_nanos() as u64;
        let per_second = rate(disk, SEED, neighbours, &load, time);
        all.push(DeviceWriteRate { disk: disk.clone(), neighbours, load, per_second });
        per_second
    }
}

/// What the page cache hands to a device of what clients left of their load, and how many requests that is. Above
/// a limit writers have to wait, so that no more is left than that.
fn written_back(Unsynced { bytes, files }: Unsynced, load: ClientLoad) -> (ClientLoad, f64) {
    let bytes = bytes.min(Ext4MountOptions::default().dirty_limit);
    let is_whole = bytes >= load.span;
    let block = if is_whole { MERGED.min(load.span) } else { load.block };
    let requests = bytes.div_ceil(block);
    // One file after the other is synced.
    let depth = requests.div_ceil(files.max(1)).clamp(1, MOST_AT_ONCE);
    let in_order = is_whole || load.in_order;
    (ClientLoad { clients: 1, depth, reads: 0, in_order, block, ..load }, requests as f64)
}

#[cfg(test)]
mod tests {
    use bakeoff_experiment::{Experiment, FlagOverrides};

    use super::super::RunEstimate;
    use super::*;
    use crate::Possible;

    /// The seconds that two trials of a second each are estimated at, on this disk.
    fn trials_s(disk: &str, levels: &str) -> f64 {
        let (place, registry) = (tempfile::tempdir().unwrap(), Registry::standard());
        let file = place.path().join("files.toml");
        let toml = format!(
            "workload = 'fileio'\ndisk = '{disk}'\nblock = '16K'\nrepetitions = 2\nseconds = 1\n{levels}"
        );
        std::fs::write(&file, toml).unwrap();
        let (file, changes) = (file.to_string_lossy(), FlagOverrides::default());
        let experiment = Experiment::load(&file, &changes, &registry.vocabulary()).unwrap();
        let possible = Possible::from_experiment(&registry, &experiment);
        assert_eq!(possible.plan.trials(), 2, "{:?}", possible.left_out);
        RunEstimate::on_files(&registry, &experiment, &possible).trials_s
    }

    /// The seconds of a drain that a trial is estimated at, beside one that leaves nothing.
    fn drain_s(disk: &str, levels: &str) -> f64 {
        let buffered = trials_s(disk, &format!("access = 'buffered'\n{levels}"));
        (buffered - trials_s(disk, &format!("access = 'direct'\n{levels}"))) / 2.0
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
    fn what_is_never_synced_is_drained_at_its_end_for_as_long_as_its_clients_ran() {
        let drain = |disk: &str, more: &str| {
            drain_s(disk, &format!("pattern = 'randwrite'\nsync = 'never'\n{more}"))
        };
        // 200 MiB in places all over a file.
        let scattered = drain("hdd-7200", "size = '1G'\n");
        assert!((scattered - 1.0).abs() < 1e-6, "{scattered}");
        // All of a small one is written in order.
        let whole = drain("hdd-7200", "size = '16M'\n");
        assert!(whole > 0.0 && whole < 0.5, "{whole}");
    }

    #[test]
    fn nothing_is_drained_where_nothing_is_left_or_nobody_knows_how_fast() {
        for (disk, levels) in [
            ("hdd-7200", "pattern = 'randread'\n"),
            ("hdd-7200", "pattern = 'randwrite'\nsync = 'dsync'\n"),
            ("hdd-7200", "pattern = 'randwrite'\nsync = 'fdatasync:1'\n"),
            ("null", "pattern = 'randwrite'\nsync = 'never'\n"),
            ("host", "pattern = 'randwrite'\nsync = 'never'\n"),
        ] {
            let seconds = drain_s(disk, &format!("size = '16M'\n{levels}"));
            assert!(seconds.abs() < 1e-6, "{disk}, {levels}: {seconds}");
        }
    }

    #[test]
    fn a_rate_is_simulated_once_for_all_trials_that_need_it() {
        let drains = Drains::default();
        let disk = bakeoff_devices::models::Models::standard().parse("hdd-7200").unwrap();
        let load = |depth| ClientLoad {
            clients: 1,
            depth,
            reads: 0,
            in_order: false,
            block: 4096,
            span: 1 << 24,
        };
        let first = drains.per_second(&disk, NeighbourLevel::None, load(1));
        assert_eq!(drains.per_second(&disk, NeighbourLevel::None, load(1)), first);
        assert_eq!(drains.0.borrow().len(), 1);
        drains.per_second(&disk, NeighbourLevel::None, load(2));
        drains.per_second(&disk, NeighbourLevel::Streams(1), load(2));
        assert_eq!(drains.0.borrow().len(), 3);
    }
}
