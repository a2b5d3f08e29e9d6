//! A cell's figure of merit in its unit: a time, or a rate.

use bakeoff_analysis::layout::MeritAmount;
use bakeoff_results::FigureOfMerit;

use crate::scale::tick_label;
use crate::words;

/// An amount in words.
pub trait AmountText {
    /// "4.10 ms", "12 300 rows/s"; "> 4.10 ms" and "< 12 300 rows/s" of a bound.
    fn text(&self) -> String;
    /// Without the unit of a rate, which the column's heading says.
    fn in_column(&self) -> String;
    /// "over 4.10 ms", "less than 12 300 rows/s": a bound in a sentence.
    fn to_phrase(&self) -> String;
    fn bound_sign(&self) -> &'static str;
}

impl AmountText for MeritAmount {
    fn text(&self) -> String {
        format!("{}{}", self.bound_sign(), format_figure(self, true))
    }

    fn in_column(&self) -> String {
        format!("{}{}", self.bound_sign(), format_figure(self, !self.merit.is_rate()))
    }

    fn to_phrase(&self) -> String {
        let word = if self.merit.is_rate() { "less than" } else { "over" };
        format!("{word} {}", format_figure(self, true))
    }

    fn bound_sign(&self) -> &'static str {
        match (self.is_bound, self.merit.is_rate()) {
            (false, _) => "",
            (true, false) => words::OVER,
            (true, true) => words::UNDER,
        }
    }
}

fn format_figure(amount: &MeritAmount, with_unit: bool) -> String {
    let (scale, unit) = choose_unit(amount.merit, amount.value);
    match with_unit {
        true => format!("{} {unit}", words::format_digits(amount.value * scale)),
        false => words::format_digits(amount.value * scale),
    }
}

/// The factor and the unit for figures of this size.
pub fn choose_unit(merit: FigureOfMerit, value: f64) -> (f64, &'static str) {
    match merit {
        FigureOfMerit::Time => words::second_unit(value),
        FigureOfMerit::Operations => (1.0, "operations/s"),
        FigureOfMerit::Rows => (1.0, "rows/s"),
        FigureOfMerit::Requests => (1.0, "requests/s"),
        FigureOfMerit::Megabytes => (1e-6, "MB/s"),
    }
}

/// "2 ms". A rate has no unit.
pub fn format_tick(merit: FigureOfMerit, value: f64) -> String {
    let (scale, unit) = choose_unit(merit, value);
    let number = value * scale;
    match merit.is_rate() {
        true if number >= 1.0 => words::format_count(number.round() as u64),
        true => tick_label(number),
        false => format!("{} {unit}", tick_label(number)),
    }
}

/// The noun that a rate counts, before "a second": "rows", "MB".
pub fn counted_noun(merit: FigureOfMerit) -> &'static str {
    merit.in_words().trim_end_matches(" a second")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_of_a_rate_is_above_it_and_one_of_a_time_below() {
        let of = |merit, value| MeritAmount { merit, value, is_bound: true };
        let (time, rate) = (of(FigureOfMerit::Time, 0.0041), of(FigureOfMerit::Megabytes, 2.5e8));
        assert_eq!((time.text(), time.to_phrase()), ("> 4.10 ms".into(), "over 4.10 ms".into()));
        assert_eq!(
            (rate.text(), rate.to_phrase()),
            ("< 250 MB/s".into(), "less than 250 MB/s".into())
        );
        assert_eq!((time.in_column(), rate.in_column()), ("> 4.10 ms".into(), "< 250".into()));
        let exact = MeritAmount { is_bound: false, ..of(FigureOfMerit::Rows, 12_300.0) };
        assert_eq!(exact.text(), "12\u{202f}300 rows/s");
    }
}
