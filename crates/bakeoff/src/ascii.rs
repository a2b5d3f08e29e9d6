//! Text in ASCII, for locales and terminals that show no more.

use std::borrow::Cow;

/// Spells signs in ASCII and escapes other letters, as `\u{e9}`. Columns stay where blanks have room for it.
pub fn spell_in_ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut spelled = String::with_capacity(text.len());
    // How many columns the line is longer than it was.
    let mut longer = 0;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' if longer > 0 && letters.peek() == Some(&' ') => longer -= 1,
            '\n' => {
                longer = 0;
                spelled.push('\n');
            }
            _ if letter.is_ascii() => spelled.push(letter),
            _ => {
                let start = spelled.len();
                match spell_sign(letter) {
                    Some(sign) => spelled.push_str(sign),
                    None => spelled.extend(letter.escape_unicode()),
                }
                longer += spelled.len() - start - 1;
            }
        }
    }
    Cow::Owned(spelled)
}

/// `None` for what is no sign that bakeoff writes.
fn spell_sign(letter: char) -> Option<&'static str> {
    Some(match letter {
        '\u{a0}' | '\u{2009}' | '\u{202f}' => " ",
        '‘' | '’' => "'",
        '“' | '”' => "\"",
        '–' | '—' | '−' | '─' | '━' | '╸' | '╺' | '┄' | '╌' => "-",
        '═' => "=",
        '│' | '┃' | '┆' | '╎' => "|",
        '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' | '╪' | '╞' | '╡' => {
            "+"
        }
        '…' => "...",
        '×' => "x",
        '÷' => "/",
        '·' => ".",
        'µ' | 'μ' => "u",
        '±' => "+-",
        '≈' => "~",
        '≤' => "<=",
        '≥' => ">=",
        '≠' => "!=",
        '→' => "->",
        '←' => "<-",
        '√' => "sqrt",
        'π' => "pi",
        'θ' => "theta",
        'Σ' => "sum",
        '²' => "^2",
        '³' => "^3",
        '⁶' => "^6",
        '⁹' => "^9",
        '₁' => "1",
        '₂' => "2",
        '✓' => "+",
        '✗' => "x",
        '●' => "*",
        '○' => "o",
        '■' | '█' => "#",
        '□' | '◇' | '◆' => "+",
        '▲' | '△' => "^",
        '▼' | '▽' => "v",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_spelled_and_letters_escaped() {
        for (text, ascii) in [
            ("raid10:4×ssd – 850 µs, ≥ 5 %", "raid10:4xssd - 850 us, >= 5 %"),
            ("the engine’s “own”…", "the engine's \"own\"..."),
            ("bücher\u{1b}[1m", "b\\u{fc}cher\u{1b}[1m"),
            // The next column stays in its place.
            ("≥ 1 ms   a\n× 1 ms   a  b\n", ">= 1 ms  a\nx 1 ms   a  b\n"),
            ("é   a  b", "\\u{e9} a b"),
        ] {
            assert_eq!(spell_in_ascii(text), ascii);
        }
        assert!(matches!(spell_in_ascii("plain"), Cow::Borrowed("plain")));
    }
}
