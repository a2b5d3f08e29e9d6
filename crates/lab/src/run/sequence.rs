//! Blocks whose trials follow one conditioning: each level of the compared factor is conditioned once, and
//! its trials of all these blocks are measured one after the other, in one order for all levels. Any other
//! block is a sequence by itself.

use std::time::Instant;

use bakeoff_experiment::{Cell, EngineState, PlannedTrial};
use bakeoff_results::measure::FAULTS;
use bakeoff_results::{Scope, Trial, TrialMeasurements};

use super::{RunProgress, Runner, judge, now_s};
use crate::driving::{CheckScope, Conditioning};
use crate::machine::suspect::disturbance;
use crate::planner::DueBlock;
use crate::procedures::ProcedureContext;
use crate::procedures::drive::{TrialTurn, in_turn};
use crate::spec::TrialSpec;
use crate::watch::RunEvent;
use crate::{LabError, MachineError, TrialError};

/// Whether a block can follow the same conditioning as these.
pub fn shares(dues: &[DueBlock], next: &DueBlock) -> bool {
    dues.iter().all(|due| due.block.shares_conditioning(&next.block))
}

/// A trial and the block that it belongs to.
pub type DueTrial<'a> = (&'a DueBlock, &'a PlannedTrial);

/// The trials of a sequence in the order in which they are run.
pub fn in_order<'a>(dues: &[&'a DueBlock]) -> Vec<DueTrial<'a>> {
    let levels = 0..dues[0].block.trials.len();
    let of = |level: usize| dues.iter().map(move |due| (*due, &due.block.trials[level]));
    levels.flat_map(of).collect()
}

/// A trial that is to be run: its block's place in the sequence, and the trial's place in the block.
type SequencePosition = (usize, usize);

/// A trial that has begun.
struct BegunTrial {
    place: SequencePosition,
    at: Instant,
    started_s: f64,
}

/// A sequence under way.
struct RunningSequence<'a, 'r> {
    runner: &'a mut Runner<'r>,
    way: &'a mut RunProgress,
    dues: &'a [DueBlock],
    /// What disturbed the machine, of each block.
    disturbed: Vec<Option<String>>,
    failed: u32,
}

impl Runner<'_> {
    /// Runs the trials of a block back to back, or of several that share their conditioning; how many
    /// failed.
    pub(super) fn run_sequence(
        &mut self,
        stage: &mut ProcedureContext<'_>,
        way: &mut RunProgress,
        dues: &[DueBlock],
    ) -> Result<u32, LabError> {
        for DueBlock { block, attempt } in dues {
            let (block, repetition) = (block.number, block.repetition);
            tracing::info!(block, attempt, repetition, "block");
        }
        // The first one's numbers seed what they share.
        let conditioning = self.conditioning(stage, &dues[0])?;
        let disturbed = vec![self.take_canary(stage, way)?; dues.len()];
        let mut course = RunningSequence { runner: self, way, dues, disturbed, failed: 0 };
        for level in 0..dues[0].block.trials.len() {
            let places: Vec<SequencePosition> =
                (0..dues.len()).map(|block| (block, level)).collect();
            let mut left = &places[..];
            while !left.is_empty() {
                let ended = course.sit(stage, left, &conditioning)?;
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
    fn planned(&self, (block, level): SequencePosition) -> DueTrial<'_> {
        let due = &self.dues[block];
        (due, &due.block.trials[level])
    }

    /// Runs trials after one conditioning until one of them fails; how many have ended, one at least. The
    /// rest has to be conditioned anew.
    fn sit(
        &mut self,
        stage: &mut ProcedureContext<'_>,
        places: &[SequencePosition],
        conditioning: &Result<Conditioning, TrialError>,
    ) -> Result<usize, LabError> {
        let mut begun = self.begins(stage, places[0]);
        let (trial, turns) = match self.turns(places, conditioning) {
            Ok(turns) => turns,
            Err(error) => return self.ends(stage, &begun, Err(error)).map(|()| 1),
        };
        let (mut ended, mut broken) = (1, None);
        let answer = in_turn(stage, &trial, &turns, &mut |stage, measured| {
            if let Err(error) = self.ends(stage, &begun, Ok(measured)) {
                broken = Some(error);
                return Err(MachineError::Interrupted.into());
            }
            begun = self.begins(stage, places[ended]);
            ended += 1;
            Ok(())
        });
        if let Some(error) = broken {
            return Err(error);
        }
        self.ends(stage, &begun, answer).map(|()| ended)
    }

    /// How these trials are staged and driven.
    ///
    /// # Errors
    /// Why the first of them can't be.
    fn turns(
        &self,
        places: &[SequencePosition],
        conditioning: &Result<Conditioning, TrialError>,
    ) -> Result<(TrialSpec, Vec<TrialTurn>), TrialError> {
        let resolve = |cell: &Cell, due: &DueBlock| self.runner.resolve(cell, due.block.number);
        let mut first: Option<TrialSpec> = None;
        let mut turns = Vec::new();
        for place in places {
            let (due, planned) = self.planned(*place);
            let (trial, mut drive) = match resolve(&planned.cell, due) {
                Err(refusal) if first.is_none() => return Err(refusal.into()),
                Err(_) => break,
                Ok(resolved) => resolved,
            };
            if drive.state == EngineState::Steady {
                drive.conditioning = conditioning.clone()?;
            }
            // Nothing is drained before the last of them.
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
        // The disk is one for all, and the same for all levels, whichever is the first on it.
        let (due, planned) = self.planned((0, places[0].1));
        if let Ok((trial, _)) = resolve(&planned.cell, due) {
            first.seed = trial.seed;
        }
        Ok((first, turns))
    }

    fn begins(&mut self, stage: &mut ProcedureContext<'_>, place: SequencePosition) -> BegunTrial {
        self.way.number += 1;
        self.way.of = self.way.of.max(self.way.number);
        let (number, of) = (self.way.number, self.way.of);
        let cell = &self.dues[place.0].block.trials[place.1].cell;
        let left_s = self.way.left.begins(cell);
        stage.watch.event(RunEvent::Begins { number, of, cell, left_s });
        tracing::info!(trial = number, of, levels = ?cell.to_map(), "trial begins");
        BegunTrial { place, at: Instant::now(), started_s: now_s() }
    }

    /// Records what came of a trial.
    ///
    /// # Errors
    /// What stops the run.
    fn ends(
        &mut self,
        stage: &mut ProcedureContext<'_>,
        begun: &BegunTrial,
        answer: Result<TrialMeasurements, TrialError>,
    ) -> Result<(), LabError> {
        let (measured, reason) = match answer {
            Ok(measured) => (Some(measured), None),
            Err(error) if error.stops_the_run() => return Err(error.into()),
            Err(error) => {
                stage.go_on()?;
                (None, Some(error.to_string()))
            }
        };
        self.runner.note_applied(stage)?;
        if let Some(measured) = &measured {
            if measured.measures.get(&FAULTS, &Scope::Trial).is_some() {
                let (due, planned) = self.planned(begun.place);
                let (cell, block) = (&planned.cell, due.block.number);
                let image = self.runner.resolve(cell, block).map(|(trial, _)| trial.setup.recipe);
                let levels = cell.to_map();
                self.way.checked.insert(levels);
                self.way.images.extend(image);
            }
            let disturbed = &mut self.disturbed[begun.place.0];
            if disturbed.is_none() {
                let (measures, processors) = (&measured.measures, self.way.processors);
                *disturbed = disturbance(measures, measured.ran_s, processors);
            }
        }
        let (due, planned) = self.planned(begun.place);
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
        judge(&mut trial);
        self.runner.folder.commit_trial(&trial)?;
        self.failed += u32::from(!trial.valid);
        stage.watch.event(RunEvent::Ends(&trial));
        let (seconds, reason) = (begun.at.elapsed().as_secs_f64(), trial.reason.as_deref());
        let number = self.way.number;
        tracing::info!(trial = number, valid = trial.valid, seconds, reason, "trial ends");
        self.way.left.took(seconds);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_experiment::{Experiment, Factor, FlagOverrides, TrialBlock, sequences};

    use super::*;
    use crate::Registry;

    #[test]
    fn each_level_is_driven_beside_all_neighbours_before_the_next() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("steady.toml");
        let toml = "workload = 'ledger'\nengine = ['sqlite', 'lmdb']\nstate = 'steady'\n\
                    disk = 'ssd-sata'\nneighbours = ['0', 'x2']\nrepetitions = 2\n";
        std::fs::write(&file, toml).unwrap();
        let (file, changes) = (file.to_string_lossy(), FlagOverrides::default());
        let vocabulary = Registry::standard().vocabulary();
        let plan = Experiment::load(&file, &changes, &vocabulary).unwrap().plan();
        let due = |block: &TrialBlock| DueBlock { block: block.clone(), attempt: 0 };
        let dues: Vec<DueBlock> = plan.blocks.iter().map(due).collect();
        let sequences = sequences(&dues, |due| &due.block);
        assert_eq!(sequences.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
        for sequence in sequences {
            let trials = in_order(&sequence);
            let of = |factor: Factor| -> Vec<&str> {
                trials.iter().map(|(_, trial)| trial.cell.get(factor)).collect()
            };
            let (engines, neighbours) = (of(Factor::ENGINE), of(Factor::NEIGHBOURS));
            assert!(engines[0] == engines[1] && engines[2] == engines[3], "{engines:?}");
            assert!(engines[1] != engines[2] && neighbours[0] != neighbours[1]);
            assert_eq!(neighbours[..2], neighbours[2..]);
        }
        // A block that is left of another repetition shares nothing.
        assert!(shares(&dues[..1], &dues[1]) && !shares(&dues[..1], &dues[3]));
    }
}
