//! The procedure `cut`: the clients are at work on a virtual disk when its power goes, and what the
//! disk may hold then is held against what they were promised.
//!
//! From the same data image each time: the disk is mounted, and a process of its own drives the target
//! ([`ClientRun`]); if cuts at `steady` are asked for, until its debts have turned over, before the disk
//! makes all of that durable and the moments are counted. Each cut has a moment that a seed has drawn, and one run has several: the disk
//! remembers what it needs for images of each and runs on; with the last one the power goes, and that
//! process is killed. Then, for each cut and each rule for what a power cut leaves ([`Keep`]), the
//! crash image is made and another process recovers, checks and audits it. If it is asked for, the
//! power goes once more meanwhile, by the same rule, and what the second cut leaves is audited.

mod again;
mod claims;
mod clients;
pub mod every;
mod inside;
mod judge;
mod moment;
mod power;
mod source;
mod timed;
mod turning;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bakeoff_devices::plug::{Keep, Metadata};
use bakeoff_disk::control::DiskControl;
use bakeoff_engines::PaymentSignature;
use bakeoff_results::{Cut, FileSystem, Promised};

pub use self::clients::ClientRun;
use self::inside::CutTask;
use self::moment::CutMoment;
use super::{Inside, ProcedureContext, told};
use crate::error::wanting;
use crate::place::disk::{TrialDisk, TrialDiskOptions};
use crate::place::limits::LimitedGroups;
use crate::place::{Staged, remove};
use crate::process::ChildProcess;
use crate::process::job::Task;
use crate::spec::{DiskSpec, TrialSpec};
use crate::{MachineError, TrialError};

/// Its name.
const NAME: &str = "cut";

/// What of it is done inside.
pub(crate) static INSIDE: Inside =
    Inside { name: NAME, perform: |data, within| inside::perform(&told(data)?, within) };

/// How many cuts come from one run of the clients: each of these begins with the same image, and what
/// its clients do differs a little from what those of another do.
pub const CUTS_A_RUN: u32 = 10;

/// One cut in so many is placed in what pays a debt.
const PLACED: u32 = 3;

/// How long a target may take to open, and to open, check and read a crash image, if nothing else
/// is said.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How the cuts of an engine at a level are made; or of a disk whose files are written without one.
#[derive(Clone, Debug)]
pub struct CutTerms {
    /// The engine's name, or the disk, for the record.
    pub engine: String,
    /// The level of its promise, by its name: of durability, or when files are synced.
    pub level: String,
    /// What that level says: what the cuts are judged by.
    pub promised: Promised,
    /// How many clients are at work.
    pub clients: usize,
    /// The rules by which each is judged.
    pub keep: Vec<Keep>,
    /// Whether the clients turn the target's debts over before any moment is waited for.
    pub steady: bool,
    /// What shows that it is paying a debt: a third of the cuts at `steady` are placed there.
    pub signatures: &'static [PaymentSignature],
    /// The cut whose recovery is timed on the trial's disk, once it is judged.
    pub timed: Option<u32>,
    /// Whether the power goes a second time, while the target recovers from the first.
    pub recovery: bool,
    /// Where crash images go that show a broken promise, if they are to be kept.
    pub keep_images: Option<PathBuf>,
    /// How long the target may take to open, and to open, check and read a crash image: after that
    /// it counts as corrupt.
    pub patience: Duration,
}

impl ClientRun {
    /// Judges one of its cuts, the engine's and level's of this number from 0, on a file system that makes
    /// names durable in this way. What keeps it from saying something of the promise is in its record.
    ///
    /// # Errors
    /// What keeps every other cut from being judged, too.
    pub fn cut(
        &self,
        number: u32,
        metadata: Metadata,
        stage: &mut ProcedureContext<'_>,
        trial: &TrialSpec,
    ) -> Result<Cut, TrialError> {
        let seed = self.terms.seed(trial, number);
        let moment = self.terms.moment(seed, number, Duration::ZERO);
        let mut record = self.terms.record(number, metadata, seed, &moment);
        record.conditioned = self.conditioned().cloned();
        record.placed = self.placed(number, &moment);
        let work = self.work.join("one");
        let made = self.gone(number, metadata).and_then(|gone| {
            wanting("the cut's folder", fs::create_dir(&work))?;
            let bench = Bench { terms: &self.terms, metadata, stage, trial, work: &work };
            bench.make(&gone, &mut record)
        });
        // While its files are still there: a disk that they have filled is no fault of the target's.
        let made = stage.unless_full(made);
        tidy(&work)?;
        match made {
            Err(error) if error.stops_the_run() => return Err(error),
            Err(error) => record.failed = Some(error.to_string()),
            Ok(()) => {}
        }
        stage.go_on()?;
        Ok(record)
    }
}

impl CutTerms {
    /// Whether a cut is placed in what pays a debt: every third from the first on, if anything shows that.
    fn is_placed(&self, number: u32) -> bool {
        self.steady && !self.signatures.is_empty() && number.is_multiple_of(PLACED)
    }

    /// Which cuts come from one run of the clients, in the order of these: up to [`CUTS_A_RUN`], and those
    /// that are placed apart from the others, since they wait for payments much longer.
    pub fn run_of(&self, number: u32) -> (bool, u32) {
        let each = match (self.is_placed(number), self.steady && !self.signatures.is_empty()) {
            (true, _) => CUTS_A_RUN * PLACED,
            (false, true) => CUTS_A_RUN * PLACED / (PLACED - 1),
            (false, false) => CUTS_A_RUN,
        };
        (!self.is_placed(number), number / each)
    }

    /// The moment of a cut; one that is placed is waited for as long as `patience`.
    fn moment(&self, seed: u64, number: u32, patience: Duration) -> CutMoment {
        match self.is_placed(number) {
            true => CutMoment::place(seed, self.signatures, patience),
            false => CutMoment::draw(seed, self.promised),
        }
    }

    /// The seed of a cut.
    fn seed(&self, trial: &TrialSpec, number: u32) -> u64 {
        moment::seed(trial.seed, &self.engine, &self.level, number)
    }

    /// The record of a cut of which nothing is known yet.
    fn record(&self, number: u32, metadata: Metadata, seed: u64, moment: &CutMoment) -> Cut {
        Cut {
            engine: self.engine.clone(),
            durability: self.level.clone(),
            file_system: match metadata {
                Metadata::Ordered => FileSystem::Ext4,
                Metadata::Posix => FileSystem::Posix,
            },
            promised: self.promised,
            clients: self.clients,
            number,
            conditioned: None,
            seed,
            moment: moment.describe(self.signatures),
            placed: None,
            ran_s: 0.0,
            acknowledged: 0,
            judged: Vec::new(),
            timed: None,
            failed: None,
            every: None,
        }
    }

    /// The record of the first cut, where none can be made.
    pub fn refused(&self, metadata: Metadata, reason: String) -> Cut {
        let moment = CutMoment::draw(0, self.promised);
        let (promised, failed) = (Promised::Nothing, Some(reason));
        let record = self.record(0, metadata, 0, &moment);
        Cut { promised, clients: 0, moment: String::new(), failed, ..record }
    }
}

/// A cut in the making.
struct Bench<'a, 's> {
    terms: &'a CutTerms,
    /// How names become durable on the disks.
    metadata: Metadata,
    stage: &'a ProcedureContext<'s>,
    trial: &'a TrialSpec,
    /// A folder of its own.
    work: &'a Path,
}

/// A moment at which the power went, or might have.
struct Gone<'a> {
    /// The disk, which is without power by now.
    control: &'a DiskControl,
    /// Which of its moments, and how names become durable.
    of: (usize, Metadata),
    /// When it was, in nanoseconds of `CLOCK_MONOTONIC`.
    off_at_ns: u64,
    /// For how long the clients had been at work.
    ran_s: f64,
    /// What the clients claimed.
    claims: &'a Path,
}

impl Bench<'_, '_> {
    /// Judges what the power's going leaves by each rule.
    fn make(&self, gone: &Gone<'_>, record: &mut Cut) -> Result<(), TrialError> {
        record.ran_s = gone.ran_s;
        for keep in &self.terms.keep {
            let (acknowledged, judged) = self.judge(gone, *keep, record)?;
            // Of an image that never opens nobody learns how many.
            record.acknowledged = record.acknowledged.max(acknowledged);
            record.judged.push(judged);
        }
        if self.terms.timed == Some(record.number) {
            record.timed = self.time_recovery(gone, record)?;
        }
        Ok(())
    }

    /// Stages the target over `files`, on a disk that is seen in the new folder `at` and works at
    /// once.
    fn place(&self, files: &Path, at: &Path, seed: u64) -> Result<Staged, TrialError> {
        let DiskSpec::Virtual(spec) = &self.trial.disk else { return Err(powerless()) };
        let metadata = self.metadata;
        let options = TrialDiskOptions { spec, seed, uncached: false, metadata };
        let disk = TrialDisk::mount(self.stage.launcher, options, files, at)?;
        let server = self.work.join("server");
        let wanted = |at: &Path| self.trial.setup.place(at, &server);
        Staged::new(wanted, disk, files, LimitedGroups::default())
    }

    /// Starts a process that is to recover, check and audit what is in a place.
    fn auditor(&self, staged: &Staged, gone: &Gone<'_>) -> Result<ChildProcess, TrialError> {
        let part = CutTask::Audit { claims: gone.claims.to_owned(), off_at_ns: gone.off_at_ns };
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
