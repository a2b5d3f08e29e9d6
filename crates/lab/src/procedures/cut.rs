//! The procedure `cut`: the clients are at work on a virtual disk when its power goes, and what the
//! disk may hold then is held against what they were promised.
//!
//! From the same data image each time: the disk is mounted, a process of its own drives the target,
//! the power goes at a moment that a seed has drawn, that process is killed; then, for each rule
//! for what a power cut leaves ([`Keep`]), the crash image is made and another process recovers,
//! checks and audits it. If it is asked for, the power goes once more meanwhile, by the same rule,
//! and what the second cut leaves is audited.

mod again;
mod claims;
mod inside;
mod judge;
mod moment;
mod power;
mod source;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bakeoff_devices::neighbour::Level;
use bakeoff_devices::plug::{Keep, Metadata};
use bakeoff_engines::Durability;
use bakeoff_results::{Cut, FileSystem, Promised};

use self::inside::Part;
use self::moment::Moment;
use super::{Inside, Outcome, Procedure, Stage, told};
use crate::error::wanting;
use crate::place::disk::{Disk, Options};
use crate::place::limits::Limits;
use crate::place::{self, Place, RESERVE, Staged, remove, room};
use crate::process::Process;
use crate::process::job::{Message, Task};
use crate::spec::{DiskSpec, TrialSpec};
use crate::{MachineError, TrialError};

/// Its name.
const NAME: &str = "cut";

/// What of it is done inside.
pub(crate) static INSIDE: Inside =
    Inside { name: NAME, perform: |data, within| inside::perform(&told(data)?, within) };

/// How long a target may take to open, and to open, check and read a crash image, if nothing else
/// is said.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// See the module.
#[derive(Clone, Debug)]
pub struct CutProcedure {
    /// The engine's name, for the record.
    pub engine: String,
    /// The durability level.
    pub durability: Durability,
    /// What that level says: what the cut is judged by.
    pub promised: Promised,
    /// Which of this engine's and level's cuts it is, from 0.
    pub number: u32,
    /// How many clients are at work.
    pub clients: usize,
    /// The rules by which it is judged.
    pub keep: Vec<Keep>,
    /// Whether the power goes a second time, while the target recovers from the first.
    pub recovery: bool,
    /// How names become durable on the disk.
    pub metadata: Metadata,
    /// Where crash images go that show a broken promise, if they are to be kept.
    pub keep_images: Option<PathBuf>,
    /// How long the target may take to open, and to open, check and read a crash image: after that
    /// it counts as corrupt.
    pub patience: Duration,
}

impl Procedure for CutProcedure {
    fn name(&self) -> &'static str {
        NAME
    }

    /// What keeps the cut from saying something of the promise is in its record.
    fn run(&self, stage: &mut Stage<'_>, trial: &TrialSpec) -> Result<Outcome, TrialError> {
        room(stage.work, RESERVE)?;
        let seed = moment::seed(trial.seed, &self.engine, self.durability, self.number);
        let moment = Moment::draw(seed, self.durability);
        let mut record = self.record(seed, &moment);
        let work = stage.work.join("cut");
        stage.note_settings(trial, &Place::default());
        let made = stage.image(&trial.setup).and_then(|image| {
            wanting("the cut's folder", fs::create_dir(&work))?;
            let files = work.join("data");
            image.copy(&files, place::Sync::No, stage.stop)?;
            let bench = Bench { procedure: self, stage, trial, work: &work };
            bench.make(&files, &moment, &mut record)
        });
        // While its files are still there: a disk that they have filled is no fault of the target's.
        let made = stage.unless_full(made);
        wanting("removing the cut's folder", remove(&work))?;
        stage.go_on()?;
        match made {
            Err(error) if error.stops_the_run() => return Err(error),
            Err(error) => record.failed = Some(error.to_string()),
            Ok(()) => {}
        }
        Ok(Outcome::Cut(Box::new(record)))
    }
}

impl CutProcedure {
    /// The record of a cut of which nothing is known yet.
    fn record(&self, seed: u64, moment: &Moment) -> Cut {
        Cut {
            engine: self.engine.clone(),
            durability: self.durability.name().into(),
            file_system: match self.metadata {
                Metadata::Ordered => FileSystem::Ext4,
                Metadata::Posix => FileSystem::Posix,
            },
            promised: self.promised,
            clients: self.clients,
            number: self.number,
            seed,
            moment: moment.describe(),
            ran_s: 0.0,
            acknowledged: 0,
            judged: Vec::new(),
            failed: None,
        }
    }

    /// The record of a cut that can't be made.
    pub fn refused(&self, reason: String) -> Cut {
        let moment = Moment::draw(0, self.durability);
        let (promised, failed) = (Promised::Nothing, Some(reason));
        Cut { promised, clients: 0, moment: String::new(), failed, ..self.record(0, &moment) }
    }
}

/// A cut in the making.
struct Bench<'a, 's> {
    procedure: &'a CutProcedure,
    stage: &'a Stage<'s>,
    trial: &'a TrialSpec,
    /// The cut's own folder.
    work: &'a Path,
}

/// A cut that has happened.
struct Gone {
    /// The disk without its power.
    disk: Disk,
    /// When it went, in nanoseconds of `CLOCK_MONOTONIC`.
    off_at_ns: u64,
    /// What the clients claimed.
    claims: PathBuf,
}

impl Bench<'_, '_> {
    /// Cuts the power and judges what is left by each rule.
    fn make(&self, files: &Path, moment: &Moment, record: &mut Cut) -> Result<(), TrialError> {
        let gone = self.pull(files, moment, record)?;
        for keep in &self.procedure.keep {
            let (acknowledged, judged) = self.judge(&gone, *keep, record)?;
            // Of an image that never opens nobody learns how many.
            record.acknowledged = record.acknowledged.max(acknowledged);
            record.judged.push(judged);
        }
        gone.disk.unmount()
    }

    /// Puts the clients to work on a disk over `files`, and lets the power go.
    fn pull(&self, files: &Path, moment: &Moment, record: &mut Cut) -> Result<Gone, TrialError> {
        let claims = self.work.join("claims");
        wanting("the folder of claims", fs::create_dir(&claims))?;
        let staged = self.place(files, &self.work.join("mount"), record.seed)?;
        let part = Part::Claim { clients: self.procedure.clients, claims: claims.clone() };
        let task = Task::inside(NAME, &part);
        let process = self.stage.start(&self.trial.setup, staged.place().clone(), task)?;
        let process = self.ready(process)?;
        let control = staged.disk.control().ok_or_else(powerless)?;
        let off = self.power_down(process, control, moment, |_| false)?;
        if let Some(how) = off.early {
            return Err(TrialError::process(how));
        }
        record.ran_s = off.at_ns.saturating_sub(off.start_ns) as f64 / 1e9;
        for message in off.received {
            match message {
                Message::Failed(reason) => return Err(reason),
                Message::Stopped { at_ns, reason } if at_ns < off.at_ns => {
                    let what = "a client failed before the power was cut";
                    return Err(TrialError::Engine(format!("{what}: {reason}")));
                }
                _ => {}
            }
        }
        let disk = staged.into_disk()?;
        Ok(Gone { disk, off_at_ns: off.at_ns, claims })
    }

    /// Stages the target over `files`, on a disk that is seen in the new folder `at` and works at
    /// once.
    fn place(&self, files: &Path, at: &Path, seed: u64) -> Result<Staged, TrialError> {
        let DiskSpec::Virtual(spec) = &self.trial.disk else { return Err(powerless()) };
        let metadata = self.procedure.metadata;
        let options = Options { spec, level: Level::None, seed, uncached: false, metadata };
        let disk = Disk::mount(self.stage.launcher, options, files, at)?;
        let setup = &self.trial.setup;
        Staged::new(&setup.groups, disk, files, setup.runtime(self.work), Limits::default())
    }

    /// Starts a process that is to recover, check and audit what is in a place.
    fn auditor(&self, staged: &Staged, gone: &Gone) -> Result<Process, TrialError> {
        let part = Part::Audit { claims: gone.claims.clone(), off_at_ns: gone.off_at_ns };
        let task = Task::inside(NAME, &part);
        self.ready(self.stage.start(&self.trial.setup, staged.place().clone(), task)?)
    }
}

fn powerless() -> TrialError {
    TrialError::User("the power of this machine's own disk can't be cut".into())
}

/// Removes a folder.
fn tidy(folder: &Path) -> Result<(), MachineError> {
    wanting(&folder.display().to_string(), remove(folder))
}
