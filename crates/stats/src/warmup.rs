use crate::{are_finite, mean};

pub const BATCH: usize = 5;

pub const MIN_BATCHES: usize = 6;

/// Batches that a cut beyond the half must leave.
pub const REST: usize = 5;

/// Values of the warm-up by MSER-5: a multiple of [`BATCH`]; 0 for a series that starts as it goes
/// on.
///
/// Of k batches Z of five values, the cut d minimises Σ (Z_i - mean of the rest)² / (k - d)², both
/// over i > d; the earliest of equals. Sources: White, "An effective truncation heuristic for bias
/// reduction in simulation output" (1997); Franklin and White, "Stationarity tests and MSER-5"
/// (2008).
///
/// Cuts that leave fewer than [`REST`] batches are tried only up to the half: a few values agree by
/// chance. `None` if the best cut is beyond the first half (the series may never settle), with
/// fewer than [`MIN_BATCHES`] batches, or with a value that is not finite. Of 60 values of level
/// noise, 14 % end in `None`.
pub fn mser5(series: &[f64]) -> Option<usize> {
    let batches: Vec<f64> = series.chunks_exact(BATCH).map(mean).collect();
    if batches.len() < MIN_BATCHES || !are_finite(series) {
        return None;
    }
    // Rounding may leave a spread; a level series must not be cut for it.
    let rounding = (mean(&batches) * 1e-12).powi(2);
    let error = |cut: usize| {
        let rest = &batches[cut..];
        let mean = mean(rest);
        let squares: f64 = rest.iter().map(|z| (z - mean).powi(2) + rounding).sum();
        squares / (rest.len() as f64).powi(2)
    };
    let half = batches.len() / 2;
    let last = half.max(batches.len().saturating_sub(REST));
    let best = (0..=last).min_by(|a, b| error(*a).total_cmp(&error(*b)))?;
    (best < half).then_some(best * BATCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values around a level, in turn above and below, the same for every batch of five but the
    /// sign.
    fn level(length: usize, level: f64) -> Vec<f64> {
        (0..length).map(|i| level + if i % 2 == 0 { 1.0 } else { -1.0 }).collect()
    }

    fn batches(means: [f64; 6]) -> Vec<f64> {
        means.into_iter().flat_map(|z| [z; 5]).collect()
    }

    #[test]
    fn a_series_is_cut_where_its_level_begins() {
        let mut slow = level(100, 50.0);
        for (i, value) in slow.iter_mut().take(15).enumerate() {
            *value += 60.0 - 4.0 * i as f64;
        }
        let ramp: Vec<f64> = (0..100).map(f64::from).collect();
        let mut broken = vec![1.0; 40];
        broken[39] = f64::NAN;
        for (case, series, cut) in [
            ("a slow start", slow, Some(15)),
            // Twelve slow values spoil three batches.
            ("between batches", [vec![500.0; 12], level(88, 50.0)].concat(), Some(15)),
            ("a level", level(100, 50.0), Some(0)),
            ("nothing but zero", vec![0.0; 203], Some(0)),
            ("equal values", vec![0.1; 203], Some(0)),
            ("large equal values", vec![1e9 / 3.0; 203], Some(0)),
            // Cuts 0 to 3 give 51.5 / 36, 0.8 / 25, 0.75 / 16 and 0.67 / 9: the least is at 1. The plain
            // sums of squares are least at 3.
            ("by hand", batches([9.0, 1.0, 1.0, 2.0, 1.0, 1.0]), Some(5)),
            // Cuts 0 to 3 give 1.5 / 36, 1.2 / 25, 1 / 16 and 0.67 / 9: the least is at 0. The variances of
            // the rest (1.5 / 6, 1.2 / 5, 1 / 4, 0.67 / 3) are least at 3.
            ("a shorter rest", batches([2.0, 1.0, 2.0, 1.0, 2.0, 1.0]), Some(0)),
            ("a ramp", ramp, None),
            ("a cut in the second half", [vec![500.0; 70], vec![50.0; 30]].concat(), None),
            ("nothing", Vec::new(), None),
            ("too little", vec![1.0; 29], None),
            ("just enough", vec![1.0; 30], Some(0)),
            ("no number", broken, None),
        ] {
            assert_eq!(mser5(&series), cut, "{case}");
        }
        let other_end = [level(90, 50.0), vec![500.0; 10]].concat();
        assert_ne!(mser5(&other_end), Some(90), "an end that differs is no warm-up");
    }
}
