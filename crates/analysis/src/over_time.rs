//! The course of one trial of each cell: its clients' work, its target's debts, and the payments.

use std::collections::BTreeMap;

use bakeoff_results::{
    CellLevels, DATABASE, Error, Levels, OwedSeries, PaymentSeries, RunFolder, SlotSummary,
    TrialCourse, TrialSummary,
};
use serde::{Deserialize, Serialize};

use crate::Result;

/// In seconds: a shorter trial has no line over time.
const FEWEST: usize = 20;

/// The most pieces of a line: no chart shows more.
const MOST: usize = 300;

/// The most pieces of a run; a hundred cells of eight lines have a quarter of them.
const MOST_OF_A_RUN: usize = 1_000_000;

/// A shorter slot, in seconds, says nothing of a rate: it is the end of a trial.
const SHORT_S: f64 = 0.5;

/// Times are in seconds from the start of the clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverTime {
    /// The block whose throughput is in the middle, so that all levels are shown by trials of one
    /// block.
    pub block: u32,
    pub attempt: u32,
    pub ran_s: f64,
    pub window_s: Option<(f64, f64)>,
    pub thirds_per_second: [f64; 3],
    pub idle_s: f64,
    pub longest_idle_s: f64,
    pub per_second: Vec<LinePiece>,
    pub latency_s: Vec<LinePiece>,
    pub owed: Vec<OwedOverTime>,
    /// Payments too near to each other for a chart are one, the first.
    pub payments: Vec<PaymentSeries>,
}

/// A stretch of time: the mean over it, and the least and the most of its seconds, or looks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinePiece {
    pub start_s: f64,
    pub end_s: f64,
    pub mean: Option<f64>,
    pub least: Option<f64>,
    pub most: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwedOverTime {
    pub name: String,
    /// `bytes`, `pages`, `rows` or `files`.
    pub unit: String,
    /// Where the engine begins to pay at the latest.
    pub limit: Option<u64>,
    pub pieces: Vec<LinePiece>,
}

pub(crate) fn find_over_time(
    folder: &RunFolder,
    compare: &str,
    counted: &[&TrialSummary],
) -> Result<BTreeMap<Levels, OverTime>> {
    let mut courses = folder.open_courses();
    let mut all = BTreeMap::new();
    let mut pieces = 0;
    for (levels, trial) in choose_trials(compare, counted) {
        let Some(course) = OverTime::from_course(trial, &courses.read_course(trial)?) else {
            continue;
        };
        pieces += course.count_pieces();
        if pieces > MOST_OF_A_RUN {
            let why = format!("its lines over time have more than {MOST_OF_A_RUN} points");
            return Err(Error::Refused { path: folder.dir().join(DATABASE), why });
        }
        all.insert(levels.clone(), course);
    }
    Ok(all)
}

/// For each cell the trial to show: that of the block in the middle, by how fast its trials are
/// beside those of the same level. A block that lacks a level comes last.
fn choose_trials<'a>(
    compare: &str,
    counted: &[&'a TrialSummary],
) -> BTreeMap<&'a Levels, &'a TrialSummary> {
    let mut settings: BTreeMap<Levels, BTreeMap<u32, Vec<&TrialSummary>>> = BTreeMap::new();
    for &trial in counted {
        let others = trial.levels.without_factor(compare);
        settings.entry(others).or_default().entry(trial.block).or_default().push(trial);
    }
    let middle = |blocks: BTreeMap<u32, Vec<&'a TrialSummary>>| {
        let most = blocks.values().map(Vec::len).max()?;
        let mut whole: Vec<_> = blocks.into_values().filter(|it| it.len() == most).collect();
        whole.sort_by(|one, other| mean_log_rate(one).total_cmp(&mean_log_rate(other)));
        let middle = whole.len().checked_sub(1)? / 2;
        Some(whole.swap_remove(middle))
    };
    let trials = settings.into_values().filter_map(middle).flatten();
    trials.map(|trial| (&trial.levels, trial)).collect()
}

/// The mean of logarithms: twice as fast weighs as much as half as fast.
fn mean_log_rate(trials: &[&TrialSummary]) -> f64 {
    let rate = |trial: &&TrialSummary| -> f64 {
        trial.operations.iter().map(|operation| operation.per_second).sum()
    };
    let rates = trials.iter().map(|trial| rate(trial).max(f64::MIN_POSITIVE).ln());
    rates.sum::<f64>() / trials.len() as f64
}

#[derive(Clone, Copy)]
struct StretchTally {
    start_s: f64,
    end_s: f64,
    operations: u64,
    latency_s: f64,
}

impl StretchTally {
    fn length(&self) -> f64 {
        self.end_s - self.start_s
    }

    fn per_second(&self) -> f64 {
        self.operations as f64 / self.length()
    }

    fn mean_s(&self) -> Option<f64> {
        (self.operations > 0).then(|| self.latency_s / self.operations as f64)
    }

    fn merge_with(self, later: Self) -> Self {
        Self {
            start_s: self.start_s,
            end_s: later.end_s.max(self.end_s),
            operations: self.operations.saturating_add(later.operations),
            latency_s: self.latency_s + later.latency_s,
        }
    }
}

/// The rest of a second at the trial's end goes to the second before.
fn split_seconds(operations: &[Vec<SlotSummary>]) -> Vec<StretchTally> {
    let slots = operations.iter().map(Vec::len).max().unwrap_or(0);
    let mut seconds: Vec<StretchTally> = Vec::with_capacity(slots);
    for number in 0..slots {
        let kinds =
            operations.iter().filter_map(|slots| slots.get(number)).map(|slot| StretchTally {
                start_s: slot.start_s,
                end_s: slot.end_s,
                operations: slot.count,
                latency_s: slot.mean * slot.count as f64 / 1e9,
            });
        let Some(second) = kinds.reduce(StretchTally::merge_with) else { continue };
        match seconds.last_mut() {
            Some(last) if second.length() < SHORT_S => *last = last.merge_with(second),
            _ if second.length() < SHORT_S => {}
            _ => seconds.push(second),
        }
    }
    seconds
}

impl OverTime {
    fn from_course(trial: &TrialSummary, course: &TrialCourse) -> Option<Self> {
        let seconds = split_seconds(&course.operations);
        if seconds.len() < FEWEST {
            return None;
        }
        let is_idle = |second: &StretchTally| second.operations == 0;
        let idle_s = |stretch: &[StretchTally]| -> f64 {
            stretch.iter().filter(|it| is_idle(it)).map(StretchTally::length).sum()
        };
        let stretches = seconds.chunk_by(|one, next| is_idle(one) == is_idle(next));
        Some(Self {
            block: trial.block,
            attempt: trial.attempt,
            ran_s: trial.ran_s?,
            window_s: trial.window_s,
            thirds_per_second: average_thirds(&seconds),
            idle_s: idle_s(&seconds),
            longest_idle_s: stretches.map(idle_s).fold(0.0, f64::max),
            per_second: build_pieces(
                &seconds,
                |it| Some(it.per_second()),
                |all| Some(all.per_second()),
            ),
            latency_s: build_pieces(&seconds, StretchTally::mean_s, |all| all.mean_s()),
            owed: course.debts.owed.iter().map(build_owed).collect(),
            payments: course
                .debts
                .payments
                .iter()
                .map(|it| thin_payments(it, trial.ran_s))
                .collect(),
        })
    }

    fn count_pieces(&self) -> usize {
        let owed = self.owed.iter().map(|owed| owed.pieces.len());
        let payments = self.payments.iter().map(|it| it.ended.len());
        self.per_second.len() + self.latency_s.len() + owed.chain(payments).sum::<usize>()
    }
}

fn chunks<T>(values: &[T]) -> impl Iterator<Item = &[T]> {
    values.chunks(values.len().div_ceil(MOST).max(1))
}

fn build_pieces(
    seconds: &[StretchTally],
    each: impl Fn(&StretchTally) -> Option<f64>,
    all: impl Fn(StretchTally) -> Option<f64>,
) -> Vec<LinePiece> {
    let piece = |seconds: &[StretchTally]| {
        let sum = seconds.iter().copied().reduce(StretchTally::merge_with)?;
        let values = || seconds.iter().filter_map(&each);
        Some(LinePiece {
            start_s: sum.start_s,
            end_s: sum.end_s,
            mean: all(sum),
            least: values().reduce(f64::min),
            most: values().reduce(f64::max),
        })
    };
    chunks(seconds).filter_map(piece).collect()
}

fn build_owed(series: &OwedSeries) -> OwedOverTime {
    let piece = |looks: &[(f64, u64)]| {
        let amounts = || looks.iter().map(|(_, amount)| *amount as f64);
        let (first, last) = (looks.first()?, looks.last()?);
        Some(LinePiece {
            start_s: first.0,
            end_s: last.0,
            mean: Some(amounts().sum::<f64>() / looks.len() as f64),
            least: amounts().reduce(f64::min),
            most: amounts().reduce(f64::max),
        })
    };
    OwedOverTime {
        name: series.name.clone(),
        unit: series.unit.clone(),
        limit: series.limit,
        pieces: chunks(&series.points).filter_map(piece).collect(),
    }
}

fn thin_payments(series: &PaymentSeries, ran_s: Option<f64>) -> PaymentSeries {
    let apart = ran_s.unwrap_or_default() / MOST as f64;
    let mut ended: Vec<(f64, u64)> = Vec::new();
    for &(at_s, number) in &series.ended {
        match ended.last_mut() {
            Some((first_s, sum)) if at_s - *first_s < apart => *sum = sum.saturating_add(number),
            _ => ended.push((at_s, number)),
        }
    }
    PaymentSeries { name: series.name.clone(), ended }
}

fn average_thirds(seconds: &[StretchTally]) -> [f64; 3] {
    let bound = |third: usize| seconds.len() * third / 3;
    [0, 1, 2].map(|third| {
        let seconds = seconds[bound(third)..bound(third + 1)].iter().copied();
        seconds.reduce(StretchTally::merge_with).map_or(0.0, |all| all.per_second())
    })
}

#[cfg(test)]
mod tests;
