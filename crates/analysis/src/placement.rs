//! Cells whose trials ran in two modes: client and server on one processor, or apart.

use std::collections::BTreeMap;

use bakeoff_results::measure::{DONE_RATE, TOGETHER};
use bakeoff_results::{Levels, Scope, TrialSummary};

/// From this share of the time together on, they shared a processor.
const TOGETHER_FROM: f64 = 0.8;
/// Up to this one they were apart.
const APART_UP_TO: f64 = 0.2;

/// Of a cell some of whose trials ran in the one mode and some in the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PlacementModes {
    pub trials: usize,
    pub together: usize,
    pub apart: usize,
    /// Mean rates of those together, and of those apart.
    pub rates: [f64; 2],
}

impl PlacementModes {
    /// Of the trials' shares of time together, and their rates.
    pub fn find(trials: &[(f64, f64)]) -> Option<Self> {
        let of = |is_meant: &dyn Fn(f64) -> bool| -> Vec<f64> {
            let meant = trials.iter().filter(|(share, _)| is_meant(*share));
            meant.map(|(_, rate)| *rate).collect()
        };
        let together = of(&|share| share >= TOGETHER_FROM);
        let apart = of(&|share| share <= APART_UP_TO);
        if together.is_empty() || apart.is_empty() {
            return None;
        }
        let mean = |rates: &[f64]| rates.iter().sum::<f64>() / rates.len() as f64;
        Some(Self {
            trials: trials.len(),
            together: together.len(),
            apart: apart.len(),
            rates: [mean(&together), mean(&apart)],
        })
    }

    /// By which factor the modes' rates differ.
    pub fn factor(&self) -> f64 {
        let [one, other] = self.rates.map(|rate| rate.max(f64::MIN_POSITIVE));
        (one / other).max(other / one)
    }
}

/// By cell; `None` where its trials ran in one mode, or nobody knows.
pub(crate) fn modes_by_cell<'a>(
    counted: &[&'a TrialSummary],
) -> BTreeMap<&'a Levels, Option<PlacementModes>> {
    let mut cells: BTreeMap<&Levels, Vec<(f64, f64)>> = BTreeMap::new();
    for trial in counted {
        let of_cell = cells.entry(&trial.levels).or_default();
        let share = trial.measures.get(&TOGETHER, &Scope::Trial);
        let rate = trial.measures.get(&DONE_RATE, &Scope::Clients);
        of_cell.extend(share.zip(rate));
    }
    cells.into_iter().map(|(levels, trials)| (levels, PlacementModes::find(&trials))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_modes_are_told_where_both_are_there() {
        for one_mode in [
            &[][..],
            &[(1.0, 80.0), (0.8, 90.0)],
            &[(0.0, 12.0), (0.2, 11.0)],
            // Many threads on two processors.
            &[(0.5, 12.0), (0.45, 90.0), (0.6, 10.0)],
            &[(1.0, 80.0), (0.5, 12.0)],
        ] {
            assert_eq!(PlacementModes::find(one_mode), None, "{one_mode:?}");
        }
        let trials = [(0.97, 80.0), (0.1, 10.0), (0.5, 40.0), (1.0, 84.0), (0.8, 82.0)];
        let modes = PlacementModes::find(&trials).unwrap();
        let wanted = PlacementModes { trials: 5, together: 3, apart: 1, rates: [82.0, 10.0] };
        assert_eq!((modes, modes.factor()), (wanted, 8.2));
        let none_done = PlacementModes::find(&[(1.0, 0.0), (0.0, 1.0)]).unwrap();
        assert!(none_done.factor().is_finite());
    }
}
