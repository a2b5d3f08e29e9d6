//! Formats numbers and levels for readers: three significant digits, units that fit.

use bakeoff_analysis::layout::{ConditionLevels, DocumentLayout};
use bakeoff_analysis::{FLUSH_US, RatioBound};
use bakeoff_results::{OwnFactor, Run};

/// Three significant digits, and no more than the integer part needs.
pub fn format_digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value:.0}");
    }
    // Rounded first, so that 9.996 is a number of two digits before the point.
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    let magnitude = rounded.abs().log10().floor() as i32;
    let decimals = (2 - magnitude).clamp(0, 9) as usize;
    group_digits(&format!("{rounded:.decimals$}"))
}

/// A narrow space that doesn't break separates groups, from five digits on.
fn group_digits(number: &str) -> String {
    let (whole, rest) = number.split_at(number.find('.').unwrap_or(number.len()));
    if whole.trim_start_matches('-').len() < 5 {
        return number.into();
    }
    let mut out = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && digit.is_ascii_digit() && (whole.len() - place) % 3 == 0 {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out + rest
}

pub fn format_count(value: u64) -> String {
    group_digits(&value.to_string())
}

pub fn format_seconds(value: f64) -> String {
    let (scale, unit) = second_unit(value);
    format!("{} {unit}", format_digits(value * scale))
}

pub fn second_unit(value: f64) -> (f64, &'static str) {
    // Half of the last digit below a unit rounds up into it.
    match value.abs() {
        v if v >= 0.9995 => (1.0, "s"),
        v if v >= 0.9995e-3 => (1e3, "ms"),
        v if v >= 0.9995e-6 => (1e6, "µs"),
        0.0 => (1.0, "s"),
        _ => (1e9, "ns"),
    }
}

/// 1 MB is 10^6 bytes.
pub fn format_bytes(value: u64) -> String {
    let (scale, unit) = byte_unit(value as f64);
    match unit {
        "bytes" => format!("{value} bytes"),
        _ => format!("{} {unit}", format_digits(value as f64 * scale)),
    }
}

/// A mean may be a fraction: "0.25 bytes", "4.10 kB".
pub fn mean_bytes(value: f64) -> String {
    let (scale, unit) = byte_unit(value);
    format!("{} {unit}", format_digits(value * scale))
}

pub fn byte_unit(value: f64) -> (f64, &'static str) {
    match value {
        v if v >= 0.9995e12 => (1e-12, "TB"),
        v if v >= 0.9995e9 => (1e-9, "GB"),
        v if v >= 0.9995e6 => (1e-6, "MB"),
        v if v >= 0.9995e3 => (1e-3, "kB"),
        _ => (1.0, "bytes"),
    }
}

/// At most two digits after the point; powers of ten far from 1.
pub fn format_ratio(value: f64) -> String {
    match value {
        v if (0.01..9.995).contains(&v) => format!("{v:.2}"),
        v if (9.995..1e5).contains(&v) => format_digits(v),
        v => format!("{v:.1e}"),
    }
}

/// In the digits of the publication: "6–7", "3.5–4".
pub fn ratio_range(low: f64, high: f64) -> String {
    let short = |value: f64| {
        let text = format_ratio(value);
        match text.contains('.') && !text.contains('e') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => text,
        }
    };
    format!("{}–{}", short(low), short(high))
}

pub fn ratio_or_bound(value: f64, is: RatioBound) -> String {
    let sign = match is {
        RatioBound::Exact => "",
        RatioBound::AtLeast => "≥ ",
        RatioBound::AtMost => "≤ ",
    };
    format!("{sign}{}", format_ratio(value))
}

pub fn format_times(value: f64, is: RatioBound) -> String {
    let words = match is {
        RatioBound::Exact => "",
        RatioBound::AtLeast => "at least ",
        RatioBound::AtMost => "at most ",
    };
    format!("{words}{}", format_ratio(value))
}

pub fn format_two(value: f64) -> String {
    format_figures(value, 2, f64::round)
}

/// Two significant figures, rounded outward: "1.2–1.6". Just above 1 they have three, "1.07–1.6":
/// the side of 1 must not be rounded away.
pub fn round_outward((low, high): (f64, f64)) -> String {
    format!("{}–{}", round_below(low), round_above(high))
}

pub fn round_below(value: f64) -> String {
    format_figures(value, of_an_end(value), |number| (number + 1e-9).floor())
}

pub fn round_above(value: f64) -> String {
    format_figures(value, of_an_end(value), |number| (number - 1e-9).ceil())
}

/// Significant figures of an interval's end.
fn of_an_end(value: f64) -> i32 {
    if (1.0..1.1).contains(&value) { 3 } else { 2 }
}

fn format_figures(value: f64, significant: i32, round: impl Fn(f64) -> f64) -> String {
    if !(1e-3..1e6).contains(&value) {
        return format!("{value:.1e}");
    }
    let more = significant - 1;
    let unit = 10_f64.powi(value.log10().floor() as i32 - more);
    let number = round(value / unit) * unit;
    // 9.96 becomes 10, which has no digit after the point.
    let decimals = (more - (number * (1.0 + 1e-12)).log10().floor() as i32).max(0) as usize;
    group_digits(&format!("{number:.decimals$}"))
}

pub const OVER: &str = "> ";

pub const UNDER: &str = "< ";

pub fn seconds_or_more(value: f64, cut_off: bool) -> String {
    format!("{}{}", if cut_off { OVER } else { "" }, format_seconds(value))
}

pub const WIDE: &str = "wide";

/// An end may be this many times the middle.
pub const USEFUL: f64 = 10.0;

/// More than tenfold to either side of the middle: two numbers say less than that.
fn is_wide((low, high): (f64, f64)) -> bool {
    high / low > USEFUL * USEFUL
}

/// "1.90 to 2.40", or that it is wide.
pub fn format_interval((low, high): (f64, f64)) -> String {
    if is_wide((low, high)) {
        return WIDE.into();
    }
    format!("{} to {}", format_ratio(low), format_ratio(high))
}

/// A bound's interval has one open end. Two pairs far apart can have an end beyond all numbers.
pub fn format_ends(
    ends: (Option<f64>, Option<f64>),
    is: RatioBound,
    blocks: u32,
) -> Option<String> {
    match (is, ends) {
        (RatioBound::AtLeast, (Some(low), _)) => Some(format!("from {}", format_ratio(low))),
        (RatioBound::AtMost, (_, Some(high))) => Some(format!("up to {}", format_ratio(high))),
        (_, (Some(low), Some(high))) => Some(format_interval((low, high))),
        _ if blocks > 1 => Some(WIDE.into()),
        _ => None,
    }
}

/// Whole, unless it is below ten.
pub fn format_percent(share: f64) -> String {
    let value = share * 100.0;
    if value < 9.95 { format!("{value:.1} %") } else { group_digits(&format!("{value:.0}")) + " %" }
}

/// `1 block`, `2 blocks`: the noun takes an s.
pub fn count_nouns(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", format_count(number as u64))
}

/// "90 power cuts (180 images of the disk)": images are judged, and one cut may have several.
pub fn count_cuts(cuts: u64, images: u64) -> String {
    let told = count_nouns(cuts as usize, "power cut");
    if cuts == images {
        return told;
    }
    format!("{told} ({} of the disk)", count_nouns(images as usize, "image"))
}

/// `a`, `a and b`, `a, b and c`.
pub fn join_list<S: AsRef<str>>(items: &[S]) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().into(),
        [head @ .., last] => {
            let head: Vec<&str> = head.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", head.join(", "), last.as_ref())
        }
    }
}

pub fn capitalize(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or(String::new(), |first| first.to_uppercase().to_string() + rest.as_str())
}

/// The name of a numeric factor over its levels, with its unit.
pub fn name_axis(factor: &str) -> &str {
    if factor == FLUSH_US { "flush, µs" } else { factor }
}

/// Follows "with".
pub fn phrase_level(factor: &str, level: &str) -> String {
    match (OwnFactor::from_name(factor), level) {
        (Some(OwnFactor::Engine), _) => level.into(),
        (None, _) if factor == "operation" => level.into(),
        (None, _) if factor == FLUSH_US => format!("a flush of {level} µs"),
        (Some(OwnFactor::Clients), "1") => "1 client".into(),
        (Some(OwnFactor::Clients), _) => format!("{level} clients"),
        (Some(OwnFactor::Neighbours), "0") => "no neighbours".into(),
        (Some(OwnFactor::Neighbours), "x1") => "1 neighbour".into(),
        (Some(OwnFactor::Neighbours), _) if level.ends_with('%') => {
            format!("neighbours at {} %", level.trim_end_matches('%').trim())
        }
        (Some(OwnFactor::Neighbours), _) => {
            format!("{} neighbours", level.trim_start_matches('x'))
        }
        (Some(OwnFactor::Memory), "unlimited") => "no memory limit".into(),
        (Some(OwnFactor::Cpus), "unlimited") => "all processors".into(),
        (Some(OwnFactor::Cpus), "1") => "1 processor".into(),
        (Some(OwnFactor::Cpus), _) => format!("{level} processors"),
        (Some(OwnFactor::Durability | OwnFactor::Memory | OwnFactor::State), _) => {
            format!("{level} {factor}")
        }
        _ => format!("{factor} {level}"),
    }
}

/// An engine needs only its name.
pub fn name_contender(factor: &str, level: &str) -> String {
    if factor == OwnFactor::Engine { level.into() } else { format!("{factor} {level}") }
}

/// In UTC, to the minute.
pub fn format_date(seconds: f64) -> String {
    let minutes = (seconds / 60.0).floor() as i64;
    let (days, minute) = (minutes.div_euclid(1440), minutes.rem_euclid(1440));
    let (year, month, day) = date_of_day(days);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", minute / 60, minute % 60)
}

/// Howard Hinnant's `civil_from_days`.
fn date_of_day(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

pub fn trial_lasts(run: &Run) -> String {
    let time = format_span(run.seconds);
    match run.operations_each {
        None => format!("for {time}"),
        Some(each) => format!("until {each} of each operation have ended, for {time} at most"),
    }
}

/// In seconds, minutes, or hours and minutes.
pub fn format_span(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    match whole {
        // Short trials are given in tenths.
        0..=9 => format!("{} s", (seconds.max(0.0) * 10.0).round() / 10.0),
        10..=119 => format!("{whole} s"),
        120..=7199 => format!("{} min", (whole + 30) / 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// " with 4 clients and no neighbours"; empty when nothing varies.
pub fn describe_place<'a>(layout: &DocumentLayout<'a>, condition: &ConditionLevels<'a>) -> String {
    let words: Vec<String> =
        layout.varying.iter().zip(condition).map(|(f, l)| phrase_level(f, l)).collect();
    if words.is_empty() { String::new() } else { format!(" with {}", join_list(&words)) }
}

pub fn name_metric(layout: &DocumentLayout<'_>) -> &'static str {
    if layout.is_open() { "mean response time" } else { "mean time" }
}

/// The first line without its dot, and the following lines under the words that announce them: ";
/// the last lines of its log:".
pub fn sentence_and_log(text: &str) -> (&str, Option<(String, String)>) {
    let (first, lines) = text.split_once('\n').unwrap_or((text, ""));
    let (sentence, title) = match first.trim_end().strip_suffix(':') {
        Some(announced) => announced.rsplit_once("; ").unwrap_or((announced, "what it said")),
        None => (first, "what else it said"),
    };
    let lines = lines.trim_end();
    let log = (!lines.is_empty()).then(|| (capitalize(title), lines.to_owned()));
    (sentence.trim_end_matches('.'), log)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_range_has_the_digits_that_it_was_published_with() {
        for ((low, high), text) in
            [((6.0, 7.0), "6–7"), ((3.5, 4.0), "3.5–4"), ((10.0, 120.0), "10–120")]
        {
            assert_eq!(ratio_range(low, high), text);
        }
    }

    #[test]
    fn three_digits_and_a_fitting_unit() {
        for (value, text) in [
            (0.0, "0 s"),
            (3.2e-10, "0.320 ns"),
            (0.000_000_999_9, "1.00 µs"),
            (0.000_012_34, "12.3 µs"),
            (0.009_996, "10.0 ms"),
            (0.1234, "123 ms"),
            (0.9999, "1.00 s"),
            (75.0, "75.0 s"),
            (123_456.0, "123\u{202f}000 s"),
        ] {
            assert_eq!(format_seconds(value), text);
        }
    }

    #[test]
    fn two_figures_and_ends_that_never_claim_too_much() {
        for (value, text) in [
            (1.42, "1.4"),
            (9.96, "10"),
            (0.994, "0.99"),
            (0.9951, "1.0"),
            (123.0, "120"),
            (1.0, "1.0"),
        ] {
            assert_eq!(format_two(value), text);
        }
        assert_eq!(round_outward((1.19, 1.61)), "1.1–1.7");
        assert_eq!(round_outward((1.2, 1.6)), "1.2–1.6");
        assert_eq!(round_outward((0.984, 10.1)), "0.98–11");
        assert_eq!(round_outward((1.078, 1.69)), "1.07–1.7");
        assert_eq!((format_two(2e7), format_two(f64::INFINITY)), ("2.0e7".into(), "inf".into()));
    }

    #[test]
    fn shares_are_whole_from_ten_per_cent_on() {
        for (share, text) in [
            (0.0994, "9.9 %"),
            (0.0996, "10 %"),
            (0.2, "20 %"),
            (0.998, "100 %"),
            (12.34, "1234 %"),
        ] {
            assert_eq!(format_percent(share), text);
        }
    }

    #[test]
    fn sizes_are_decimal() {
        assert_eq!(format_bytes(0), "0 bytes");
        assert_eq!(format_bytes(999), "999 bytes");
        assert_eq!(format_bytes(1_000_000), "1.00 MB");
        assert_eq!(format_bytes(999_999_999), "1.00 GB");
        assert_eq!(format_bytes(52_428_800), "52.4 MB");
    }

    #[test]
    fn dates_are_right_around_leap_days() {
        assert_eq!(format_date(0.0), "1970-01-01 00:00 UTC");
        assert_eq!(format_date(951_782_400.0), "2000-02-29 00:00 UTC");
        assert_eq!(format_date(1_709_251_199.0), "2024-02-29 23:59 UTC");
        assert_eq!(format_date(1_709_251_200.0), "2024-03-01 00:00 UTC");
    }

    #[test]
    fn levels_read_as_english() {
        assert_eq!(phrase_level("clients", "1"), "1 client");
        assert_eq!(phrase_level("neighbours", "25%"), "neighbours at 25 %");
        assert_eq!(phrase_level("neighbours", "x4"), "4 neighbours");
        assert_eq!(phrase_level("durability", "strict"), "strict durability");
        assert_eq!(join_list(&["a", "b", "c"]), "a, b and c");
        assert_eq!(count_nouns(1, "block"), "1 block");
        assert_eq!(count_nouns(12_345, "trial"), "12\u{202f}345 trials");
        assert_eq!(count_cuts(90, 180), "90 power cuts (180 images of the disk)");
        assert_eq!(
            (count_cuts(1, 1), count_cuts(1, 0)),
            ("1 power cut".into(), "1 power cut (0 images of the disk)".into())
        );
    }
}
