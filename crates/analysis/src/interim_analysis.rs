//! Judges a run until decided at its looks: how far each condition came, and why it goes on or
//! ended.

use std::ops::RangeInclusive;

use bakeoff_results::{OwnFactor, Run, RunFolder, RunState, SequentialDesign, Status};
use bakeoff_stats::{MARGIN, sequential};

use crate::Result;
use crate::cells;
use crate::compare::{self, ComparisonSets};
use crate::comparison::{Comparison, Verdict};
use crate::condition::{ConditionState, ConditionView};
use crate::planned_comparisons::PlannedComparisons;

#[derive(Clone, Debug)]
pub struct JudgedRun {
    pub conditions: Vec<ConditionView>,
    pub comparisons: Vec<Comparison>,
}

impl JudgedRun {
    /// For planners: reads no more of a run folder than they need.
    pub fn from_folder(folder: &RunFolder) -> Result<Self> {
        let _snapshot = folder.begin_snapshot()?;
        let state = folder.read_state()?;
        let trials = folder.read_trials()?;
        let counted = cells::select_counted(&trials);
        let compared = compare::compare_all(&state.run, &trials, &counted);
        Ok(Self::judge(&state, &compared))
    }

    pub(crate) fn judge(state: &RunState, compared: &ComparisonSets) -> Self {
        let run = &state.run;
        let all = compared.with_baseline.iter().chain(&compared.between);
        let comparisons: Vec<Comparison> = all.filter(|it| is_awaited(run, it)).cloned().collect();
        let mut judged = Self { conditions: Vec::new(), comparisons };
        let Some(sequential) = &run.sequential else { return judged };
        let conditions = compared.conditions.iter().map(|reached| {
            let mut view = ConditionView {
                levels: reached.levels.clone(),
                blocks: reached.blocks,
                judged_at: reached.judged_at,
                state: ConditionState::Open,
            };
            view.state = judged.decide_state(&view, sequential, state.status);
            view
        });
        judged.conditions = conditions.collect();
        judged
    }

    pub fn open_comparisons<'a>(
        &'a self,
        at: &'a ConditionView,
    ) -> impl Iterator<Item = &'a Comparison> {
        self.comparisons_at(at).filter(|it| !it.verdict.is_decided())
    }

    fn comparisons_at<'a>(&'a self, at: &'a ConditionView) -> impl Iterator<Item = &'a Comparison> {
        self.comparisons.iter().filter(|comparison| comparison.levels == at.levels)
    }

    fn decide_state(
        &self,
        at: &ConditionView,
        rule: &SequentialDesign,
        status: Status,
    ) -> ConditionState {
        let most = rule.looks.last().copied().unwrap_or_default();
        let looked = at.judged_at > 0;
        if looked && self.open_comparisons(at).next().is_none() {
            ConditionState::Decided
        } else if at.judged_at >= most {
            ConditionState::MaxRepetitions
        } else if looked && !self.open_comparisons(at).any(|it| may_get_word(it, at, rule)) {
            ConditionState::OutOfReach
        } else if status == Status::Finished && rule.max_time_s.is_some() {
            ConditionState::MaxTime
        } else {
            ConditionState::Open
        }
    }
}

/// The looks of a run, and the confidence of each interval, chosen for every comparison that a
/// summary could count.
pub fn schedule_looks(
    run: &Run,
    repetitions: RangeInclusive<u32>,
    max_time_s: Option<f64>,
) -> Option<SequentialDesign> {
    let others = run.factors.iter().filter(|(factor, _)| *factor != run.compare);
    let planned = PlannedComparisons {
        // A run of one level, or of the harness alone, is bounded as one comparison.
        contenders: run.contenders().count().max(2),
        conditions: others.map(|(_, levels)| levels.len()).fold(1, usize::saturating_mul),
        subjects: count_subjects(run),
    };
    let comparisons = u32::try_from(planned.count()).unwrap_or(u32::MAX);
    let looks = sequential::looks_from(*repetitions.start(), *repetitions.end());
    let confidence = sequential::find_confidence(&looks, comparisons)?;
    Some(SequentialDesign { looks, confidence, comparisons, max_time_s, used_s: 0.0 })
}

/// In a closed loop with a rate, all operations together are one figure. Else each operation has
/// one.
fn count_subjects(run: &Run) -> usize {
    let mut rates = run.levels_of(OwnFactor::Rate.as_str()).iter();
    let closed = rates.all(|level| level.starts_with("closed"));
    if run.figure_of_merit.is_rate() && closed { 1 } else { run.operations.len().max(1) }
}

/// A comparison with the harness is waited for only where there is no other.
fn is_awaited(run: &Run, it: &Comparison) -> bool {
    let harness = run.is_harness(&it.baseline) || run.is_harness(&it.level);
    !harness || run.contenders().count() < 2
}

fn may_get_word(it: &Comparison, at: &ConditionView, rule: &SequentialDesign) -> bool {
    // Trials with too few operations, never steady or cut off stay among those to come.
    let never = matches!(it.verdict, Verdict::TooFew | Verdict::NeverSteady | Verdict::Void);
    if never || (it.ratio.is_none() && it.blocks > 0) {
        return false;
    }
    if at.judged_at < sequential::FUTILE_FROM {
        return true;
    }
    let Some(ratio) = it.ratio else { return false };
    let far = |end: f64| (end / ratio).ln().abs();
    let (Some(half), Some(&most)) = (it.low.or(it.high).map(far), rule.looks.last()) else {
        return true;
    };
    sequential::is_reachable((ratio.ln(), half), (it.blocks, most), rule.confidence, MARGIN)
}
