//! Finds the flush time at which the order of two levels would turn.
//!
//! First order: one client waits for each of its flushes, and nothing else changes with their time.
//! An operation takes a + f F, with f flushes of F seconds. Both are counted in the run.

use std::collections::BTreeMap;

use bakeoff_results::measure::{FLUSHES, OPERATIONS};
use bakeoff_results::{Levels, OwnFactor, Run, Scope, TrialSummary};
use serde::{Deserialize, Serialize};

use crate::littles_law::find_concurrency;
use crate::open_loop::is_open;

/// In seconds: drives with a volatile cache take longer, and the estimate is no finer.
const SHORTEST_FLUSH_S: f64 = 10e-6;
/// In seconds: no drive on sale takes longer for a flush.
const LONGEST_FLUSH_S: f64 = 0.020;

/// As a factor it takes the place of a model's own flush.
pub const FLUSH_US: &str = "flush_us";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlushTurn {
    pub levels: Levels,
    pub ahead: String,
    pub instead: String,
    pub flush_s: f64,
    /// Seconds of a flush at which the two take equally long. Below `flush_s`, `instead` leads with
    /// quicker flushes than that; above it, with slower ones.
    pub turn_s: f64,
}

#[derive(Clone, Copy, Default)]
struct OperationCost {
    seconds: f64,
    flushes: f64,
    operations: f64,
}

impl OperationCost {
    /// `None` unless it is one client in a closed loop whose flushes are known.
    fn add(self, trial: &TrialSummary) -> Option<Self> {
        if is_open(trial) || find_concurrency(trial) != Some(1.0) {
            return None;
        }
        Some(Self {
            seconds: self.seconds + trial.ran_s?,
            flushes: self.flushes + trial.measures.get(&FLUSHES, &Scope::Disk)?,
            operations: self.operations + trial.measures.get(&OPERATIONS, &Scope::Clients)?,
        })
    }

    fn seconds_each(self) -> f64 {
        self.seconds / self.operations
    }

    fn flushes_each(self) -> f64 {
        self.flushes / self.operations
    }

    /// The time of a flush at which the two take equally long.
    fn turn_with(self, other: Self, flush_s: f64) -> Option<f64> {
        let turn = flush_s
            + (other.seconds_each() - self.seconds_each())
                / (self.flushes_each() - other.flushes_each());
        (SHORTEST_FLUSH_S..LONGEST_FLUSH_S).contains(&turn).then_some(turn)
    }
}

/// The turns nearest to the flush of each simulated disk; none where the run measured several flushes.
/// `counts` says whether a cell takes part.
pub(crate) fn flush_turns(
    run: &Run,
    counted: &[&TrialSummary],
    counts: impl Fn(&Levels) -> bool,
) -> Vec<FlushTurn> {
    if run.levels_of(FLUSH_US).len() > 1 {
        return Vec::new();
    }
    let mut conditions: BTreeMap<Levels, BTreeMap<&str, Option<OperationCost>>> = BTreeMap::new();
    for trial in counted.iter().filter(|trial| counts(&trial.levels)) {
        let mut levels = trial.levels.clone();
        let Some(level) = levels.remove(&run.compare) else { continue };
        let is_alias = run.resolve_alias(&run.compare, &level).is_some();
        if is_alias || run.compare == OwnFactor::Disk || !run.stores_data(&level) {
            continue;
        }
        let level = trial.levels[&run.compare].as_str();
        let costs = conditions.entry(levels).or_default();
        let cost = costs.entry(level).or_insert(Some(OperationCost::default()));
        *cost = cost.and_then(|cost| cost.add(trial));
    }
    let turns = conditions.into_iter().flat_map(|(levels, costs)| {
        let flush_s = flush_of(run, &levels);
        let known: Option<Vec<(&str, OperationCost)>> =
            costs.into_iter().map(|(level, cost)| Some((level, cost?))).collect();
        flush_s.zip(known).map_or_else(Vec::new, |(flush_s, known)| {
            next_turns(&known, flush_s)
                .map(|(ahead, instead, turn_s)| FlushTurn {
                    levels: levels.clone(),
                    ahead: ahead.to_owned(),
                    instead: instead.to_owned(),
                    flush_s,
                    turn_s,
                })
                .collect()
        })
    });
    turns.collect()
}

fn flush_of(run: &Run, levels: &Levels) -> Option<f64> {
    let level = run.base_level(levels, OwnFactor::Disk)?;
    let flush_s = run.disks.iter().find(|disk| disk.level == level)?.flush_s?;
    // A factor of its own, with a value for each level.
    let varied = levels.get(FLUSH_US).and_then(|level| level.parse::<f64>().ok());
    Some(varied.map_or(flush_s, |flush_us| flush_us * 1e-6))
}

fn next_turns<'a>(
    costs: &[(&'a str, OperationCost)],
    flush_s: f64,
) -> impl Iterator<Item = (&'a str, &'a str, f64)> {
    let seconds = |it: &&(&str, OperationCost)| it.1.seconds_each();
    let first = costs.iter().min_by(|a, b| seconds(a).total_cmp(&seconds(b))).copied();
    let turns: Vec<(&str, &str, f64)> = first.map_or_else(Vec::new, |(ahead, cost)| {
        let others = costs.iter().filter(|(level, _)| *level != ahead);
        let turn = |(level, other): &(&'a str, OperationCost)| {
            Some((ahead, *level, cost.turn_with(*other, flush_s)?))
        };
        others.filter_map(turn).collect()
    });
    let nearest = |below: bool| {
        let side = turns.iter().copied().filter(|(.., turn)| (*turn < flush_s) == below);
        side.min_by(|a, b| (a.2 - flush_s).abs().total_cmp(&(b.2 - flush_s).abs()))
    };
    [nearest(true), nearest(false)].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(seconds: f64, flushes: f64) -> OperationCost {
        OperationCost { seconds: 100.0 * seconds, flushes: 100.0 * flushes, operations: 100.0 }
    }

    /// fjall 9.4 ms + 31 flushes, SQLite 15.7 ms + 17.2 flushes, LMDB 18.7 ms + 32.9 flushes of 1 ms.
    #[test]
    fn the_order_turns_where_the_flushes_make_up_for_the_rest() {
        let costs = [
            ("fjall", cost(0.0404, 31.0)),
            ("sqlite", cost(0.0329, 17.2)),
            ("lmdb", cost(0.0516, 32.9)),
        ];
        let turns: Vec<_> = next_turns(&costs, 0.001).collect();
        let [(ahead, instead, turn)] = turns[..] else { panic!("{turns:?}") };
        assert_eq!((ahead, instead), ("sqlite", "fjall"));
        assert!((turn - 0.000_456_5).abs() < 1e-6, "{turn}");
        // With quicker flushes the same figures say that the order turns above.
        let at = |flush: f64| {
            [
                ("fjall", cost(0.0094 + 31.0 * flush, 31.0)),
                ("sqlite", cost(0.0157 + 17.2 * flush, 17.2)),
            ]
        };
        let turns: Vec<_> = next_turns(&at(0.0001), 0.0001).collect();
        let [(ahead, instead, again)] = turns[..] else { panic!("{turns:?}") };
        assert_eq!((ahead, instead), ("fjall", "sqlite"));
        assert!((again - turn).abs() < 1e-6, "{again}");
    }

    #[test]
    fn a_turn_at_no_drives_flush_is_not_told() {
        let costs = [("fjall", cost(0.010, 31.0)), ("sqlite", cost(0.010_001, 17.2))];
        assert_eq!(next_turns(&costs, 0.0).count(), 0);
    }

    #[test]
    fn levels_that_flush_alike_never_turn() {
        assert_eq!(next_turns(&[("a", cost(0.01, 3.0)), ("b", cost(0.02, 3.0))], 0.001).count(), 0);
        assert_eq!(next_turns(&[("a", cost(0.01, 3.0))], 0.001).count(), 0);
    }
}
