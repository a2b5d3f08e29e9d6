use crate::words;

pub const NONE: &str = "–";

pub fn format_latency(seconds: Option<f64>) -> String {
    latency_or_more(seconds, false)
}

pub fn latency_or_more(seconds: Option<f64>, cut_off: bool) -> String {
    seconds.map_or(NONE.into(), |seconds| words::seconds_or_more(seconds, cut_off))
}

/// A small number is never shown as zero.
pub fn format_few(number: f64) -> String {
    if (f64::MIN_POSITIVE..0.001).contains(&number) {
        return "< 0.001".into();
    }
    words::format_digits(number)
}

pub fn format_optional(value: Option<f64>, words: impl Fn(f64) -> String) -> String {
    value.map_or(NONE.into(), words)
}
