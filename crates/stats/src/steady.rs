//! Whether a series is level, or still climbs or falls as a whole.

use crate::{finite, mean};

/// The largest slope of a steady series, as a share of its mean over its whole span.
pub const LARGEST_SLOPE: f64 = 0.10;

/// By how much the least-squares line through a series rises from its first value to its last, as
/// a share of the series' mean; negative where it falls.
///
/// `None` with fewer than three values (a line goes through any two), with a value that is not
/// finite, and when the mean is not above zero.
pub fn rise(series: &[f64]) -> Option<f64> {
    let n = series.len() as f64;
    if series.len() < 3 || !finite(series) {
        return None;
    }
    let mean = mean(series);
    let middle = (n - 1.0) / 2.0;
    let (mut products, mut squares) = (0.0, 0.0);
    for (i, y) in series.iter().enumerate() {
        let x = i as f64 - middle;
        products += x * (y - mean);
        squares += x * x;
    }
    (mean > 0.0).then(|| products / squares * (n - 1.0) / mean)
}

/// Whether the series rises or falls by no more than [`LARGEST_SLOPE`]. A series of which that
/// can't be said (see [`rise`]) is not steady: steadiness has to be shown.
pub fn is_steady(series: &[f64]) -> bool {
    rise(series).is_some_and(|rise| rise.abs() <= LARGEST_SLOPE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rise_of_a_line_is_known() {
        // From 95 to 105 around 100: 10 %.
        let line: Vec<f64> = (0..=20).map(|i| 95.0 + 0.5 * f64::from(i)).collect();
        assert!((rise(&line).unwrap() - 0.10).abs() < 1e-12);
        let fall: Vec<f64> = line.iter().rev().copied().collect();
        assert!((rise(&fall).unwrap() + 0.10).abs() < 1e-12);
        // Least squares of 1, 2, 6: slope 2.5, mean 3, span 2.
        assert!((rise(&[1.0, 2.0, 6.0]).unwrap() - 5.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_slope_of_a_tenth_divides_the_steady_from_the_rest() {
        let line = |rise: f64| (0..30).map(move |i| 1.0 + rise * (f64::from(i) / 29.0 - 0.5));
        assert!(is_steady(&line(0.099).collect::<Vec<_>>()));
        assert!(is_steady(&line(-0.099).collect::<Vec<_>>()));
        assert!(!is_steady(&line(0.101).collect::<Vec<_>>()));
        assert!(!is_steady(&line(-0.101).collect::<Vec<_>>()));
    }

    #[test]
    fn noise_around_a_level_is_steady() {
        let saw: Vec<f64> = (0..60).map(|i| if i % 2 == 0 { 50.0 } else { 150.0 }).collect();
        assert!(is_steady(&saw));
    }

    #[test]
    fn steadiness_has_to_be_shown() {
        for series in [&[][..], &[1.0, 1.0], &[0.0, 0.0, 0.0], &[1.0, f64::NAN, 1.0]] {
            assert!(!is_steady(series), "{series:?}");
        }
    }
}
