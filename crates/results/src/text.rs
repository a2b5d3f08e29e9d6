//! Text that somebody else has written, made safe to show: in the records of a run folder, in what an
//! engine or a server says, in the names of files.
//!
//! A terminal obeys what it is shown: it changes its title, moves its cursor, writes to its clipboard.
//! What reorders text or has no width makes it say what it does not.

use std::borrow::Cow;

/// Whether a character does something other than being seen where it stands. Line breaks and tabs
/// are for the one who sets the text to deal with.
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

/// Whether a byte is an ASCII character of which [`is_unseen`] says that it is seen: nearly all text is made
/// of these, and there is much of it.
fn is_plain(byte: &u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\t')
}

/// The text with whatever can't be seen in it as an escape: `\u{1b}`, `\r`. Line breaks and tabs
/// stay.
pub fn visible(text: &str) -> Cow<'_, str> {
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

/// The same for JSON, of all strings in it, however they are escaped there.
pub(crate) fn visible_json(json: &str) -> Cow<'_, str> {
    if json.as_bytes().iter().all(|byte| is_plain(byte) && *byte != b'\\') {
        return Cow::Borrowed(json);
    }
    let escaped = |pair: &[u8]| matches!(pair, [b'\\', b'u' | b'b' | b'f' | b'r']);
    if !json.chars().any(is_unseen) && !json.as_bytes().windows(2).any(escaped) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    let mut rest = json;
    while let Some(character) = rest.chars().next() {
        let (meant, length) = match character {
            '\\' => unescaped(rest),
            plain => (Some(plain), plain.len_utf8()),
        };
        let (piece, after) = rest.split_at(length);
        match meant {
            // The backslash of the escape is one in a string of JSON.
            Some(meant) if is_unseen(meant) => {
                out.push('\\');
                out.extend(meant.escape_default());
            }
            _ => out.push_str(piece),
        }
        rest = after;
    }
    Cow::Owned(out)
}

/// The character that an escape at the start of `json` stands for, where it could be an unseen one,
/// and the escape's length.
fn unescaped(json: &str) -> (Option<char>, usize) {
    let unit = |at: usize| {
        let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    match json.as_bytes().get(1) {
        Some(b'b') => (Some('\u{8}'), 2),
        Some(b'f') => (Some('\u{c}'), 2),
        Some(b'r') => (Some('\r'), 2),
        Some(b'u') => match (unit(0), unit(6)) {
            (Some(high @ 0xd800..=0xdbff), Some(low @ 0xdc00..=0xdfff)) => {
                let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                (char::from_u32(code), 12)
            }
            (Some(code), _) => (char::from_u32(code), 6),
            (None, _) => (None, 2),
        },
        Some(byte) if byte.is_ascii() => (None, 2),
        _ => (None, 1),
    }
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
            assert_eq!(visible(text), shown);
            assert_eq!(visible(&visible(text)), shown, "once is enough");
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
            assert_eq!(read, (visible(text).into_owned(), 1.5, [visible(text).into_owned()]));
        }
        for broken in ["\"\\", "\"\\u12", "\"\\ud800\"", "\"\\u{1b}\"", "\\ü", "\"\\uüüü\""] {
            assert!(serde_json::from_str::<String>(&visible_json(broken)).is_err(), "{broken}");
        }
    }
}
