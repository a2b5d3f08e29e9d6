//! Days and times of the years 1 to 9999, in the Gregorian calendar as if it had always been in use.

use bakeoff_engines::calendar::{self, TimeText};

use super::EvaluationError;

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// 0001-01-01 and 9999-12-31 in days since 1970-01-01.
const FIRST_DAY: i64 = -719_162;
const LAST_DAY: i64 = 2_932_896;

/// Reads `2020-02-29`.
pub fn parse_date(text: &str) -> Result<i64, EvaluationError> {
    let wrong = || {
        EvaluationError::new(format!(
            "`{text}` is no date; write one as 2020-02-29, of the years 1 to 9999"
        ))
    };
    calendar::parse_date(text).ok_or_else(wrong)
}

/// Reads a date, or the day of a timestamp.
pub fn parse_day(text: &str) -> Result<i64, EvaluationError> {
    match read_timestamp(text) {
        Some(time) => Ok(time.div_euclid(DAY)),
        None => parse_date(text),
    }
}

/// Reads `2020-02-29`, `2020-02-29 23:59:59` or `2020-02-29 23:59:59.123456`.
pub fn parse_timestamp(text: &str) -> Result<i64, EvaluationError> {
    let wrong = || {
        EvaluationError::new(format!(
            "`{text}` is no timestamp; write one as 2020-02-29 23:59:59, of the years 1 to 9999"
        ))
    };
    read_timestamp(text).ok_or_else(wrong)
}

/// In the engines' form: what is left out is zero.
fn read_timestamp(text: &str) -> Option<i64> {
    let mut whole = *b"YYYY-MM-DD 00:00:00.000000";
    if !matches!(text.len(), 10 | 19 | 21..=26) {
        return None;
    }
    whole[..text.len()].copy_from_slice(text.as_bytes());
    if whole[10] == b'T' {
        whole[10] = b' ';
    }
    calendar::parse_timestamp(std::str::from_utf8(&whole).ok()?)
}

/// A day that is so many days later.
pub fn add_days(day: i64, days: i64) -> Result<i64, EvaluationError> {
    let sum = day.checked_add(days).filter(|sum| (FIRST_DAY..=LAST_DAY).contains(sum));
    sum.ok_or_else(|| EvaluationError::new("the date is out of the years 1 to 9999"))
}

/// A time that is so many microseconds later.
pub fn add_micros(time: i64, micros: Option<i64>) -> Result<i64, EvaluationError> {
    let sum = micros.and_then(|micros| time.checked_add(micros));
    let sum = sum.filter(|sum| (FIRST_DAY..=LAST_DAY).contains(&sum.div_euclid(DAY)));
    sum.ok_or_else(|| EvaluationError::new("the timestamp is out of the years 1 to 9999"))
}

/// Microseconds of whole seconds; `None` if they don't fit.
pub fn convert_seconds(seconds: i64) -> Option<i64> {
    seconds.checked_mul(SECOND)
}

/// Microseconds of seconds with a fraction, rounded.
pub fn round_seconds(seconds: f64) -> Option<i64> {
    let micros = (seconds * SECOND as f64).round();
    (micros.abs() < i64::MAX as f64).then_some(micros as i64)
}

/// Seconds between two times.
pub fn subtract_times(later: i64, earlier: i64) -> f64 {
    (later - earlier) as f64 / SECOND as f64
}

pub fn write_date(days: i64, text: &mut String) {
    text.push_str(TimeText::from_days(days).as_ref().map_or("", TimeText::as_str));
}

pub fn write_timestamp(micros: i64, text: &mut String) {
    text.push_str(TimeText::from_micros(micros).as_ref().map_or("", TimeText::as_str));
}
