//! Finds a warm-up, a trend of the rate, and rounds in the seconds of a window.

use bakeoff_load::DriveOutcome;
use bakeoff_results::measure::{self, Measures, Scope};
use bakeoff_stats::rounds::{OperationStretch, divide_into_rounds};
use bakeoff_stats::steady::{self, Slope};

/// Fewer slots can't show a warm-up.
const SLOTS_FOR_WARMUP: usize = 30;
const SLOTS_FOR_SLOPE: usize = 10;

fn mean_of_histogram(histogram: &hdrhistogram::Histogram<u64>) -> f64 {
    if histogram.is_empty() { 0.0 } else { histogram.mean() }
}

fn full_seconds(outcome: &DriveOutcome) -> Vec<(f64, u64, f64)> {
    let slots = outcome.kinds.first().map_or(0, |kind| kind.slots.len());
    let mut seconds = Vec::new();
    for slot in 0..slots {
        let all = outcome.kinds.iter().map(|kind| &kind.slots[slot]);
        let (mut count, mut sum, mut start, mut length) = (0, 0.0, 0.0, 0.0);
        for slot in all {
            count += slot.histogram.len();
            sum += slot.histogram.len() as f64 * mean_of_histogram(&slot.histogram);
            (start, length) = (slot.start_s, slot.end_s - slot.start_s);
        }
        if length > 0.999 {
            seconds.push((start, count, sum));
        }
    }
    seconds
}

/// Seconds at the start that differ from the rest, by MSER-5 over each second's mean latency: only
/// advice on how long a warm-up to ask for. Choosing each trial's window by it turned two like
/// pairs of series into ratios of 7.0 and 1.4.
pub fn warm_up(outcome: &DriveOutcome) -> Option<f64> {
    let full = full_seconds(outcome);
    if full.len() < SLOTS_FOR_WARMUP {
        return None;
    }
    let means: Vec<f64> = full.iter().map(|(_, count, sum)| sum / (*count).max(1) as f64).collect();
    let cut = bakeoff_stats::warmup::mser5(&means)?;
    (cut > 0).then(|| full[cut].0)
}

pub fn put_rounds(measures: &mut Measures, outcome: &DriveOutcome) {
    let (from, to) = outcome.window_s;
    let slots = outcome.kinds.first().map_or(0, |kind| kind.slots.len());
    let stretch = |slot: usize| {
        let all = outcome.kinds.iter().map(|kind| &kind.slots[slot]);
        let operations = all.clone().map(|slot| slot.histogram.len()).sum();
        let slot = all.clone().next().expect("a workload has an operation");
        OperationStretch { start_s: slot.start_s, end_s: slot.end_s, operations }
    };
    let inside =
        |it: &OperationStretch| it.start_s >= from && it.end_s <= to && it.end_s > it.start_s;
    let window: Vec<OperationStretch> = (0..slots).map(stretch).filter(inside).collect();
    let Some(rounds) = divide_into_rounds(&window) else { return };
    measures.set(&measure::ROUNDS_RANGE, Scope::Trial, rounds.range);
    measures.set(&measure::ROUNDS_RISE, Scope::Trial, rounds.rise);
    measures.set(&measure::ROUNDS_ERROR, Scope::Trial, rounds.error);
}

pub fn fit_slope(outcome: &DriveOutcome) -> Option<Slope> {
    let (from, to) = outcome.window_s;
    let inside = |(start, _, _): &&(f64, u64, f64)| *start >= from && start + 1.0 <= to;
    let full = full_seconds(outcome);
    let rates: Vec<f64> = full.iter().filter(inside).map(|(_, count, _)| *count as f64).collect();
    if rates.len() < SLOTS_FOR_SLOPE { None } else { steady::fit_slope(&rates) }
}
