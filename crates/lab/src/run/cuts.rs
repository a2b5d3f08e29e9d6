//! The power cuts of a run, after its trials.

use std::io;
use std::time::Instant;

use bakeoff_devices::plug::{Keep, Metadata};
use bakeoff_experiment::{CutBy, Cuts, EngineState};
use bakeoff_results::{Cut, FileSystem};

use super::Runner;
use crate::error::with_context;
use crate::procedures::ProcedureContext;
use crate::procedures::cut::{self, ClientRun, CutTerms};
use crate::spec::{PlannedCut, TrialSpec};
use crate::watch::RunEvent;
use crate::{LabError, MachineError};

/// After this many failed cuts of an engine in a row, its other cuts are skipped.
const MOST_FAILURES: u32 = 3;
const IMAGES: &str = "images";

#[derive(Clone, Debug)]
pub(super) struct CutRunState {
    cuts: Cuts,
    keep: Vec<Keep>,
    /// How many cuts are planned, how many are made, and since when.
    planned: usize,
    made: usize,
    before: usize,
    start: Instant,
}

/// Failed cuts of an engine at a level: all, and how many in a row.
#[derive(Debug, Default)]
struct Failures {
    count: u32,
    in_a_row: u32,
}

impl Failures {
    fn note_result(&mut self, failed: bool) {
        self.count += u32::from(failed);
        self.in_a_row = if failed { self.in_a_row + 1 } else { 0 };
    }
}

impl Runner<'_> {
    pub(super) fn cut_power(&mut self, stage: &mut ProcedureContext<'_>) -> Result<u32, LabError> {
        let Some(cuts) = self.plan.experiment.cuts.clone() else { return Ok(0) };
        let before = self.folder.read_cuts()?.iter().filter(|cut| cut.failed.is_none()).count();
        let keep = cuts.keep.iter().map(|rule| rule.parse().expect("a checked rule"));
        let mut common = CutRunState {
            keep: keep.collect(),
            planned: self.plan.planned_cuts(),
            made: before,
            before,
            start: Instant::now(),
            cuts,
        };
        let mut failed = 0;
        for cut in &self.plan.cuts {
            failed += self.cut_level(stage, cut, &mut common)?;
        }
        Ok(failed)
    }

    /// Makes the cuts of an engine or a disk at a level of its promise. Returns how many failed.
    fn cut_level(
        &mut self,
        stage: &mut ProcedureContext<'_>,
        planned: &PlannedCut,
        common: &mut CutRunState,
    ) -> Result<u32, LabError> {
        let due = self.due_cuts(planned, &common.cuts)?;
        let terms = self.cut_terms(planned, common)?;
        let Some((_, file_system)) = due.first() else { return Ok(0) };
        // A reason that prevents all of them is reported once.
        let trial = &planned.spec;
        match stage.loaded_image(&trial.setup) {
            Ok(_) => {}
            Err(reason) if reason.stops_the_run() => return Err(reason.into()),
            Err(reason) => {
                let refused = terms.refused_cut(to_metadata(*file_system), reason.to_string());
                self.keep_cut(stage, &refused, common)?;
                return Ok(1);
            }
        }
        if let Some(images) = common.cuts.every {
            return self.cut_every(stage, (terms, trial, images), &due, common);
        }
        let mut failures = Failures::default();
        let mut due = due;
        due.sort_by_key(|(number, _)| terms.run_of(*number));
        for due in due.chunk_by(|one, other| terms.run_of(one.0) == terms.run_of(other.0)) {
            stage.go_on()?;
            let mut numbers: Vec<u32> = due.iter().map(|(number, _)| *number).collect();
            numbers.dedup();
            let run = ClientRun::make(terms.clone(), &numbers, stage, trial)?;
            let made = self.cut_run(stage, (&run, trial), due, &mut failures, common);
            run.end()?;
            made?;
            if failures.in_a_row == MOST_FAILURES {
                break;
            }
        }
        Ok(failures.count)
    }

    /// Makes the cuts of one run of the clients, until too many have failed.
    fn cut_run(
        &mut self,
        stage: &mut ProcedureContext<'_>,
        (run, trial): (&ClientRun, &TrialSpec),
        due: &[(u32, FileSystem)],
        failures: &mut Failures,
        common: &mut CutRunState,
    ) -> Result<(), LabError> {
        for (number, file_system) in due {
            stage.go_on()?;
            let cut = run.judge_cut(*number, to_metadata(*file_system), stage, trial)?;
            self.note_applied(stage)?;
            failures.note_result(cut.failed.is_some());
            self.keep_cut(stage, &cut, common)?;
            if failures.in_a_row == MOST_FAILURES {
                break;
            }
        }
        Ok(())
    }

    /// The remaining cuts, by number and file system; failed cuts are tried again.
    fn due_cuts(
        &self,
        planned: &PlannedCut,
        cuts: &Cuts,
    ) -> Result<Vec<(u32, FileSystem)>, LabError> {
        let done = self.folder.read_cuts()?;
        let of_this = |cut: &&Cut| {
            cut.engine == planned.subject && cut.durability == planned.level && cut.failed.is_none()
        };
        let made: Vec<(u32, FileSystem)> =
            done.iter().filter(of_this).map(|cut| (cut.number, cut.file_system)).collect();
        let on = file_systems(cuts);
        let all = cuts.numbers().flat_map(|number| on.iter().map(move |it| (number, *it)));
        Ok(all.filter(|cut| !made.contains(cut)).collect())
    }

    fn cut_terms(
        &self,
        planned: &PlannedCut,
        common: &CutRunState,
    ) -> Result<CutTerms, MachineError> {
        let of_engine = common.cuts.by.promise == CutBy::OF_ENGINES;
        let images = self.keep_images.then(|| self.folder.dir().join(IMAGES));
        if self.keep_images {
            let made = self.hold_folder()?.make_below(IMAGES).map_err(io::Error::from);
            with_context("the folder of crash images", made)?;
        }
        Ok(CutTerms {
            engine: planned.subject.clone(),
            level: planned.level.clone(),
            promised: planned.promised,
            clients: self.plan.experiment.cut_clients(),
            keep: common.keep.clone(),
            steady: planned.cell.state() == EngineState::Steady,
            signatures: planned.signatures,
            // Opening files needs no recovery.
            timed: common.cuts.numbers().next().filter(|_| of_engine),
            recovery: common.cuts.recovery,
            keep_images: images,
            patience: cut::DEFAULT_PATIENCE,
        })
    }

    pub(super) fn keep_cut(
        &mut self,
        stage: &mut ProcedureContext<'_>,
        cut: &Cut,
        common: &mut CutRunState,
    ) -> Result<(), LabError> {
        self.folder.commit_cut(cut)?;
        common.made += 1;
        let each = common.start.elapsed().as_secs_f64() / (common.made - common.before) as f64;
        let left_s = each * common.planned.saturating_sub(common.made) as f64;
        stage.watch.on_event(RunEvent::Cut { made: common.made, of: common.planned, cut, left_s });
        Ok(())
    }
}

pub(super) fn to_metadata(file_system: FileSystem) -> Metadata {
    match file_system {
        FileSystem::Ext4 => Metadata::Ordered,
        FileSystem::Posix => Metadata::Posix,
    }
}

pub fn file_systems(cuts: &Cuts) -> Vec<FileSystem> {
    let all = [FileSystem::Ext4, FileSystem::Posix];
    let named = |name: &String| all.into_iter().find(|it| it.name() == name);
    cuts.file_systems.iter().filter_map(named).collect()
}
