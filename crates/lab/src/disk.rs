//! The disk under a trial's data: the machine's own, or a virtual one that is mounted for the
//! trial; and who else is on it while the clients are at work.

use std::fs;
use std::io;
use std::path::Path;

use bakeoff_devices::ext4::Counts;
use bakeoff_devices::neighbour::Level;
use bakeoff_devices::spec::Spec;
use bakeoff_disk::control::Stat;
use bakeoff_disk::mount::{Launcher, MountOptions, Mounted};
use bakeoff_disk::neighbour;
use bakeoff_experiment::{Cell, Experiment, Factor, HOST, Neighbours};
use bakeoff_results as results;

/// The hidden command that makes bakeoff a disk's daemon.
const DAEMON: &str = "disk-daemon";

/// `program`, which is bakeoff, as a disk's daemon.
pub fn launcher(program: &Path) -> Launcher {
    Launcher { program: program.into(), arguments: vec![DAEMON.into()] }
}

/// What the disk did while the clients ran.
#[derive(Default)]
pub struct Seen {
    /// What the other load did.
    pub neighbour: results::Neighbour,
    /// Bytes a second that the other load wrote to the machine's own disk; 0 on a virtual one,
    /// which tells them from the engine's.
    pub neighbour_writes: f64,
    /// What a virtual disk did.
    pub disk: Option<results::Disk>,
    /// What a reader should know.
    pub warnings: Vec<String>,
}

/// The disk of one trial.
pub enum Disk<'a> {
    /// The machine's own.
    Host(Host<'a>),
    /// A mounted one.
    Virtual(Box<Virtual>),
}

/// The machine's own disk.
pub struct Host<'a> {
    /// The neighbours' file, and how many requests a second one of them makes alone.
    file: Option<&'a (neighbour::File, f64)>,
    level: Level,
    /// Seeds the neighbours.
    seed: u64,
    /// They, while the clients run.
    at_work: Option<Box<neighbour::Neighbours>>,
}

/// A virtual disk that is mounted over a folder. Its device stands still, and works at once,
/// except while the clients run.
pub struct Virtual {
    mounted: Mounted,
    level: Level,
    /// A device that takes no time has no queue, either.
    timed: bool,
    /// What it had done when the clients started, and when they had stopped.
    before: Option<Stat>,
    after: Option<Stat>,
}

/// How a virtual disk is mounted.
pub struct Options<'a> {
    /// The device.
    pub spec: &'a Spec,
    /// Who else is on it.
    pub level: Level,
    /// Seeds both.
    pub seed: u64,
    /// Whether the backing files are kept out of the page cache, which is to hold the mounted ones
    /// alone.
    pub uncached: bool,
}

/// Mounts a virtual disk in the empty folder `place`, uses it, and takes it away again. `program` is
/// bakeoff.
///
/// # Errors
/// What keeps it from working, and what to do.
pub fn try_virtual_disk(program: &Path, place: &Path) -> Result<(), String> {
    let (files, at) = (place.join("files"), place.join("disk"));
    let wrong = |error: io::Error| format!("{}: {error}", place.display());
    fs::create_dir(&files).map_err(wrong)?;
    fs::create_dir(&at).map_err(wrong)?;
    let spec = Spec::parse("null").map_err(|error| error.to_string())?;
    let options = Options { spec: &spec, level: Level::None, seed: 1, uncached: false };
    let disk = Disk::mount(program, options, (&files, &at))?;
    let written = fs::write(at.join("file"), "text");
    disk.unmount()?;
    written.map_err(wrong)?;
    fs::remove_file(files.join("file")).map_err(wrong)
}

/// The model of the cell's disk; `None` for the machine's own.
pub fn model(experiment: &Experiment, cell: &Cell) -> Result<Option<Spec>, String> {
    match cell.base(Factor::Disk) {
        HOST => Ok(None),
        name => named(experiment, name).map(Some),
    }
}

/// The model of that name: one of the experiment's own, or one that is built in.
pub fn named(experiment: &Experiment, name: &str) -> Result<Spec, String> {
    match experiment.disks.get(name) {
        Some(table) => Spec::from_table(table),
        None => Spec::parse(name),
    }
    .map_err(|error| error.to_string())
}

/// Why a cell can't be run on its disk, if it can't.
pub fn refusal(experiment: &Experiment, cell: &Cell) -> Option<String> {
    match model(experiment, cell) {
        Err(reason) => Some(reason),
        Ok(Some(spec)) if spec.is_null() && neighbours(cell) != Level::None => Some(format!(
            "the disk {} has no queue for neighbours to stand in",
            cell.get(Factor::Disk)
        )),
        Ok(_) => None,
    }
}

/// The other load that a cell wants.
pub fn neighbours(cell: &Cell) -> Level {
    match cell.neighbours() {
        Neighbours::None => Level::None,
        Neighbours::Percent(percent) => Level::Share(f64::from(percent) / 100.0),
        Neighbours::Streams(count) => Level::Streams(count),
    }
}

impl<'a> Disk<'a> {
    /// The machine's own disk, with the neighbours that are hired.
    pub fn host(file: Option<&'a (neighbour::File, f64)>, level: Level, seed: u64) -> Self {
        Self::Host(Host { file, level, seed, at_work: None })
    }

    /// Mounts a virtual disk over the folder `backing`, to be seen in the empty folder `at`.
    pub fn mount(
        program: &Path,
        options: Options<'_>,
        (backing, at): (&Path, &Path),
    ) -> Result<Self, String> {
        let Options { spec, level, seed, uncached } = options;
        let mut options = MountOptions::new(backing, at, &spec.to_string());
        (options.seed, options.timing, options.uncached) = (seed, false, uncached);
        let mounted =
            Mounted::start(&launcher(program), &options).map_err(|error| error.to_string())?;
        let timed = !spec.is_null();
        Ok(Self::Virtual(Box::new(Virtual { mounted, level, timed, before: None, after: None })))
    }

    /// Whether it is mounted, with a page cache of its own.
    pub fn is_virtual(&self) -> bool {
        matches!(self, Self::Virtual(_))
    }

    /// The clients are about to start.
    pub fn begin(&mut self) -> Result<(), String> {
        match self {
            Self::Host(host) => {
                let hired = host.file.filter(|_| host.level != Level::None);
                let start = |(file, alone): &(_, _)| {
                    Box::new(neighbour::Neighbours::start(file, host.level, *alone, host.seed))
                };
                host.at_work = hired.map(start);
                Ok(())
            }
            Self::Virtual(disk) => disk.begin().map_err(|error| error.to_string()),
        }
    }

    /// The clients have stopped.
    pub fn end(&mut self) -> Result<Seen, String> {
        match self {
            Self::Host(host) => {
                Ok(host.at_work.take().map(|it| of_host(it.finish())).unwrap_or_default())
            }
            Self::Virtual(disk) => disk.end().map_err(|error| error.to_string()),
        }
    }

    /// The engine has done what it had put off: bytes written to a virtual disk's device since the
    /// clients stopped.
    pub fn drained(&self) -> Result<Option<u64>, String> {
        let Self::Virtual(disk) = self else { return Ok(None) };
        let Some(after) = &disk.after else { return Ok(None) };
        let now = disk.mounted.control().stat().map_err(|error| error.to_string())?;
        Ok(Some(written(&now.files.since(&after.files))))
    }

    /// Takes a virtual disk away.
    pub fn unmount(self) -> Result<(), String> {
        match self {
            Self::Host(_) => Ok(()),
            Self::Virtual(disk) => disk.mounted.unmount().map_err(|error| error.to_string()),
        }
    }
}

fn of_host(report: neighbour::Report) -> Seen {
    let neighbour_writes = report.written() as f64 / report.seconds;
    let warnings = report.error.map(|error| format!("a neighbour failed: {error}"));
    Seen {
        neighbour: results::Neighbour {
            intended_per_second: report.intended_per_second,
            achieved_per_second: report.achieved_per_second,
            mean_s: report.mean_s,
        },
        neighbour_writes,
        disk: None,
        warnings: warnings.into_iter().collect(),
    }
}

impl Virtual {
    fn begin(&mut self) -> Result<(), bakeoff_disk::mount::Error> {
        let control = self.mounted.control();
        if self.timed {
            control.set_neighbours(self.level)?;
            // What was written before is lasting first.
            control.set_timing(true)?;
        }
        self.before = Some(control.stat()?);
        Ok(())
    }

    fn end(&mut self) -> Result<Seen, bakeoff_disk::mount::Error> {
        let control = self.mounted.control();
        let now = control.stat()?;
        // A disk that is off has nothing to set.
        if self.timed && now.off_at_ns.is_none() {
            control.set_timing(false)?;
            control.set_neighbours(Level::None)?;
        }
        let seen = self.before.take().map(|before| seen(&before, &now, self.level));
        self.after = Some(now);
        Ok(seen.unwrap_or_default())
    }
}

/// Bytes that the device was given to write: data, and the file system's journal.
fn written(files: &Counts) -> u64 {
    files.all.device_writes.bytes + files.journal.bytes
}

/// What was done between two moments, the timing being on.
fn seen(before: &Stat, now: &Stat, level: Level) -> Seen {
    let seconds = now.seconds - before.seconds;
    let per_second = |count: u64| count as f64 / seconds;
    let files = now.files.since(&before.files);
    let latency = &now.latency;
    let answered = (latency.modelled.count > 0).then_some(1e-6);
    let slow = (latency.slow > 0).then_some(latency);
    let device = now.device.since(&before.device);
    // All that arrive are intended; closed streams send as fast as they can.
    let arrived = device.neighbour_requests + u64::from(now.device.neighbours_in_queue);
    let intended = matches!(level, Level::Share(_)).then(|| per_second(arrived));
    Seen {
        neighbour_writes: 0.0,
        neighbour: results::Neighbour {
            intended_per_second: intended,
            achieved_per_second: per_second(device.neighbour_requests),
            mean_s: device.neighbour_time_ns as f64 / 1e9 / device.neighbour_requests.max(1) as f64,
        },
        disk: Some(results::Disk {
            host_writes: files.all.host_writes.requests,
            host_write_bytes: files.all.host_writes.bytes,
            reads: files.all.device_reads.requests,
            read_bytes: files.all.device_reads.bytes,
            writes: files.all.device_writes.requests + files.journal.requests,
            write_bytes: written(&files),
            drain_write_bytes: None,
            syncs: Some(files.all.data_syncs + files.all.full_syncs),
            flushes: files.flushes,
            utilisation: device.busy_ns as f64 / 1e9 / seconds,
            modelled_mean_s: answered.map(|micro| latency.modelled.mean_us * micro),
            achieved_mean_s: answered.map(|micro| latency.achieved.mean_us * micro),
            error_median: slow.map(|latency| latency.error_median),
            error_p99: slow.map(|latency| latency.error_p99),
        }),
        warnings: Vec::new(),
    }
}
