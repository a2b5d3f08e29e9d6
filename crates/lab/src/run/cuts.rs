//! The power cuts of a run, after its trials.

use std::collections::BTreeMap;
use std::io;
use std::time::Instant;

use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_devices::plug::{Keep, Metadata};
use bakeoff_engines::Durability;
use bakeoff_experiment::{Cell, Cpus, CutBy, Cuts, EngineState, Factor, MemoryLimit};
use bakeoff_results::{Cut, FileSystem, Promised};

use super::Runner;
use crate::error::wanting;
use crate::procedures::ProcedureContext;
use crate::procedures::cut::{self, ClientRun, CutTerms};
use crate::spec::{self, TrialSpec};
use crate::targets::WantedLevels;
use crate::watch::RunEvent;
use crate::{LabError, MachineError, Registry, TrialError};

/// After so many failed cuts of an engine in a row no other is tried.
const MOST_FAILURES: u32 = 3;
/// How much later than its engine says a commit may become durable: a thread that is to sync once a
/// second comes to it a little late on a busy machine, and a sync takes its time.
const LATE_S: f64 = 0.5;
/// Where crash images are kept in a run folder.
const IMAGES: &str = "images";

/// How the power cuts of an experiment are made.
#[derive(Clone, Debug)]
pub(super) struct Common {
    cuts: Cuts,
    keep: Vec<Keep>,
    /// How many there are, how many are made, and since when.
    planned: usize,
    made: usize,
    before: usize,
    start: Instant,
}

/// How many cuts of an engine at a level failed, and how many of them in a row.
#[derive(Debug, Default)]
struct Failures {
    count: u32,
    in_a_row: u32,
}

impl Failures {
    fn note(&mut self, failed: bool) {
        self.count += u32::from(failed);
        self.in_a_row = if failed { self.in_a_row + 1 } else { 0 };
    }
}

impl Runner<'_> {
    /// Makes the cuts that are still to be made; how many failed.
    pub(super) fn cut_power(&mut self, stage: &mut ProcedureContext<'_>) -> Result<u32, LabError> {
        let Some(cuts) = self.experiment.cuts.clone() else { return Ok(0) };
        let before = self.folder.cuts()?.iter().filter(|cut| cut.failed.is_none()).count();
        let keep = cuts.keep.iter().map(|rule| rule.parse().expect("a checked rule"));
        let mut common = Common {
            keep: keep.collect(),
            planned: self.possible.planned_cuts(self.experiment),
            made: before,
            before,
            start: Instant::now(),
            cuts,
        };
        let mut failed = 0;
        for (engine, durability) in &self.possible.cuts {
            failed += self.cut_level(stage, (engine, durability), &mut common)?;
        }
        Ok(failed)
    }

    /// Makes the cuts of an engine, or of a disk, at a level of its promise; how many failed.
    fn cut_level(
        &mut self,
        stage: &mut ProcedureContext<'_>,
        (engine, level): (&str, &str),
        common: &mut Common,
    ) -> Result<u32, LabError> {
        let due = self.due_cuts((engine, level), &common.cuts)?;
        let terms = self.terms(engine, level, common)?;
        let Some((_, file_system)) = due.first() else { return Ok(0) };
        // What keeps all of them from being made is told once.
        let ready = self.cut_spec(engine, level, &common.cuts.by.workload).and_then(|trial| {
            stage.image(&trial.setup)?;
            Ok(trial)
        });
        let trial = match ready {
            Ok(trial) => trial,
            Err(reason) if reason.stops_the_run() => return Err(reason.into()),
            Err(reason) => {
                let refused = terms.refused(metadata(*file_system), reason.to_string());
                self.keep_cut(stage, &refused, common)?;
                return Ok(1);
            }
        };
        if let Some(images) = common.cuts.every {
            return self.cut_every(stage, (terms, &trial, images), &due, common);
        }
        let mut failures = Failures::default();
        let mut due = due;
        due.sort_by_key(|(number, _)| terms.run_of(*number));
        for due in due.chunk_by(|one, other| terms.run_of(one.0) == terms.run_of(other.0)) {
            stage.go_on()?;
            let mut numbers: Vec<u32> = due.iter().map(|(number, _)| *number).collect();
            numbers.dedup();
            let run = ClientRun::make(terms.clone(), &numbers, stage, &trial)?;
            let made = self.cut_run(stage, (&run, &trial), due, &mut failures, common);
            run.end()?;
            made?;
            if failures.in_a_row == MOST_FAILURES {
                break;
            }
        }
        Ok(failures.count)
    }

    /// Makes the cuts of a run of the clients, as long as not too many fail.
    fn cut_run(
        &mut self,
        stage: &mut ProcedureContext<'_>,
        (run, trial): (&ClientRun, &TrialSpec),
        due: &[(u32, FileSystem)],
        failures: &mut Failures,
        common: &mut Common,
    ) -> Result<(), LabError> {
        for (number, file_system) in due {
            stage.go_on()?;
            let cut = run.cut(*number, metadata(*file_system), stage, trial)?;
            self.note_applied(stage)?;
            failures.note(cut.failed.is_some());
            self.keep_cut(stage, &cut, common)?;
            if failures.in_a_row == MOST_FAILURES {
                break;
            }
        }
        Ok(())
    }

    /// The cuts that are still to be made, by number and file system; what failed is tried again.
    fn due_cuts(
        &self,
        level: (&str, &str),
        cuts: &Cuts,
    ) -> Result<Vec<(u32, FileSystem)>, LabError> {
        let done = self.folder.cuts()?;
        let of_this =
            |cut: &&Cut| (&*cut.engine, &*cut.durability) == level && cut.failed.is_none();
        let made: Vec<(u32, FileSystem)> =
            done.iter().filter(of_this).map(|cut| (cut.number, cut.file_system)).collect();
        let on = file_systems(cuts);
        let all = cuts.numbers().flat_map(|number| on.iter().map(move |it| (number, *it)));
        Ok(all.filter(|cut| !made.contains(cut)).collect())
    }

    /// What a cut of an engine at a level is staged with: one client more or less, another memory
    /// or another scale changes no promise.
    fn cut_spec(&self, engine: &str, level: &str, workload: &str) -> Result<TrialSpec, TrialError> {
        let experiment = self.experiment;
        let cell = experiment.cut_cell(engine, level);
        let target = self.registry.target_of(workload)?;
        let setup = WantedLevels { experiment, cell: &cell, workload }.resolve(target)?;
        Ok(TrialSpec {
            setup,
            limits: BTreeMap::new(),
            disk: spec::disk(self.registry, experiment, &cell)?,
            neighbours: NeighbourLevel::None,
            seed: experiment.seed,
            levels: levels(&cell),
            options: spec::options(&cell),
        })
    }

    fn terms(&self, engine: &str, level: &str, common: &Common) -> Result<CutTerms, MachineError> {
        let of_engine = common.cuts.by.promise == CutBy::OF_ENGINES;
        let images = self.keep_images.then(|| self.folder.dir().join(IMAGES));
        if self.keep_images {
            let made = self.held()?.below(IMAGES).map_err(io::Error::from);
            wanting("the folder of crash images", made)?;
        }
        Ok(CutTerms {
            engine: engine.into(),
            level: level.into(),
            promised: match of_engine {
                true => promised(self.registry, engine, level),
                // What a sync covered is durable once it has returned.
                false => Promised::Everything,
            },
            clients: self.experiment.cut_clients(),
            keep: common.keep.clone(),
            steady: self.experiment.cut_cell(engine, level).state() == EngineState::Steady,
            // A disk may have an engine's name.
            signatures: self
                .registry
                .engine(engine)
                .filter(|_| of_engine)
                .map(|engine| engine.signatures())
                .unwrap_or_default(),
            // Files that are opened recover nothing.
            timed: common.cuts.numbers().next().filter(|_| of_engine),
            recovery: common.cuts.recovery,
            keep_images: images,
            patience: cut::PATIENCE,
        })
    }

    /// Records a cut and tells of it.
    pub(super) fn keep_cut(
        &mut self,
        stage: &mut ProcedureContext<'_>,
        cut: &Cut,
        common: &mut Common,
    ) -> Result<(), LabError> {
        self.folder.commit_cut(cut)?;
        common.made += 1;
        let each = common.start.elapsed().as_secs_f64() / (common.made - common.before) as f64;
        let left_s = each * common.planned.saturating_sub(common.made) as f64;
        stage.watch.event(RunEvent::Cut { made: common.made, of: common.planned, cut, left_s });
        Ok(())
    }
}

/// How names become durable on a file system.
pub(super) fn metadata(file_system: FileSystem) -> Metadata {
    match file_system {
        FileSystem::Ext4 => Metadata::Ordered,
        FileSystem::Posix => Metadata::Posix,
    }
}

/// The levels of a cut for the record: its memory and its processors are never limited.
fn levels(cell: &Cell) -> bakeoff_results::Levels {
    let mut levels = cell.to_map();
    levels.insert(Factor::MEMORY.name().into(), MemoryLimit::Unlimited.to_string());
    levels.insert(Factor::CPUS.name().into(), Cpus::Unlimited.to_string());
    levels
}

/// The file systems that each cut is made on.
pub fn file_systems(cuts: &Cuts) -> Vec<FileSystem> {
    let all = [FileSystem::Ext4, FileSystem::Posix];
    let named = |name: &String| all.into_iter().find(|it| it.name() == name);
    cuts.file_systems.iter().filter_map(named).collect()
}

/// What a level says, by its engine's documentation.
fn promised(registry: &Registry, engine: &str, level: &str) -> Promised {
    let durability = Durability::parse(level).expect("a checked level");
    let promises = registry.engine(engine).map(|engine| engine.about().promises);
    let mut promises = promises.into_iter().flatten();
    let promise = promises.find(|promise| promise.durability == durability);
    match durability {
        Durability::None => Promised::Nothing,
        Durability::Relaxed => Promised::Whole {
            window_s: promise.and_then(|it| it.window).map(|it| it.as_secs_f64() + LATE_S),
            most_lost: promise.and_then(|it| it.most_lost),
        },
        Durability::Strict => Promised::Everything,
    }
}
