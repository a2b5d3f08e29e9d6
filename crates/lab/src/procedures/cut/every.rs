//! Cuts at every moment: of one short recorded run of the clients, what a power cut would leave before
//! and after each write, inside each sync, and between all else that changes what is durable; by each
//! rule, from several seeds. Sampled cuts find what is common; this finds what is rare, as CrashMonkey
//! (Mohan et al., OSDI 2018) and ALICE (Pillai et al., OSDI 2014) do.
//!
//! The disk keeps the history ([`bakeoff_disk::history`]). It is walked through twice for each file
//! system: first all images are drawn, and told apart without being written (`survey`); then those
//! that differ are written out, each once, and audited (`audit`) by processes that open one image
//! after the other. An image is what its recovery depends on, so it is judged once: by the latest moment
//! that has it, at which the clients had been promised the most. What seems broken is judged again, by a
//! process of its own.

mod audit;
mod history;
mod survey;
mod tally;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use bakeoff_devices::plug::Metadata;
use bakeoff_results::Cut;

use self::audit::Auditors;
use self::history::Recording;
use self::survey::{ImageSurvey, survey};
use self::tally::ImageTally;
use super::{Bench, CutMoment, CutTerms};
use crate::error::wanting;
use crate::place::leftovers::{self, WorkFolder};
use crate::place::{self, RESERVE, TargetPlace, remove, room};
use crate::procedures::ProcedureContext;
use crate::process::ChildProgram;
use crate::process::job::{ProcessJob, Task};
use crate::spec::TrialSpec;
use crate::watch::RunEvent;
use crate::{MachineError, TrialError};

/// How many writes of the clients a history has at most.
pub const WRITES: u64 = 3_000;
/// From how many seeds each rule draws an image of each moment, at least; drop-all draws one.
pub const SEEDS: u64 = 4;
/// How many of those that seem broken are judged again.
const MOST_AGAIN: usize = 200;
/// How many images are kept of each rule, where they are.
const MOST_KEPT: usize = 10;
/// Bytes that the machine's memory must have free for images to be written there.
const MEMORY: u64 = 2 << 30;

/// A recorded run of the clients, of which every moment is to be cut.
pub struct EveryRun {
    terms: CutTerms,
    /// How many images are judged at most, on each file system.
    budget: usize,
    work: PathBuf,
    recording: Result<Recording, TrialError>,
}

impl EveryRun {
    /// Puts the clients to work on a disk that remembers all, until it has had so many writes; of each
    /// file system, so many images are judged at most. Why they could not is in the record of each cut.
    ///
    /// # Errors
    /// What keeps every other run from being made, too.
    pub fn make(
        terms: CutTerms,
        (writes, images): (u64, u32),
        stage: &mut ProcedureContext<'_>,
        trial: &TrialSpec,
    ) -> Result<Self, TrialError> {
        room(stage.work, RESERVE)?;
        let work = stage.work.join("every");
        stage.note_settings(trial, &TargetPlace::default());
        let recording = stage.image(&trial.setup).and_then(|image| {
            wanting("the cuts' folder", fs::create_dir(&work))?;
            let files = work.join("data");
            image.copy(&files, place::SyncCopy::No, stage.stop)?;
            let metadata = Metadata::Ordered;
            Bench { terms: &terms, metadata, stage, trial, work: &work }.record(&files, writes)
        });
        let recording = stage.unless_full(recording);
        let run = Self { terms, budget: images as usize, work, recording };
        match &run.recording {
            Err(error) if error.stops_the_run() => {
                let error = error.clone();
                run.end()?;
                Err(error)
            }
            _ => Ok(run),
        }
    }

    /// Cuts every moment on a file system that makes names durable in this way. What keeps that from
    /// saying something of the promise is in its record.
    ///
    /// # Errors
    /// What stops the run.
    pub fn cut(
        &self,
        metadata: Metadata,
        stage: &mut ProcedureContext<'_>,
        trial: &TrialSpec,
    ) -> Result<Cut, TrialError> {
        let moment = CutMoment::draw(0, self.terms.promised);
        let mut record = self.terms.record(0, metadata, trial.seed, &moment);
        record.moment = "every moment".into();
        let made = self.recording.as_ref().map_err(Clone::clone).and_then(|recording| {
            MomentSweep { run: self, recording, metadata, trial }.cut(stage, &mut record)
        });
        match stage.unless_full(made) {
            Err(error) if error.stops_the_run() => return Err(error),
            Err(error) => record.failed = Some(error.to_string()),
            Ok(()) => {}
        }
        stage.go_on()?;
        Ok(record)
    }

    /// Removes what it left.
    ///
    /// # Errors
    /// What can't be removed.
    pub fn end(self) -> Result<(), TrialError> {
        Ok(wanting("removing the cuts' folder", remove(&self.work))?)
    }
}

/// Tells the rooms of this process apart.
static ROOMS: AtomicU64 = AtomicU64::new(0);

/// Where images are written.
enum ImageFolder {
    /// In memory: an image is written, opened and removed, and needs no disk.
    Memory(WorkFolder),
    /// With all else, for a server, whose user gets in there, and where memory is short.
    Disk(PathBuf),
}

impl ImageFolder {
    fn new(work: &Path, has_server: bool) -> Result<Self, TrialError> {
        let memory = Path::new("/dev/shm");
        let is_roomy = crate::machine::accounts::free(memory).is_ok_and(|free| free > MEMORY);
        if is_roomy
            && !has_server
            && let Ok(parent) = bakeoff_trust::holder(memory)
            && let Ok(registry) = leftovers::registry()
        {
            let number = ROOMS.fetch_add(1, Ordering::Relaxed);
            let name = format!("bakeoff-images-{}-{number}", std::process::id());
            if let Ok(folder) = WorkFolder::create(parent, &name, &registry) {
                return Ok(Self::Memory(folder));
            }
        }
        let folder = work.join("images");
        wanting("the folder of images", fs::create_dir_all(&folder))?;
        Ok(Self::Disk(folder))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Memory(folder) => folder.path(),
            Self::Disk(folder) => folder,
        }
    }
}

/// All moments of a recording on one file system.
struct MomentSweep<'a> {
    run: &'a EveryRun,
    recording: &'a Recording,
    metadata: Metadata,
    trial: &'a TrialSpec,
}

impl MomentSweep<'_> {
    /// Draws all images, has those that differ audited, and notes what was found.
    fn cut(&self, stage: &mut ProcedureContext<'_>, record: &mut Cut) -> Result<(), TrialError> {
        let start = Instant::now();
        let (terms, budget) = (&self.run.terms, self.run.budget);
        record.ran_s = self.recording.seconds();
        let ImageSurvey { drawn, different } = self.survey(stage, record)?;
        let mut tally = ImageTally::new(&self.recording.history, drawn, &different, &terms.keep);
        let chosen = survey::evenly(different, budget);
        tally.every.budget = budget as u64;
        let room = ImageFolder::new(&self.run.work, self.trial.setup.has_server())?;
        let auditors = self.auditors((stage.program, stage.stop), room.path());
        let (mut seem_broken, of) = (Vec::new(), chosen.len());
        auditors.audit(&chosen, false, |at, (acknowledged, verdict)| {
            record.acknowledged = record.acknowledged.max(acknowledged);
            let breaks = verdict.breaks(terms.promised);
            tally.judged(&chosen[at], &verdict, breaks);
            if breaks {
                seem_broken.push((at, verdict));
            }
            let (judged, broken) = (tally.every.judged as usize, seem_broken.len());
            stage.watch.event(RunEvent::Judging { cut: record, judged, of, broken });
        })?;
        // They come in the order in which their audits ended.
        seem_broken.sort_unstable_by_key(|(at, _)| *at);
        let again = seem_broken.len().min(MOST_AGAIN);
        let suspects: Vec<_> = seem_broken[..again].iter().map(|(at, _)| chosen[*at]).collect();
        let mut confirmed = vec![true; seem_broken.len()];
        auditors.audit(&suspects, true, |at, (_, verdict)| {
            confirmed[at] = verdict.breaks(terms.promised);
            seem_broken[at].1 = verdict;
        })?;
        for ((at, verdict), confirmed) in seem_broken.into_iter().zip(confirmed) {
            match confirmed {
                true => tally.broken(self.recording, self.metadata, &chosen[at], verdict),
                false => tally.every.unconfirmed += 1,
            }
        }
        self.keep_some(&mut tally)?;
        tally.every.took_s = start.elapsed().as_secs_f64();
        (record.judged, record.every) = tally.finish();
        Ok(())
    }

    /// Draws all images, and tells of it.
    fn survey(
        &self,
        stage: &mut ProcedureContext<'_>,
        record: &Cut,
    ) -> Result<ImageSurvey, TrialError> {
        let wanted = (&*self.run.terms.keep, self.run.budget);
        let (stop, watch) = (stage.stop, &mut stage.watch);
        survey(
            &self.recording.history,
            self.metadata,
            wanted,
            self.trial.seed,
            |images, different| {
                watch.event(RunEvent::Drawing { cut: record, images, different });
                match stop.load(Ordering::Relaxed) {
                    true => Err(MachineError::Interrupted.into()),
                    false => Ok(()),
                }
            },
        )
    }

    /// Keeps the first broken images, where that is asked for.
    fn keep_some(&self, tally: &mut ImageTally) -> Result<(), TrialError> {
        let terms = &self.run.terms;
        let Some(folder) = terms.keep_images.as_deref() else { return Ok(()) };
        let engine = terms.engine.replace(|it: char| !it.is_ascii_alphanumeric(), "-");
        let (level, metadata) = (&terms.level, self.metadata);
        for (keep, images) in tally.to_keep(MOST_KEPT) {
            for (number, image) in images.iter().enumerate() {
                let name = format!("{engine}-{level}-{metadata}-{keep}-{}-{number}", image.moment);
                let path = folder.join(name);
                // An interrupted run may have kept one of another history.
                wanting("removing an old image", remove(&path))?;
                audit::write(&self.recording.history, self.metadata, image, &path)?;
                if number == 0 {
                    tally.kept_in(keep, &path);
                }
            }
        }
        Ok(())
    }

    /// What audits images in a folder.
    fn auditors<'a>(
        &'a self,
        (program, stop): (&'a ChildProgram, &'a AtomicBool),
        folder: &'a Path,
    ) -> Auditors<'a> {
        let setup = &self.trial.setup;
        let part = super::CutTask::AuditAll { claims: self.recording.claims.clone() };
        let job = ProcessJob {
            target: setup.target.to_owned(),
            subject: setup.subject.clone(),
            place: TargetPlace::default(),
            task: Task::inside(super::NAME, &part),
        };
        Auditors {
            program,
            job,
            setup,
            patience: self.run.terms.patience,
            stop,
            history: &self.recording.history,
            metadata: self.metadata,
            folder,
        }
    }
}
