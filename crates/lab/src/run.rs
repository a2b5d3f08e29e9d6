//! A run: the plan's blocks one after the other, each trial staged, driven, measured and recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use bakeoff_disk::neighbour;
use bakeoff_engines::Home;
use bakeoff_experiment::{Block, Cell, Experiment, Factor, HOST, Plan};
use bakeoff_results::{Canary, Cut, RunFolder, Trial};

use crate::canary::Cage;
use crate::job::Data;
use crate::leftovers::{self, WorkFolder};
use crate::{accounts, disk, memory};

mod cuts;
mod elsewhere;
mod images;
mod staging;

pub use cuts::planned_cuts;
use images::Image;
pub(crate) use images::load;
pub use staging::refusal;

/// Bytes that must stay free on the disk: less, and the run stops before something breaks.
pub(crate) const RESERVE: u64 = 64 << 20;
/// Seconds that a trial takes beside its clients' time, as a first guess.
pub const OVERHEAD_S: f64 = 0.4;
/// How often a trial looks whether it is to stop.
const PATIENCE: Duration = Duration::from_millis(50);
/// How much longer than its clients a trial may take, to recover and to drain; and how long a load
/// may say nothing.
const GRACE: Duration = Duration::from_secs(300);
/// How long removing a folder may take.
const REMOVING: Duration = Duration::from_secs(5);
/// A disturbed machine is given so many chances to settle before a block is run on it anyway.
const CANARY_TRIES: u32 = 3;

/// What stops a run.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The disk has too little room for another trial.
    #[error(
        "the disk under {} is too full: {} MB free, {} MB needed; free some, or use --out on another disk",
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
pub(crate) fn wanting<T>(what: &str, result: std::io::Result<T>) -> Result<T, LabError> {
    result.map_err(|source| LabError::Io { what: what.into(), source })
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All planned trials have ended, and power cuts been made; so many of them failed.
    Finished {
        /// Trials and power cuts of this run that failed.
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
    /// An engine can't be used on this machine; its trials are going to fail.
    Unavailable {
        /// Its name.
        engine: &'a str,
        /// What is missing, and what brings it.
        reason: &'a str,
    },
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
    /// The power was cut, and what was left is judged.
    Cut {
        /// How many are made, those that were made before among them.
        made: usize,
        /// Of how many.
        of: usize,
        /// What was found.
        cut: &'a Cut,
        /// Seconds until the last one, if all goes on like this.
        left_s: f64,
    },
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
    /// Its trials, in the order in which they run.
    pub plan: &'a Plan,
    /// Whether a database that somebody else runs may hold tables of bakeoff's own making.
    pub reuse: bool,
    /// Whether crash images that show a broken promise are kept in the run folder.
    pub keep_images: bool,
}

/// What trials are staged with.
struct Stage {
    work: WorkFolder,
    cage: Cage,
    canaries: Vec<Canary>,
    neighbours: Option<(neighbour::File, f64)>,
    /// The image of each data, or why it can't be had.
    images: BTreeMap<Data, Result<Image, String>>,
    /// The databases elsewhere that this run has filled.
    filled: BTreeSet<String>,
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

impl Stage {
    /// A new folder for what a private server keeps beside its data; other engines need none.
    fn runtime(&self, engine: &str) -> Result<Option<PathBuf>, LabError> {
        let found = bakeoff_engines::find(engine);
        if found.is_none_or(|engine| engine.home() != Home::Server) {
            return Ok(None);
        }
        let folder = self.work.path().join("server");
        wanting("the server's folder", std::fs::create_dir(&folder))?;
        Ok(Some(folder))
    }
}

/// Fails unless `needed` bytes are free under `folder`.
pub(crate) fn room(folder: &Path, needed: u64) -> Result<(), LabError> {
    let free = wanting("the free space", accounts::free(folder))?;
    if free < needed {
        return Err(LabError::Full { folder: folder.into(), free, needed });
    }
    Ok(())
}

/// Removes a folder. A server that is being killed may still write in it for a moment.
pub(crate) fn remove(folder: &Path) -> std::io::Result<()> {
    let start = Instant::now();
    while folder.exists() {
        match std::fs::remove_dir_all(folder) {
            Err(error) if start.elapsed() > REMOVING => return Err(error),
            Err(_) => std::thread::sleep(PATIENCE),
            Ok(()) => {}
        }
    }
    Ok(())
}

impl Lab<'_> {
    /// Runs what is not done yet.
    ///
    /// # Errors
    /// What keeps the run as a whole from going on; a trial's own failure is recorded and the
    /// next one is run.
    pub fn run(mut self) -> Result<Ending, LabError> {
        let registry = wanting("the registry of work folders", leftovers::registry())?;
        for path in memory::sweep() {
            self.watch.event(Event::Swept(&path));
        }
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
        room(work.path(), RESERVE)?;
        let cage = wanting("the canary", Cage::new(work.path()))?;
        let mut stage = Stage {
            work,
            cage,
            canaries: self.folder.canaries()?,
            neighbours: None,
            images: BTreeMap::new(),
            filled: BTreeSet::new(),
            number: self.plan.trials()
                - due.iter().map(|due| due.block.trials.len()).sum::<usize>(),
            spent: (0, 0.0),
            waited_s: 0.0,
        };
        self.look_for_engines(&due);
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
        match self.cut_power(stage.work.path())? {
            Some(more) => Ok(Ending::Finished { failed: failed + more }),
            None => Ok(Ending::Interrupted),
        }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The blocks to run. One that was cut short is run again as a whole, since its trials
    /// would no longer be back to back; what it had is kept, but not compared.
    fn due(&mut self) -> Result<Vec<Due>, LabError> {
        let done = self.folder.done()?;
        let mut due = Vec::new();
        for block in &self.plan.blocks {
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
            due.push(Due {
                attempt: attempt.map_or(0, |attempt| attempt + 1),
                block: block.clone(),
            });
        }
        Ok(due)
    }

    /// Says which engines can't be used, before anything is loaded.
    fn look_for_engines(&mut self, due: &[Due]) {
        let trials = due.iter().flat_map(|due| &due.block.trials);
        let names: BTreeSet<_> = trials.map(|trial| trial.cell.base(Factor::Engine)).collect();
        for engine in names {
            if let Err(reason) = staging::available(engine) {
                self.watch.event(Event::Unavailable { engine, reason: &reason });
            }
        }
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

    /// Runs the trials of a block back to back; how many failed, or `None` when stopped.
    fn run_block(&mut self, stage: &mut Stage, due: &Due) -> Result<Option<u32>, LabError> {
        self.take_canary(stage)?;
        let mut failed = 0;
        for planned in &due.block.trials {
            stage.number += 1;
            let number = stage.number;
            let cell = &planned.cell;
            let of = self.plan.trials();
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
        let left = (self.plan.trials() + 1).saturating_sub(number) as f64;
        let (count, seconds) = stage.spent;
        let each = match count {
            0 => self.experiment.seconds + OVERHEAD_S,
            count => seconds / count as f64,
        };
        left * each
    }

    /// Reads the canary; when it is off, gives the machine time to settle, within bounds.
    fn take_canary(&mut self, stage: &mut Stage) -> Result<(), LabError> {
        let patience_s = 0.05 * self.experiment.seconds * self.plan.trials() as f64;
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
}

fn now_s() -> f64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap_or_default().as_secs_f64()
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
