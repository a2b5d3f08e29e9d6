//! SQL as tokens. Their spans cover the text without a gap, so that it can be passed on unchanged.

use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// White space.
    Space,
    /// `-- to the end of the line`, or `/* in /* any */ depth */`.
    Comment,
    /// A keyword, or a name without quotes.
    Word,
    /// `"a ""name"""` or `` `name` ``.
    QuotedName,
    /// `'text'`, `E'text'`, `$$text$$`, and `N'…'`, `X'…'`, `B'…'`.
    Text,
    /// `12`, `1.5`, `.5e-3`, `0x1F`.
    Number,
    /// `:name`.
    Parameter,
    /// `:name[8]`: as many parameters, of a list.
    ParameterList,
    /// A sign, or several that belong together, as `::`.
    Operator,
    /// `;`.
    Semicolon,
    /// A text, name or comment without its end. It goes to the end of the file.
    Unclosed,
}

impl TokenKind {
    /// Whether it means nothing to a database.
    pub fn is_blank(self) -> bool {
        matches!(self, Self::Space | Self::Comment)
    }
}

/// A token and its bytes in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlToken {
    /// What it is.
    pub kind: TokenKind,
    /// Its bytes.
    pub span: Range<usize>,
}

/// Operators of several signs, longest first.
const LONG_OPERATORS: [&str; 22] = [
    "->>", "#>>", "<=>", "!~*", "::", ":=", "<=", ">=", "<>", "!=", "==", "||", "->", "#>", "@>",
    "<@", "@@", "<<", ">>", "&&", "~*", "!~",
];

/// Splits a text into tokens.
pub fn split_tokens(text: &str) -> Vec<SqlToken> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let (kind, length) = read_token(&text[start..]);
        tokens.push(SqlToken { kind, span: start..start + length });
        start += length;
    }
    tokens
}

/// Whether a character may stand in a name without quotes.
pub fn is_name_character(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$')
}

fn begins_name(character: char) -> bool {
    character.is_alphabetic() || character == '_'
}

/// The kind and length of the first token; the rest is not empty.
pub fn read_token(rest: &str) -> (TokenKind, usize) {
    let first = rest.chars().next().unwrap_or(' ');
    match first {
        _ if first.is_whitespace() || first == '\u{feff}' => {
            (TokenKind::Space, count_while(rest, |c| c.is_whitespace() || c == '\u{feff}'))
        }
        '-' if rest.starts_with("--") => {
            (TokenKind::Comment, rest.find('\n').unwrap_or(rest.len()))
        }
        '/' if rest.starts_with("/*") => read_block_comment(rest),
        '\'' => close(TokenKind::Text, find_quote_end(rest, 1, '\'', false), rest),
        '"' | '`' => close(TokenKind::QuotedName, find_quote_end(rest, 1, first, false), rest),
        '$' => read_dollars(rest),
        ';' => (TokenKind::Semicolon, 1),
        ':' => read_colon(rest),
        '0'..='9' | '.' => read_number(rest),
        _ if begins_name(first) => read_word(rest, first),
        _ => (TokenKind::Operator, measure_operator(rest, first)),
    }
}

fn close(kind: TokenKind, end: Option<usize>, rest: &str) -> (TokenKind, usize) {
    end.map_or((TokenKind::Unclosed, rest.len()), |end| (kind, end))
}

fn count_while(rest: &str, belongs: impl Fn(char) -> bool) -> usize {
    rest.find(|character| !belongs(character)).unwrap_or(rest.len())
}

fn measure_operator(rest: &str, first: char) -> usize {
    let long = LONG_OPERATORS.iter().find(|operator| rest.starts_with(**operator));
    long.map_or(first.len_utf8(), |operator| operator.len())
}

/// The byte behind the closing quote, looked for from a byte on. A doubled quote is a part of the
/// text.
fn find_quote_end(rest: &str, from: usize, quote: char, escapes: bool) -> Option<usize> {
    let mut characters = rest[from..].char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        if escapes && character == '\\' {
            characters.next();
        } else if character == quote {
            match characters.peek() {
                Some((_, next)) if *next == quote => characters.next(),
                _ => return Some(from + at + quote.len_utf8()),
            };
        }
    }
    None
}

fn read_block_comment(rest: &str) -> (TokenKind, usize) {
    let (bytes, mut at, mut depth) = (rest.as_bytes(), 0, 0);
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b'/', Some(b'*')) => (depth, at) = (depth + 1, at + 2),
            (b'*', Some(b'/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return (TokenKind::Comment, at);
        }
    }
    (TokenKind::Unclosed, rest.len())
}

/// `$$text$$`, `$tag$text$tag$`, or a sign of its own.
fn read_dollars(rest: &str) -> (TokenKind, usize) {
    let tag = count_while(&rest[1..], |c| is_name_character(c) && c != '$');
    let begins_well = !rest[1..].starts_with(|c: char| c.is_ascii_digit());
    let mark = 1 + tag + 1;
    if !begins_well || rest.as_bytes().get(1 + tag) != Some(&b'$') {
        return (TokenKind::Operator, 1);
    }
    let end = rest[mark..].find(&rest[..mark]);
    close(TokenKind::Text, end.map(|end| mark + end + mark), rest)
}

/// `::`, `:=`, a parameter, or a colon. A digit begins no name: `a[1:2]` has no parameter.
fn read_colon(rest: &str) -> (TokenKind, usize) {
    if rest.starts_with("::") || rest.starts_with(":=") {
        return (TokenKind::Operator, 2);
    }
    let name = &rest[1..];
    if !name.starts_with(begins_name) {
        return (TokenKind::Operator, 1);
    }
    let length = 1 + count_while(name, |c| c.is_alphanumeric() || c == '_');
    let count = rest[length..].strip_prefix('[').map(|list| count_while(list, is_digit));
    match count {
        Some(digits) if digits > 0 && rest[length + 1 + digits..].starts_with(']') => {
            (TokenKind::ParameterList, length + digits + 2)
        }
        _ => (TokenKind::Parameter, length),
    }
}

fn is_digit(character: char) -> bool {
    character.is_ascii_digit()
}

fn read_number(rest: &str) -> (TokenKind, usize) {
    if rest.starts_with("0x") || rest.starts_with("0X") {
        let digits = count_while(&rest[2..], |c| c.is_ascii_hexdigit());
        return (TokenKind::Number, 2 + digits);
    }
    let whole = count_while(rest, is_digit);
    let mut length = whole;
    if rest[length..].starts_with('.') {
        let digits = count_while(&rest[length + 1..], is_digit);
        if whole + digits == 0 {
            return (TokenKind::Operator, 1);
        }
        length += 1 + digits;
    }
    let power = rest[length..].strip_prefix(['e', 'E']).map(|power| {
        let sign = usize::from(power.starts_with(['+', '-']));
        (sign, count_while(&power[sign..], is_digit))
    });
    match power {
        Some((sign, digits)) if digits > 0 => (TokenKind::Number, length + 1 + sign + digits),
        _ => (TokenKind::Number, length),
    }
}

/// A word, or a text with a letter before it.
fn read_word(rest: &str, first: char) -> (TokenKind, usize) {
    if matches!(first, 'e' | 'E' | 'n' | 'N' | 'x' | 'X' | 'b' | 'B') && rest[1..].starts_with('\'')
    {
        let escapes = matches!(first, 'e' | 'E');
        return close(TokenKind::Text, find_quote_end(rest, 2, '\'', escapes), rest);
    }
    (TokenKind::Word, count_while(rest, is_name_character))
}

/// What a text stands for; none for `X'…'` and `B'…'`, which hold no characters.
pub fn decode_text(token: &str) -> Option<String> {
    let first = token.chars().next()?;
    if first == '$' {
        let mark = token[1..].find('$')? + 2;
        return token.get(mark..token.len().checked_sub(mark)?).map(Into::into);
    }
    let from = if first == '\'' { 1 } else { 2 };
    let inner = token.get(from..token.len().checked_sub(1)?)?;
    match first {
        'e' | 'E' => Some(decode_escapes(inner)),
        '\'' | 'n' | 'N' => Some(inner.replace("''", "'")),
        _ => None,
    }
}

fn decode_escapes(inner: &str) -> String {
    let mut text = String::new();
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => text.extend(characters.next().map(|escaped| match escaped {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'b' => '\u{8}',
                'f' => '\u{c}',
                other => other,
            })),
            '\'' => text.extend(characters.next()),
            other => text.push(other),
        }
    }
    text
}

/// The name that a quoted name stands for.
pub fn decode_name(token: &str) -> String {
    let Some(quote) = token.chars().next().filter(|_| token.len() > 1) else {
        return String::new();
    };
    let inner = &token[1..token.len() - 1];
    inner.replace(&format!("{quote}{quote}"), &quote.to_string())
}

#[cfg(test)]
mod tests;
