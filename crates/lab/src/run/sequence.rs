//! Runs blocks that share a conditioning: each compared level is conditioned once, then its trials
//! of all these blocks run one after the other, in one order for all levels.

use std::time::Instant;

use bakeoff_experiment::{EngineState, PlannedTrial, TrialBlock};
use bakeoff_results::measure::{FAULTS, IMAGE};
use bakeoff_results::{Scope, Trial, TrialMeasurements};

use super::scheduled::ScheduledBlock;
use super::{RunProgress, Runner, judge_trial, now_s};
use crate::driving::{CheckScope, Conditioning};
use crate::machine::suspect::find_disturbance;
use crate::procedures::ProcedureContext;
use crate::procedures::drive::{TrialTurn, in_turn};
use crate::refusal::Refusal;
use crate::spec::{ResolvedTrial, TrialSpec};
use crate::watch::RunEvent;
use crate::{LabError, MachineError, TrialError};

pub fn shares(dues: &[ScheduledBlock], next: &TrialBlock) -> bool {
    dues.iter().all(|due| due.block.shares_conditioning(next))
}

/// The trials of a sequence in the order in which they run: each with its block, and its place in
/// that.
pub fn in_order<'a>(dues: &[&'a ScheduledBlock]) -> Vec<(&'a ScheduledBlock, usize)> {
    let levels = 0..dues[0].block.trials.len();
    levels.flat_map(|level| dues.iter().map(move |due| (*due, level))).collect()
}

/// The block's place in the sequence, and the trial's place in the block.
type SequencePosition = (usize, usize);

struct BegunTrial {
    place: SequencePosition,
    at: Instant,
    started_s: f64,
}

struct RunningSequence<'a, 'r> {
    runner: &'a mut Runner<'r>,
    way: &'a mut RunProgress,
    dues: &'a [ScheduledBlock],
    disturbed: Vec<Option<String>>,
    failed: u32,
}

impl Runner<'_> {
    /// Runs one block, or several that share a conditioning. Returns how many trials failed.
    pub(super) fn run_sequence(
        &mut self,
        stage: &mut ProcedureContext<'_>,
        way: &mut RunProgress,
        dues: &[ScheduledBlock],
    ) -> Result<u32, LabError> {
        for ScheduledBlock { block, attempt, .. } in dues {
            let (block, repetition) = (block.number, block.repetition);
            tracing::info!(block, attempt, repetition, "block");
        }
        // The first block's numbers seed what they share.
        let conditioning = self.block_conditioning(stage, &dues[0])?;
        let disturbed = vec![self.take_canary(stage, way)?; dues.len()];
        let mut course = RunningSequence { runner: self, way, dues, disturbed, failed: 0 };
        for level in 0..dues[0].block.trials.len() {
            let places: Vec<SequencePosition> =
                (0..dues.len()).map(|block| (block, level)).collect();
            let mut left = &places[..];
            while !left.is_empty() {
                let ended = course.run_trials(stage, left, &conditioning)?;
                left = &left[ended..];
            }
        }
        let RunningSequence { disturbed, failed, .. } = course;
        for (due, what) in dues.iter().zip(disturbed) {
            if let Some(what) = what {
                self.folder.note_disturbed(due.block.number, due.attempt, &what)?;
            }
        }
        Ok(failed)
    }
}

impl RunningSequence<'_, '_> {
    fn due_trial(&self, (block, level): SequencePosition) -> (&ScheduledBlock, &PlannedTrial) {
        let due = &self.dues[block];
        (due, &due.block.trials[level])
    }

    fn resolved(&self, (block, level): SequencePosition) -> Result<&ResolvedTrial, &Refusal> {
        self.dues[block].trials[level].as_deref()
    }

    /// Stops at the first failure: the rest has to be conditioned anew. Returns how many have
    /// ended, at least one.
    fn run_trials(
        &mut self,
        stage: &mut ProcedureContext<'_>,
        places: &[SequencePosition],
        conditioning: &Result<Conditioning, TrialError>,
    ) -> Result<usize, LabError> {
        let mut begun = self.begin_trial(stage, places[0]);
        let (trial, turns) = match self.trial_turns(places, conditioning) {
            Ok(turns) => turns,
            Err(error) => return self.record_trial(stage, &begun, Err(error)).map(|()| 1),
        };
        let (mut ended, mut broken) = (1, None);
        let answer = in_turn(stage, &trial, &turns, &mut |stage, measured| {
            if let Err(error) = self.record_trial(stage, &begun, Ok(measured)) {
                broken = Some(error);
                return Err(MachineError::Interrupted.into());
            }
            begun = self.begin_trial(stage, places[ended]);
            ended += 1;
            Ok(())
        });
        if let Some(error) = broken {
            return Err(error);
        }
        self.record_trial(stage, &begun, answer).map(|()| ended)
    }

    fn trial_turns(
        &self,
        places: &[SequencePosition],
        conditioning: &Result<Conditioning, TrialError>,
    ) -> Result<(TrialSpec, Vec<TrialTurn>), TrialError> {
        let mut first: Option<TrialSpec> = None;
        let mut turns = Vec::new();
        for place in places {
            let (trial, mut drive) = match self.resolved(*place) {
                Err(refusal) if first.is_none() => return Err(refusal.clone().into()),
                Err(_) => break,
                Ok(trial) => trial.in_block(self.dues[place.0].block.number),
            };
            if drive.state == EngineState::Steady {
                drive.conditioning = conditioning.clone()?;
            }
            let is_last = Some(place) == places.last();
            let is_new = is_last && !self.way.checked.contains(&trial.levels);
            drive.check = match self.way.images.contains(&trial.setup.recipe) {
                _ if !is_new => CheckScope::None,
                false => CheckScope::All,
                true => CheckScope::Written,
            };
            turns.push(TrialTurn { drive, neighbours: trial.neighbours });
            first.get_or_insert(trial);
        }
        let mut first = first.expect("one at least");
        // One disk for all, the same for all levels, whichever runs first on it.
        if let Ok(trial) = self.resolved((0, places[0].1)) {
            first.seed = trial.in_block(self.dues[0].block.number).0.seed;
        }
        Ok((first, turns))
    }

    fn begin_trial(
        &mut self,
        stage: &mut ProcedureContext<'_>,
        place: SequencePosition,
    ) -> BegunTrial {
        self.way.number += 1;
        self.way.of = self.way.of.max(self.way.number);
        let (number, of) = (self.way.number, self.way.of);
        let cell = &self.dues[place.0].block.trials[place.1].cell;
        let left_s = self.way.left.begin_trial(cell);
        stage.watch.on_event(RunEvent::Begins { number, of, cell, left_s });
        tracing::info!(trial = number, of, levels = ?cell.to_map(), "trial begins");
        BegunTrial { place, at: Instant::now(), started_s: now_s() }
    }

    fn with_image(
        &self,
        place: SequencePosition,
        mut measured: TrialMeasurements,
    ) -> TrialMeasurements {
        if self.runner.plan.experiment.images > 1 {
            let image = self.due_trial(place).1.image + 1;
            measured.measures.set(&IMAGE, Scope::Trial, f64::from(image));
        }
        measured
    }

    fn record_trial(
        &mut self,
        stage: &mut ProcedureContext<'_>,
        begun: &BegunTrial,
        answer: Result<TrialMeasurements, TrialError>,
    ) -> Result<(), LabError> {
        let (measured, reason) = match answer {
            Ok(measured) => (Some(self.with_image(begun.place, measured)), None),
            Err(error) if error.stops_the_run() => return Err(error.into()),
            Err(error) => {
                stage.go_on()?;
                (None, Some(error.to_string()))
            }
        };
        self.runner.note_applied(stage)?;
        if let Some(measured) = &measured {
            if measured.measures.get(&FAULTS, &Scope::Trial).is_some() {
                let resolved = self.resolved(begun.place);
                let image = resolved.map(|trial| trial.spec.setup.recipe.clone()).ok();
                let levels = self.due_trial(begun.place).1.cell.to_map();
                self.way.checked.insert(levels);
                self.way.images.extend(image);
            }
            let disturbed = &mut self.disturbed[begun.place.0];
            if disturbed.is_none() {
                let (measures, processors) = (&measured.measures, self.way.processors);
                *disturbed = find_disturbance(measures, measured.ran_s, processors);
            }
        }
        let (due, planned) = self.due_trial(begun.place);
        let mut trial = Trial {
            repetition: due.block.repetition,
            block: due.block.number,
            attempt: due.attempt,
            order: planned.order,
            levels: planned.cell.to_map(),
            started_s: begun.started_s,
            valid: true,
            reason,
            measured,
        };
        judge_trial(&mut trial);
        self.runner.folder.commit_trial(&trial)?;
        self.failed += u32::from(!trial.valid);
        stage.watch.on_event(RunEvent::Ends(&trial));
        let (seconds, reason) = (begun.at.elapsed().as_secs_f64(), trial.reason.as_deref());
        let number = self.way.number;
        tracing::info!(trial = number, valid = trial.valid, seconds, reason, "trial ends");
        self.way.left.end_trial(seconds);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_experiment::{Factor, group_sequences};

    use super::*;

    #[test]
    fn each_level_is_driven_beside_all_neighbours_before_the_next() {
        let toml = "workload = 'ledger'\nengine = ['sqlite', 'lmdb']\nstate = 'steady'\n\
                    disk = 'ssd-sata'\nneighbours = ['0', 'x2']\nrepetitions = 2\n";
        let plan = crate::tests::load(toml).plan();
        let due = |block: &TrialBlock| {
            let trials = Vec::new();
            ScheduledBlock { block: block.clone(), attempt: 0, trials }
        };
        let dues: Vec<ScheduledBlock> = plan.blocks.iter().map(due).collect();
        let sequences = group_sequences(&dues, |due| &due.block);
        assert_eq!(sequences.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
        for sequence in sequences {
            let trials = in_order(&sequence);
            let of = |factor: Factor| -> Vec<&str> {
                trials
                    .iter()
                    .map(|(it, level)| it.block.trials[*level].cell.aliased_level(factor))
                    .collect()
            };
            let (engines, neighbours) = (of(Factor::ENGINE), of(Factor::NEIGHBOURS));
            assert!(engines[0] == engines[1] && engines[2] == engines[3], "{engines:?}");
            assert!(engines[1] != engines[2] && neighbours[0] != neighbours[1]);
            assert_eq!(neighbours[..2], neighbours[2..]);
        }
        // A block that is left of another repetition shares nothing.
        assert!(shares(&dues[..1], &dues[1].block) && !shares(&dues[..1], &dues[3].block));
    }
}
