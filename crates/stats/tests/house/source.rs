//! Rust's sources, read as far as the house's laws need it: what is code, text or comment, what is
//! compiled for tests alone, and which paths are named.

/// What a character is part of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Code,
    Text,
    Comment,
}

/// A source's characters, each with what it is part of.
type Parts = Vec<(char, Part)>;

/// A source without its comments and what is compiled for tests alone.
pub struct Source {
    /// The code, without what stands in strings.
    pub code: String,
    /// The code with its strings.
    pub words: String,
}

impl Source {
    pub fn read(text: &str) -> Self {
        let parts = without_tests(parts(text));
        let keep = |wanted: &[Part]| -> String {
            let shown = |&(c, part): &(char, Part)| match part {
                _ if wanted.contains(&part) || c == '\n' => c,
                _ => ' ',
            };
            parts.iter().map(shown).collect()
        };
        Self { code: keep(&[Part::Code]), words: keep(&[Part::Code, Part::Text]) }
    }
}

/// The code of a file's tests, without what stands in strings: all of a file that holds nothing else, and
/// what stands below `#[cfg(test)]` in another one. Benchmarks are no tests.
pub fn of_tests(path: &str, text: &str) -> String {
    let parts = parts(text);
    let tests = match path {
        _ if path.contains("/tests/") || path.ends_with("/tests.rs") => parts,
        _ if path.contains("/benches/") => Vec::new(),
        _ => split(parts).1,
    };
    tests.iter().map(|(c, part)| if *part == Part::Code { *c } else { ' ' }).collect()
}

/// Each character, and what it is part of.
fn parts(text: &str) -> Parts {
    let chars: Vec<char> = text.chars().collect();
    let mut parts = Vec::with_capacity(chars.len());
    let mut at = 0;
    while at < chars.len() {
        let (length, part) = piece(&chars, at);
        let end = (at + length).min(chars.len());
        parts.extend(chars[at..end].iter().map(|c| (*c, part)));
        at = end;
    }
    parts
}

/// What stands in a source's strings, tests and all, each as it is written between its quotes.
pub fn strings(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let (mut strings, mut at) = (Vec::new(), 0);
    while at < chars.len() {
        let (length, part) = piece(&chars, at);
        let end = (at + length).min(chars.len());
        if part == Part::Text {
            let written: String = chars[at..end].iter().collect();
            let written = written.trim_start_matches(['b', 'c', 'r']).trim_matches('#');
            let inside = written.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
            strings.extend(inside.map(str::to_owned));
        }
        at = end;
    }
    strings
}

/// How long the comment, the text or the piece of code is that begins here.
fn piece(chars: &[char], at: usize) -> (usize, Part) {
    let rest = &chars[at..];
    let follows = |what: &str| what.chars().eq(rest.iter().copied().take(what.len()));
    if follows("//") {
        return (rest.iter().position(|c| *c == '\n').unwrap_or(rest.len()), Part::Comment);
    }
    if follows("/*") {
        let (mut depth, mut length) = (1, 2);
        while depth > 0 && length < rest.len() {
            match (rest[length], rest.get(length + 1)) {
                ('/', Some('*')) => (depth, length) = (depth + 1, length + 2),
                ('*', Some('/')) => (depth, length) = (depth - 1, length + 2),
                _ => length += 1,
            }
        }
        return (length, Part::Comment);
    }
    let in_word = at > 0 && is_word(chars[at - 1]);
    let prefix = rest.iter().take(2).take_while(|c| matches!(c, 'b' | 'c' | 'r')).count();
    let hashes = rest[prefix..].iter().take_while(|c| **c == '#').count();
    if !in_word && prefix > 0 && rest[prefix - 1] == 'r' && rest.get(prefix + hashes) == Some(&'"')
    {
        let end: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
        let body = prefix + hashes + 1;
        let length = rest[body..].windows(end.len()).position(|window| window == end);
        return (length.map_or(rest.len(), |length| body + length + end.len()), Part::Text);
    }
    match (rest[0], rest.get(1), rest.get(2)) {
        ('"', ..) => (1 + quoted(&rest[1..], '"'), Part::Text),
        ('\'', Some('\\'), _) => (1 + quoted(&rest[1..], '\''), Part::Text),
        ('\'', Some(_), Some('\'')) => (3, Part::Text),
        _ => (1, Part::Code),
    }
}

/// How long it is until after the closing quote.
fn quoted(chars: &[char], quote: char) -> usize {
    let mut at = 0;
    while at < chars.len() && chars[at] != quote {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// What does not stand below `#[cfg(test)]`.
fn without_tests(parts: Parts) -> Parts {
    split(parts).0
}

/// What is compiled always, and each item that stands below `#[cfg(test)]`.
fn split(parts: Parts) -> (Parts, Parts) {
    const MARK: &str = "#[cfg(test)]";
    let (mut kept, mut tests) = (Vec::with_capacity(parts.len()), Vec::new());
    let mut at = 0;
    while at < parts.len() {
        let ahead = parts[at..].iter().take(MARK.len());
        if ahead.map(|(c, part)| (*c, *part)).eq(MARK.chars().map(|c| (c, Part::Code))) {
            at += MARK.len();
            let length = item(&parts[at..]);
            tests.extend_from_slice(&parts[at..at + length]);
            at += length;
        } else {
            kept.push(parts[at]);
            at += 1;
        }
    }
    (kept, tests)
}

/// How long an item is: to the semicolon or the closing brace that ends it.
fn item(parts: &[(char, Part)]) -> usize {
    let mut depth = 0_usize;
    for (number, (c, _)) in parts.iter().enumerate().filter(|(_, (_, part))| *part == Part::Code) {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            '}' if depth == 1 => return number + 1,
            '}' => depth = depth.saturating_sub(1),
            ';' if depth == 0 => return number + 1,
            _ => {}
        }
    }
    parts.len()
}

/// Whether a character may stand in a name.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A text to look for words in.
pub struct Words {
    text: String,
    /// In small letters, with the parts of names apart.
    parted: String,
}

impl Words {
    pub fn of(text: &str) -> Self {
        let mut parted = String::with_capacity(text.len());
        let mut before = ' ';
        for c in text.chars() {
            if before.is_lowercase() && c.is_uppercase() {
                parted.push(' ');
            }
            parted.extend(c.to_lowercase());
            before = c;
        }
        Self { text: text.to_owned(), parted }
    }

    /// Those of a source, with each path that a `use` declares, whole.
    pub fn of_source(words: &str, code: &str) -> Self {
        let uses = uses(code).into_iter().map(|named| named.path.join("::"));
        Self::of(&std::iter::once(words.to_owned()).chain(uses).collect::<Vec<_>>().join("\n"))
    }

    /// Whether a word stands there by itself. Of small letters alone, it is also found in other
    /// letters, with an s behind it, and as a part of a name: `engine` in `EngineFact`. A path is found as
    /// it is: `std::process::exit` is no part of `std::process::ExitStatus`.
    pub fn has(&self, word: &str) -> bool {
        if word.contains("::") || word.chars().any(char::is_uppercase) {
            return stands(&self.text, word, is_word);
        }
        let in_part = |c: char| c.is_alphanumeric();
        stands(&self.parted, word, in_part) || stands(&self.parted, &format!("{word}s"), in_part)
    }
}

/// Whether a word stands in a text, and what is beside it does not go on with it.
fn stands(text: &str, word: &str, goes_on: impl Fn(char) -> bool) -> bool {
    let apart = |outside: Option<char>, inside: Option<char>| {
        !(outside.is_some_and(&goes_on) && inside.is_some_and(&goes_on))
    };
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        apart(before.chars().next_back(), word.chars().next())
            && apart(after.chars().next(), word.chars().next_back())
    })
}

/// Whether a name stands in code.
pub fn stands_in(code: &str, name: &str) -> bool {
    stands(code, name, is_word)
}

/// The last argument of each call of a method or function of this name, as it is written.
pub fn calls<'a>(code: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    code.match_indices(name).filter_map(move |(at, _)| {
        let rest = code[at + name.len()..].strip_prefix('(')?;
        let mut depth = 0_i32;
        let end = rest.find(|c| {
            depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
            depth < 0
        })?;
        Some(rest[..end].rsplit(", ").next().unwrap_or_default().trim().trim_end_matches(','))
    })
}

/// Names and signs; of the signs each character by itself, but `::`.
fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        tokens.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    tokens
}

/// A path that is named, with the name that a `use` gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// `*` at the end of one that takes all.
    pub path: Vec<String>,
    pub alias: String,
}

/// The paths of `use` declarations.
pub fn uses(code: &str) -> Vec<Named> {
    let tokens = tokens(code);
    let starts = (0..tokens.len()).filter(|at| tokens[*at] == "use");
    starts.flat_map(|at| tree(&tokens, &mut (at + 1), &[])).collect()
}

/// The paths that begin with `crate` or `super`, in `use` declarations or anywhere else.
pub fn paths(code: &str) -> Vec<Vec<String>> {
    let tokens = tokens(code);
    let begins = |at: &usize| {
        matches!(tokens[*at], "crate" | "super")
            && tokens.get(at + 1) == Some(&"::")
            && (*at == 0 || tokens[at - 1] != "::")
    };
    let starts = (0..tokens.len()).filter(begins);
    let trees = starts.flat_map(|mut at| tree(&tokens, &mut at, &[]));
    trees.map(|named| named.path).collect()
}

/// The paths of a tree that begins here: `a::{b, c::d as e}`.
fn tree(tokens: &[&str], at: &mut usize, prefix: &[String]) -> Vec<Named> {
    let mut path = prefix.to_vec();
    loop {
        match tokens.get(*at) {
            Some(&"{") => {
                let mut all = Vec::new();
                while !matches!(tokens.get(*at), None | Some(&"}")) {
                    *at += 1;
                    if !matches!(tokens.get(*at), None | Some(&"}")) {
                        all.extend(tree(tokens, at, &path));
                    }
                    while !matches!(tokens.get(*at), None | Some(&("}" | ","))) {
                        *at += 1;
                    }
                }
                *at += 1;
                return all;
            }
            Some(name) if *name == "*" || name.chars().all(is_word) => path.push((*name).into()),
            _ => break,
        }
        *at += 1;
        if tokens.get(*at) != Some(&"::") {
            break;
        }
        *at += 1;
    }
    if path.len() > prefix.len().max(1) && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    let alias = match tokens.get(*at..*at + 2) {
        Some(["as", alias]) => {
            *at += 2;
            (*alias).to_owned()
        }
        _ => path.last().cloned().unwrap_or_default(),
    };
    vec![Named { path, alias }]
}

/// The names of what a module declares.
pub fn declared(code: &str) -> Vec<String> {
    let tokens = tokens(code);
    let kinds = ["struct", "enum", "union", "fn", "const", "static", "type", "trait", "mod"];
    let pairs = tokens.windows(2).filter(|pair| kinds.contains(&pair[0]));
    pairs.map(|pair| pair[1].to_owned()).collect()
}
