//! Which factor buys most: the ladder from one cell, and each factor's share of all variation.
//!
//! Values are logarithms (of a latency, say), so that effects are ratios and add up.

use std::collections::BTreeMap;

use crate::paired::{Estimate, ratio_of_logs};
use crate::{Error, mean};

/// What was measured at one combination of levels.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCell {
    /// The level of each factor, by its number from 0.
    pub levels: Vec<usize>,
    /// The logarithm measured in each repetition, in the order of the repetitions.
    pub y: Vec<f64>,
}

/// The best that moving one factor alone does.
#[derive(Clone, Debug, PartialEq)]
pub struct FactorRung {
    /// The factor, by its place in the levels.
    pub factor: usize,
    /// The level that it is moved to.
    pub level: usize,
    /// The value there over the value at the present cell, paired by repetition.
    pub estimate: Estimate,
}

/// For each factor, the level with the least value that can be reached from the `present` cell by
/// moving that factor alone; the greatest gain first. Factors of which no other level was measured
/// are left out; a rung may be a loss, its ratio above 1.
///
/// Being the best of several levels flatters a rung a little: its interval takes no account of the
/// choice.
///
/// # Errors
/// [`Error::NoSuchCell`] when `present` was not measured; [`Error::Unbalanced`] when a neighbour of
/// it has other repetitions or is there twice; those of [`ratio_of_logs`].
pub fn ladder(
    cells: &[MeasuredCell],
    present: &[usize],
    confidence: f64,
) -> Result<Vec<FactorRung>, Error> {
    let from = cells
        .iter()
        .find(|cell| cell.levels == present)
        .ok_or_else(|| Error::NoSuchCell(present.to_vec()))?;
    let mut best: BTreeMap<usize, FactorRung> = BTreeMap::new();
    for cell in cells {
        let Some(factor) = only_difference(present, &cell.levels) else { continue };
        if cell.y.len() != from.y.len() {
            return Err(unbalanced(cell, "has other repetitions than the present one"));
        }
        let differences: Vec<f64> = cell.y.iter().zip(&from.y).map(|(to, y)| to - y).collect();
        let estimate = ratio_of_logs(&differences, confidence)?;
        let rung = FactorRung { factor, level: cell.levels[factor], estimate };
        let known = best.entry(factor).or_insert_with(|| rung.clone());
        if rung.estimate.ratio < known.estimate.ratio {
            *known = rung;
        }
    }
    let mut rungs: Vec<FactorRung> = best.into_values().collect();
    rungs.sort_by(|a, b| a.estimate.ratio.total_cmp(&b.estimate.ratio));
    Ok(rungs)
}

/// The one place in which two combinations differ, if it is one.
fn only_difference(a: &[usize], b: &[usize]) -> Option<usize> {
    let mut differing = a.iter().zip(b).enumerate().filter(|(_, (a, b))| a != b);
    let (factor, _) = differing.next()?;
    (a.len() == b.len() && differing.next().is_none()).then_some(factor)
}

/// How the variation of all values divides among the factors.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// Each factor's share of the total sum of squares, an interaction's split evenly among its
    /// factors. They depend on the levels chosen.
    pub factors: Vec<f64>,
    /// What is left: the repetitions of one cell among themselves.
    pub rest: f64,
}

/// Divides the total sum of squares of a balanced full factorial. Without any variation, all
/// shares are 0.
///
/// The sum of squares of an interaction is what its factors' table of means explains beyond what
/// fewer of them do (Fisher's analysis of variance; Montgomery, "Design and analysis of
/// experiments", chapter 5). Splitting it evenly gives the Shapley value: Owen, "Sobol' indices and
/// Shapley value" (2014).
///
/// # Errors
/// [`Error::Empty`]; [`Error::NotFinite`]; [`Error::Unbalanced`] unless every combination of
/// levels is there once and all have equally many repetitions.
pub fn shares(cells: &[MeasuredCell]) -> Result<Shares, Error> {
    let levels = balanced_levels(cells)?;
    let all: Vec<f64> = cells.iter().flat_map(|cell| cell.y.iter().copied()).collect();
    let grand = mean(&all);
    let total: f64 = all.iter().map(|y| (y - grand).powi(2)).sum();
    // A factor with a single level explains nothing, and would only double the work.
    let varied: Vec<usize> = (0..levels.len()).filter(|&factor| levels[factor] > 1).collect();
    let mut factors = vec![0.0; levels.len()];
    let mut own = Vec::with_capacity(1 << varied.len());
    for set in 0..1_usize << varied.len() {
        let members: Vec<usize> =
            (0..varied.len()).filter(|bit| set >> bit & 1 == 1).map(|bit| varied[bit]).collect();
        let fewer: f64 = (0..set).filter(|subset| subset & set == *subset).map(|s| own[s]).sum();
        own.push(explained(cells, &members, grand) - fewer);
        for &factor in &members {
            factors[factor] += own[set] / members.len() as f64;
        }
    }
    let explained: f64 = own.iter().sum();
    // What rounding leaves of values that are all equal is no variation.
    let nothing = (1e-12 * grand).powi(2) * all.len() as f64;
    let share = |part: f64| if total > nothing { part.max(0.0) / total } else { 0.0 };
    Ok(Shares { factors: factors.into_iter().map(share).collect(), rest: share(total - explained) })
}

/// The sum of squares that the table of means over some factors explains.
fn explained(cells: &[MeasuredCell], factors: &[usize], grand: f64) -> f64 {
    let mut table: BTreeMap<Vec<usize>, (f64, usize)> = BTreeMap::new();
    for cell in cells {
        let key = factors.iter().map(|&factor| cell.levels[factor]).collect();
        let (sum, count) = table.entry(key).or_default();
        *sum += cell.y.iter().map(|y| y - grand).sum::<f64>();
        *count += cell.y.len();
    }
    table.values().map(|(sum, count)| sum * sum / *count as f64).sum()
}

/// How many levels each factor has, once it is sure that all combinations are there.
fn balanced_levels(cells: &[MeasuredCell]) -> Result<Vec<usize>, Error> {
    let first = cells.first().ok_or(Error::Empty)?;
    let mut levels = vec![0; first.levels.len()];
    let mut seen = std::collections::BTreeSet::new();
    for cell in cells {
        if cell.levels.len() != levels.len() {
            return Err(unbalanced(cell, "has other factors than the first one"));
        }
        if cell.y.is_empty() || cell.y.len() != first.y.len() {
            return Err(unbalanced(cell, "has other repetitions than the first one, or none"));
        }
        if let Some(&value) = cell.y.iter().find(|y| !y.is_finite()) {
            return Err(Error::NotFinite { value });
        }
        if !seen.insert(&cell.levels) {
            return Err(unbalanced(cell, "is there twice"));
        }
        for (count, &level) in levels.iter_mut().zip(&cell.levels) {
            *count = level.saturating_add(1).max(*count);
        }
    }
    let combinations = levels.iter().fold(1_usize, |product, n| product.saturating_mul(*n));
    match combinations == cells.len() {
        true => Ok(levels),
        false => Err(Error::Unbalanced(format!(
            "{} cells of the {combinations} that {levels:?} levels make",
            cells.len()
        ))),
    }
}

fn unbalanced(cell: &MeasuredCell, why: &str) -> Error {
    Error::Unbalanced(format!("the cell {:?} {why}", cell.levels))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(levels: &[usize], y: &[f64]) -> MeasuredCell {
        MeasuredCell { levels: levels.to_vec(), y: y.to_vec() }
    }

    fn close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} instead of {expected}");
        }
    }

    /// 2 × 2 with y = 3a + b: sums of squares 9 and 1.
    #[test]
    fn effects_that_add_up_share_by_their_squares() {
        let cells = [
            cell(&[0, 0], &[0.0]),
            cell(&[0, 1], &[1.0]),
            cell(&[1, 0], &[3.0]),
            cell(&[1, 1], &[4.0]),
        ];
        let shares = shares(&cells).unwrap();
        close(&shares.factors, &[0.9, 0.1]);
        close(&[shares.rest], &[0.0]);
    }

    /// 2 × 2 with y = 0, 0, 0, 4: grand mean 1, total 12; a, b and their interaction each have 4,
    /// so each factor gets 4 + 2.
    #[test]
    fn an_interaction_is_split_evenly() {
        let cells = [
            cell(&[0, 0], &[0.0]),
            cell(&[0, 1], &[0.0]),
            cell(&[1, 0], &[0.0]),
            cell(&[1, 1], &[4.0]),
        ];
        close(&shares(&cells).unwrap().factors, &[0.5, 0.5]);
    }

    /// 2 × 3, two repetitions: rows 10 and 20 with columns +0, +1, +5, each ±1.
    /// Grand mean 17; a: 12 · 25 = 300; b: 4 · (4 + 1 + 9) = 56; no interaction; rest 12 · 1; total
    /// 368. A third factor with one level gets nothing.
    #[test]
    fn repetitions_that_differ_are_the_rest() {
        let mut cells = Vec::new();
        for (a, row) in [10.0, 20.0].into_iter().enumerate() {
            for (b, column) in [0.0, 1.0, 5.0].into_iter().enumerate() {
                cells.push(cell(&[a, 0, b], &[row + column + 1.0, row + column - 1.0]));
            }
        }
        cells.reverse();
        let shares = shares(&cells).unwrap();
        close(&shares.factors, &[300.0 / 368.0, 0.0, 56.0 / 368.0]);
        close(&[shares.rest], &[12.0 / 368.0]);
    }

    /// y = 1 where an odd number of three factors is at level 1: nothing but their interaction.
    #[test]
    fn an_interaction_of_three_is_split_in_three() {
        let cells: Vec<MeasuredCell> = (0..8_usize)
            .map(|i| cell(&[i & 1, i >> 1 & 1, i >> 2], &[f64::from(i.count_ones() % 2)]))
            .collect();
        close(&shares(&cells).unwrap().factors, &[1.0 / 3.0; 3]);
    }

    #[test]
    fn no_variation_has_no_shares() {
        let cells = [cell(&[0], &[0.1, 0.1, 0.1]), cell(&[1], &[0.1, 0.1, 0.1])];
        assert_eq!(shares(&cells), Ok(Shares { factors: vec![0.0], rest: 0.0 }));
    }

    #[test]
    fn what_is_not_balanced_is_refused() {
        let refused = |cells: &[MeasuredCell]| matches!(shares(cells), Err(Error::Unbalanced(_)));
        let (a, b) = (cell(&[0, 0], &[1.0]), cell(&[1, 1], &[2.0]));
        assert!(refused(&[a.clone(), b.clone()]));
        assert!(refused(&[a.clone(), a.clone()]));
        assert!(refused(&[a.clone(), cell(&[1], &[1.0])]));
        assert!(refused(&[a.clone(), cell(&[0, 1], &[1.0, 2.0])]));
        assert!(refused(&[cell(&[0], &[])]));
        assert!(refused(&[cell(&[0], &[1.0]), cell(&[2], &[1.0])]));
        assert!(refused(&[cell(&[usize::MAX, usize::MAX], &[1.0])]));
        assert_eq!(shares(&[]), Err(Error::Empty));
        assert!(matches!(shares(&[cell(&[0], &[f64::NAN])]), Err(Error::NotFinite { .. })));
    }

    /// From (0, 0): factor 0 to level 1 halves, to level 2 takes a tenth off; factor 1 costs 20 %.
    /// The best cell of all, (1, 1), is two moves away and must not count.
    #[test]
    fn the_ladder_moves_one_factor_alone() {
        let log = |value: f64| [value.ln(), value.ln() + 0.3];
        let cells = [
            cell(&[0, 0], &log(10.0)),
            cell(&[0, 1], &log(12.0)),
            cell(&[1, 0], &log(5.0)),
            cell(&[2, 0], &log(9.0)),
            cell(&[1, 1], &log(1.0)),
        ];
        let rungs = ladder(&cells, &[0, 0], 0.95).unwrap();
        let places: Vec<_> = rungs.iter().map(|rung| (rung.factor, rung.level)).collect();
        assert_eq!(places, [(0, 1), (1, 1)]);
        let ratios: Vec<f64> = rungs.iter().map(|rung| rung.estimate.ratio).collect();
        close(&ratios, &[0.5, 1.2]);
        // Repetitions are paired: what moves all cells of one does not widen the interval.
        assert!(rungs[0].estimate.high.unwrap() < 0.5 + 1e-9);
    }

    #[test]
    fn a_ladder_needs_the_present_cell() {
        let cells = [cell(&[0], &[1.0]), cell(&[1], &[1.0, 2.0])];
        assert_eq!(ladder(&cells, &[7], 0.95), Err(Error::NoSuchCell(vec![7])));
        assert!(matches!(ladder(&cells, &[0], 0.95), Err(Error::Unbalanced(_))));
        assert_eq!(ladder(&cells[..1], &[0], 0.95), Ok(vec![]));
    }
}
