//! Figures as text that is ready to be set.

use crate::words;

/// What stands where there is no figure.
pub const NONE: &str = "–";

/// A latency, or that there is none.
pub fn latency(seconds: Option<f64>) -> String {
    latency_or_more(seconds, false)
}

/// A latency, or that it is more where operations were cut off, or that there is none.
pub fn latency_or_more(seconds: Option<f64>, cut_off: bool) -> String {
    seconds.map_or(NONE.into(), |seconds| words::seconds_or_more(seconds, cut_off))
}

/// A number of things for each of others; one that rounds to nothing is not nothing.
pub fn few(number: f64) -> String {
    if (f64::MIN_POSITIVE..0.001).contains(&number) {
        return "< 0.001".into();
    }
    words::digits(number)
}

/// A figure in its words, or that there is none.
pub fn text(value: Option<f64>, words: impl Fn(f64) -> String) -> String {
    value.map_or(NONE.into(), words)
}
