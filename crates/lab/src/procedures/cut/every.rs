//! Cuts at every moment of one short recorded run: before and after each write, inside each sync,
//! and between all else that changes what is durable; by each rule, from several seeds. Sampled
//! cuts find what is common; this finds what is rare, as CrashMonkey (Mohan et al., OSDI 2018) and
//! ALICE (Pillai et al., OSDI 2014) do.
//!
//! The disk keeps the history ([`bakeoff_disk::history`]), which is walked twice per file system.
//! First `survey` draws all images and tells them apart without writing them. Then `audit` writes
//! each different one and has it audited, by processes that open one image after the other. An
//! image is judged once, for the latest moment that has it, when the clients had been promised the
//! most. An image that seems broken is judged again by a process of its own.

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

use self::audit::{Auditors, go_on};
use self::history::Recording;
use self::survey::{ImageSurvey, survey_images};
use self::tally::ImageTally;
use super::{Bench, CutMoment, CutTerms, finish_record, in_work_folder};
use crate::TrialError;
use crate::error::with_context;
use crate::place::leftovers::{self, WorkFolder};
use crate::place::{TargetPlace, remove_folder};
use crate::procedures::ProcedureContext;
use crate::process::ChildProgram;
use crate::process::job::{CutTask, ProcessJob, Task};
use crate::spec::TrialSpec;
use crate::watch::RunEvent;

pub const WRITES: u64 = 3_000;
/// Seeds per rule and moment, at least; drop-all needs one.
pub const SEEDS: u64 = 4;
/// How many images that seem broken are judged again, at most.
const MOST_AGAIN: usize = 200;
const MOST_KEPT: usize = 10;
/// Free memory that writing images there needs.
const MEMORY: u64 = 2 << 30;

pub struct EveryRun {
    terms: CutTerms,
    budget: usize,
    work: PathBuf,
    recording: Result<Recording, TrialError>,
}

impl EveryRun {
    /// Records the clients' work until `writes`, and judges at most `images` per file system. If it
    /// could not, each cut's record says why.
    pub fn make(
        terms: CutTerms,
        (writes, images): (u64, u32),
        stage: &mut ProcedureContext<'_>,
        trial: &TrialSpec,
    ) -> Result<Self, TrialError> {
        let run = |stage: &mut ProcedureContext<'_>, work: &Path, files: &Path| {
            let metadata = Metadata::Ordered;
            Bench { terms: &terms, metadata, stage, trial, work }.record_history(files, writes)
        };
        let (work, recording) = in_work_folder(("every", "cuts'"), stage, trial, run)?;
        Ok(Self { terms, budget: images as usize, work, recording })
    }

    /// If nothing can be said of the promise, the reason is in the record.
    pub fn cut_every_moment(
        &self,
        metadata: Metadata,
        stage: &mut ProcedureContext<'_>,
        trial: &TrialSpec,
    ) -> Result<Cut, TrialError> {
        let moment = CutMoment::draw_first(0, self.terms.promised);
        let mut record = self.terms.new_record(0, metadata, trial.seed, &moment);
        record.moment = "every moment".into();
        let made = self.recording.as_ref().map_err(Clone::clone).and_then(|recording| {
            MomentSweep { run: self, recording, metadata, trial }.judge_images(stage, &mut record)
        });
        let made = stage.unless_full(made);
        finish_record(stage, record, made)
    }

    pub fn end(self) -> Result<(), TrialError> {
        Ok(with_context("removing the cuts' folder", remove_folder(&self.work))?)
    }
}

/// Makes folder names unique in this process.
static ROOMS: AtomicU64 = AtomicU64::new(0);

enum ImageFolder {
    /// An image is written, opened and removed, and needs no disk.
    Memory(WorkFolder),
    /// For a server, whose user must get in, and where memory is short.
    Disk(PathBuf),
}

impl ImageFolder {
    fn new(work: &Path, has_server: bool) -> Result<Self, TrialError> {
        let memory = Path::new("/dev/shm");
        let is_roomy = crate::machine::accounts::free_bytes(memory).is_ok_and(|free| free > MEMORY);
        if is_roomy
            && !has_server
            && let Ok(parent) = bakeoff_folders::trust::holder(memory)
            && let Ok(registry) = leftovers::registry()
        {
            let number = ROOMS.fetch_add(1, Ordering::Relaxed);
            let name = format!("bakeoff-images-{}-{number}", std::process::id());
            if let Ok(folder) = WorkFolder::create(parent, &name, &registry) {
                return Ok(Self::Memory(folder));
            }
        }
        let folder = work.join("images");
        with_context("the folder of images", fs::create_dir_all(&folder))?;
        Ok(Self::Disk(folder))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Memory(folder) => folder.path(),
            Self::Disk(folder) => folder,
        }
    }
}

struct MomentSweep<'a> {
    run: &'a EveryRun,
    recording: &'a Recording,
    metadata: Metadata,
    trial: &'a TrialSpec,
}

impl MomentSweep<'_> {
    fn judge_images(
        &self,
        stage: &mut ProcedureContext<'_>,
        record: &mut Cut,
    ) -> Result<(), TrialError> {
        let start = Instant::now();
        let (terms, budget) = (&self.run.terms, self.run.budget);
        record.ran_s = self.recording.seconds();
        let ImageSurvey { drawn, different } = self.survey_images(stage, record)?;
        let mut tally = ImageTally::new(&self.recording.history, drawn, &different, &terms.keep);
        let chosen = survey::pick_evenly(different, budget);
        tally.every.budget = budget as u64;
        let room = ImageFolder::new(&self.run.work, self.trial.setup.has_server())?;
        let auditors = self.make_auditors((stage.program, stage.stop), room.path());
        let (mut seem_broken, of) = (Vec::new(), chosen.len());
        auditors.audit_images(&chosen, false, |at, (acknowledged, verdict)| {
            record.acknowledged = record.acknowledged.max(acknowledged);
            let breaks = verdict.breaks_promise(terms.promised);
            tally.note_judged(&chosen[at], &verdict, breaks);
            if breaks {
                seem_broken.push((at, verdict));
            }
            let (judged, broken) = (tally.every.judged as usize, seem_broken.len());
            stage.watch.on_event(RunEvent::Judging { cut: record, judged, of, broken });
        })?;
        // They come in the order in which their audits ended.
        seem_broken.sort_unstable_by_key(|(at, _)| *at);
        let again = seem_broken.len().min(MOST_AGAIN);
        let suspects: Vec<_> = seem_broken[..again].iter().map(|(at, _)| chosen[*at]).collect();
        let mut confirmed = vec![true; seem_broken.len()];
        auditors.audit_images(&suspects, true, |at, (_, verdict)| {
            confirmed[at] = verdict.breaks_promise(terms.promised);
            seem_broken[at].1 = verdict;
        })?;
        for ((at, verdict), confirmed) in seem_broken.into_iter().zip(confirmed) {
            match confirmed {
                true => tally.note_broken(self.recording, self.metadata, &chosen[at], verdict),
                false => tally.every.unconfirmed += 1,
            }
        }
        self.keep_some(&mut tally)?;
        tally.every.took_s = start.elapsed().as_secs_f64();
        (record.judged, record.every) = tally.into_record();
        Ok(())
    }

    fn survey_images(
        &self,
        stage: &mut ProcedureContext<'_>,
        record: &Cut,
    ) -> Result<ImageSurvey, TrialError> {
        let wanted = (&*self.run.terms.keep, self.run.budget);
        let (stop, watch) = (stage.stop, &mut stage.watch);
        survey_images(
            &self.recording.history,
            self.metadata,
            wanted,
            self.trial.seed,
            |images, different| {
                watch.on_event(RunEvent::Drawing { cut: record, images, different });
                go_on(stop)
            },
        )
    }

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
                with_context("removing an old image", remove_folder(&path))?;
                audit::write_image(&self.recording.history, self.metadata, image, &path)?;
                if number == 0 {
                    tally.kept_in(keep, &path);
                }
            }
        }
        Ok(())
    }

    fn make_auditors<'a>(
        &'a self,
        (program, stop): (&'a ChildProgram, &'a AtomicBool),
        folder: &'a Path,
    ) -> Auditors<'a> {
        let setup = &self.trial.setup;
        let part = CutTask::AuditAll { claims: self.recording.claims.clone() };
        let job = ProcessJob {
            target: setup.target.to_owned(),
            subject: setup.subject.to_json(),
            place: TargetPlace::default(),
            task: Task::from(part),
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
