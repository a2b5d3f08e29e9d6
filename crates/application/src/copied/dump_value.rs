//! Values of INSERT in a dump: literals, and the few calls that SQLite's dump writes.

use std::ops::Range;

use super::dump_text::DumpText;
use super::faults::RowPlace;
use super::fields::decode_hex;

/// Values of a row, one after the other in one text.
#[derive(Default)]
pub struct DumpRow {
    pub text: Vec<u8>,
    /// `None` is null.
    pub fields: Vec<Option<Range<usize>>>,
    pub places: Vec<RowPlace>,
    pub place: RowPlace,
}

impl DumpRow {
    pub fn clear(&mut self, place: RowPlace) {
        self.text.clear();
        self.fields.clear();
        self.places.clear();
        self.place = place;
    }

    pub fn field(&self, at: usize) -> Option<&[u8]> {
        self.fields.get(at)?.clone().map(|range| &self.text[range])
    }
}

/// Reads a row's values up to the closing bracket; the opening one is read already.
pub fn read_values(
    dump: &mut DumpText,
    backslashes: bool,
    row: &mut DumpRow,
) -> Result<(), String> {
    loop {
        dump.skip_blanks()?;
        row.places.push(dump.place);
        let start = row.text.len();
        let is_null = !read_value(dump, backslashes, &mut row.text)?;
        row.fields.push((!is_null).then_some(start..row.text.len()));
        dump.skip_blanks()?;
        let place = dump.place;
        match dump.need("a row")? {
            b',' => {}
            b')' => return Ok(()),
            _ => {
                return Err(
                    dump.explain_at(place, "here a `,` or `)` is missing: it is no row of a dump")
                );
            }
        }
    }
}

/// Appends a value; whether it isn't null.
fn read_value(dump: &mut DumpText, backslashes: bool, text: &mut Vec<u8>) -> Result<bool, String> {
    read_nested(dump, backslashes, text, 0)
}

/// Calls and marks of character sets stand in each other as deep as that at most.
const DEEPEST: usize = 8;

fn read_nested(
    dump: &mut DumpText,
    backslashes: bool,
    text: &mut Vec<u8>,
    depth: usize,
) -> Result<bool, String> {
    let place = dump.place;
    if dump.take(b'\'')? {
        dump.read_quoted(b'\'', backslashes, text)?;
        return Ok(true);
    }
    while let Some(sign) = dump.peek()?.filter(|byte| b"+-.".contains(byte)) {
        text.push(sign);
        dump.next()?;
    }
    let word = dump.read_word()?;
    let unknown = |dump: &DumpText| {
        let what = format!(
            "`{word}` is no value that bakeoff knows: write the dump by pg_dump, \
                            mysqldump or SQLite's .dump"
        );
        dump.explain_at(place, &what)
    };
    match (&*word.to_ascii_uppercase(), dump.peek()?) {
        _ if depth > DEEPEST => return Err(unknown(dump)),
        ("NULL", _) => return Ok(false),
        ("X", Some(b'\'')) => {
            dump.next()?;
            let mut digits = Vec::new();
            dump.read_quoted(b'\'', false, &mut digits)?;
            text.extend(decode_hex(&digits).ok_or_else(|| unknown(dump))?);
        }
        ("B", Some(b'\'')) => {
            dump.next()?;
            let mut digits = Vec::new();
            dump.read_quoted(b'\'', false, &mut digits)?;
            let digits = String::from_utf8_lossy(&digits);
            let bits = u64::from_str_radix(&digits, 2).map_err(|_| unknown(dump))?;
            text.extend_from_slice(bits.to_string().as_bytes());
        }
        ("E", Some(b'\'')) => {
            dump.next()?;
            dump.read_quoted(b'\'', true, text)?;
        }
        ("N", Some(b'\'')) => {
            dump.next()?;
            dump.read_quoted(b'\'', backslashes, text)?;
        }
        (_, Some(b'\'' | b' ')) if word.starts_with('_') => {
            dump.skip_blanks()?;
            return read_nested(dump, backslashes, text, depth + 1);
        }
        ("REPLACE" | "UNISTR", Some(b'(')) => {
            dump.next()?;
            read_call(dump, word.eq_ignore_ascii_case("REPLACE"), text, depth + 1)?;
        }
        ("TRUE" | "FALSE", _) => text.extend_from_slice(word.to_ascii_lowercase().as_bytes()),
        ("", _) => return Err(unknown(dump)),
        (upper, _) if upper.starts_with("0X") => {
            text.extend(decode_hex(&word.as_bytes()[2..]).ok_or_else(|| unknown(dump))?);
        }
        _ if word.starts_with(|first: char| first.is_ascii_digit()) => {
            text.extend_from_slice(word.as_bytes());
            // The fraction, and an exponent with its sign.
            while let Some(byte) = dump.peek()?.filter(|byte| b".+-".contains(byte)) {
                text.push(byte);
                dump.next()?;
                text.extend_from_slice(dump.read_word()?.as_bytes());
            }
        }
        _ => return Err(unknown(dump)),
    }
    Ok(true)
}

/// `replace('a\nb','\n',char(10))` or `unistr('a\u000ab')`, behind the bracket.
fn read_call(
    dump: &mut DumpText,
    replaces: bool,
    text: &mut Vec<u8>,
    depth: usize,
) -> Result<(), String> {
    let place = dump.place;
    let wrong = |dump: &DumpText| dump.explain_at(place, "this call is none of SQLite's .dump");
    let mut inner = Vec::new();
    if !read_nested(dump, false, &mut inner, depth)? {
        return Err(wrong(dump));
    }
    if !replaces {
        text.extend(decode_escapes(&inner).ok_or_else(|| wrong(dump))?);
        return if dump.take(b')')? { Ok(()) } else { Err(wrong(dump)) };
    }
    let mut name = Vec::new();
    if !(dump.take(b',')? && read_nested(dump, false, &mut name, depth)? && dump.take(b',')?) {
        return Err(wrong(dump));
    }
    let is_char = dump.read_word()?.eq_ignore_ascii_case("char") && dump.take(b'(')?;
    let code = dump.read_word()?.parse::<u8>().ok();
    let ends = dump.take(b')')? && dump.take(b')')?;
    let (Some(code), true, true, false) = (code, is_char, ends, name.is_empty()) else {
        return Err(wrong(dump));
    };
    let mut rest = &inner[..];
    while let Some(at) = rest.windows(name.len()).position(|part| part == name) {
        text.extend_from_slice(&rest[..at]);
        text.push(code);
        rest = &rest[at + name.len()..];
    }
    text.extend_from_slice(rest);
    Ok(())
}

/// `\u000a` and `\\` of SQLite's `unistr`.
fn decode_escapes(text: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?;
    let (mut decoded, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once('\\') {
        decoded.push_str(before);
        rest = match behind.strip_prefix('\\') {
            Some(rest) => {
                decoded.push('\\');
                rest
            }
            None => {
                let digits = behind.strip_prefix('u')?.get(..4)?;
                decoded.push(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?);
                &behind[5..]
            }
        };
    }
    decoded.push_str(rest);
    Some(decoded.into_bytes())
}
