//! Replays a run of fixed repetitions as if it had been judged at looks, and had stopped when
//! decided.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_results::{CellLevels, Levels, Run, RunFolder, Status, TrialSummary};
use bakeoff_stats::sequential::FIRST;

use crate::Result;
use crate::cells;
use crate::compare;
use crate::comparison::Verdict;
use crate::condition::ConditionState;
use crate::interim_analysis::{JudgedRun, schedule_looks};

#[derive(Clone, Debug, PartialEq)]
pub struct ConditionReplay {
    pub levels: Levels,
    /// After how many blocks it would have ended, and of how many.
    pub blocks: (u32, u32),
    pub state: ConditionState,
    pub words: Vec<Word>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    pub operation: String,
    pub levels: (String, String),
    /// By the repeated confidence interval of the look that would have been the last.
    pub at_last_look: Verdict,
    pub of_all: Verdict,
}

pub fn replay(folder: &RunFolder) -> Result<Vec<ConditionReplay>> {
    let _snapshot = folder.begin_snapshot()?;
    let (mut state, trials) = (folder.read_state()?, folder.read_trials()?);
    state.run.sequential = None;
    let fixed = judge_trials(&state, &trials);
    let most =
        collect_blocks(&state.run, &trials).values().map(BTreeSet::len).max().unwrap_or(0) as u32;
    state.run.sequential = schedule_looks(&state.run, FIRST.min(most)..=most, None);
    state.status = Status::Unfinished;
    let looks = state.run.sequential.iter().flat_map(|it| it.looks.clone()).collect::<Vec<_>>();
    let mut ended: Vec<ConditionReplay> = Vec::new();
    for look in looks {
        let judged = judge_trials(&state, &take_first_blocks(&state.run, &trials, look));
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
            ended.push(ConditionReplay {
                levels: view.levels.clone(),
                blocks: (look, most),
                state: view.state,
                words: here.filter_map(word).collect(),
            });
        }
    }
    Ok(ended)
}

fn judge_trials(state: &bakeoff_results::RunState, trials: &[TrialSummary]) -> JudgedRun {
    let counted = cells::select_counted(trials);
    JudgedRun::judge(state, &compare::compare_all(&state.run, trials, &counted))
}

fn collect_blocks(run: &Run, trials: &[TrialSummary]) -> BTreeMap<Levels, BTreeSet<u32>> {
    let mut blocks: BTreeMap<Levels, BTreeSet<u32>> = BTreeMap::new();
    for trial in trials {
        blocks.entry(trial.levels.without_factor(&run.compare)).or_default().insert(trial.block);
    }
    blocks
}

fn take_first_blocks(run: &Run, trials: &[TrialSummary], number: u32) -> Vec<TrialSummary> {
    let blocks = collect_blocks(run, trials);
    let is_first = |trial: &&TrialSummary| {
        let condition = trial.levels.without_factor(&run.compare);
        let mut first = blocks[&condition].iter().take(number as usize);
        first.any(|block| *block == trial.block)
    };
    trials.iter().filter(is_first).cloned().collect()
}
