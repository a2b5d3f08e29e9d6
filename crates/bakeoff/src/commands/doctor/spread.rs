//! The median of several short measurements, and their spread: one alone can't be trusted.

use bakeoff_lab::disk_likeness::format_two_digits;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The lower quartile; the least of three.
    pub low: f64,
    pub median: f64,
    /// The upper quartile; the largest of three.
    pub high: f64,
}

impl Spread {
    pub fn from_values(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (last, quarter) = (values.len().checked_sub(1)?, values.len() / 4);
        let median = (values[last / 2] + values[last.div_ceil(2)]) / 2.0;
        Some(Self { low: values[quarter], median, high: values[last - quarter] })
    }

    pub fn scale_by(self, factor: f64) -> Self {
        let Self { low, median, high } = self;
        Self { low: low * factor, median: median * factor, high: high * factor }
    }

    pub fn in_digits(self) -> [String; 3] {
        [self.median, self.low, self.high].map(format_two_digits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_measurement_that_is_far_off_moves_neither_the_middle_nor_the_ends() {
        let quiet: Vec<f64> = (1..=20).map(f64::from).collect();
        let expected = Spread { low: 6.0, median: 10.5, high: 15.0 };
        assert_eq!(Spread::from_values(quiet.clone()), Some(expected));
        let disturbed = quiet.iter().rev().map(|it| if *it == 20.0 { 5000.0 } else { *it });
        assert_eq!(Spread::from_values(disturbed.collect()), Some(expected));
    }

    #[test]
    fn of_few_measurements_the_ends_are_all_of_them() {
        let three = Spread { low: 1.0, median: 2.0, high: 9.0 };
        assert_eq!(Spread::from_values(vec![9.0, 1.0, 2.0]), Some(three));
        assert_eq!(
            Spread::from_values(vec![4.0]),
            Some(Spread { low: 4.0, median: 4.0, high: 4.0 })
        );
        assert_eq!(Spread::from_values(vec![]), None);
        assert_eq!(three.scale_by(10.0).in_digits(), ["20", "10", "90"]);
    }
}
