//! Whether it matters to come first: the trial that runs first in its block may find a machine that
//! the others don't.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::mean;

/// The trials of a block, one for each level: the logarithm of what it cost, and whether it came
/// first.
pub type OrderedBlock = Vec<(f64, bool)>;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FirstPlace {
    /// How many times as long the first of a block takes.
    pub ratio: f64,
    /// Two-sided, of "the place does not matter".
    pub p: f64,
}

/// Estimates what the first place costs, from groups of blocks. All blocks of a group have the same
/// levels in the same order.
///
/// A trial is its block, its level and its place, added in logarithms, and chance. What is left of
/// a trial without the means of its block and its level is a multiple of what is left of its place
/// (R. Frisch and F. V. Waugh, "Partial time regressions as compared with individual trends",
/// 1933), by least squares. `None` where each level always had the same place, or fewer than two
/// degrees of freedom are left.
pub fn estimate_first_place(groups: &[Vec<OrderedBlock>]) -> Option<FirstPlace> {
    let (mut product, mut square, mut total, mut freedom) = (0.0, 0.0, 0.0, -1.0);
    for group in groups {
        let levels = group.first().map_or(0, Vec::len);
        if levels < 2 || group.len() < 2 || group.iter().any(|block| block.len() != levels) {
            continue;
        }
        let costs = take_residuals(group, |(cost, _)| *cost);
        let firsts = take_residuals(group, |(_, is_first)| f64::from(u8::from(*is_first)));
        product += costs.iter().zip(&firsts).map(|(cost, first)| cost * first).sum::<f64>();
        square += firsts.iter().map(|first| first * first).sum::<f64>();
        total += costs.iter().map(|cost| cost * cost).sum::<f64>();
        freedom += (group.len() - 1) as f64 * (levels - 1) as f64;
    }
    if freedom < 2.0 || square <= 1e-9 {
        return None;
    }
    let effect = product / square;
    let error = ((total - effect * product).max(0.0) / freedom / square).sqrt();
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let p = if effect == 0.0 { 1.0 } else { 2.0 * student.sf(effect.abs() / error) };
    (effect.is_finite() && p.is_finite()).then(|| FirstPlace { ratio: effect.exp(), p })
}

/// What is left of each value without its block's and its level's mean.
fn take_residuals(group: &[OrderedBlock], of: impl Fn(&(f64, bool)) -> f64) -> Vec<f64> {
    let table: Vec<Vec<f64>> = group.iter().map(|block| block.iter().map(&of).collect()).collect();
    let rows: Vec<f64> = table.iter().map(|row| mean(row)).collect();
    let columns: Vec<f64> = (0..table[0].len())
        .map(|level| table.iter().map(|row| row[level]).sum::<f64>() / table.len() as f64)
        .collect();
    let all = mean(&rows);
    let residual = |row: usize, level: usize| table[row][level] - rows[row] - columns[level] + all;
    let places = (0..rows.len()).flat_map(|row| (0..columns.len()).map(move |level| (row, level)));
    places.map(|(row, level)| residual(row, level)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks and levels of any size, and a first place that takes 1.05 times as long.
    #[test]
    fn what_was_added_to_the_first_place_is_found() {
        let penalty = 1.05_f64.ln();
        let block = |number: usize, first: usize| -> OrderedBlock {
            let cost = |level: usize| number as f64 - 0.3 * level as f64;
            let wobble = |level: usize| 1e-6 * ((7 * number + 3 * level) % 5) as f64;
            (0..3)
                .map(|level| {
                    let is_first = level == first;
                    let late = if is_first { penalty } else { 0.0 };
                    (cost(level) + wobble(level) + late, is_first)
                })
                .collect()
        };
        let group = |shift: usize| (0..3).map(|number| block(number + shift, number % 3)).collect();
        let found = estimate_first_place(&[group(0), group(9)]).unwrap();
        assert!((found.ratio - 1.05).abs() < 1e-4 && found.p < 1e-6, "{found:?}");
    }

    #[test]
    fn what_can_t_be_told_is_none() {
        assert_eq!(estimate_first_place(&[]), None);
        // One level is first in each block: its place is its level.
        let same = vec![vec![(1.0, true), (2.0, false)]; 4];
        assert_eq!(estimate_first_place(&[same]), None);
        // Two blocks of two levels leave nothing to estimate noise from.
        let two = vec![vec![(1.0, true), (2.0, false)], vec![(1.0, false), (2.5, true)]];
        assert_eq!(estimate_first_place(&[two]), None);
    }
}
