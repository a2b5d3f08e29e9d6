//! The tokens of a statement without blanks, and a cursor that reads them.

use super::keywords::is_reserved;
use super::tokens::{SqlToken, TokenKind, decode_name, split_tokens};
use crate::SourcePlace;

/// The tokens that a database sees.
pub struct TokenList<'a> {
    pub text: &'a str,
    /// Where the text begins.
    pub place: &'a SourcePlace,
    tokens: Vec<SqlToken>,
    /// The other bracket of each bracket; its own number for anything else.
    partners: Vec<usize>,
    /// How many brackets are open around a token.
    depths: Vec<u32>,
}

impl<'a> TokenList<'a> {
    pub fn new(text: &'a str, place: &'a SourcePlace) -> Self {
        let tokens = split_tokens(text).into_iter().filter(|token| !token.kind.is_blank());
        let mut list = Self {
            text,
            place,
            tokens: tokens.collect(),
            partners: Vec::new(),
            depths: Vec::new(),
        };
        list.pair_brackets();
        list
    }

    fn pair_brackets(&mut self) {
        self.partners = (0..self.len()).collect();
        let (mut open, mut depths) = (Vec::new(), Vec::new());
        for at in 0..self.len() {
            if self.is_sign(at, ")")
                && let Some(partner) = open.pop()
            {
                self.partners[at] = partner;
                self.partners[partner] = at;
            }
            depths.push(open.len() as u32);
            if self.is_sign(at, "(") {
                open.push(at);
            }
        }
        self.depths = depths;
    }

    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    pub fn kind(&self, at: usize) -> Option<TokenKind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    /// A token as it is written; empty behind the end.
    pub fn token(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| &self.text[token.span.clone()])
    }

    /// The first byte of a token; the end of the text behind the last.
    pub fn start(&self, at: usize) -> usize {
        self.tokens.get(at).map_or(self.text.len(), |token| token.span.start)
    }

    /// The byte behind a token.
    pub fn end(&self, at: usize) -> usize {
        self.tokens.get(at).map_or(self.text.len(), |token| token.span.end)
    }

    /// The text from one token up to before another, blanks made single spaces.
    pub fn join_tokens(&self, from: usize, to: usize) -> String {
        let mut joined = String::new();
        for at in from..to.min(self.len()) {
            let gap = at > from && self.start(at) > self.end(at - 1);
            joined += if gap { " " } else { "" };
            joined += self.token(at);
        }
        joined
    }

    pub fn place_of(&self, at: usize) -> SourcePlace {
        let at = if at < self.len() { at } else { self.len().saturating_sub(1) };
        self.place.advance(self.text, if self.len() == 0 { 0 } else { self.start(at) })
    }

    pub fn is_word(&self, at: usize, word: &str) -> bool {
        self.kind(at) == Some(TokenKind::Word) && self.token(at).eq_ignore_ascii_case(word)
    }

    pub fn is_any_word(&self, at: usize, words: &[&str]) -> bool {
        words.iter().any(|word| self.is_word(at, word))
    }

    pub fn is_sign(&self, at: usize, sign: &str) -> bool {
        matches!(self.kind(at), Some(TokenKind::Operator | TokenKind::Semicolon))
            && self.token(at) == sign
    }

    /// How many brackets are open around a token.
    pub fn depth(&self, at: usize) -> u32 {
        self.depths.get(at).copied().unwrap_or(0)
    }

    /// The other bracket, if this is one that has it.
    pub fn partner(&self, at: usize) -> Option<usize> {
        self.partners.get(at).copied().filter(|partner| *partner != at)
    }

    /// A name: quoted as it is, without quotes in lower case. A reserved word is none.
    pub fn name(&self, at: usize) -> Option<String> {
        match self.kind(at)? {
            TokenKind::QuotedName => Some(decode_name(self.token(at))),
            TokenKind::Word if !is_reserved(self.token(at)) => Some(self.token(at).to_lowercase()),
            _ => None,
        }
    }

    /// The first of the tokens at this depth that is the word.
    pub fn find_word(&self, from: usize, to: usize, depth: u32, word: &str) -> Option<usize> {
        (from..to).find(|at| self.depth(*at) == depth && self.is_word(*at, word))
    }

    /// The parts between commas at the depth of the first token; none of nothing.
    pub fn split_commas(&self, from: usize, to: usize) -> Vec<(usize, usize)> {
        let (depth, mut start, mut parts) = (self.depth(from), from, Vec::new());
        for at in from..to {
            if self.depth(at) == depth && self.is_sign(at, ",") {
                parts.push((start, at));
                start = at + 1;
            }
        }
        if from < to {
            parts.push((start, to));
        }
        parts
    }
}

/// Reads tokens one after the other.
#[derive(Clone, Copy)]
pub struct TokenCursor<'t, 'a> {
    pub list: &'t TokenList<'a>,
    pub at: usize,
    /// The token behind the last.
    pub end: usize,
}

impl<'t, 'a> TokenCursor<'t, 'a> {
    pub fn new(list: &'t TokenList<'a>, from: usize, to: usize) -> Self {
        Self { list, at: from, end: to.min(list.len()) }
    }

    pub fn is_done(&self) -> bool {
        self.at >= self.end
    }

    pub fn sees_word(&self, word: &str) -> bool {
        !self.is_done() && self.list.is_word(self.at, word)
    }

    pub fn sees_sign(&self, sign: &str) -> bool {
        !self.is_done() && self.list.is_sign(self.at, sign)
    }

    /// Goes behind these words, if all of them come next.
    pub fn take_words(&mut self, words: &[&str]) -> bool {
        let end = self.at + words.len();
        let all = words.iter().enumerate();
        let found = end <= self.end
            && all.into_iter().all(|(number, word)| self.list.is_word(self.at + number, word));
        self.at = if found { end } else { self.at };
        found
    }

    pub fn take_word(&mut self, word: &str) -> bool {
        self.take_words(&[word])
    }

    pub fn take_sign(&mut self, sign: &str) -> bool {
        let found = self.sees_sign(sign);
        self.at += usize::from(found);
        found
    }

    pub fn take_name(&mut self) -> Option<String> {
        let name = if self.is_done() { None } else { self.list.name(self.at) };
        self.at += usize::from(name.is_some());
        name
    }

    /// The next token as it is written, in upper case; empty at the end.
    pub fn peek_upper(&self) -> String {
        if self.is_done() { String::new() } else { self.list.token(self.at).to_uppercase() }
    }

    /// What stands in brackets, if a bracket comes next; goes behind it.
    pub fn take_brackets(&mut self) -> Option<TokenCursor<'t, 'a>> {
        let close = self.list.partner(self.at).filter(|_| self.sees_sign("("))?;
        if close >= self.end {
            return None;
        }
        let inner = Self { list: self.list, at: self.at + 1, end: close };
        self.at = close + 1;
        Some(inner)
    }

    /// Names between commas, to the end.
    pub fn take_names(&mut self) -> Option<Vec<String>> {
        let mut names = Vec::new();
        loop {
            names.push(self.take_name()?);
            if self.is_done() {
                return Some(names);
            }
            if !self.take_sign(",") {
                return None;
            }
        }
    }
}
