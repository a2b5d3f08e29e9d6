//! Parses the values of a job file's keys.

use std::ops::RangeInclusive;

/// Bytes, as `4096`, `16k` or `1g`. To fio `1kib` is 1000 bytes, which no user means: see [`explain_form`].
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
    let text = text.to_ascii_lowercase();
    let units = [('s', 1), ('m', 60), ('h', 3600), ('d', 86_400)];
    let unit = units.iter().find(|(letter, _)| text.ends_with(*letter));
    let (digits, each) = unit.map_or((&*text, 1), |(_, each)| (&text[..text.len() - 1], *each));
    digits.parse::<u64>().ok()?.checked_mul(each)
}

/// A number; in fio it may have the unit of a size.
pub fn parse_number(text: &str, valid: RangeInclusive<u64>) -> Option<u64> {
    parse_bytes(text).filter(|number| valid.contains(number))
}

/// A number in a form that fio takes and bakeoff does not.
#[derive(Debug, PartialEq, Eq)]
pub struct UnknownForm {
    /// The number in a form that bakeoff takes.
    pub instead: Option<String>,
    pub why: String,
}

/// Says what is wrong with the form of a number, if it is the form.
pub fn explain_form(text: &str) -> Option<UnknownForm> {
    if !text.starts_with(|it: char| it.is_ascii_digit()) {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let form = |instead, why: &str| Some(UnknownForm { instead, why: why.into() });
    if let Some((first, _)) = lower.split_once(',') {
        return form(Some(first.into()), "bakeoff has one value for reads and writes");
    }
    if let Some(digits) = lower.strip_prefix("0x") {
        let number = u64::from_str_radix(digits, 16).ok();
        let instead = number.map(|number| number.to_string());
        return form(
            instead,
            "fio takes what begins with 0x for hexadecimal, and bakeoff does not",
        );
    }
    if lower.contains('.') {
        return form(None, "fio drops what follows the point: write a whole number");
    }
    let (number, unit) = lower.split_at(lower.find(|it: char| !it.is_ascii_digit())?);
    let thousandths = match unit {
        "ms" => 1000,
        "us" => 1_000_000,
        "%" => return form(None, "bakeoff takes no percentage"),
        _ => return explain_binary_unit(number, unit),
    };
    let seconds = number.parse::<u64>().ok().map(|number| number.div_ceil(thousandths));
    form(seconds.map(|seconds| seconds.to_string()), "bakeoff takes whole seconds")
}

/// Explains `64mi` and `64mib`.
fn explain_binary_unit(number: &str, unit: &str) -> Option<UnknownForm> {
    let (letter, end) = unit.split_at_checked(1)?;
    let power = 1 + "kmgtp".find(letter)?;
    let large = letter.to_ascii_uppercase();
    let why = match end {
        "ib" => format!("fio itself takes {large}iB for 10^{} bytes", 3 * power),
        "i" => format!("fio takes {large}i for 2^{} bytes, as it does {letter}", 10 * power),
        _ => return None,
    };
    Some(UnknownForm { instead: Some(format!("{number}{letter}")), why })
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
            (parse_seconds("90"), parse_seconds("2M"), parse_seconds("1h")),
            (Some(90), Some(120), Some(3600))
        );
        assert_eq!(
            (parse_seconds("1us"), parse_seconds(""), parse_seconds("m")),
            (None, None, None)
        );
    }
}
