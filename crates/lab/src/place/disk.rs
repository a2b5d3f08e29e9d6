//! The disk under a target's data, real or virtual, and the neighbours on it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bakeoff_devices::ext4::Ext4Counts;
use bakeoff_devices::models::Models;
use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_devices::plug::Metadata;
use bakeoff_devices::spec::Spec;
use bakeoff_disk::control::{DiskControl, Stat};
use bakeoff_disk::executor::Quantiles;
use bakeoff_disk::mount::{Launcher, MountOptions, Mounted};
use bakeoff_disk::neighbour;
use bakeoff_results::measure::{self, Measures, Scope};

use crate::TrialError;
use crate::machine::run_delay::RunDelays;
use crate::machine::usage::Usage;

/// The neighbours' file on the machine's own disk, and the requests a second that one neighbour
/// makes alone.
pub type HostNeighbours = (neighbour::NeighbourFile, f64);

#[derive(Default)]
pub struct DiskObservations {
    pub measures: Measures,
    /// Bytes a second that neighbours wrote to the machine's own disk; 0 on a virtual disk, which
    /// can tell them apart.
    pub neighbour_writes: f64,
    pub warnings: Vec<String>,
}

impl DiskObservations {
    pub fn add(&mut self, later: Self) {
        self.measures.extend(later.measures);
        self.neighbour_writes += later.neighbour_writes;
        self.warnings.extend(later.warnings);
    }
}

pub enum TrialDisk {
    Host(HostDisk),
    Virtual(Box<Virtual>),
}

pub struct HostDisk {
    seed: u64,
    at_work: Option<Box<neighbour::RunningNeighbours>>,
}

/// A virtual disk mounted over a folder. It takes no time except while clients run and the target
/// drains.
pub struct Virtual {
    mounted: Mounted,
    seen_at: PathBuf,
    level: NeighbourLevel,
    /// A device that takes no time has no queue, either.
    timed: bool,
    /// Read at the clients' start, and at their stop.
    before: Option<Stat>,
    after: Option<Stat>,
    /// The daemon's use at the clients' start, and its waits since.
    daemon: Option<(Usage, RunDelays)>,
}

#[derive(Clone, Debug)]
pub struct TrialDiskOptions<'a> {
    pub spec: &'a Spec,
    pub seed: u64,
    /// Keeps the backing files out of the page cache, which then holds the mounted files alone.
    pub uncached: bool,
    pub metadata: Metadata,
    /// A timed trial's disk has calls as cheap as a real one's; a power cut's sees each write.
    pub write_back: bool,
}

/// Mounts a virtual disk in the empty folder `place`, uses it, and removes it.
pub fn try_virtual_disk(launcher: &Launcher, place: &Path) -> Result<(), String> {
    let (files, at) = (place.join("files"), place.join("disk"));
    let wrong = |error: io::Error| format!("{}: {error}", place.display());
    fs::create_dir(&files).map_err(wrong)?;
    let spec = Models::standard().parse("null").map_err(|error| error.to_string())?;
    let options = TrialDiskOptions {
        spec: &spec,
        seed: 1,
        uncached: false,
        metadata: Metadata::default(),
        write_back: true,
    };
    let disk =
        TrialDisk::mount(launcher, options, &files, &at).map_err(|error| error.to_string())?;
    let written = fs::write(at.join("file"), "text");
    disk.unmount().map_err(|error| error.to_string())?;
    written.map_err(wrong)?;
    fs::remove_file(files.join("file")).map_err(wrong)
}

impl TrialDisk {
    pub fn host(seed: u64) -> Self {
        Self::Host(HostDisk { seed, at_work: None })
    }

    pub fn mount(
        launcher: &Launcher,
        options: TrialDiskOptions<'_>,
        files: &Path,
        at: &Path,
    ) -> Result<Self, TrialError> {
        let failed = |error: &dyn std::fmt::Display| {
            TrialError::place_error("its disk can't be mounted", error.to_string())
        };
        fs::create_dir_all(at).map_err(|error| failed(&format!("{}: {error}", at.display())))?;
        let TrialDiskOptions { spec, seed, uncached, metadata, write_back } = options;
        let mut options = MountOptions::new(files, at, &spec.to_string());
        (options.seed, options.timing, options.uncached) = (seed, false, uncached);
        (options.metadata, options.write_back) = (metadata, write_back);
        let mounted = Mounted::start(launcher, &options).map_err(|error| failed(&error))?;
        tracing::debug!(model = options.model, at = %at.display(), "disk mounted");
        let (seen_at, timed) = (at.to_owned(), !spec.is_null());
        Ok(Self::Virtual(Box::new(Virtual {
            mounted,
            seen_at,
            level: NeighbourLevel::None,
            timed,
            before: None,
            after: None,
            daemon: None,
        })))
    }

    /// A virtual disk has a page cache of its own.
    pub fn is_virtual(&self) -> bool {
        matches!(self, Self::Virtual(_))
    }

    pub fn seen_at(&self) -> Option<&Path> {
        match self {
            Self::Host(_) => None,
            Self::Virtual(disk) => Some(&disk.seen_at),
        }
    }

    pub fn control(&self) -> Option<&DiskControl> {
        match self {
            Self::Host(_) => None,
            Self::Virtual(disk) => Some(disk.mounted.control()),
        }
    }

    pub fn begin_trace(&self, file: &Path, hold: Duration) -> Result<(), TrialError> {
        // A failed trial may have left one.
        let _ = fs::remove_file(file);
        self.control().map_or(Ok(()), |control| control.begin_trace(file, hold)).map_err(disk_error)
    }

    pub fn end_trace(&self) -> Result<(), TrialError> {
        self.control().map_or(Ok(()), DiskControl::end_trace).map_err(disk_error)
    }

    /// A virtual disk starts taking time, if it does not do so yet.
    pub fn begin_clients(
        &mut self,
        level: NeighbourLevel,
        hired: Option<&HostNeighbours>,
    ) -> Result<(), TrialError> {
        match self {
            Self::Host(host) => {
                let hired = hired.filter(|_| level != NeighbourLevel::None);
                let start = |(file, alone): &HostNeighbours| {
                    Box::new(neighbour::RunningNeighbours::start(file, level, *alone, host.seed))
                };
                host.at_work = hired.map(start);
                Ok(())
            }
            Self::Virtual(disk) => {
                disk.level = level;
                disk.begin_clients().map_err(disk_error)
            }
        }
    }

    pub fn end_clients(&mut self) -> Result<DiskObservations, TrialError> {
        match self {
            Self::Host(_) => Ok(DiskObservations::default()),
            Self::Virtual(disk) => disk.end_clients().map_err(disk_error),
        }
    }

    /// The clients have stopped, and others follow at once. A virtual disk goes on; neighbours on
    /// the machine's own disk end.
    pub fn handed_on(&mut self) -> Result<DiskObservations, TrialError> {
        match self {
            Self::Host(_) => self.stop_timing(),
            Self::Virtual(disk) => disk.end_clients().map_err(disk_error),
        }
    }

    /// A virtual disk stops taking time, and all neighbours end. May be called twice.
    pub fn stop_timing(&mut self) -> Result<DiskObservations, TrialError> {
        match self {
            Self::Host(host) => {
                Ok(host.at_work.take().map(|it| of_host(it.finish())).unwrap_or_default())
            }
            Self::Virtual(disk) => {
                disk.stop_timing().map_err(disk_error)?;
                Ok(DiskObservations::default())
            }
        }
    }

    /// The drain is over: bytes written to the virtual device since the clients stopped.
    pub fn end_drain(&self) -> Result<Option<u64>, TrialError> {
        let Self::Virtual(disk) = self else { return Ok(None) };
        let Some(after) = &disk.after else { return Ok(None) };
        let now = disk.mounted.control().stat().map_err(disk_error)?;
        Ok(Some(written_bytes(&now.files.since(&after.files))))
    }

    pub fn unmount(self) -> Result<(), TrialError> {
        let Self::Virtual(disk) = self else { return Ok(()) };
        let gone = disk.mounted.unmount();
        gone.map_err(|error| TrialError::place_error("its disk can't be taken away", error))
    }
}

pub fn disk_error(error: impl std::fmt::Display) -> TrialError {
    TrialError::place_error("its disk does not work", error)
}

fn of_host(report: neighbour::NeighbourReport) -> DiskObservations {
    let neighbour_writes = report.written_bytes() as f64 / report.seconds;
    let mut measures = Measures::default();
    measures.set_some(&measure::OFFERED, Scope::Neighbours, report.intended_per_second);
    measures.set(&measure::RATE, Scope::Neighbours, report.achieved_per_second);
    measures.set(&measure::MEAN_LATENCY, Scope::Neighbours, report.mean_s);
    measures.set(&measure::CPU, Scope::Neighbours, report.cpu.as_secs_f64());
    let warnings = report.error.map(|error| format!("the background I/O failed: {error}"));
    DiskObservations { measures, neighbour_writes, warnings: warnings.into_iter().collect() }
}

impl Virtual {
    fn begin_clients(&mut self) -> Result<(), bakeoff_disk::mount::Error> {
        let control = self.mounted.control();
        if self.timed {
            control.set_neighbours(self.level)?;
            // Makes earlier writes durable first.
            control.set_timing(true)?;
        } else {
            control.hand_over()?;
        }
        let stat = control.stat()?;
        let mut delays = RunDelays::from_roots(vec![stat.pid]);
        delays.look();
        self.daemon = Usage::of_family(stat.pid).ok().map(|usage| (usage, delays));
        self.before = Some(stat);
        Ok(())
    }

    fn stop_timing(&mut self) -> Result<(), bakeoff_disk::mount::Error> {
        let control = self.mounted.control();
        // A disk without power has no settings.
        if self.timed && control.stat()?.off_at_ns.is_none() {
            control.set_timing(false)?;
            control.set_neighbours(NeighbourLevel::None)?;
        }
        Ok(())
    }

    fn end_clients(&mut self) -> Result<DiskObservations, bakeoff_disk::mount::Error> {
        let kept = self.mounted.control().hand_over().err();
        let now = self.mounted.control().stat()?;
        let measures = self.before.take().map(|before| measure_between(&before, &now, self.level));
        let mut measures = measures.unwrap_or_default();
        if let Some((before, mut delays)) = self.daemon.take() {
            delays.look();
            let used = Usage::of_family(now.pid).ok().map(|usage| (usage - before).cpu);
            let seconds = |time: std::time::Duration| time.as_secs_f64();
            measures.set_some(&measure::CPU, Scope::DISK_DAEMON, used.map(seconds));
            let waited = delays.total().map(|total| seconds(total.waited));
            measures.set_some(&measure::RUN_DELAY, Scope::DISK_DAEMON, waited);
        }
        self.after = Some(now);
        let kept =
            kept.map(|error| format!("its disk did not take what the kernel held of it: {error}"));
        let warnings = kept.into_iter().collect();
        Ok(DiskObservations { measures, warnings, ..DiskObservations::default() })
    }
}

/// Data and the file system's journal.
fn written_bytes(files: &Ext4Counts) -> u64 {
    files.all.device_writes.bytes + files.journal.bytes
}

fn measure_between(before: &Stat, now: &Stat, level: NeighbourLevel) -> Measures {
    let seconds = now.seconds - before.seconds;
    let per_second = |count: u64| count as f64 / seconds;
    let files = now.files.since(&before.files);
    let device = now.device.since(&before.device);
    let mut measures = Measures::default();
    // All requests that arrive were intended; closed streams send as fast as they can.
    let arrived = device.neighbour_requests + u64::from(now.device.neighbours_in_queue);
    let intended = matches!(level, NeighbourLevel::Share(_)).then(|| per_second(arrived));
    let mean_s = device.neighbour_time_ns as f64 / 1e9 / device.neighbour_requests.max(1) as f64;
    measures.set_some(&measure::OFFERED, Scope::Neighbours, intended);
    measures.set(&measure::RATE, Scope::Neighbours, per_second(device.neighbour_requests));
    measures.set(&measure::MEAN_LATENCY, Scope::Neighbours, mean_s);
    let all = &files.all;
    let counts = [
        (&measure::HOST_WRITES, all.host_writes.requests),
        (&measure::HOST_WRITTEN, all.host_writes.bytes),
        (&measure::WAITED_WRITES, now.waited_writes - before.waited_writes),
        (&measure::READS, all.device_reads.requests),
        (&measure::READ, all.device_reads.bytes),
        (&measure::WRITES, all.device_writes.requests + files.journal.requests),
        (&measure::WRITTEN, written_bytes(&files)),
        (&measure::SYNCS, all.data_syncs + all.full_syncs),
        (&measure::FLUSHES, files.flushes),
    ];
    for (what, count) in counts {
        measures.set(what, Scope::Disk, count as f64);
    }
    measures.set(&measure::UTILISATION, Scope::Disk, device.busy_ns as f64 / 1e9 / seconds);
    let (latency, then) = (&now.latency, &before.latency);
    let mean_s = |then: &Quantiles, now: &Quantiles| {
        let sum = |all: &Quantiles| all.mean_us * all.count as f64;
        let count = now.count.saturating_sub(then.count);
        (count > 0).then(|| 1e-6 * (sum(now) - sum(then)) / count as f64)
    };
    let modelled = mean_s(&then.modelled, &latency.modelled);
    let achieved = mean_s(&then.achieved, &latency.achieved);
    measures.set_some(&measure::MODELLED_LATENCY, Scope::Disk, modelled);
    measures.set_some(&measure::ACHIEVED_LATENCY, Scope::Disk, achieved);
    // Known only for all work since the disk began to take its time.
    if latency.slow > 0 {
        measures.set(&measure::LATENCY_ERROR_MEDIAN, Scope::Disk, latency.error_median);
        measures.set(&measure::LATENCY_ERROR_P99, Scope::Disk, latency.error_p99);
    }
    measures
}
