//! The procedure `drive`: the clients work for a while, then what was put off is done.
//!
//! The data are restored, the disk mounted, the page cache warmed and memory limited; a process of
//! its own opens the target, and while its clients are at work the disk takes its time and its
//! neighbours are there. So they are while the target drains: what it has put off costs what it costs
//! then.

mod conditioning;
mod debts;
mod first;
mod inside;
mod measure;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use bakeoff_devices::plug::Metadata;
use bakeoff_experiment::State;
use bakeoff_results::Measured;
use bakeoff_results::measure::{self as measures, DATABASE_GROUP, Measures, Scope};

use super::{GRACE, Inside, Outcome, PATIENCE, Procedure, Stage, told};
use crate::TrialError;
use crate::driving::Drive;
use crate::error::wanting;
use crate::machine::accounts;
use crate::machine::suspect::MachineAccount;
use crate::place::disk::{Disk, Options, Seen};
use crate::place::limits::Limits;
use crate::place::{self, Place, RESERVE, Staged, room};
use crate::process::job::{Message, Task};
use crate::process::{Process, Received};
use crate::spec::{DiskSpec, TrialSpec};
use crate::watch::Event;

/// Its name.
const NAME: &str = "drive";

/// What of it is done inside.
pub(crate) static INSIDE: Inside =
    Inside { name: NAME, perform: |data, within| inside::perform(&told(data)?, within) };

/// How long a drain on the machine's own disk may take, however short its clients ran.
const HOST_DRAIN: Duration = Duration::from_secs(120);

/// What a trial's process is told, to drive its clients.
pub fn task(drive: &Drive) -> Task {
    Task::inside(NAME, drive)
}

/// See the module.
#[derive(Clone, Debug)]
pub struct DriveProcedure(pub Drive);

impl Procedure for DriveProcedure {
    fn name(&self) -> &'static str {
        NAME
    }

    fn run(&self, stage: &mut Stage<'_>, trial: &TrialSpec) -> Result<Outcome, TrialError> {
        let measured = if trial.setup.external {
            self.external(stage, trial)
        } else {
            self.here(stage, trial)
        };
        measured.map(|measured| Outcome::Measured(Box::new(measured)))
    }
}

impl DriveProcedure {
    /// On a server that somebody else runs there is no image to restore: its database is emptied
    /// and loaded anew.
    fn external(&self, stage: &mut Stage<'_>, trial: &TrialSpec) -> Result<Measured, TrialError> {
        let setup = &trial.setup;
        let reuse = stage.reuse || stage.filled.contains(&setup.recipe.into);
        let place = Place { reuse, ..Place::default() };
        stage.note_settings(trial, &place);
        stage
            .claim(setup)
            .and_then(|()| stage.load(setup, place.clone()))
            .map_err(|e| e.because(|why| format!("its data can't be loaded: {why}")))?;
        // From here on the tables are this run's own.
        stage.filled.insert(setup.recipe.into.clone());
        let place = Place { reuse: true, ..place };
        let mut disk = Disk::host(trial.neighbours, trial.seed);
        self.drive(stage, trial, &place, &mut disk, &Limits::default())
    }

    /// Restores the image, runs the trial on it and removes it.
    fn here(&self, stage: &mut Stage<'_>, trial: &TrialSpec) -> Result<Measured, TrialError> {
        let image = stage.image(&trial.setup)?;
        let memory = trial.memory.bytes(image.loaded_bytes);
        let limits = Limits::create(memory.map(|bytes| (DATABASE_GROUP, bytes)))?;
        let files = stage.work.join("trial");
        let measured = image
            .restore(&files, !limits.is_empty() || self.0.state == State::Cold, stage.stop)
            .and_then(|()| self.on_files(stage, trial, &files, limits));
        // While the trial's files are still there: a disk that they have filled is no fault of the
        // target's.
        let left = room(stage.work, RESERVE);
        wanting("removing the trial's folder", place::remove(&files))?;
        match (measured, left) {
            (Err(_), Err(full)) if !stage.stopped() => Err(full.into()),
            (measured, _) => measured,
        }
    }

    /// Puts the disk under the files, runs the trial, and takes the disk away.
    fn on_files(
        &self,
        stage: &mut Stage<'_>,
        trial: &TrialSpec,
        files: &Path,
        limits: Limits,
    ) -> Result<Measured, TrialError> {
        let mountpoint = stage.work.join("mount");
        let disk = match &trial.disk {
            DiskSpec::Host => Disk::host(trial.neighbours, trial.seed),
            DiskSpec::Virtual(spec) => {
                let options = Options {
                    spec,
                    level: trial.neighbours,
                    seed: trial.seed,
                    uncached: !limits.is_empty(),
                    metadata: Metadata::default(),
                };
                Disk::mount(stage.launcher, options, files, &mountpoint)?
            }
        };
        let is_virtual = disk.is_virtual();
        let mut staged =
            Staged::new(&trial.setup.groups, disk, files, trial.setup.runtime(stage.work), limits)?;
        let measured = self.in_place(stage, trial, &mut staged);
        let measured = staged.limits().judge(measured);
        let closed = staged.close();
        if is_virtual {
            wanting("removing the mountpoint", fs::remove_dir(&mountpoint))?;
        }
        let mut measured = measured.and_then(|measured| closed.map(|()| measured))?;
        if is_virtual {
            // The backing files' own size, now that everything has reached them.
            let space = accounts::space(files).map_err(|e| TrialError::place("no sizes", e))?;
            measured.measures.set(&measures::SPACE, Scope::Trial, space as f64);
        }
        Ok(measured)
    }

    /// Warms the page cache up and runs the trial, within its memory.
    fn in_place(
        &self,
        stage: &mut Stage<'_>,
        trial: &TrialSpec,
        staged: &mut Staged,
    ) -> Result<Measured, TrialError> {
        let place = staged.place().clone();
        // Files that were just restored to the machine's own disk are in the page cache, unless
        // they were taken out of it.
        let warm = self.0.state != State::Cold;
        if warm && (!staged.limits().is_empty() || staged.disk.is_virtual()) {
            let process = stage.start(&trial.setup, place.clone(), Task::Read)?;
            finished(stage, process)
                .map_err(|e| e.because(|why| format!("its data can't be read: {why}")))?;
        }
        stage.note_settings(trial, &place);
        let (disk, limits) = staged.disk_and_limits();
        self.drive(stage, trial, &place, disk, limits)
    }

    /// How long a trial's process has from its start: for the cap of its window, as long again for
    /// its drain, and for what comes before and after them.
    fn most(&self) -> Duration {
        self.0.cap() * 2 + GRACE
    }

    /// Runs the trial's process, with the disk at work while its clients are and while it drains.
    fn drive(
        &self,
        stage: &mut Stage<'_>,
        trial: &TrialSpec,
        place: &Place,
        disk: &mut Disk,
        limits: &Limits,
    ) -> Result<Measured, TrialError> {
        let mut process = stage.start(&trial.setup, place.clone(), task(&self.0))?;
        let (mut start, most) = (Instant::now(), self.most());
        let (mut seen, mut memory) = (Seen::default(), Measures::default());
        let mut machine = MachineAccount::now();
        let mut drain = Drain::default();
        loop {
            stage.go_on()?;
            if start.elapsed() > most {
                let seconds = most.as_secs();
                return Err(TrialError::process(format!("it was not done after {seconds} s")));
            }
            if drain.is_overdue(disk.is_virtual()) {
                drain.cut_off = Some(drain.elapsed());
                seen.add(disk.end()?);
                // On a disk that takes no time any more it soon ends. The machine's own goes on as it
                // does, and is not waited for.
                if let Some(early) = drain.early.take_if(|_| !disk.is_virtual()) {
                    return Ok(drain.put(combine(*early, seen, None), memory));
                }
            }
            match process.receive(PATIENCE) {
                Received::Message(Message::Conditioning { done, of }) => {
                    // However long it takes, it gets on.
                    start = Instant::now();
                    stage.watch.event(Event::Conditioning { done, of });
                }
                Received::Message(Message::Ready) => {
                    disk.begin(stage.hired.as_ref())?;
                    machine = MachineAccount::now();
                    drain.clients = Some(Instant::now());
                    process = process.go()?;
                }
                Received::Message(Message::Progress { per_second, mean_s }) => {
                    stage.watch.event(Event::Progress { per_second, mean_s });
                }
                Received::Message(Message::Driven(early)) => {
                    tracing::debug!("the clients have stopped");
                    let others = MachineAccount::now().since(&machine);
                    seen = disk.driven()?;
                    seen.measures.extend(others);
                    memory = limits.account();
                    drain.begin(early);
                }
                Received::Message(Message::Done(Some(measured))) => {
                    let drained = disk.drained()?;
                    seen.add(disk.end()?);
                    let measured = drain.put(combine(*measured, seen, drained), memory);
                    return Ok(measured);
                }
                Received::Message(Message::Failed(reason)) => return Err(reason),
                Received::Message(_) | Received::Nothing => {}
                Received::End => return Err(TrialError::process(process.exit_report())),
            }
        }
    }
}

/// How long a drain may take.
#[derive(Default)]
struct Drain {
    /// When the clients started.
    clients: Option<Instant>,
    /// When they had stopped, and how long they had run.
    began: Option<(Instant, Duration)>,
    /// What was known before it.
    early: Option<Box<Measured>>,
    /// How long it had taken when it was cut off.
    cut_off: Option<Duration>,
}

impl Drain {
    fn begin(&mut self, early: Option<Box<Measured>>) {
        let ran = self.clients.map_or(Duration::ZERO, |clients| clients.elapsed());
        (self.began, self.early) = (Some((Instant::now(), ran)), early);
    }

    fn elapsed(&self) -> Duration {
        self.began.map_or(Duration::ZERO, |(began, _)| began.elapsed())
    }

    /// Whether it takes longer than the clients have run. Nothing is learnt from more: a debt that
    /// takes longer to pay than to run up is one that grows. The machine's own disk can't be told to
    /// be quick, so that there a trial would end without its drain: it is given more time.
    fn is_overdue(&self, is_virtual: bool) -> bool {
        let least = if is_virtual { Duration::ZERO } else { HOST_DRAIN };
        let longest = self.began.map(|(_, ran)| ran.max(least));
        self.cut_off.is_none() && longest.is_some_and(|longest| self.elapsed() > longest)
    }

    /// What was measured, with the memory used. Of a drain that was cut off it is how long it had taken
    /// until then.
    fn put(&self, mut measured: Measured, memory: Measures) -> Measured {
        let measures = &mut measured.measures;
        measures.extend(memory);
        if let Some(after) = self.cut_off {
            measures.set(&measures::DRAIN, Scope::Trial, after.as_secs_f64());
            measures.set(&measures::DRAIN_CUT_OFF, Scope::Trial, 1.0);
        }
        measured
    }
}

/// Waits until a process has done a job that measures nothing.
fn finished(stage: &Stage<'_>, process: Process) -> Result<(), TrialError> {
    loop {
        stage.go_on()?;
        match process.receive(PATIENCE) {
            Received::Message(Message::Done(_)) => return Ok(()),
            Received::Message(Message::Failed(reason)) => return Err(reason),
            Received::Message(_) | Received::Nothing => {}
            Received::End => return Err(TrialError::process(process.exit_report())),
        }
    }
}

/// Puts together what the process measured and what the disk did. A virtual disk knows best what
/// reached its device, and what was made durable on it.
fn combine(mut measured: Measured, seen: Seen, drained: Option<u64>) -> Measured {
    let drain_s = measured.measures.get(&measures::DRAIN, &Scope::Trial).unwrap_or(0.0);
    let neighbours = (seen.neighbour_writes * (measured.ran_s + drain_s)) as u64;
    measured.measures.extend(seen.measures);
    let measures = &mut measured.measures;
    measures.set_some(&measures::DRAIN_WRITTEN, Scope::Disk, drained.map(|bytes| bytes as f64));
    let sum = |scope: &Scope| {
        let written = measures.get(&measures::WRITTEN, scope);
        written.zip(measures.get(&measures::DRAIN_WRITTEN, scope)).map(|(a, b)| a + b)
    };
    let device = sum(&Scope::Device);
    let work = sum(&Scope::Disk).or_else(|| {
        let processes = sum(&Scope::DATABASE)?;
        Some(device_bytes(processes as u64, device.map(|bytes| bytes as u64), neighbours) as f64)
    });
    measures.set_some(&measures::WORK_WRITTEN, Scope::Trial, work);
    measured.warnings.extend(seen.warnings);
    measured
}

/// Bytes that went to the machine's own disk: the lesser of what the kernel counted for the target's
/// processes and of what anybody but the neighbours wrote to the whole device. Both can be too high.
/// The first takes a small write into a large folio of the page cache for all of the folio (ext4
/// has large folios since Linux 6.16); the second has everybody's writes.
fn device_bytes(processes: u64, device: Option<u64>, neighbours: u64) -> u64 {
    let others = device.map(|device| device.saturating_sub(neighbours));
    others.map_or(processes, |device| device.min(processes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_neighbours_write_is_not_the_engines() {
        assert_eq!(device_bytes(9000, Some(10_500), 0), 9000, "other processes write, too");
        assert_eq!(device_bytes(9000, Some(10_500), 8000), 2500);
        assert_eq!(device_bytes(9000, Some(1500), 8000), 0);
        assert_eq!(device_bytes(9000, None, 8000), 9000, "a file system without a device");
    }
}
