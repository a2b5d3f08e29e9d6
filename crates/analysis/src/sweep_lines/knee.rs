//! Finds the number of clients beyond which more gain nothing, from closed loops at several numbers
//! of clients.

use std::collections::BTreeMap;

use bakeoff_results::{CellLevels, FigureOfMerit, Levels, OwnFactor, TrialSummary};
use bakeoff_stats::{CONFIDENCE, paired};

use super::CellIndex;
use crate::comparison::RatioBound;
use crate::open_loop::is_open;
use crate::sweep::{Knee, SweepLevel};
use crate::total::Total;

impl CellIndex<'_> {
    pub(super) fn find_knees(&self, factor: &str, levels: &[SweepLevel]) -> Vec<Knee> {
        if factor != OwnFactor::Clients {
            return Vec::new();
        }
        let others = self.list_other_levels(factor);
        let cells = others.iter().flat_map(|rest| {
            self.contenders.iter().map(move |level| rest.with_level(&self.run.compare, level))
        });
        cells.filter_map(|cell| self.find_knee(cell, levels)).collect()
    }

    /// `None` where fewer than two numbers of clients have a rate, and for an open loop.
    fn find_knee(&self, cell: Levels, levels: &[SweepLevel]) -> Option<Knee> {
        let mut rates: Vec<(f64, BTreeMap<u32, f64>)> = Vec::new();
        for level in levels {
            let Some(trials) =
                self.counted.get(&cell.with_level(OwnFactor::Clients.as_str(), &level.level))
            else {
                continue;
            };
            if trials.iter().any(|trial| is_open(trial)) {
                return None;
            }
            let each: BTreeMap<u32, f64> = trials
                .iter()
                .filter_map(|trial| Some((trial.repetition, read_rate(trial)?)))
                .collect();
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
        // With the fewest clients an operation takes fewest / first; clients don't think between
        // two. This time, by the highest rate, is the number of clients.
        let gain = paired::estimate_ratio(&pairs, CONFIDENCE).ok()?;
        let is = match at {
            0 => RatioBound::AtMost,
            it if it + 1 == rates.len() => RatioBound::AtLeast,
            _ => RatioBound::Exact,
        };
        Some(Knee {
            levels: cell,
            clients: fewest * gain.ratio,
            clients_is: is,
            low: gain.low.map(|low| fewest * low).filter(|_| is != RatioBound::AtMost),
            high: gain.high.map(|high| fewest * high).filter(|_| is != RatioBound::AtLeast),
        })
    }
}

fn read_rate(trial: &TrialSummary) -> Option<f64> {
    Total::from_trial(trial)?.rate(FigureOfMerit::Operations).filter(|rate| *rate > 0.0)
}
