//! When a run is judged that goes on until it is decided, how far each condition came by then, and why it
//! goes on or ended.

use std::ops::RangeInclusive;

use bakeoff_results::{Run, RunFolder, RunState, Sequential, Status};
use bakeoff_stats::{MARGIN, sequential};

use crate::Result;
use crate::cells;
use crate::compare::{self, Compared};
use crate::comparison::{Comparison, Verdict};
use crate::condition::{ConditionState, ConditionView};

/// What the last looks of a run have shown.
#[derive(Clone, Debug)]
pub struct JudgedRun {
    /// The conditions of which a trial has ended, in the plan's order.
    pub conditions: Vec<ConditionView>,
    /// What decides them: all pairs of levels that a summary counts.
    pub comparisons: Vec<Comparison>,
}

impl JudgedRun {
    /// What a run folder shows at this moment, without more than a planner needs.
    ///
    /// # Errors
    /// As [`crate::document()`].
    pub fn from_folder(folder: &RunFolder) -> Result<Self> {
        let _snapshot = folder.snapshot()?;
        let state = folder.state()?;
        let trials = folder.trials()?;
        let counted = cells::counted(&trials);
        let compared = compare::all(&state.run, &trials, &counted);
        Ok(Self::judge(&state, &compared))
    }

    /// From what was compared; no conditions where a run is judged once.
    pub(crate) fn judge(state: &RunState, compared: &Compared) -> Self {
        let run = &state.run;
        let all = compared.with_baseline.iter().chain(&compared.between);
        let comparisons: Vec<Comparison> = all.filter(|it| decides(run, it)).cloned().collect();
        let mut judged = Self { conditions: Vec::new(), comparisons };
        let Some(sequential) = &run.sequential else { return judged };
        let conditions = compared.conditions.iter().map(|reached| {
            let mut view = ConditionView {
                levels: reached.levels.clone(),
                blocks: reached.blocks,
                judged_at: reached.judged_at,
                state: ConditionState::Open,
            };
            view.state = judged.state(&view, sequential, state.status);
            view
        });
        judged.conditions = conditions.collect();
        judged
    }

    /// The comparisons at a condition for which it goes on, or that were open when it ended.
    pub fn open<'a>(&'a self, at: &'a ConditionView) -> impl Iterator<Item = &'a Comparison> {
        self.at(at).filter(|it| !it.verdict.is_decided())
    }

    fn at<'a>(&'a self, at: &'a ConditionView) -> impl Iterator<Item = &'a Comparison> {
        self.comparisons.iter().filter(|comparison| comparison.levels == at.levels)
    }

    fn state(&self, at: &ConditionView, rule: &Sequential, status: Status) -> ConditionState {
        let most = rule.looks.last().copied().unwrap_or_default();
        let looked = at.judged_at > 0;
        if looked && self.open(at).next().is_none() {
            ConditionState::Decided
        } else if at.judged_at >= most {
            ConditionState::MaxRepetitions
        } else if looked && !self.open(at).any(|it| may_get_word(it, at, rule)) {
            ConditionState::OutOfReach
        } else if status == Status::Finished && rule.max_time_s.is_some() {
            ConditionState::MaxTime
        } else {
            ConditionState::Open
        }
    }
}

/// The looks of a run of so many repetitions at least and at most, and the confidence of each interval:
/// chosen for every comparison that a summary could count.
pub fn schedule(
    run: &Run,
    repetitions: RangeInclusive<u32>,
    max_time_s: Option<f64>,
) -> Option<Sequential> {
    let of = |levels: usize| levels * levels.saturating_sub(1) / 2;
    let pairs = of(contenders(run).count()).max(1);
    let others = run.factors.iter().filter(|(factor, _)| *factor != run.compare);
    let conditions = others.map(|(_, levels)| levels.len()).fold(1, usize::saturating_mul);
    let comparisons = pairs.saturating_mul(conditions).saturating_mul(subjects(run));
    let comparisons = u32::try_from(comparisons).unwrap_or(u32::MAX);
    let looks = sequential::looks_from(*repetitions.start(), *repetitions.end());
    let confidence = sequential::confidence(&looks, comparisons)?;
    Some(Sequential { looks, confidence, comparisons, max_time_s, used_s: 0.0 })
}

/// At how many figures two levels are compared: at each operation's time, or at one rate of all of them.
/// Where operations are due at a rate it is their times.
fn subjects(run: &Run) -> usize {
    let rates = run.factors.iter().filter(|(factor, _)| factor == "rate");
    let closed = rates.flat_map(|(_, levels)| levels).all(|level| level.starts_with("closed"));
    if run.figure_of_merit.is_rate() && closed { 1 } else { run.operations.len().max(1) }
}

/// The levels that are held against each other, without those that measure the harness.
fn contenders(run: &Run) -> impl Iterator<Item = &str> {
    let levels = run.factors.iter().filter(|(factor, _)| *factor == run.compare);
    levels
        .flat_map(|(_, levels)| levels)
        .map(String::as_str)
        .filter(|level| run.alias(&run.compare, level).is_none() && !is_harness(run, level))
}

fn is_harness(run: &Run, level: &str) -> bool {
    run.compare == "engine" && !run.stores(level)
}

/// Whether a comparison is waited for: any with the harness is only where there is no other.
fn decides(run: &Run, it: &Comparison) -> bool {
    let harness = is_harness(run, &it.baseline) || is_harness(run, &it.level);
    !harness || contenders(run).count() < 2
}

/// Whether more blocks are likely to bring a word.
fn may_get_word(it: &Comparison, at: &ConditionView, rule: &Sequential) -> bool {
    // The trial that has too few or was never steady, or two levels that were cut off, stay in all that
    // is to come.
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
    sequential::reachable((ratio.ln(), half), (it.blocks, most), rule.confidence, MARGIN)
}
