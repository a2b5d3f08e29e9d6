//! How a trial of each cell went over time: what its clients got done, what its target owed, and when
//! it paid.

use std::collections::BTreeMap;

use bakeoff_results::{
    DATABASE, Error, Levels, OwedSeries, PaymentSeries, RunFolder, SlotSummary, TrialCourse,
    TrialSummary,
};
use serde::{Deserialize, Serialize};

use crate::Result;

/// The fewest seconds of a trial from which a line over time says something.
const FEWEST: usize = 20;

/// The most pieces of a line: no chart shows more.
const MOST: usize = 300;

/// The most pieces of a run; a hundred cells of eight lines have a quarter of them.
const MOST_OF_A_RUN: usize = 1_000_000;

/// A slot that is shorter than this, in seconds, says nothing of a rate: it is the end of a trial.
const SHORT_S: f64 = 0.5;

/// How one trial of a cell went over time. Times are in seconds from the start of the clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverTime {
    /// The block that the trial is of: of the blocks of its setting the one whose throughput is in
    /// the middle, so that all levels are shown by trials of the same block.
    pub block: u32,
    /// Which attempt at the block.
    pub attempt: u32,
    /// How long the clients ran.
    pub ran_s: f64,
    /// Where the window of the trial's figures starts and ends.
    pub window_s: Option<(f64, f64)>,
    /// Operations a second in each third of the trial, all kinds together.
    pub thirds_per_second: [f64; 3],
    /// In how many seconds no operation ended.
    pub idle_s: f64,
    /// The longest stretch of such seconds.
    pub longest_idle_s: f64,
    /// Operations that ended a second, all kinds together.
    pub per_second: Vec<LinePiece>,
    /// Their mean latency, or response time, in seconds: nothing where none ended.
    pub latency_s: Vec<LinePiece>,
    /// What was put off.
    pub owed: Vec<OwedOverTime>,
    /// When it was paid: of two moments that are as near as the pieces of a line, the first stands
    /// for both.
    pub payments: Vec<PaymentSeries>,
}

/// What a line says of a stretch of time: the mean over it, and the least and the most of the
/// seconds, or looks, that are in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinePiece {
    /// Where it starts.
    pub start_s: f64,
    /// Where it ends.
    pub end_s: f64,
    /// The mean; nothing where there is no figure.
    pub mean: Option<f64>,
    /// The least.
    pub least: Option<f64>,
    /// The most.
    pub most: Option<f64>,
}

/// How much of one thing was put off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwedOverTime {
    /// What it is, in the engine's own term.
    pub name: String,
    /// What it is counted in: `bytes`, `pages`, `rows` or `files`.
    pub unit: String,
    /// Where the engine begins to pay at the latest, where there is such a limit.
    pub limit: Option<u64>,
    /// How much there was.
    pub pieces: Vec<LinePiece>,
}

/// How the trials went that are shown of each cell; nothing of those that were too short.
///
/// # Errors
/// Where the folder can't be read, or holds more than any run.
pub(crate) fn all(
    folder: &RunFolder,
    compare: &str,
    counted: &[&TrialSummary],
) -> Result<BTreeMap<Levels, OverTime>> {
    let mut courses = folder.courses();
    let mut all = BTreeMap::new();
    let mut pieces = 0;
    for (levels, trial) in chosen(compare, counted) {
        let Some(course) = OverTime::from_course(trial, &courses.read_course(trial)?) else {
            continue;
        };
        pieces += course.pieces();
        if pieces > MOST_OF_A_RUN {
            let why = format!("its lines over time have more than {MOST_OF_A_RUN} points");
            return Err(Error::Refused { path: folder.dir().join(DATABASE), why });
        }
        all.insert(levels.clone(), course);
    }
    Ok(all)
}

/// For each cell the trial that is shown: of each setting the trials of the block in the middle, by
/// how fast its trials are beside those of the same level; a block that lacks a level comes last.
fn chosen<'a>(
    compare: &str,
    counted: &[&'a TrialSummary],
) -> BTreeMap<&'a Levels, &'a TrialSummary> {
    let mut settings: BTreeMap<Levels, BTreeMap<u32, Vec<&TrialSummary>>> = BTreeMap::new();
    for &trial in counted {
        let mut others = trial.levels.clone();
        others.remove(compare);
        settings.entry(others).or_default().entry(trial.block).or_default().push(trial);
    }
    let middle = |blocks: BTreeMap<u32, Vec<&'a TrialSummary>>| {
        let most = blocks.values().map(Vec::len).max()?;
        let mut whole: Vec<_> = blocks.into_values().filter(|it| it.len() == most).collect();
        whole.sort_by(|one, other| speed(one).total_cmp(&speed(other)));
        let middle = whole.len().checked_sub(1)? / 2;
        Some(whole.swap_remove(middle))
    };
    let trials = settings.into_values().filter_map(middle).flatten();
    trials.map(|trial| (&trial.levels, trial)).collect()
}

/// The mean of the logarithms of the trials' rates: twice as fast weighs as much as half as fast.
fn speed(trials: &[&TrialSummary]) -> f64 {
    let rate = |trial: &&TrialSummary| -> f64 {
        trial.operations.iter().map(|operation| operation.per_second).sum()
    };
    let rates = trials.iter().map(|trial| rate(trial).max(f64::MIN_POSITIVE).ln());
    rates.sum::<f64>() / trials.len() as f64
}

/// What ended in a stretch of time, all kinds together.
#[derive(Clone, Copy)]
struct EndedInStretch {
    start_s: f64,
    end_s: f64,
    operations: u64,
    latency_s: f64,
}

impl EndedInStretch {
    fn length(&self) -> f64 {
        self.end_s - self.start_s
    }

    fn per_second(&self) -> f64 {
        self.operations as f64 / self.length()
    }

    fn mean_s(&self) -> Option<f64> {
        (self.operations > 0).then(|| self.latency_s / self.operations as f64)
    }

    fn and(self, later: Self) -> Self {
        Self {
            start_s: self.start_s,
            end_s: later.end_s.max(self.end_s),
            operations: self.operations.saturating_add(later.operations),
            latency_s: self.latency_s + later.latency_s,
        }
    }
}

/// The seconds of a trial; what is left of one at its end goes to the second before.
fn seconds(operations: &[Vec<SlotSummary>]) -> Vec<EndedInStretch> {
    let slots = operations.iter().map(Vec::len).max().unwrap_or(0);
    let mut seconds: Vec<EndedInStretch> = Vec::with_capacity(slots);
    for number in 0..slots {
        let kinds =
            operations.iter().filter_map(|slots| slots.get(number)).map(|slot| EndedInStretch {
                start_s: slot.start_s,
                end_s: slot.end_s,
                operations: slot.count,
                latency_s: slot.mean * slot.count as f64 / 1e9,
            });
        let Some(second) = kinds.reduce(EndedInStretch::and) else { continue };
        match seconds.last_mut() {
            Some(last) if second.length() < SHORT_S => *last = last.and(second),
            _ if second.length() < SHORT_S => {}
            _ => seconds.push(second),
        }
    }
    seconds
}

impl OverTime {
    /// `None` for a trial that was too short.
    fn from_course(trial: &TrialSummary, course: &TrialCourse) -> Option<Self> {
        let seconds = seconds(&course.operations);
        if seconds.len() < FEWEST {
            return None;
        }
        let is_idle = |second: &EndedInStretch| second.operations == 0;
        let idle_s = |stretch: &[EndedInStretch]| -> f64 {
            stretch.iter().filter(|it| is_idle(it)).map(EndedInStretch::length).sum()
        };
        let stretches = seconds.chunk_by(|one, next| is_idle(one) == is_idle(next));
        Some(Self {
            block: trial.block,
            attempt: trial.attempt,
            ran_s: trial.ran_s?,
            window_s: trial.window_s,
            thirds_per_second: thirds(&seconds),
            idle_s: idle_s(&seconds),
            longest_idle_s: stretches.map(idle_s).fold(0.0, f64::max),
            per_second: pieces(&seconds, |it| Some(it.per_second()), |all| Some(all.per_second())),
            latency_s: pieces(&seconds, EndedInStretch::mean_s, |all| all.mean_s()),
            owed: course.debts.owed.iter().map(owed).collect(),
            payments: course.debts.payments.iter().map(|it| payments(it, trial.ran_s)).collect(),
        })
    }

    fn pieces(&self) -> usize {
        let owed = self.owed.iter().map(|owed| owed.pieces.len());
        let payments = self.payments.iter().map(|it| it.ended.len());
        self.per_second.len() + self.latency_s.len() + owed.chain(payments).sum::<usize>()
    }
}

/// As many values in a piece as there must be for no more pieces than [`MOST`].
fn chunks<T>(values: &[T]) -> impl Iterator<Item = &[T]> {
    values.chunks(values.len().div_ceil(MOST).max(1))
}

/// Pieces of what is known of each second, and of all seconds of a piece together.
fn pieces(
    seconds: &[EndedInStretch],
    each: impl Fn(&EndedInStretch) -> Option<f64>,
    all: impl Fn(EndedInStretch) -> Option<f64>,
) -> Vec<LinePiece> {
    let piece = |seconds: &[EndedInStretch]| {
        let sum = seconds.iter().copied().reduce(EndedInStretch::and)?;
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

fn owed(series: &OwedSeries) -> OwedOverTime {
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

/// The moments of a payment, of which those that a chart can't tell apart are one.
fn payments(series: &PaymentSeries, ran_s: Option<f64>) -> PaymentSeries {
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

/// Operations a second in each third of the seconds.
fn thirds(seconds: &[EndedInStretch]) -> [f64; 3] {
    let bound = |third: usize| seconds.len() * third / 3;
    [0, 1, 2].map(|third| {
        let seconds = seconds[bound(third)..bound(third + 1)].iter().copied();
        seconds.reduce(EndedInStretch::and).map_or(0.0, |all| all.per_second())
    })
}

#[cfg(test)]
mod tests;
