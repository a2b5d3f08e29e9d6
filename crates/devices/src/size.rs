//! Writes and parses sizes in bytes: `4096`, `64M`, `100G`.

const UNITS: [(char, u32); 4] = [('T', 40), ('G', 30), ('M', 20), ('K', 10)];

/// The letters are powers of 1024.
pub fn size_of(text: &str) -> Option<u64> {
    let unit = UNITS.iter().find(|(letter, _)| text.ends_with(*letter));
    let (digits, shift) = unit.map_or((text, 0), |&(_, shift)| (&text[..text.len() - 1], shift));
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// For a whole number of MiB or more.
pub(crate) fn size_text(number: i64) -> String {
    let large = UNITS.iter().filter(|(_, shift)| *shift >= 20);
    let mut exact = large.filter(|(_, shift)| number != 0 && number % (1 << shift) == 0);
    exact.next().map_or_else(
        || number.to_string(),
        |(letter, shift)| format!("{}{letter}", number >> shift),
    )
}

pub(crate) fn gib_text(gib: u64) -> String {
    if gib.is_multiple_of(1 << 10) { format!("{}T", gib >> 10) } else { format!("{gib}G") }
}
