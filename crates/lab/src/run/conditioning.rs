//! How much work conditions the trials of a block: as much as the engine with the longest way needs
//! to turn its debts over once, with something to spare, and a part of a turn more, so that no two blocks begin at the same
//! moment of a debt. Each engine's own is learnt once a run.

use std::time::Duration;

use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_experiment::random::SplitMix64;
use bakeoff_experiment::{Cell, EngineState, Factor};
use bakeoff_results::measure::{CONDITIONED, CONDITIONING, TURNED_OVER};
use bakeoff_results::{Calibration, Scope, TrialMeasurements};

use super::Runner;
use crate::driving::{Conditioning, Drive};
use crate::planner::DueBlock;
use crate::procedures::ProcedureContext;
use crate::procedures::drive::{TrialTurn, in_turn};
use crate::spec::TrialSpec;
use crate::watch::RunEvent;
use crate::{LabError, TrialError};

/// Tells the seed of the work, and of where in a turn the window begins, from others of the block.
const WORK: u64 = 5;
const PHASE: u64 = 6;

/// How many times the work of a turn is done at least: it takes a little more at one time than at
/// another.
const SPARE: f64 = 1.25;

/// How long a calibration waits for debts to turn over. It works on a disk that takes no time, so that an
/// engine which has not paid once by then pays seldom.
const LONGEST: Duration = Duration::from_secs(20 * 60);

/// How many turns are traced at least, to be priced.
const TRACED: f64 = 3.0;

/// The factors that change nothing of how much work turns debts over while the disk takes no time.
const WITHOUT_EFFECT: [Factor; 5] =
    [Factor::DISK, Factor::NEIGHBOURS, Factor::CLIENTS, Factor::RATE, Factor::STATE];

impl Runner<'_> {
    /// The work for a block's trials in the state `steady`; what stands in its way is told for each of
    /// them.
    ///
    /// # Errors
    /// What keeps the run as a whole from going on.
    pub(super) fn conditioning(
        &mut self,
        stage: &mut ProcedureContext<'_>,
        due: &DueBlock,
    ) -> Result<Result<Conditioning, TrialError>, LabError> {
        let cells = due.block.trials.iter().map(|trial| &trial.cell);
        let steady: Vec<&Cell> = cells.filter(|cell| cell.state() == EngineState::Steady).collect();
        if steady.is_empty() {
            return Ok(Ok(Conditioning::None));
        }
        let mut most = 0;
        for cell in steady {
            stage.go_on()?;
            match self.turn(stage, cell) {
                Ok(operations) => most = most.max(operations),
                Err(LabError::Trial(error)) if !error.stops_the_run() => {
                    stage.go_on()?;
                    return Ok(Err(error));
                }
                Err(error) => return Err(error),
            }
        }
        let of = |what| {
            SplitMix64::from_words(&[self.experiment.seed, what, due.block.number.into()]).next()
        };
        let phase = of(PHASE) as f64 / u64::MAX as f64;
        let count = (most as f64 * (SPARE + phase)).ceil() as u64;
        let traced = if self.experiment.priced { most as f64 * SPARE * TRACED } else { 0.0 };
        Ok(Ok(Conditioning::Operations { count, traced: traced.ceil() as u64, seed: of(WORK) }))
    }

    /// How many operations turn the debts of a cell's engine over.
    fn turn(&mut self, stage: &mut ProcedureContext<'_>, cell: &Cell) -> Result<u64, LabError> {
        let (trial, drive) = self.resolve(cell, 0).map_err(TrialError::from)?;
        let key = key(&trial);
        if let Some(known) = self.folder.calibration(&key)? {
            return Ok(known.operations);
        }
        stage.watch.event(RunEvent::Calibrating { what: &trial.setup.recipe.about });
        let (trial, drive) = calibration(trial, drive, self.experiment.seed);
        let turn = TrialTurn { drive, neighbours: trial.neighbours };
        let measured = in_turn(stage, &trial, &[turn], &mut |_, _| Ok(()))?;
        let learnt = learnt(&measured);
        tracing::info!(key, ?learnt, "calibrated");
        stage
            .watch
            .event(RunEvent::Calibrated { what: &trial.setup.recipe.about, learnt: &learnt });
        self.folder.note_calibration(&key, &learnt)?;
        Ok(learnt.operations)
    }
}

/// What tells a calibration from others.
fn key(trial: &TrialSpec) -> String {
    let mut levels = trial.levels.clone();
    WITHOUT_EFFECT.iter().for_each(|factor| drop(levels.remove(factor.name())));
    let levels = levels.iter().map(|(factor, level)| format!("{factor}={level}"));
    format!("{} {}", trial.setup.recipe.key, levels.collect::<Vec<_>>().join(" "))
}

/// The trial that learns it: alone on its disk, which takes no time before clients start.
fn calibration(trial: TrialSpec, drive: Drive, seed: u64) -> (TrialSpec, Drive) {
    let conditioning = Conditioning::Calibrate { seed, longest: LONGEST };
    (TrialSpec { neighbours: NeighbourLevel::None, ..trial }, Drive { conditioning, ..drive })
}

fn learnt(measured: &TrialMeasurements) -> Calibration {
    let of = |measure, scope| measured.measures.get(measure, &scope).unwrap_or_default();
    Calibration {
        operations: of(&CONDITIONED, Scope::Clients) as u64,
        seconds: of(&CONDITIONING, Scope::Trial),
        turned_over: of(&TURNED_OVER, Scope::Trial) > 0.0,
    }
}
