//! Parses the values of a job file's keys.

use std::ops::RangeInclusive;

/// Bytes, as `4096`, `16k` or `1g`. By default fio's `ki` is 1000, which no user means.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let short = lower.strip_suffix('b').unwrap_or(&lower);
    bakeoff_devices::size::size_of(&short.to_ascii_uppercase())
}

/// Writes bytes in the largest unit that leaves no remainder.
pub fn format_size(bytes: u64) -> String {
    let units = [('T', 40), ('G', 30), ('M', 20), ('K', 10)];
    let whole = units.iter().find(|(_, shift)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    whole.map_or_else(|| bytes.to_string(), |(unit, shift)| format!("{}{unit}", bytes >> shift))
}

/// Seconds, as `30`, `30s`, `5m` or `1h`.
pub fn parse_seconds(text: &str) -> Option<u64> {
    let units = [('s', 1), ('m', 60), ('h', 3600), ('d', 86_400)];
    let unit = units.iter().find(|(letter, _)| text.ends_with(*letter));
    let (digits, each) = unit.map_or((text, 1), |(_, each)| (&text[..text.len() - 1], *each));
    digits.parse::<u64>().ok()?.checked_mul(each)
}

pub fn parse_number(text: &str, valid: RangeInclusive<u64>) -> Option<u64> {
    text.parse().ok().filter(|number| valid.contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_have_the_units_that_fio_has() {
        for (text, expected) in [
            ("4096", Some(4096)),
            ("16k", Some(16_384)),
            ("16KB", Some(16_384)),
            ("1G", Some(1 << 30)),
            ("16ki", None),
            ("16kib", None),
            ("", None),
            ("b", None),
            ("50%", None),
            ("-1", None),
        ] {
            assert_eq!(parse_bytes(text), expected, "{text}");
        }
        assert_eq!(
            (format_size(4096), format_size(3 << 30), format_size(4097)),
            ("4K".into(), "3G".into(), "4097".into())
        );
        assert_eq!(
            (parse_seconds("90"), parse_seconds("2m"), parse_seconds("1h")),
            (Some(90), Some(120), Some(3600))
        );
        assert_eq!(
            (parse_seconds("1us"), parse_seconds(""), parse_seconds("m")),
            (None, None, None)
        );
    }
}
