//! The words of an expression.

/// A word of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpressionToken<'t> {
    Int(i64),
    /// 9223372036854775808, which stands behind a minus alone.
    BeyondInt,
    Real(f64),
    /// With its quotes.
    Quoted(&'t str),
    Variable(&'t str),
    Word(&'t str),
    Symbol(&'static str),
    End,
}

/// A word and its bytes.
#[derive(Clone, Debug)]
pub struct PlacedToken<'t> {
    pub token: ExpressionToken<'t>,
    pub start: usize,
    pub end: usize,
}

/// Why there is no word at a byte.
#[derive(Clone, Debug)]
pub struct ExpressionFault {
    pub at: usize,
    pub what: String,
}

/// Longer ones first.
const SYMBOLS: [&str; 21] = [
    "<<", ">>", "<=", ">=", "<>", "!=", "+", "-", "*", "/", "%", "(", ")", ",", "<", ">", "=", "&",
    "|", "#", "~",
];

/// The word from byte `from` on.
pub fn read_token(text: &str, from: usize) -> Result<PlacedToken<'_>, ExpressionFault> {
    let start = skip_space(text, from);
    let rest = &text[start..];
    let place = |token, length| Ok(PlacedToken { token, start, end: start + length });
    let Some(first) = rest.chars().next() else { return place(ExpressionToken::End, 0) };
    let fault = |what: String| ExpressionFault { at: start, what };
    if first.is_ascii_digit() || first == '.' {
        let (token, length) = read_number(rest).map_err(fault)?;
        return place(token, length);
    }
    if first == '\'' {
        let length = find_quote_end(rest).ok_or_else(|| {
            fault(
                "the text that begins here has no closing `'`; a `'` in a text is written ''"
                    .into(),
            )
        })?;
        return place(ExpressionToken::Quoted(&rest[..length]), length);
    }
    if first == ':' {
        let name = &rest[1..1 + count_word(&rest[1..])];
        return match name.is_empty() {
            true => Err(fault("behind `:` stands the name of a variable, as in `:scale`".into())),
            false => place(ExpressionToken::Variable(name), 1 + name.len()),
        };
    }
    if is_of_word(first) {
        let length = count_word(rest);
        return place(ExpressionToken::Word(&rest[..length]), length);
    }
    match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
        Some(symbol) => place(ExpressionToken::Symbol(symbol), symbol.len()),
        None => Err(fault(explain_character(first))),
    }
}

fn explain_character(character: char) -> String {
    match character {
        '"' => "`\"` isn't valid here; a text stands in single quotes, as 'text'".into(),
        '^' => "there is no operator `^`; use power(x, y)".into(),
        '!' => "there is no operator `!`; use NOT, <> or !=".into(),
        ';' => "an expression ends with its line, not with `;`".into(),
        other => format!("unexpected character `{}`", other.escape_debug()),
    }
}

/// White space, line ends, and the backslash that continues a line.
fn skip_space(text: &str, from: usize) -> usize {
    let mut at = from;
    loop {
        let rest = &text[at..];
        let blanks =
            rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n', '\x0b', '\x0c']).len();
        let continued = match &rest[blanks..] {
            rest if rest.starts_with("\\\n") => 2,
            rest if rest.starts_with("\\\r\n") => 3,
            _ => 0,
        };
        at += blanks + continued;
        if continued == 0 {
            return at;
        }
    }
}

/// As in pgbench: ASCII letters, digits, `_`, and all that isn't ASCII.
fn is_of_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || !character.is_ascii()
}

fn count_word(text: &str) -> usize {
    text.find(|character| !is_of_word(character)).unwrap_or(text.len())
}

fn count_digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// A whole number, or one with a point or an exponent.
fn read_number(text: &str) -> Result<(ExpressionToken<'static>, usize), String> {
    let whole = count_digits(text);
    let mut length = whole;
    if text[length..].starts_with('.') {
        let fraction = count_digits(&text[length + 1..]);
        if whole + fraction == 0 {
            return Err("unexpected character `.`".into());
        }
        length += 1 + fraction;
    }
    if text[length..].starts_with(['e', 'E']) {
        let sign = usize::from(text[length + 1..].starts_with(['+', '-']));
        let digits = count_digits(&text[length + 1 + sign..]);
        length += if digits > 0 { 1 + sign + digits } else { 0 };
    }
    let written = &text[..length];
    if length > whole {
        let real = written.parse::<f64>().ok().filter(|real| real.is_finite());
        let real = real.ok_or_else(|| format!("`{written}` doesn't fit in a double"))?;
        return Ok((ExpressionToken::Real(real), length));
    }
    match written.parse::<u64>() {
        Ok(number) if number <= i64::MAX as u64 => {
            Ok((ExpressionToken::Int(number as i64), length))
        }
        Ok(number) if number == i64::MIN.unsigned_abs() => Ok((ExpressionToken::BeyondInt, length)),
        _ => Err(explain_too_large(written)),
    }
}

pub fn explain_too_large(written: &str) -> String {
    format!("`{written}` doesn't fit in 64 bits; the largest is {}, or write {written}.0", i64::MAX)
}

/// Bytes of a quoted text with its quotes; two quotes within it stand for one.
fn find_quote_end(text: &str) -> Option<usize> {
    let mut at = 1;
    loop {
        at += text[at..].find('\'')? + 1;
        if !text[at..].starts_with('\'') {
            return Some(at);
        }
        at += 1;
    }
}

/// The text between the quotes.
pub fn unquote_text(quoted: &str) -> String {
    quoted[1..quoted.len() - 1].replace("''", "'")
}
