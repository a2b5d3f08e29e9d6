//! The procedure `cut`: the power of a virtual disk goes while clients work, and what the disk may
//! hold then is audited against what they were promised.
//!
//! All runs start from the same image. A process drives the target on the mounted disk
//! ([`ClientRun`]); for cuts at `steady`, until its debts have turned over, and then the disk makes
//! everything durable before moments are counted. A seed draws the moment of each cut. One run has
//! several moments: the disk remembers what it needs for the images of each, and with the last one
//! the power goes and the process is killed. Then each rule of what a cut leaves ([`Keep`]) makes a
//! crash image, and another process recovers, checks and audits it. If asked for, the power goes
//! again during that recovery, and what the second cut leaves is audited.

mod claims;
mod clients;
pub mod every;
mod inside;
mod judge;
mod moment;
mod power;
mod second_cut;
mod source;
mod timed;
mod turning;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bakeoff_devices::plug::{Keep, Metadata};
use bakeoff_disk::control::DiskControl;
use bakeoff_engines::PaymentSignature;
use bakeoff_results::{AuditResult, Cut, DurabilityPromise, FileSystem};

pub use self::clients::ClientRun;
pub(crate) use self::inside::perform_task;
use self::moment::CutMoment;
use super::ProcedureContext;
use crate::error::with_context;
use crate::place::disk::{TrialDisk, TrialDiskOptions, disk_error};
use crate::place::limits::LimitedGroups;
use crate::place::{RESERVE, Staged, SyncCopy, TargetPlace, ensure_room, remove_folder};
use crate::process::ChildProcess;
use crate::process::job::{CutTask, Message, Task};
use crate::spec::{DiskSpec, TrialSpec};
use crate::{MachineError, TrialError};

/// Cuts that share one run of the clients. They share its image and work; another run's work
/// differs a little.
pub const CUTS_A_RUN: u32 = 10;

/// One cut in this many is placed in what pays a debt.
const PLACED: u32 = 3;

/// The default time for a target to open, and to open, check and read a crash image.
pub const DEFAULT_PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Debug)]
pub struct CutTerms {
    /// The engine or the disk, for the record.
    pub engine: String,
    pub level: String,
    pub promised: DurabilityPromise,
    pub clients: usize,
    pub keep: Vec<Keep>,
    /// Whether the clients turn the target's debts over before the first moment.
    pub steady: bool,
    /// Signs that it is paying a debt: a third of the cuts at `steady` are placed there.
    pub signatures: &'static [PaymentSignature],
    /// The cut whose recovery is timed on the trial's disk.
    pub timed: Option<u32>,
    /// Whether the power goes again while the target recovers.
    pub recovery: bool,
    /// Where crash images that show a broken promise are kept, if at all.
    pub keep_images: Option<PathBuf>,
    /// The time for the target to open, and to open, check and read a crash image. After that the
    /// image counts as corrupt.
    pub patience: Duration,
}

impl ClientRun {
    /// Judges the cut of this number, from 0. If nothing can be said of the promise, the reason is
    /// in its record.
    pub fn judge_cut(
        &self,
        number: u32,
        metadata: Metadata,
        stage: &mut ProcedureContext<'_>,
        trial: &TrialSpec,
    ) -> Result<Cut, TrialError> {
        let seed = self.terms.cut_seed(trial, number);
        let moment = self.terms.draw_moment(seed, number, Duration::ZERO);
        let mut record = self.terms.new_record(number, metadata, seed, &moment);
        record.conditioned = self.conditioning_record().cloned();
        record.placed = self.payment_cut(number, &moment);
        let work = self.work.join("one");
        let made = self.power_loss(number, metadata).and_then(|gone| {
            with_context("the cut's folder", fs::create_dir(&work))?;
            let bench = Bench { terms: &self.terms, metadata, stage, trial, work: &work };
            bench.judge_rules(&gone, &mut record)
        });
        // While its files are still there: if they filled the disk, that is no fault of the
        // target's.
        let made = stage.unless_full(made);
        tidy_folder(&work)?;
        finish_record(stage, record, made)
    }
}

/// Has the clients work in a folder of their own, over a copy of the image. If nothing was found,
/// the record says why. An error that stops the run is returned at once.
fn in_work_folder<T>(
    (name, whose): (&str, &str),
    stage: &mut ProcedureContext<'_>,
    trial: &TrialSpec,
    run: impl FnOnce(&mut ProcedureContext<'_>, &Path, &Path) -> Result<T, TrialError>,
) -> Result<(PathBuf, Result<T, TrialError>), TrialError> {
    ensure_room(stage.work, RESERVE)?;
    let work = stage.work.join(name);
    stage.note_settings(trial, &TargetPlace::default());
    let made = stage.loaded_image(&trial.setup).and_then(|image| {
        with_context(&format!("the {whose} folder"), fs::create_dir(&work))?;
        let files = work.join("data");
        image.copy(&files, SyncCopy::No, stage.stop)?;
        run(stage, &work, &files)
    });
    let made = stage.unless_full(made);
    if let Err(error) = &made
        && error.stops_the_run()
    {
        with_context(&format!("removing the {whose} folder"), remove_folder(&work))?;
        return Err(error.clone());
    }
    Ok((work, made))
}

fn finish_record(
    stage: &ProcedureContext<'_>,
    mut record: Cut,
    made: Result<(), TrialError>,
) -> Result<Cut, TrialError> {
    match made {
        Err(error) if error.stops_the_run() => return Err(error),
        Err(error) => record.failed = Some(error.to_string()),
        Ok(()) => {}
    }
    stage.go_on()?;
    Ok(record)
}

impl CutTerms {
    /// Every third cut from the first on, if there are signatures.
    fn is_placed(&self, number: u32) -> bool {
        self.steady && !self.signatures.is_empty() && number.is_multiple_of(PLACED)
    }

    /// Cuts with the same result share a run: up to [`CUTS_A_RUN`]. Placed cuts have runs of their
    /// own, since they wait much longer.
    pub fn run_of(&self, number: u32) -> (bool, u32) {
        let each = match (self.is_placed(number), self.steady && !self.signatures.is_empty()) {
            (true, _) => CUTS_A_RUN * PLACED,
            (false, true) => CUTS_A_RUN * PLACED / (PLACED - 1),
            (false, false) => CUTS_A_RUN,
        };
        (!self.is_placed(number), number / each)
    }

    fn draw_moment(&self, seed: u64, number: u32, patience: Duration) -> CutMoment {
        match self.is_placed(number) {
            true => CutMoment::draw_in_payment(seed, self.signatures, patience),
            false => CutMoment::draw_first(seed, self.promised),
        }
    }

    fn cut_seed(&self, trial: &TrialSpec, number: u32) -> u64 {
        moment::cut_seed(trial.seed, &self.engine, &self.level, number)
    }

    fn new_record(&self, number: u32, metadata: Metadata, seed: u64, moment: &CutMoment) -> Cut {
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
            moment: moment.describe_moment(self.signatures),
            placed: None,
            ran_s: 0.0,
            acknowledged: 0,
            judged: Vec::new(),
            timed: None,
            failed: None,
            every: None,
        }
    }

    /// For cuts that can't be made.
    pub fn refused_cut(&self, metadata: Metadata, reason: String) -> Cut {
        let moment = CutMoment::draw_first(0, self.promised);
        let (promised, failed) = (DurabilityPromise::Nothing, Some(reason));
        let record = self.new_record(0, metadata, 0, &moment);
        Cut { promised, clients: 0, moment: String::new(), failed, ..record }
    }
}

struct Bench<'a, 's> {
    terms: &'a CutTerms,
    metadata: Metadata,
    stage: &'a ProcedureContext<'s>,
    trial: &'a TrialSpec,
    work: &'a Path,
}

struct Gone<'a> {
    control: &'a DiskControl,
    /// The index of the moment, and how names become durable.
    of: (usize, Metadata),
    off_at_ns: u64,
    ran_s: f64,
    claims: &'a Path,
}

impl Bench<'_, '_> {
    fn judge_rules(&self, gone: &Gone<'_>, record: &mut Cut) -> Result<(), TrialError> {
        record.ran_s = gone.ran_s;
        for keep in &self.terms.keep {
            let (acknowledged, judged) = self.judge_image(gone, *keep, record)?;
            // The count is unknown when an image does not open, so keep the largest.
            record.acknowledged = record.acknowledged.max(acknowledged);
            record.judged.push(judged);
        }
        if self.terms.timed == Some(record.number) {
            record.timed = self.time_recovery(gone, record)?;
        }
        Ok(())
    }

    /// The disk is seen in the new folder `at` and takes no time.
    fn place(&self, files: &Path, at: &Path, seed: u64) -> Result<Staged, TrialError> {
        let DiskSpec::Virtual(spec) = &self.trial.disk else { return Err(no_power_error()) };
        let metadata = self.metadata;
        let options = TrialDiskOptions { spec, seed, uncached: false, metadata, write_back: false };
        let disk = TrialDisk::mount(self.stage.launcher, options, files, at)?;
        let server = self.work.join("server");
        let wanted = |at: &Path| self.trial.setup.make_place(at, &server);
        Staged::new(wanted, disk, files, LimitedGroups::default())
    }

    fn start_auditor(&self, staged: &Staged, gone: &Gone<'_>) -> Result<ChildProcess, TrialError> {
        let part = CutTask::Audit { claims: gone.claims.to_owned(), off_at_ns: gone.off_at_ns };
        let task = Task::from(part);
        self.await_ready(self.stage.start_process(&self.trial.setup, staged.place.clone(), task)?)
    }
}

fn unexpected_message(message: &Message) -> TrialError {
    TrialError::process_error(format!("its process sent an unexpected message: {message:?}"))
}

fn corrupt_image(reason: String) -> AuditResult {
    AuditResult { corrupt: Some(reason), ..AuditResult::default() }
}

fn no_power_error() -> TrialError {
    TrialError::User("the power of this machine's own disk can't be cut".into())
}

fn tidy_folder(folder: &Path) -> Result<(), MachineError> {
    with_context(&folder.display().to_string(), remove_folder(folder))
}
