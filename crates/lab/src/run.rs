//! A run: the plan's blocks one after the other, each trial staged, driven, measured and recorded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use bakeoff_disk::neighbour;
use bakeoff_experiment::{Block, Cell, Experiment, Factor, HOST};
use bakeoff_results::{Canary, Facts, Measured, RunFolder, Trial};

use crate::canary::Cage;
use crate::disk::{self, Disk, Seen};
use crate::job::{self, Data, Job, Message};
use crate::leftovers::{self, WorkFolder};
use crate::process::{Heard, Process};
use crate::{accounts, image};

/// Bytes of cache that every engine gets where memory is not limited.
pub const CACHE_BYTES: u64 = 256 << 20;
/// Bytes that must stay free on the disk: less, and the run stops before something breaks.
const RESERVE: u64 = 64 << 20;
/// Seconds that a trial takes beside its clients' time, as a first guess.
pub const OVERHEAD_S: f64 = 0.4;
/// How often a trial looks whether it is to stop.
const PATIENCE: Duration = Duration::from_millis(50);
/// How much longer than its clients a trial may take, to recover and to drain; and how long a load
/// may say nothing.
const GRACE: Duration = Duration::from_secs(300);
/// A disturbed machine is given so many chances to settle before a block is run on it anyway.
const CANARY_TRIES: u32 = 3;

/// What stops a run.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The disk has too little room for another trial.
    #[error(
        "the disk under {} is full: {} MB free, {} MB needed; free some, or use --out on another disk",
        folder.display(), free / 1_000_000, needed / 1_000_000
    )]
    Full {
        /// The folder on it.
        folder: PathBuf,
        /// Bytes free.
        free: u64,
        /// Bytes needed.
        needed: u64,
    },
    /// The run folder can't be written.
    #[error(transparent)]
    Results(#[from] bakeoff_results::Error),
    /// The neighbours can't run on this disk.
    #[error(transparent)]
    Neighbour(#[from] neighbour::Error),
    /// Something the lab needs from the system.
    #[error("{what}: {source}")]
    Io {
        /// What was wanted.
        what: String,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Names what was wanted when the system says no.
fn wanting<T>(what: &str, result: std::io::Result<T>) -> Result<T, LabError> {
    result.map_err(|source| LabError::Io { what: what.into(), source })
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All planned trials have ended; so many of them failed.
    Finished {
        /// Trials of this run that failed.
        failed: u32,
    },
    /// It was asked to stop.
    Interrupted,
}

/// What a run is doing.
#[derive(Debug)]
pub enum Event<'a> {
    /// What a killed run had left was removed.
    Swept(&'a Path),
    /// One neighbour stream is measured alone.
    MeasuringNeighbour,
    /// Data are being loaded; so many rows so far.
    Loading {
        /// The data.
        data: &'a Data,
        /// Rows so far.
        rows: u64,
    },
    /// Data are loaded, or can't be.
    Loaded {
        /// The data.
        data: &'a Data,
        /// How long it took.
        seconds: f64,
        /// Why they can't be.
        failure: Option<&'a str>,
    },
    /// The machine is disturbed; the run waits a little.
    Unsettled(&'a str),
    /// A trial begins.
    Begins {
        /// Which, from 1, counting those that were done before.
        number: usize,
        /// Of how many.
        of: usize,
        /// Its cell.
        cell: &'a Cell,
        /// Seconds until the whole run will be done, if all goes on like this.
        left_s: f64,
    },
    /// Its clients are at work.
    Progress {
        /// Operations a second, lately.
        per_second: f64,
        /// Mean latency in seconds, lately.
        mean_s: f64,
    },
    /// It has ended.
    Ends(&'a Trial),
}

/// Somebody who wants to know what a run is doing.
pub trait Watch {
    /// Called on the lab's thread; must return at once.
    fn event(&mut self, event: Event<'_>);
}

/// A run in the making.
pub struct Lab<'a> {
    /// The program that is started for each trial: bakeoff itself.
    pub program: &'a Path,
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Where its results go.
    pub folder: &'a mut RunFolder,
    /// Set by somebody else when the run is to stop.
    pub stop: &'a AtomicBool,
    /// Who is told.
    pub watch: &'a mut dyn Watch,
    /// How many trials the plan has.
    pub planned: u32,
}

/// What trials are staged with.
struct Stage {
    work: WorkFolder,
    cage: Cage,
    canaries: Vec<Canary>,
    neighbours: Option<(neighbour::File, f64)>,
    /// The image of each data, or why it can't be had.
    images: BTreeMap<Data, Result<PathBuf, String>>,
    /// The trial that is running, from 1, counting those that were done before.
    number: usize,
    /// Trials done in this process, and the seconds they took.
    spent: (usize, f64),
    /// Seconds spent on waiting for the machine to settle.
    waited_s: f64,
}

/// A block that is still to be run: the whole of it.
struct Due {
    block: Block,
    attempt: u32,
}

impl Lab<'_> {
    /// Runs what is not done yet.
    ///
    /// # Errors
    /// What keeps the run as a whole from going on; a trial's own failure is recorded and the
    /// next one is run.
    pub fn run(mut self) -> Result<Ending, LabError> {
        let registry = wanting("the registry of work folders", leftovers::registry())?;
        // First what is mounted in work folders, then these.
        for path in wanting("left-over mounts", bakeoff_disk::registry::sweep())? {
            self.watch.event(Event::Swept(&path));
        }
        for path in wanting("left-over work folders", leftovers::sweep(&registry))? {
            self.watch.event(Event::Swept(&path));
        }
        let due = self.due()?;
        let place = self.folder.dir().join("work");
        let work = wanting("the work folder", WorkFolder::create(&place, &registry))?;
        self.room(work.path(), RESERVE)?;
        let cage = wanting("the canary", Cage::new(work.path()))?;
        let mut stage = Stage {
            work,
            cage,
            canaries: self.folder.canaries()?,
            neighbours: None,
            images: BTreeMap::new(),
            number: self.planned as usize
                - due.iter().map(|due| due.block.trials.len()).sum::<usize>(),
            spent: (0, 0.0),
            waited_s: 0.0,
        };
        self.hire_neighbours(&mut stage, &due)?;
        self.load_images(&mut stage, &due)?;
        let mut failed = 0;
        for due in &due {
            if self.stopped() {
                return Ok(Ending::Interrupted);
            }
            match self.run_block(&mut stage, due)? {
                Some(count) => failed += count,
                None => return Ok(Ending::Interrupted),
            }
        }
        Ok(Ending::Finished { failed })
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The blocks to run. One that was cut short is run again as a whole, since its trials
    /// would no longer be back to back; what it had is kept, but not compared.
    fn due(&mut self) -> Result<Vec<Due>, LabError> {
        let done = self.folder.done()?;
        let mut due = Vec::new();
        for block in self.experiment.plan().blocks {
            let earlier = done.iter().filter(|trial| trial.block == block.number);
            let attempt = earlier.clone().map(|trial| trial.attempt).max();
            let count = earlier.filter(|trial| Some(trial.attempt) == attempt).count();
            if count == block.trials.len() {
                continue;
            }
            if let Some(attempt) = attempt {
                let reason = "the run was interrupted in this block; it was run again as a whole";
                self.folder.invalidate(block.number, attempt, reason)?;
            }
            due.push(Due { attempt: attempt.map_or(0, |attempt| attempt + 1), block });
        }
        Ok(due)
    }

    /// Fails unless `needed` bytes are free under `folder`.
    fn room(&self, folder: &Path, needed: u64) -> Result<(), LabError> {
        let free = wanting("the free space", accounts::free(folder))?;
        if free < needed {
            return Err(LabError::Full { folder: folder.into(), free, needed });
        }
        Ok(())
    }

    /// Prepares the neighbours' file, if a trial wants neighbours on the machine's own disk, and
    /// measures one alone. A virtual disk has its neighbours in its own queue.
    fn hire_neighbours(&mut self, stage: &mut Stage, due: &[Due]) -> Result<(), LabError> {
        let trials = due.iter().flat_map(|due| &due.block.trials);
        let mut host = trials.map(|t| &t.cell).filter(|c| c.base(Factor::Disk) == HOST);
        if host.all(|cell| disk::neighbours(cell) == neighbour::Level::None) {
            return Ok(());
        }
        self.watch.event(Event::MeasuringNeighbour);
        let file = neighbour::File::prepare(stage.work.path(), neighbour::FILE_BYTES)?;
        let alone = match self.folder.run()?.neighbour_alone_per_second {
            // A resumed run keeps to the terms that it began with.
            Some(alone) => alone,
            None => neighbour::measure_alone(&file, Duration::from_secs(2))?,
        };
        self.folder.set_neighbour_alone(alone)?;
        stage.neighbours = Some((file, alone));
        Ok(())
    }

    fn load_images(&mut self, stage: &mut Stage, due: &[Due]) -> Result<(), LabError> {
        for trial in due.iter().flat_map(|due| &due.block.trials) {
            let data = self.data(&trial.cell);
            if stage.images.contains_key(&data) || self.stopped() {
                continue;
            }
            let start = Instant::now();
            let directory = stage.work.path().join(format!("image-{}", stage.images.len()));
            wanting("the image folder", std::fs::create_dir(&directory))?;
            let job = Job::Load {
                data: data.clone(),
                directory: directory.clone(),
                cache_bytes: CACHE_BYTES,
            };
            let loaded = self.load(&job, &data)?;
            if let Err(reason) = &loaded {
                if !self.stopped() {
                    self.room(stage.work.path(), RESERVE)?;
                }
                let seconds = start.elapsed().as_secs_f64();
                let failure = Some(reason.as_str());
                self.watch.event(Event::Loaded { data: &data, seconds, failure });
            } else {
                let seconds = start.elapsed().as_secs_f64();
                self.watch.event(Event::Loaded { data: &data, seconds, failure: None });
            }
            stage.images.insert(data, loaded.map(|()| directory));
        }
        Ok(())
    }

    fn load(&mut self, job: &Job, data: &Data) -> Result<Result<(), String>, LabError> {
        let process = wanting("a process that loads", Process::start(self.program, job))?;
        self.watch.event(Event::Loading { data, rows: 0 });
        let mut heard = Instant::now();
        loop {
            if heard.elapsed() > GRACE {
                let seconds = GRACE.as_secs();
                return Ok(Err(format!("loading said nothing for {seconds} s")));
            }
            if self.stopped() {
                return Ok(Err("the run was interrupted".into()));
            }
            match process.hear(PATIENCE) {
                Heard::Message(Message::Loaded { rows }) => {
                    heard = Instant::now();
                    self.watch.event(Event::Loading { data, rows });
                }
                Heard::Message(Message::Done(_)) => return Ok(Ok(())),
                Heard::Message(Message::Failed(reason)) => return Ok(Err(reason)),
                Heard::Message(_) | Heard::Silence => {}
                Heard::End => return Ok(Err(process.autopsy())),
            }
        }
    }

    fn data(&self, cell: &Cell) -> Data {
        Data {
            engine: cell.base(Factor::Engine).into(),
            workload: self.experiment.workload.clone(),
            scale: cell.base(Factor::Scale).into(),
            seed: self.experiment.seed,
            text: self.experiment.text.clone(),
        }
    }

    /// Runs the trials of a block back to back; how many failed, or `None` when stopped.
    fn run_block(&mut self, stage: &mut Stage, due: &Due) -> Result<Option<u32>, LabError> {
        self.take_canary(stage)?;
        let mut failed = 0;
        for planned in &due.block.trials {
            stage.number += 1;
            let number = stage.number;
            let cell = &planned.cell;
            let of = self.planned as usize;
            self.watch.event(Event::Begins {
                number,
                of,
                cell,
                left_s: self.left_s(stage, number),
            });
            let start = Instant::now();
            let mut trial = Trial {
                repetition: due.block.repetition,
                block: due.block.number,
                attempt: due.attempt,
                order: planned.order,
                levels: cell.to_map(),
                started_s: now_s(),
                valid: true,
                reason: None,
                measured: None,
            };
            match self.stage_trial(stage, cell, due.block.number)? {
                Ok(measured) => trial.measured = Some(measured),
                Err(_) if self.stopped() => return Ok(None),
                Err(reason) => trial.reason = Some(reason),
            }
            judge(&mut trial);
            self.folder.commit_trial(&trial)?;
            failed += u32::from(!trial.valid);
            self.watch.event(Event::Ends(&trial));
            stage.spent.0 += 1;
            stage.spent.1 += start.elapsed().as_secs_f64();
        }
        Ok(Some(failed))
    }

    /// Seconds until the run is done: each trial that is left takes as long as those so far.
    fn left_s(&self, stage: &Stage, number: usize) -> f64 {
        let left = (self.planned as usize + 1).saturating_sub(number) as f64;
        let (count, seconds) = stage.spent;
        let each = match count {
            0 => self.experiment.seconds + OVERHEAD_S,
            count => seconds / count as f64,
        };
        left * each
    }

    /// Reads the canary; when it is off, gives the machine time to settle, within bounds.
    fn take_canary(&mut self, stage: &mut Stage) -> Result<(), LabError> {
        let patience_s = 0.05 * self.experiment.seconds * f64::from(self.planned);
        for tries in 1..=CANARY_TRIES {
            let mut canary = wanting("the canary", stage.cage.read())?;
            canary.off = disturbed(&stage.canaries, &canary);
            self.folder.commit_canary(&canary)?;
            stage.canaries.push(canary.clone());
            let Some(what) = canary.off else { break };
            if tries == CANARY_TRIES || stage.waited_s > patience_s || self.stopped() {
                break;
            }
            self.watch.event(Event::Unsettled(&what));
            std::thread::sleep(Duration::from_millis(500));
            stage.waited_s += 0.5;
        }
        Ok(())
    }

    /// Restores the image, runs the trial on it and removes it. The inner error is the trial's.
    fn stage_trial(
        &mut self,
        stage: &mut Stage,
        cell: &Cell,
        block: u32,
    ) -> Result<Result<Measured, String>, LabError> {
        let data = self.data(cell);
        let image = match stage.images.get(&data) {
            Some(Ok(image)) => image,
            Some(Err(reason)) => return Ok(Err(format!("its data can't be loaded: {reason}"))),
            None => return Ok(Err("its data were not loaded".into())),
        };
        let bytes = wanting("the image's size", accounts::space(image))?;
        self.room(stage.work.path(), bytes + RESERVE)?;
        let directory = stage.work.path().join("trial");
        let answer = match image::copy(image, &directory, self.stop) {
            Ok(()) => self.on_disk(stage, cell, block, &directory),
            Err(error) => Ok(Err(format!("its data image can't be restored: {error}"))),
        };
        // While the trial's files are still there: a disk that they have filled is no fault of the
        // engine's.
        let room = self.room(stage.work.path(), RESERVE);
        if directory.exists() {
            wanting("removing the trial's folder", std::fs::remove_dir_all(&directory))?;
        }
        match (&answer, room) {
            (Ok(Err(_)), Err(full)) if !self.stopped() => Err(full),
            _ => answer,
        }
    }

    /// Puts the cell's disk under the data in `directory`, runs the trial, and takes it away.
    fn on_disk(
        &mut self,
        stage: &Stage,
        cell: &Cell,
        block: u32,
        directory: &Path,
    ) -> Result<Result<Measured, String>, LabError> {
        if let Some(reason) = disk::refusal(self.experiment, cell) {
            return Ok(Err(reason));
        }
        let (level, seed) = (disk::neighbours(cell), self.experiment.seed);
        let spec = match disk::model(self.experiment, cell) {
            Err(reason) => return Ok(Err(reason)),
            Ok(None) => {
                let file = stage.neighbours.as_ref();
                return self.drive(&self.job(cell, directory), &mut Disk::host(file, level, seed));
            }
            Ok(Some(spec)) => spec,
        };
        // The same for all of a block, another one for the next.
        let seed = seed.wrapping_add(block.into());
        let mountpoint = stage.work.path().join("mount");
        wanting("the mountpoint", std::fs::create_dir(&mountpoint))?;
        let places = (directory, &*mountpoint);
        let answer = match Disk::mount(self.program, &spec, places, level, seed) {
            Err(reason) => Ok(Err(format!("its disk can't be mounted: {reason}"))),
            Ok(mut disk) => {
                let answer = match disk.warm(self.stop) {
                    Ok(()) => self.drive(&self.job(cell, &mountpoint), &mut disk),
                    Err(error) => Ok(Err(format!("its data can't be read: {error}"))),
                };
                let unmounted = disk.unmount();
                answer.map(|trial| trial.and_then(|measured| unmounted.map(|()| measured)))
            }
        };
        wanting("removing the mountpoint", std::fs::remove_dir(&mountpoint))?;
        let sized = |mut measured: Measured| {
            let sizes = accounts::space(directory).map_err(|error| format!("no sizes: {error}"));
            measured.facts.space_bytes = sizes?;
            Ok(measured)
        };
        answer.map(|trial| trial.and_then(sized))
    }

    fn job(&self, cell: &Cell, directory: &Path) -> Job {
        Job::Trial {
            data: self.data(cell),
            directory: directory.into(),
            cache_bytes: CACHE_BYTES,
            durability: cell.base(Factor::Durability).into(),
            clients: cell.clients(),
            seconds: self.experiment.seconds,
        }
    }

    /// Runs a trial's process, with the disk at work while its clients are.
    fn drive(
        &mut self,
        job: &Job,
        disk: &mut Disk<'_>,
    ) -> Result<Result<Measured, String>, LabError> {
        let mut process = wanting("a trial's process", Process::start(self.program, job))?;
        let limit = Duration::from_secs_f64(self.experiment.seconds * 2.0) + GRACE;
        let (start, mut seen) = (Instant::now(), Seen::default());
        loop {
            if self.stopped() {
                return Ok(Err("the run was interrupted".into()));
            }
            if start.elapsed() > limit {
                return Ok(Err(format!("it was not done after {} s", limit.as_secs())));
            }
            match process.hear(PATIENCE) {
                Heard::Message(Message::Ready) => {
                    if let Err(reason) = disk.begin() {
                        return Ok(Err(format!("its disk does not work: {reason}")));
                    }
                    if process.go().is_err() {
                        return Ok(Err(process.autopsy()));
                    }
                }
                Heard::Message(Message::Progress { per_second, mean_s }) => {
                    self.watch.event(Event::Progress { per_second, mean_s });
                }
                Heard::Message(Message::Driven) => match disk.end() {
                    Ok(what) => seen = what,
                    Err(reason) => return Ok(Err(format!("its disk does not work: {reason}"))),
                },
                Heard::Message(Message::Done(Some(measured))) => {
                    return Ok(Ok(combine(*measured, seen)));
                }
                Heard::Message(Message::Failed(reason)) => return Ok(Err(reason)),
                Heard::Message(_) | Heard::Silence => {}
                Heard::End => return Ok(Err(process.autopsy())),
            }
        }
    }
}

fn now_s() -> f64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap_or_default().as_secs_f64()
}

/// Puts together what the process measured and what the disk did.
fn combine(mut measured: job::Measured, seen: Seen) -> Measured {
    measured.warnings.extend(seen.warnings);
    Measured {
        ran_s: measured.ran_s,
        window_s: measured.window_s,
        operations: measured.operations.into_iter().map(Into::into).collect(),
        facts: Facts {
            space_bytes: measured.space_bytes,
            cpu_s: measured.cpu_s,
            io: measured.io,
            neighbour: seen.neighbour,
            disk: seen.disk,
            littles_law: measured.littles_law,
            steady: measured.steady,
            counters: measured.counters,
            warnings: measured.warnings,
        },
    }
}

/// A trial counts when it was measured and at most one operation in a hundred failed.
fn judge(trial: &mut Trial) {
    let Some(measured) = &trial.measured else {
        trial.valid = false;
        return;
    };
    for operation in &measured.operations {
        let done: u64 = operation.slots.iter().map(|slot| slot.histogram.len()).sum();
        if operation.errors * 100 > done {
            trial.valid = false;
            let errors = measured.facts.warnings.join("; ");
            trial.reason = Some(format!("too many operations failed: {errors}"));
        }
    }
}

/// What of a canary is off against the earlier ones, in a few words.
fn disturbed(earlier: &[Canary], canary: &Canary) -> Option<String> {
    Canary::MEASUREMENTS.into_iter().find_map(|(name, seconds)| {
        let now = seconds(canary)?;
        let history: Vec<f64> = earlier.iter().filter_map(seconds).collect();
        bakeoff_stats::canary::is_off(&history, now)
            .then(|| format!("{name} takes {:.2} ms, unlike before", now * 1e3))
    })
}
