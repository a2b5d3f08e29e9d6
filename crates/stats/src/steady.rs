use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::paired::CONFIDENCE;
use crate::{are_finite, mean};

/// As a share of the mean, over the whole span.
pub const LARGEST_SLOPE: f64 = 0.10;

/// A larger standard error of the slope hides whether a series is steady.
pub const LARGEST_ERROR: f64 = 0.05;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    pub rise: f64,
    pub error: f64,
    pub values: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Steadiness {
    /// The slope is at most [`LARGEST_SLOPE`], as far as can be told.
    Steady,
    NotSteady,
    /// The error is larger than [`LARGEST_ERROR`].
    CannotTell,
}

/// `None` with fewer than three values, with one that is not finite, or with a mean not above zero.
/// The error takes distances from the line for independent. Source: Draper and Smith, "Applied
/// regression analysis" (1998), 1.4.
pub fn fit_slope(series: &[f64]) -> Option<Slope> {
    let n = series.len() as f64;
    if series.len() < 3 || !are_finite(series) {
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
    let slope = products / squares;
    let off = |(i, y): (usize, &f64)| (y - mean - slope * (i as f64 - middle)).powi(2);
    let residual: f64 = series.iter().enumerate().map(off).sum();
    let error = (residual / (n - 2.0) / squares).sqrt();
    let over_all = (n - 1.0) / mean;
    let slope = Slope { rise: slope * over_all, error: error * over_all, values: series.len() };
    (mean > 0.0 && slope.rise.is_finite() && slope.error.is_finite()).then_some(slope)
}

impl Slope {
    /// *Not steady* needs a rise above [`LARGEST_SLOPE`] and above t times its error: t is the
    /// quantile (1 + [`CONFIDENCE`]) / 2 of Student's distribution with two degrees of freedom less
    /// than values.
    ///
    /// Without the second condition, 60 to 90 % of level, noisy series are called not steady
    /// (tests/words.rs).
    pub fn steadiness(&self) -> Steadiness {
        let freedom = self.values as f64 - 2.0;
        let student = StudentsT::new(0.0, 1.0, freedom).ok();
        let beyond_noise = |student: StudentsT| {
            self.rise.abs() > student.inverse_cdf(0.5 + CONFIDENCE / 2.0) * self.error
        };
        if self.rise.abs() > LARGEST_SLOPE && student.is_some_and(beyond_noise) {
            Steadiness::NotSteady
        } else if self.error <= LARGEST_ERROR {
            Steadiness::Steady
        } else {
            Steadiness::CannotTell
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(series: impl IntoIterator<Item = f64>) -> Steadiness {
        fit_slope(&series.into_iter().collect::<Vec<_>>()).unwrap().steadiness()
    }

    #[test]
    fn the_rise_of_a_line_is_known() {
        // From 95 to 105 around 100: 10 %, and no value is off the line.
        let line: Vec<f64> = (0..=20).map(|i| 95.0 + 0.5 * f64::from(i)).collect();
        let found = fit_slope(&line).unwrap();
        assert!((found.rise - 0.10).abs() < 1e-12 && found.error < 1e-12, "{found:?}");
        let fall: Vec<f64> = line.iter().rev().copied().collect();
        assert!((fit_slope(&fall).unwrap().rise + 0.10).abs() < 1e-12);
        // Least squares of 1, 2, 6: slope 2.5, mean 3, span 2. The residuals 0.5, -1, 0.5 have the
        // sum of squares 1.5 with one degree of freedom; over Σx² = 2 the error is √0.75.
        let found = fit_slope(&[1.0, 2.0, 6.0]).unwrap();
        assert!((found.rise - 5.0 / 3.0).abs() < 1e-12);
        assert!((found.error - 0.75f64.sqrt() * 2.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_slope_of_a_tenth_divides_the_steady_from_the_rest() {
        let line = |rise: f64| (0..30).map(move |i| 1.0 + rise * (f64::from(i) / 29.0 - 0.5));
        assert_eq!([0.099, -0.099].map(|rise| says(line(rise))), [Steadiness::Steady; 2]);
        assert_eq!([0.101, -0.101].map(|rise| says(line(rise))), [Steadiness::NotSteady; 2]);
    }

    /// A rise of 30 % with an error of 20 % is no finding, and neither is that there is none.
    #[test]
    fn a_slope_within_its_noise_is_not_told() {
        let slope = |rise, error| Slope { rise, error, values: 12 }.steadiness();
        assert_eq!(slope(0.30, 0.20), Steadiness::CannotTell);
        assert_eq!(slope(0.01, 0.06), Steadiness::CannotTell);
        assert_eq!(slope(0.01, 0.05), Steadiness::Steady);
        // t(.975, 10) = 2.228.
        assert_eq!(slope(-0.50, 0.224), Steadiness::NotSteady);
        assert_eq!(slope(-0.50, 0.225), Steadiness::CannotTell);
        // Certain, and too small to matter.
        assert_eq!(slope(0.09, 0.001), Steadiness::Steady);
    }

    #[test]
    fn noise_around_a_level_is_not_unsteady() {
        let saw =
            |swing: f64| (0..60).map(move |i| 100.0 + if i % 2 == 0 { swing } else { -swing });
        assert_eq!(says(saw(8.0)), Steadiness::Steady);
        assert_eq!(says(saw(50.0)), Steadiness::CannotTell);
    }

    #[test]
    fn without_a_line_there_is_no_answer() {
        for series in [&[][..], &[1.0, 1.0], &[0.0, 0.0, 0.0], &[1.0, f64::NAN, 1.0], &[-1.0; 4]] {
            assert_eq!(fit_slope(series), None, "{series:?}");
        }
    }
}
