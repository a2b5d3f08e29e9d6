//! Levels that stand still: whole seconds of a trial's window in which no operation ended.

use std::collections::BTreeMap;

use bakeoff_results::{CellLevels, Levels, RunFolder, TrialSummary};
use bakeoff_stats::CONFIDENCE;
use bakeoff_stats::family::{Adjustment, is_believed};
use bakeoff_stats::idle::{IdleDifference, IdleTrial};
use serde::{Deserialize, Serialize};

use crate::Result;

/// Of a cell that ends fewer operations in a second that is not idle, an idle second is its pace, or
/// chance.
const LEAST_PER_SECOND: f64 = 10.0;

/// One trial may stand still for what is no level's doing.
const LEAST_TRIALS: u32 = 2;

const SAME_S: f64 = 1e-6;

/// Two levels of the compared factor by their idle seconds, all other levels equal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IdleComparison {
    pub factor: String,
    pub levels: Levels,
    pub baseline: String,
    pub level: String,
    pub blocks: u32,
    pub baseline_idle: IdleTime,
    pub level_idle: IdleTime,
    /// How many seconds of a minute more the level is idle than the baseline.
    pub more_s_a_minute: f64,
    /// The 95 % interval of that.
    pub low: f64,
    pub high: f64,
    /// The p-value of "there is no difference", after the adjustment of the family of all comparisons.
    /// `None` where the two get no verdict, and in a run until decided.
    pub p_adjusted: Option<f64>,
    pub adjusted_by: Option<Adjustment>,
    /// Whether the difference is significant among all that were compared.
    pub clear: bool,
}

/// The mean over a level's trials, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IdleTime {
    pub idle_s: f64,
    /// Of so many whole seconds.
    pub whole_s: f64,
    /// How many trials have an idle second.
    pub trials: u32,
}

impl IdleComparison {
    /// The level that was idle for longer, and the other.
    pub fn in_order(&self) -> [(&str, IdleTime); 2] {
        let both =
            [(self.baseline.as_str(), self.baseline_idle), (self.level.as_str(), self.level_idle)];
        if self.more_s_a_minute > 0.0 { [both[1], both[0]] } else { both }
    }

    pub(crate) fn cell_at(&self, level: &str) -> Levels {
        self.levels.with_level(&self.factor, level)
    }
}

/// A comparison whose p-value is not adjusted yet; `None` where it gets no verdict.
pub(crate) struct IdleCase {
    pub comparison: IdleComparison,
    pub p: Option<f64>,
}

impl IdleCase {
    pub fn judge(self, p_adjusted: Option<f64>, adjusted_by: Option<Adjustment>) -> IdleComparison {
        let adjusted_by = p_adjusted.and(adjusted_by);
        let clear = is_believed(p_adjusted, CONFIDENCE);
        IdleComparison { p_adjusted, adjusted_by, clear, ..self.comparison }
    }
}

struct CountedSeconds {
    idle: IdleTrial,
    /// Operations that ended in a second of the window.
    per_second: f64,
}

/// Of each trial that counts, by block, attempt and order. A trial whose window has no whole second
/// is not among them.
#[derive(Default)]
pub(crate) struct IdleSeconds(BTreeMap<(u32, u32, u32), CountedSeconds>);

fn key_of(trial: &TrialSummary) -> (u32, u32, u32) {
    (trial.block, trial.attempt, trial.order)
}

impl IdleSeconds {
    pub fn from_folder(folder: &RunFolder, counted: &[&TrialSummary]) -> Result<Self> {
        let mut all = BTreeMap::new();
        for trial in counted {
            let Some(window_s) = trial.window_s.filter(|window| count_whole(*window) > 0) else {
                continue;
            };
            let stretches = join_stretches(window_s, &folder.read_idle_slots(trial)?);
            let idle = IdleTrial { seconds: count_whole(window_s), stretches };
            let per_second = trial.operations.iter().map(|it| it.per_second).sum();
            all.insert(key_of(trial), CountedSeconds { idle, per_second });
        }
        Ok(Self(all))
    }

    /// The trials of two levels in the same blocks. `None` where neither stands still in two trials, where
    /// one of them is slow, and where some trial has no whole second.
    pub fn compare_trials(
        &self,
        pairs: &[(&TrialSummary, &TrialSummary)],
    ) -> Option<(IdleDifference, [IdleTime; 2])> {
        let find = |trial: &TrialSummary| self.0.get(&key_of(trial));
        let pairs: Option<Vec<_>> =
            pairs.iter().map(|(one, other)| Some((find(one)?, find(other)?))).collect();
        let (one, other): (Vec<_>, Vec<_>) = pairs?.into_iter().unzip();
        let times = [&one, &other].map(|side| IdleTime::from_trials(side));
        let [one_time, other_time] = times;
        let both = [one_time?, other_time?];
        if both.iter().all(|time| time.trials < LEAST_TRIALS) {
            return None;
        }
        let idle =
            one.iter().zip(&other).map(|(one, other)| (one.idle.clone(), other.idle.clone()));
        Some((IdleDifference::from_pairs(&idle.collect::<Vec<_>>(), CONFIDENCE)?, both))
    }
}

impl IdleTime {
    /// `None` without trials, and for a level that is slow.
    fn from_trials(trials: &[&CountedSeconds]) -> Option<Self> {
        let sum = |of: &dyn Fn(&CountedSeconds) -> f64| trials.iter().map(|it| of(it)).sum::<f64>();
        let idle_s = sum(&|it| f64::from(it.idle.count_idle()));
        let whole_s = sum(&|it| f64::from(it.idle.seconds));
        let operations = sum(&|it| it.per_second * f64::from(it.idle.seconds));
        let is_quick = operations >= LEAST_PER_SECOND * (whole_s - idle_s) && operations > 0.0;
        let count = trials.len() as f64;
        is_quick.then(|| Self {
            idle_s: idle_s / count,
            whole_s: whole_s / count,
            trials: trials.iter().filter(|it| it.idle.count_idle() > 0).count() as u32,
        })
    }
}

/// The whole seconds of a window: slots begin at whole seconds.
fn count_whole((from, to): (f64, f64)) -> u32 {
    let seconds = (to + SAME_S).floor() - (from - SAME_S).ceil();
    seconds.max(0.0) as u32
}

/// The lengths of stretches of idle seconds inside a window.
fn join_stretches((from, to): (f64, f64), idle: &[(f64, f64)]) -> Vec<u32> {
    let is_whole = |(start, end): &&(f64, f64)| {
        *start >= from - SAME_S && *end <= to + SAME_S && end - start >= 1.0 - SAME_S
    };
    let whole: Vec<&(f64, f64)> = idle.iter().filter(is_whole).collect();
    let stretches = whole.chunk_by(|(_, end), (start, _)| start - end < SAME_S);
    stretches.map(|stretch| stretch.len() as u32).collect()
}
