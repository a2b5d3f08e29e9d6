//! The values of a job file's keys.

use std::ops::RangeInclusive;

/// Bytes, as `4096`, `16k` or `1g`. fio's `ki` is 1000 unless a job says otherwise, which nobody means.
pub fn bytes(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let short = lower.strip_suffix('b').unwrap_or(&lower);
    bakeoff_devices::size::size_of(&short.to_ascii_uppercase())
}

/// Bytes as an experiment has them, in the largest unit that leaves no rest.
pub fn size(bytes: u64) -> String {
    let units = [('T', 40), ('G', 30), ('M', 20), ('K', 10)];
    let whole = units.iter().find(|(_, shift)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    whole.map_or_else(|| bytes.to_string(), |(unit, shift)| format!("{}{unit}", bytes >> shift))
}

/// Seconds, as `30`, `30s`, `5m` or `1h`.
pub fn seconds(text: &str) -> Option<u64> {
    let units = [('s', 1), ('m', 60), ('h', 3600), ('d', 86_400)];
    let unit = units.iter().find(|(letter, _)| text.ends_with(*letter));
    let (digits, each) = unit.map_or((text, 1), |(_, each)| (&text[..text.len() - 1], *each));
    digits.parse::<u64>().ok()?.checked_mul(each)
}

/// A whole number within bounds.
pub fn number(text: &str, valid: RangeInclusive<u64>) -> Option<u64> {
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
            assert_eq!(bytes(text), expected, "{text}");
        }
        assert_eq!(
            (size(4096), size(3 << 30), size(4097)),
            ("4K".into(), "3G".into(), "4097".into())
        );
        assert_eq!(
            (seconds("90"), seconds("2m"), seconds("1h")),
            (Some(90), Some(120), Some(3600))
        );
        assert_eq!((seconds("1us"), seconds(""), seconds("m")), (None, None, None));
    }
}
