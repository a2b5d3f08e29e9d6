//! Decides how much work conditions a block: one turn of the slowest engine's debts with a margin,
//! and a part of a turn more, so that blocks begin at different moments of a debt.

use std::time::Duration;

use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_experiment::random::SplitMix64;
use bakeoff_experiment::{EngineState, Factor};
use bakeoff_results::measure::{CONDITIONED, CONDITIONING, TURNED_OVER};
use bakeoff_results::{Calibration, Scope, TrialMeasurements};

use super::Runner;
use super::scheduled::ScheduledBlock;
use crate::driving::{Conditioning, Drive};
use crate::procedures::ProcedureContext;
use crate::procedures::drive::{TrialTurn, in_turn};
use crate::spec::{ResolvedTrial, TrialSpec};
use crate::watch::RunEvent;
use crate::{LabError, TrialError};

/// Makes this seed differ from the block's other seeds. It seeds the work, and the moment in a turn
/// at which the window begins.
const WORK: u64 = 5;
const PHASE: u64 = 6;

/// Turns differ a little in their work.
const SPARE: f64 = 1.25;

/// The disk takes no time here, so an engine that has not paid by then pays seldom.
const LONGEST: Duration = Duration::from_secs(20 * 60);

const TRACED: f64 = 3.0;

/// Factors that don't change how much work turns debts over while the disk takes no time.
const WITHOUT_EFFECT: [Factor; 5] =
    [Factor::DISK, Factor::NEIGHBOURS, Factor::CLIENTS, Factor::RATE, Factor::STATE];

impl Runner<'_> {
    /// An error of a trial stands for all trials of the block.
    pub(super) fn block_conditioning(
        &mut self,
        stage: &mut ProcedureContext<'_>,
        due: &ScheduledBlock,
    ) -> Result<Result<Conditioning, TrialError>, LabError> {
        let trials = due.block.trials.iter().zip(&due.trials);
        let steady = trials.filter(|(planned, _)| planned.cell.state() == EngineState::Steady);
        let steady: Vec<_> = steady.map(|(_, trial)| trial).collect();
        if steady.is_empty() {
            return Ok(Ok(Conditioning::None));
        }
        let mut most = 0;
        for trial in steady {
            stage.go_on()?;
            let trial = trial.as_deref().map_err(|refusal| TrialError::from(refusal.clone()));
            match trial.map_err(LabError::from).and_then(|trial| self.calibrate_cell(stage, trial))
            {
                Ok(operations) => most = most.max(operations),
                Err(LabError::Trial(error)) if !error.stops_the_run() => {
                    stage.go_on()?;
                    return Ok(Err(error));
                }
                Err(error) => return Err(error),
            }
        }
        let of = |what| {
            SplitMix64::from_words(&[self.plan.experiment.seed, what, due.block.number.into()])
                .next()
        };
        let phase = of(PHASE) as f64 / u64::MAX as f64;
        let count = (most as f64 * (SPARE + phase)).ceil() as u64;
        let traced = if self.plan.experiment.priced { most as f64 * SPARE * TRACED } else { 0.0 };
        Ok(Ok(Conditioning::Operations { count, traced: traced.ceil() as u64, seed: of(WORK) }))
    }

    fn calibrate_cell(
        &mut self,
        stage: &mut ProcedureContext<'_>,
        trial: &ResolvedTrial,
    ) -> Result<u64, LabError> {
        let (trial, drive) = trial.in_block(0);
        let key = calibration_key(&trial);
        if let Some(known) = self.folder.read_calibration(&key)? {
            return Ok(known.operations);
        }
        stage.watch.on_event(RunEvent::Calibrating { what: &trial.setup.recipe.about });
        let (trial, drive) = calibration_trial(trial, drive, self.plan.experiment.seed);
        let turn = TrialTurn { drive, neighbours: trial.neighbours };
        let measured = in_turn(stage, &trial, &[turn], &mut |_, _| Ok(()))?;
        let learnt = learnt_calibration(&measured);
        tracing::info!(key, ?learnt, "calibrated");
        stage
            .watch
            .on_event(RunEvent::Calibrated { what: &trial.setup.recipe.about, learnt: &learnt });
        self.folder.note_calibration(&key, &learnt)?;
        Ok(learnt.operations)
    }
}

fn calibration_key(trial: &TrialSpec) -> String {
    let mut levels = trial.levels.clone();
    WITHOUT_EFFECT.iter().for_each(|factor| drop(levels.remove(factor.name())));
    let levels = levels.iter().map(|(factor, level)| format!("{factor}={level}"));
    format!("{} {}", trial.setup.recipe.key, levels.collect::<Vec<_>>().join(" "))
}

/// The trial that measures it: alone on its disk, which takes no time before clients start.
fn calibration_trial(trial: TrialSpec, drive: Drive, seed: u64) -> (TrialSpec, Drive) {
    let conditioning = Conditioning::Calibrate { seed, longest: LONGEST };
    (TrialSpec { neighbours: NeighbourLevel::None, ..trial }, Drive { conditioning, ..drive })
}

fn learnt_calibration(measured: &TrialMeasurements) -> Calibration {
    let of = |measure, scope| measured.measures.get(measure, &scope).unwrap_or_default();
    Calibration {
        operations: of(&CONDITIONED, Scope::Clients) as u64,
        seconds: of(&CONDITIONING, Scope::Trial),
        turned_over: of(&TURNED_OVER, Scope::Trial) > 0.0,
    }
}
