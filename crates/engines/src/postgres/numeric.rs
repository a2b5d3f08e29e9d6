//! PostgreSQL's `numeric` as its binary protocol has it: groups of four decimal digits, each an
//! integer of two bytes.
//!
//! Before them stand their number, the power of 10,000 of the first, the sign, and how many digits
//! after the point are shown (src/backend/utils/adt/numeric.c, numeric_send).

use bytes::{BufMut, BytesMut};

use crate::{Value, decimal};

const GROUP: usize = 4;
const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xc000;
const INFINITE: u16 = 0xd000;
const MINUS_INFINITE: u16 = 0xf000;

/// Integers up to this are doubles.
const EXACT: u64 = 1 << 53;

/// Puts a number that is written in decimal digits.
pub(super) fn put_numeric(text: &str, out: &mut BytesMut) {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (NEGATIVE, rest),
        None => (0, text),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let before = whole.len().div_ceil(GROUP);
    let padded = [
        &"000"[..before * GROUP - whole.len()],
        whole,
        fraction,
        &"000"[..fraction.len().next_multiple_of(GROUP) - fraction.len()],
    ]
    .concat();
    let number =
        |group: &[u8]| group.iter().fold(0, |sum, digit| 10 * sum + i16::from(digit - b'0'));
    let groups: Vec<i16> = padded.as_bytes().chunks(GROUP).map(number).collect();
    let first = groups.iter().position(|group| *group != 0).unwrap_or(groups.len());
    let end = groups.iter().rposition(|group| *group != 0).map_or(first, |last| last + 1);
    out.put_i16((end - first) as i16);
    let weight = if first == end { 0 } else { before as i16 - 1 - first as i16 };
    out.put_i16(weight);
    out.put_u16(sign);
    out.put_u16(fraction.len() as u16);
    groups[first..end].iter().for_each(|group| out.put_i16(*group));
}

/// An integer, or the nearest double; `None` for other bytes.
pub(super) fn read_numeric(raw: &[u8]) -> Option<Value<'static>> {
    let (head, groups) = raw.split_first_chunk::<8>()?;
    let (groups, rest) = groups.as_chunks::<2>();
    let short = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let (count, weight, sign) = (short(0), i32::from(short(2).cast_signed()), short(4));
    let is_group = |group: &[u8; 2]| u16::from_be_bytes(*group) <= 9999;
    if groups.len() != usize::from(count) || !rest.is_empty() || !groups.iter().all(is_group) {
        return None;
    }
    match sign {
        NAN => return Some(Value::from(f64::NAN)),
        INFINITE => return Some(Value::from(f64::INFINITY)),
        MINUS_INFINITE => return Some(Value::from(f64::NEG_INFINITY)),
        _ => {}
    }
    let negative = sign == NEGATIVE;
    read_short(groups, weight, negative).or_else(|| read_digits(groups, weight, negative))
}

/// By one exact multiplication or division, for most numbers that applications have.
fn read_short(groups: &[[u8; 2]], weight: i32, negative: bool) -> Option<Value<'static>> {
    let after = groups.len() as i32 - 1 - weight;
    if groups.len() > 4 || after > 5 {
        return None;
    }
    let digits = groups.iter().fold(0, |sum, it| 10_000 * sum + u64::from(u16::from_be_bytes(*it)));
    let digits = digits.checked_mul(10_000_u64.checked_pow(after.min(0).unsigned_abs())?)?;
    if digits > EXACT {
        return None;
    }
    let number = digits as f64 / 10_f64.powi(4 * after.max(0));
    Some(Value::from(if negative { -number } else { number }))
}

fn read_digits(groups: &[[u8; 2]], weight: i32, negative: bool) -> Option<Value<'static>> {
    let group = |place: i32| {
        let at = usize::try_from(weight - place).ok();
        let group = at.and_then(|at| groups.get(at)).map_or(0, |it| u16::from_be_bytes(*it));
        format!("{group:04}")
    };
    let last = weight - groups.len() as i32 + 1;
    let whole: String = (0..=weight.max(0)).rev().map(group).collect();
    let fraction: String = (last.min(0)..0).rev().map(group).collect();
    let sign = if negative { "-" } else { "" };
    decimal::parse_decimal(&format!("{sign}{whole}.{fraction}0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_packed_as_the_server_packs_them() {
        let mut out = BytesMut::new();
        put_numeric("-12345.67", &mut out);
        assert_eq!(out[..], [0, 3, 0, 1, 0x40, 0, 0, 2, 0, 1, 0x09, 0x29, 0x1a, 0x2c]);
        out.clear();
        put_numeric("0.00", &mut out);
        assert_eq!(out[..4], [0, 0, 0, 0]);
    }

    #[test]
    fn what_was_packed_is_read_again() {
        for text in [
            "0",
            "0.00",
            "1",
            "-1",
            "1.50",
            "0.1",
            "0.0001",
            "0.00001",
            "10000",
            "100000000",
            "99999999.99",
            "-99999999.99",
            "9223372036854775807",
            "-9223372036854775808",
            "9223372036854775808",
            "12345678901234567890.12",
            "123456789.123456789123456789",
            "0.000000000000000000001",
            "1000000000000000000000000",
        ] {
            let mut out = BytesMut::new();
            put_numeric(text, &mut out);
            assert_eq!(read_numeric(&out), decimal::parse_decimal(text), "{text}");
        }
        assert_eq!(read_numeric(&[0, 0, 0, 0, 0xc0, 0, 0, 0]), Some(Value::from(f64::NAN)));
        for bad in [&[][..], &[0, 1, 0, 0, 0, 0, 0, 0], &[0, 1, 0, 0, 0, 0, 0, 0, 0xff, 0xff]] {
            assert_eq!(read_numeric(bad), None, "{bad:?}");
        }
    }
}
