//! Texts that are made: digits, words, universally unique identifiers, rounded numbers.

use std::fmt::Write;

use bakeoff_workloads::{TextSource, WorkloadRandom};
use rand::RngExt;

use super::EvaluationError;
use super::operand::{Operand, TextSpan};

/// Digits of one draw.
const DIGITS_A_DRAW: u32 = 18;

/// Appends a part of the text as a pattern, with a random digit for each `#`.
pub fn write_pattern(random: &mut WorkloadRandom, pattern: TextSpan, text: &mut String) {
    let (mut pool, mut left) = (0u64, 0);
    let mut at = pattern.start;
    while let Some(character) = text[at..pattern.end].chars().next() {
        at += character.len_utf8();
        if character != '#' {
            text.push(character);
            continue;
        }
        if left == 0 {
            (pool, left) = (random.random_range(0..10u64.pow(DIGITS_A_DRAW)), DIGITS_A_DRAW);
        }
        text.push(char::from(b'0' + (pool % 10) as u8));
        (pool, left) = (pool / 10, left - 1);
    }
}

/// Appends a random identifier of version 4: 122 random bits.
pub fn write_uuid(random: &mut WorkloadRandom, text: &mut String) {
    let bits: u128 = random.random();
    let bits = bits & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let (one, two, three) = ((bits >> 96) as u32, (bits >> 80) as u16, (bits >> 64) as u16);
    let (four, five) = ((bits >> 48) as u16, bits as u64 & 0xffff_ffff_ffff);
    let _ = write!(text, "{one:08x}-{two:04x}-{three:04x}-{four:04x}-{five:012x}");
}

/// Characters of the longest `words`: a medium text holds as many bytes.
const MOST_CHARACTERS: i64 = 16_000_000;

/// Characters of one cut of the corpus.
const CUT: usize = 100_000;

/// Cuts that may be empty in a row.
const EMPTY_CUTS: u32 = 100;

/// Appends from `least` to `most` characters of text. It ends at a word's end if that is not too
/// early.
pub fn write_words(
    random: &mut WorkloadRandom,
    source: &TextSource,
    [least, most]: [i64; 2],
    text: &mut String,
) -> Result<(), EvaluationError> {
    if least < 0 || least > most || most > MOST_CHARACTERS {
        return Err(EvaluationError::new(format!(
            "words({least}, {most}) needs a least and a most number of characters, \
             from 0 to {MOST_CHARACTERS}"
        )));
    }
    let mut wanted = random.random_range(least..=most) as usize;
    let (start, mut empty) = (text.len(), 0);
    while wanted > 0 {
        if text.len() > start {
            text.push(' ');
            wanted -= 1;
        }
        let part = wanted.min(CUT);
        // A character has at most four bytes, and a cut is shorter by under a word.
        let cut = source.cut(random, 4 * part + 64);
        let end = cut.char_indices().nth(part).map_or(cut.len(), |(at, _)| at);
        text.push_str(&cut[..end]);
        wanted -= cut[..end].chars().count();
        empty = if end == 0 { empty + 1 } else { 0 };
        if empty > EMPTY_CUTS {
            return Err(EvaluationError::new("words() finds no words in the text"));
        }
    }
    end_at_word(text, start, least as usize);
    Ok(())
}

/// Shortens the text behind `start` to a word's end, but not below `least` characters.
fn end_at_word(text: &mut String, start: usize, least: usize) {
    let at_least = text[start..].char_indices().nth(least).map_or(text.len(), |(at, _)| start + at);
    if let Some(space) = text[at_least..].rfind(char::is_whitespace) {
        text.truncate(at_least + space);
    }
    if text[start..].ends_with(char::is_whitespace) {
        let trimmed = start + text[start..].trim_end().len();
        let missing = text[trimmed..].chars().count();
        match trimmed >= at_least {
            true => text.truncate(trimmed),
            false => {
                text.truncate(trimmed);
                text.extend(std::iter::repeat_n('.', missing));
            }
        }
    }
}

/// Digits behind the point of the finest decimal.
const MOST_SCALE: i64 = 38;

/// Rounds a number to so many digits behind the point, halves away from zero.
pub fn round_decimal(number: Operand, scale: i64) -> Result<Operand, EvaluationError> {
    if !(0..=MOST_SCALE).contains(&scale) {
        return Err(EvaluationError::new(format!(
            "decimal() rounds to 0 to {MOST_SCALE} digits, not to {scale}"
        )));
    }
    if let Operand::Int(_) = number {
        return Ok(number);
    }
    let (real, unit) = (number.to_real()?, 10f64.powi(scale as i32));
    let scaled = real * unit;
    // Beyond it a double has no more digits than that.
    let is_fine = scaled.abs() < 9e15;
    Ok(Operand::Real(if is_fine { scaled.round() / unit } else { real }))
}
