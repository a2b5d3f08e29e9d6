//! Makes foreign text safe to show: from run folders, engines, servers, file names.
//!
//! Terminals obey what they are shown: titles, cursors, clipboards. Characters without width or
//! that reorder text make it say something else.

use std::borrow::Cow;

use serde_json::{Deserializer, Value};

/// Line breaks and tabs are left to the caller.
fn is_unseen(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{3164}' | '\u{feff}'
        | '\u{ffa0}' => true,
        // Zero width and directions; separators of lines; embeddings and overrides; invisible signs
        // and isolates; annotations; tags.
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        _ => character.is_control(),
    }
}

/// Fast path: nearly all text is plain ASCII.
fn is_plain(byte: &u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\t')
}

/// Escapes what can't be seen, as `\u{1b}`, `\r`; keeps line breaks and tabs.
pub fn escape_unseen(text: &str) -> Cow<'_, str> {
    if text.as_bytes().iter().all(is_plain) || !text.chars().any(is_unseen) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match is_unseen(character) {
            true => out.extend(character.escape_default()),
            false => out.push(character),
        }
    }
    Cow::Owned(out)
}

/// For all strings in JSON, however they are escaped.
pub(crate) fn visible_json(json: &str) -> Cow<'_, str> {
    if json.as_bytes().iter().all(|byte| is_plain(byte) && *byte != b'\\') {
        return Cow::Borrowed(json);
    }
    let (mut out, mut rest) = (String::with_capacity(json.len() + 16), json);
    while let Some(start) = rest.find('"') {
        let mut strings = Deserializer::from_str(&rest[start..]).into_iter::<String>();
        // Whoever reads the rest says what is wrong with it.
        let Some(Ok(text)) = strings.next() else { break };
        let (before, after) = (&rest[..start], &rest[start + strings.byte_offset()..]);
        out += before;
        out += &Value::from(escape_unseen(&text)).to_string();
        rest = after;
    }
    Cow::Owned(out + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_not_be_seen_is_an_escape() {
        for (text, shown) in [
            ("plain, ümlaut, 漢字, 🙂\n\tnext", "plain, ümlaut, 漢字, 🙂\n\tnext"),
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("\u{9b}31m\u{7f}\0", "\\u{9b}31m\\u{7f}\\u{0}"),
            ("a\rb\u{8}", "a\\rb\\u{8}"),
            (
                "\u{202e}\u{2066}\u{200b}\u{feff}\u{e0041}",
                "\\u{202e}\\u{2066}\\u{200b}\\u{feff}\\u{e0041}",
            ),
            ("1\u{202f}000", "1\u{202f}000"),
        ] {
            assert_eq!(escape_unseen(text), shown);
            assert_eq!(escape_unseen(&escape_unseen(text)), shown, "once is enough");
        }
    }

    /// What is found plain byte by byte is what is seen, character by character.
    #[test]
    fn plain_bytes_are_characters_that_are_seen() {
        for byte in 0..=127_u8 {
            assert!(!(is_plain(&byte) && is_unseen(byte.into())), "{byte:#x}");
        }
        for byte in 128..=255_u8 {
            assert!(!is_plain(&byte), "{byte:#x} is a part of a character");
        }
    }

    /// However a string of JSON is written, it is what the text itself would be.
    #[test]
    fn strings_in_json_are_the_same() {
        let text = "\u{1b}[2J\\u001b \u{202e}\r\u{8}\u{c}\0\u{9b}\u{e0041}🙂\"\\\n\t end";
        let raw = serde_json::to_string(&(text, 1.5, [text])).unwrap();
        let units = |text: &str| -> String {
            text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect()
        };
        let all = format!("[\"{}\",1.5,[\"{0}\"]]", units(text));
        for json in [raw, all] {
            let read: (String, f64, [String; 1]) =
                serde_json::from_str(&visible_json(&json)).unwrap();
            assert_eq!(
                read,
                (escape_unseen(text).into_owned(), 1.5, [escape_unseen(text).into_owned()])
            );
        }
        for broken in ["\"\\", "\"\\u12", "\"\\ud800\"", "\"\\u{1b}\"", "\\ü", "\"\\uüüü\""] {
            assert!(serde_json::from_str::<String>(&visible_json(broken)).is_err(), "{broken}");
        }
    }
}
