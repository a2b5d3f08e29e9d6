//! A run of fixed repetitions, as if it had been judged at looks and had stopped when it was decided.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_results::{Levels, Run, RunFolder, Status, TrialSummary};
use bakeoff_stats::sequential::FIRST;

use crate::Result;
use crate::cells;
use crate::compare;
use crate::comparison::Verdict;
use crate::condition::ConditionState;
use crate::judged::{JudgedRun, schedule};

/// What a condition of a recorded run would have needed.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// The condition.
    pub levels: Levels,
    /// After how many blocks it would have ended, and of how many.
    pub blocks: (u32, u32),
    /// Why.
    pub state: ConditionState,
    /// What each comparison would have said then, and what it says of all blocks.
    pub words: Vec<Word>,
}

/// The two verdicts of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    /// The operation.
    pub operation: String,
    /// The baseline and the level.
    pub levels: (String, String),
    /// At the look that would have been the last, by its repeated confidence interval.
    pub at_last_look: Verdict,
    /// By all blocks, judged once.
    pub of_all: Verdict,
}

/// Replays a run whose blocks were all run.
///
/// # Errors
/// As [`crate::document()`].
pub fn replay(folder: &RunFolder) -> Result<Vec<Replayed>> {
    let _snapshot = folder.snapshot()?;
    let (mut state, trials) = (folder.state()?, folder.trials()?);
    state.run.sequential = None;
    let fixed = judged(&state, &trials);
    let most = blocks(&state.run, &trials).values().map(BTreeSet::len).max().unwrap_or(0) as u32;
    state.run.sequential = schedule(&state.run, FIRST.min(most)..=most, None);
    state.status = Status::Unfinished;
    let looks = state.run.sequential.iter().flat_map(|it| it.looks.clone()).collect::<Vec<_>>();
    let mut ended: Vec<Replayed> = Vec::new();
    for look in looks {
        let judged = judged(&state, &first(&state.run, &trials, look));
        for view in &judged.conditions {
            let known = ended.iter().any(|it| it.levels == view.levels);
            if known || view.state == ConditionState::Open || view.judged_at != look {
                continue;
            }
            let here = judged.comparisons.iter().filter(|it| it.levels == view.levels);
            let word = |it: &crate::Comparison| {
                let same = |other: &&crate::Comparison| {
                    (&other.levels, &other.operation, &other.baseline, &other.level)
                        == (&it.levels, &it.operation, &it.baseline, &it.level)
                };
                Some(Word {
                    operation: it.operation.clone(),
                    levels: (it.baseline.clone(), it.level.clone()),
                    at_last_look: it.verdict,
                    of_all: fixed.comparisons.iter().find(same)?.verdict,
                })
            };
            ended.push(Replayed {
                levels: view.levels.clone(),
                blocks: (look, most),
                state: view.state,
                words: here.filter_map(word).collect(),
            });
        }
    }
    Ok(ended)
}

fn judged(state: &bakeoff_results::RunState, trials: &[TrialSummary]) -> JudgedRun {
    let counted = cells::counted(trials);
    JudgedRun::judge(state, &compare::all(&state.run, trials, &counted))
}

/// The blocks of each condition.
fn blocks(run: &Run, trials: &[TrialSummary]) -> BTreeMap<Levels, BTreeSet<u32>> {
    let mut blocks: BTreeMap<Levels, BTreeSet<u32>> = BTreeMap::new();
    for trial in trials {
        blocks.entry(condition(run, trial)).or_default().insert(trial.block);
    }
    blocks
}

fn condition(run: &Run, trial: &TrialSummary) -> Levels {
    let mut levels = trial.levels.clone();
    levels.remove(&run.compare);
    levels
}

/// The trials of the first blocks of each condition, so many of them.
fn first(run: &Run, trials: &[TrialSummary], number: u32) -> Vec<TrialSummary> {
    let blocks = blocks(run, trials);
    let is_first = |trial: &&TrialSummary| {
        let mut first = blocks[&condition(run, trial)].iter().take(number as usize);
        first.any(|block| *block == trial.block)
    };
    trials.iter().filter(is_first).cloned().collect()
}
