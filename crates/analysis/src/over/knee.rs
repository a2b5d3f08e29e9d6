//! Where more clients bring no more: of closed loops at several numbers of clients.

use std::collections::BTreeMap;

use bakeoff_results::{FigureOfMerit, Levels, TrialSummary};
use bakeoff_stats::{CONFIDENCE, paired};

use super::{CellIndex, with};
use crate::comparison::RatioIs;
use crate::open_loop::is_open;
use crate::sweep::{Knee, SweepLevel};
use crate::total::Total;

/// The factor that has the numbers of clients.
const CLIENTS: &str = "clients";

impl CellIndex<'_> {
    /// The knee of each combination of the other factors, where the numeric one is the number of clients.
    pub(super) fn knees(&self, factor: &str, levels: &[SweepLevel]) -> Vec<Knee> {
        if factor != CLIENTS {
            return Vec::new();
        }
        let others = self.others(factor);
        let cells = others.iter().flat_map(|rest| {
            self.contenders.iter().map(move |level| with(rest, &self.run.compare, level))
        });
        cells.filter_map(|cell| self.knee(cell, levels)).collect()
    }

    /// The knee of a line; `None` where fewer than two numbers of clients have a rate, or some of them were
    /// in an open loop.
    fn knee(&self, cell: Levels, levels: &[SweepLevel]) -> Option<Knee> {
        let mut rates: Vec<(f64, BTreeMap<u32, f64>)> = Vec::new();
        for level in levels {
            let Some(trials) = self.counted.get(&with(&cell, CLIENTS, &level.level)) else {
                continue;
            };
            if trials.iter().any(|trial| is_open(trial)) {
                return None;
            }
            let each: BTreeMap<u32, f64> =
                trials.iter().filter_map(|trial| Some((trial.repetition, rate(trial)?))).collect();
            if !each.is_empty() {
                rates.push((level.value, each));
            }
        }
        let (fewest, first) = rates.first()?;
        let mean = |each: &BTreeMap<u32, f64>| {
            each.values().map(|rate| rate.ln()).sum::<f64>() / each.len() as f64
        };
        let (at, (_, best)) = rates
            .iter()
            .enumerate()
            .max_by(|(_, (_, one)), (_, (_, other))| mean(one).total_cmp(&mean(other)))?;
        let pairs: Vec<(f64, f64)> =
            first.iter().filter_map(|(at, rate)| Some((*rate, *best.get(at)?))).collect();
        if rates.len() < 2 || *fewest <= 0.0 {
            return None;
        }
        // With the fewest clients each waits fewest / first, which is the time of an operation; clients don't
        // think between two. So that time, by the highest rate, is this many clients.
        let gain = paired::ratio(&pairs, CONFIDENCE).ok()?;
        let is = match at {
            0 => RatioIs::AtMost,
            it if it + 1 == rates.len() => RatioIs::AtLeast,
            _ => RatioIs::Exact,
        };
        Some(Knee {
            levels: cell,
            clients: fewest * gain.ratio,
            clients_is: is,
            low: gain.low.map(|low| fewest * low).filter(|_| is != RatioIs::AtMost),
            high: gain.high.map(|high| fewest * high).filter(|_| is != RatioIs::AtLeast),
        })
    }
}

/// Operations a second of all kinds.
fn rate(trial: &TrialSummary) -> Option<f64> {
    Total::from_trial(trial)?.rate(FigureOfMerit::Operations).filter(|rate| *rate > 0.0)
}
