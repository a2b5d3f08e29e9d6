//! What is compared of a cell, as a figure in its unit: how long an operation takes, or how much all of
//! them come to a second.

use bakeoff_results::FigureOfMerit;

use crate::scale::tick_label;
use crate::words;

/// A figure of merit of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeritAmount {
    /// What it is.
    pub merit: FigureOfMerit,
    /// How much: seconds, or so much a second, megabytes in bytes.
    pub value: f64,
    /// Whether operations were cut off: a time is a lower bound then, a rate an upper one.
    pub is_bound: bool,
}

impl MeritAmount {
    /// "4.10 ms", "12 300 rows/s"; "> 4.10 ms" and "< 12 300 rows/s" of a bound.
    pub fn text(&self) -> String {
        format!("{}{}", self.sign(), self.bare(true))
    }

    /// The same for a column whose heading says what it is: a rate without its unit.
    pub fn in_column(&self) -> String {
        format!("{}{}", self.sign(), self.bare(!self.merit.is_rate()))
    }

    /// "over 4.10 ms", "less than 12 300 rows/s": a bound in a sentence.
    pub fn bound(&self) -> String {
        let word = if self.merit.is_rate() { "less than" } else { "over" };
        format!("{word} {}", self.bare(true))
    }

    /// What stands before it where it is a bound.
    pub fn sign(&self) -> &'static str {
        match (self.is_bound, self.merit.is_rate()) {
            (false, _) => "",
            (true, false) => words::OVER,
            (true, true) => words::UNDER,
        }
    }

    fn bare(&self, with_unit: bool) -> String {
        let (scale, unit) = unit(self.merit, self.value);
        match with_unit {
            true => format!("{} {unit}", words::digits(self.value * scale)),
            false => words::digits(self.value * scale),
        }
    }
}

/// What to multiply figures of this size with, and the unit that they are then in.
pub fn unit(merit: FigureOfMerit, value: f64) -> (f64, &'static str) {
    match merit {
        FigureOfMerit::Time => words::second_unit(value),
        FigureOfMerit::Operations => (1.0, "operations/s"),
        FigureOfMerit::Rows => (1.0, "rows/s"),
        FigureOfMerit::Requests => (1.0, "requests/s"),
        FigureOfMerit::Megabytes => (1e-6, "MB/s"),
    }
}

/// A round figure on an axis: "2 ms"; a rate without its unit.
pub fn tick(merit: FigureOfMerit, value: f64) -> String {
    let (scale, unit) = unit(merit, value);
    let number = value * scale;
    match merit.is_rate() {
        true if number >= 1.0 => words::count(number.round() as u64),
        true => tick_label(number),
        false => format!("{} {unit}", tick_label(number)),
    }
}

/// "rows", "MB": what a rate counts, before "a second".
pub fn counted(merit: FigureOfMerit) -> &'static str {
    merit.words().trim_end_matches(" a second")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_of_a_rate_is_above_it_and_one_of_a_time_below() {
        let of = |merit, value| MeritAmount { merit, value, is_bound: true };
        let (time, rate) = (of(FigureOfMerit::Time, 0.0041), of(FigureOfMerit::Megabytes, 2.5e8));
        assert_eq!((time.text(), time.bound()), ("> 4.10 ms".into(), "over 4.10 ms".into()));
        assert_eq!((rate.text(), rate.bound()), ("< 250 MB/s".into(), "less than 250 MB/s".into()));
        assert_eq!((time.in_column(), rate.in_column()), ("> 4.10 ms".into(), "< 250".into()));
        let exact = MeritAmount { is_bound: false, ..of(FigureOfMerit::Rows, 12_300.0) };
        assert_eq!(exact.text(), "12\u{202f}300 rows/s");
    }
}
