//! A statement as a text with its parameters written into it, for a server that reads the text with each execution.

use mysql::{Error as Failure, Value as Cell};

use crate::Value;

/// What stands before, between and behind the parameters of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextParts(Vec<String>);

impl TextParts {
    /// Each `?` outside of quotes is a parameter. The text has no comments with one.
    pub fn from_text(text: &str) -> Self {
        let (mut parts, mut begin, mut quote) = (Vec::new(), 0, None);
        let mut characters = text.char_indices();
        while let Some((at, character)) = characters.next() {
            match (quote, character) {
                (None, '\'' | '"' | '`') => quote = Some(character),
                (None, '?') => {
                    parts.push(text[begin..at].to_owned());
                    begin = at + 1;
                }
                (Some('\'' | '"'), '\\') => drop(characters.next()),
                // A doubled quote ends the text, and begins it again.
                (Some(open), closing) if open == closing => quote = None,
                _ => {}
            }
        }
        parts.push(text[begin..].to_owned());
        Self(parts)
    }

    pub fn count_parameters(&self) -> usize {
        self.0.len() - 1
    }

    /// Appends the text. It has as many parameters as there are values.
    pub fn put_text(
        &self,
        parameters: &[Value<'_>],
        out: &mut Vec<u8>,
    ) -> std::result::Result<(), Failure> {
        let mut parts = self.0.iter();
        out.extend_from_slice(parts.next().map_or(b"", |first| first.as_bytes()));
        for (value, part) in parameters.iter().zip(parts) {
            put_literal(*value, out)?;
            out.extend_from_slice(part.as_bytes());
        }
        Ok(())
    }
}

/// Appends a value that the server reads as it reads the parameter of a prepared statement.
fn put_literal(value: Value<'_>, out: &mut Vec<u8>) -> std::result::Result<(), Failure> {
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        // Two signs after each other could begin a comment.
        Value::Int(int) if int < 0 => out.extend_from_slice(format!(" {int}").as_bytes()),
        Value::Int(int) => out.extend_from_slice(int.to_string().as_bytes()),
        // Only with an exponent it is a double; without, it is a decimal.
        Value::Real(real) if real.get().is_finite() => {
            let blank = if real.get() < 0.0 { " " } else { "" };
            out.extend_from_slice(format!("{blank}{:e}", real.get()).as_bytes());
        }
        Value::Real(real) => return Err(Failure::FromValueError(Cell::Double(real.get()))),
        Value::Text(text) => put_quoted(text, out),
        Value::Bytes(bytes) => put_hexadecimal(bytes, out),
    }
    Ok(())
}

/// The session's sql_mode, which no statement can change, lets a backslash escape.
fn put_quoted(text: &str, out: &mut Vec<u8>) {
    out.push(b'\'');
    for byte in text.bytes() {
        match byte {
            b'\'' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0 => out.extend_from_slice(b"\\0"),
            _ => out.push(byte),
        }
    }
    out.push(b'\'');
}

/// In quotes they would have to be UTF-8.
fn put_hexadecimal(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(b"X'");
    for byte in bytes {
        out.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(text: &str, parameters: &[Value<'_>]) -> String {
        let parts = TextParts::from_text(text);
        assert_eq!(parts.count_parameters(), parameters.len(), "{text}");
        let mut out = Vec::new();
        parts.put_text(parameters, &mut out).expect("values");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn parameters_are_written_where_they_stand() {
        assert_eq!(write("SELECT 1", &[]), "SELECT 1");
        assert_eq!(write("?-?", &[1.into(), (-1).into()]), "1- -1");
        assert_eq!(write("f(?, ?)", &[Value::Null, 0.5.into()]), "f(NULL, 5e-1)");
        assert_eq!(write("?", &[(-1e300).into()]), " -1e300");
        assert_eq!(write("?", &[i64::MIN.into()]), " -9223372036854775808");
        assert_eq!(write("?;", &["it's \\ \0 é \"".into()]), "'it\\'s \\\\ \\0 é \"';");
        let bytes = [0, 0x27, 0xff];
        assert_eq!(
            write("f(?, ?)", &[bytes[..].into(), b"".as_slice().into()]),
            "f(X'0027ff', X'')"
        );
        for quoted in ["'?'", "'it''s ?'", "'\\'?'", "\"?\"", "`?`", "'`' '?'", "`'` '?'"] {
            assert_eq!(write(&format!("{quoted} ?"), &[7.into()]), format!("{quoted} 7"));
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for real in [f64::NAN, f64::INFINITY] {
            let parts = TextParts::from_text("?");
            assert!(parts.put_text(&[Value::Real(real.into())], &mut Vec::new()).is_err());
        }
    }
}
