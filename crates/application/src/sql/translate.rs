//! The text of a statement in one dialect, token by token.

use bakeoff_engines::sql::Dialect;

use super::parameters::{DialectText, ParameterSource};
use super::rights::read_list_length;
use super::table_uses::{TableUses, TokenFault};
use super::token_list::TokenList;
use super::tokens::{TokenKind, decode_name, decode_text, split_tokens};

mod cast;
mod order;
mod upsert;

/// What becomes of a token.
#[derive(Clone, Debug, PartialEq)]
enum TokenEdit {
    /// It is written as the dialect writes it.
    Keep,
    /// It goes, and the blank before it.
    Drop,
    /// Another text takes its place.
    Write(String),
    /// Another token takes its place.
    Token(usize),
    /// The parameter `now` takes its place.
    Now,
}

/// Translates one statement to one dialect.
pub(super) struct Translator<'t, 'a> {
    list: &'t TokenList<'a>,
    uses: &'t TableUses<'t>,
    dialect: Dialect,
    edits: Vec<TokenEdit>,
    before: Vec<String>,
    after: Vec<String>,
    faults: Vec<TokenFault>,
}

/// Translates a statement; also what can't be translated, each at its token.
pub(super) fn translate_statement(
    list: &TokenList<'_>,
    uses: &TableUses<'_>,
    dialect: Dialect,
) -> (DialectText, Vec<TokenFault>) {
    let count = list.len();
    let mut translator = Translator {
        list,
        uses,
        dialect,
        edits: vec![TokenEdit::Keep; count],
        before: vec![String::new(); count],
        after: vec![String::new(); count],
        faults: Vec::new(),
    };
    for at in 0..count {
        translator.edit_limit(at);
        translator.edit_lock(at);
        translator.edit_now(at);
        translator.edit_truth(at);
        translator.edit_time(at);
    }
    translator.edit_casts();
    translator.edit_upsert();
    translator.edit_orders();
    let text = translator.write_text();
    (text, translator.faults)
}

impl Translator<'_, '_> {
    fn drop_tokens(&mut self, from: usize, to: usize) {
        self.edits[from..to].fill(TokenEdit::Drop);
    }

    fn fail(&mut self, at: usize, what: impl Into<String>) {
        self.faults.push((at, what.into()));
    }

    /// `LIMIT a, b` is `LIMIT b OFFSET a`.
    fn edit_limit(&mut self, at: usize) {
        if !self.list.is_word(at, "LIMIT")
            || !self.list.is_sign(at + 2, ",")
            || at + 3 >= self.list.len()
        {
            return;
        }
        self.edits[at + 1] = TokenEdit::Token(at + 3);
        let joined = self.list.end(at + 2) == self.list.start(at + 3);
        self.edits[at + 2] = TokenEdit::Write(if joined { " OFFSET " } else { " OFFSET" }.into());
        self.edits[at + 3] = TokenEdit::Token(at + 1);
    }

    /// SQLite's writers exclude each other anyway.
    fn edit_lock(&mut self, at: usize) {
        let Some(end) = find_lock_end(self.list, at) else { return };
        if self.dialect == Dialect::Sqlite {
            self.drop_tokens(at, end);
        }
    }

    fn edit_now(&mut self, at: usize) {
        if let Some(end) = find_now_end(self.list, at) {
            self.drop_tokens(at, end);
            self.edits[at] = TokenEdit::Now;
        }
    }

    /// SQLite and MySQL have 1 and 0. `IS TRUE` is something else.
    fn edit_truth(&mut self, at: usize) {
        let tests = at > 0 && self.list.is_any_word(at - 1, &["IS", "NOT"]);
        if self.dialect != Dialect::Postgres
            && self.list.is_any_word(at, &["TRUE", "FALSE"])
            && !tests
        {
            let number = if self.list.is_word(at, "TRUE") { "1" } else { "0" };
            self.edits[at] = TokenEdit::Write(number.into());
        }
    }

    /// SQLite keeps days and times as texts, and has no `DATE '…'`.
    fn edit_time(&mut self, at: usize) {
        let is_time = self.list.is_word(at, "TIMESTAMP");
        let is_literal = is_time || self.list.is_word(at, "DATE");
        if !is_literal || self.list.kind(at + 1) != Some(TokenKind::Text) {
            return;
        }
        let text = decode_text(self.list.token(at + 1)).unwrap_or_default();
        let form = if is_time { "2024-02-29 23:59:59.000000" } else { "2024-02-29" };
        if text.len() != form.len() {
            return self
                .fail(at + 1, format!("write it as '{form}', which is how SQLite keeps it"));
        }
        if self.dialect == Dialect::Sqlite {
            self.edits[at + 1] = TokenEdit::Drop;
            self.edits[at] = TokenEdit::Token(at + 1);
        }
    }

    fn write_text(&self) -> DialectText {
        let mut written = DialectText { text: String::new(), parameters: Vec::new() };
        let (mut place, mut placed) = (self.list.place.clone(), 0);
        let mut end = self.list.start(0);
        for at in 0..self.list.len() {
            let (gap, start) = (&self.list.text[end..self.list.start(at)], self.list.start(at));
            end = self.list.end(at);
            if self.edits[at] == TokenEdit::Drop {
                written.text += &self.after[at];
                continue;
            }
            place = place.advance(&self.list.text[placed..], start - placed);
            placed = start;
            written.text += &self.write_gap(gap);
            written.text += &self.before[at];
            match &self.edits[at] {
                TokenEdit::Write(text) => written.text += text,
                TokenEdit::Now => {
                    self.add_parameter(&mut written, ParameterSource::from_name("now", &place));
                }
                TokenEdit::Token(other) => {
                    self.write_token(*other, &self.list.place_of(*other), &mut written)
                }
                TokenEdit::Keep | TokenEdit::Drop => self.write_token(at, &place, &mut written),
            }
            written.text += &self.after[at];
        }
        written.text.truncate(written.text.trim_end().len());
        written
    }

    /// A blank. Only PostgreSQL knows comments in comments. MySQL gets no comments but hints: its
    /// client looks for parameters of its own in them, by other rules than these.
    fn write_gap(&self, gap: &str) -> String {
        if self.dialect == Dialect::Postgres || !gap.contains(['-', '/']) {
            return gap.into();
        }
        let mut written = String::new();
        for token in split_tokens(gap) {
            let blank = &gap[token.span.clone()];
            let is_hint = blank.starts_with("/*+") && !blank.contains([':', '\'', '"', '?']);
            let is_comment = token.kind == TokenKind::Comment;
            let nested = blank.starts_with("/*") && blank.matches("/*").count() > 1;
            match is_comment && (nested || self.dialect == Dialect::MySql && !is_hint) {
                true => written.push(' '),
                false => written += blank,
            }
        }
        written
    }

    fn add_parameter(&self, written: &mut DialectText, source: ParameterSource) {
        written.parameters.push(source);
        written.text += &match self.dialect {
            Dialect::Sqlite | Dialect::MySql => "?".into(),
            Dialect::Postgres => format!("${}", written.parameters.len()),
        };
    }

    fn write_token(&self, at: usize, place: &crate::SourcePlace, written: &mut DialectText) {
        let token = self.list.token(at);
        match self.list.kind(at) {
            Some(TokenKind::Parameter) => {
                self.add_parameter(written, ParameterSource::from_name(&token[1..], place));
            }
            Some(TokenKind::ParameterList) => {
                let name = token[1..].split('[').next().unwrap_or_default();
                for number in 0..read_list_length(self.list, at).unwrap_or(0) {
                    written.text += if number > 0 { ", " } else { "" };
                    self.add_parameter(written, ParameterSource::from_element(name, number, place));
                }
            }
            Some(TokenKind::QuotedName) => written.text += &self.dialect.quote(&decode_name(token)),
            Some(TokenKind::Word) => match self.uses.find_schema_name(self.list, at) {
                Some(name) => written.text += &self.dialect.quote(name),
                None => written.text += token,
            },
            Some(TokenKind::Text) => written.text += &self.write_literal(token),
            _ => written.text += token,
        }
    }

    /// `X'…'` holds bits on PostgreSQL, and bytes elsewhere. Only PostgreSQL knows `E'…'` and `$$…$$`. MySQL's client takes a backslash for an escape,
    /// whatever the session says.
    fn write_literal(&self, token: &str) -> String {
        let special = token.starts_with(['e', 'E', '$']);
        if self.dialect == Dialect::Postgres && token.starts_with(['x', 'X']) {
            return format!("'\\x{}'::bytea", &token[2..].trim_end_matches('\''));
        }
        let Some(text) = decode_text(token) else { return token.into() };
        match self.dialect {
            Dialect::MySql if text.contains('\\') => {
                let bytes = text.bytes().map(|byte| format!("{byte:02X}")).collect::<String>();
                format!("_utf8mb4 X'{bytes}'")
            }
            Dialect::Sqlite | Dialect::MySql if special => {
                format!("'{}'", text.replace('\'', "''"))
            }
            _ => token.into(),
        }
    }
}

/// The token behind `FOR UPDATE …`, if it begins here.
pub(super) fn find_lock_end(list: &TokenList<'_>, at: usize) -> Option<usize> {
    if !list.is_word(at, "FOR") {
        return None;
    }
    let forms: [&[&str]; 4] =
        [&["UPDATE"], &["SHARE"], &["NO", "KEY", "UPDATE"], &["KEY", "SHARE"]];
    let form = forms.iter().find(|form| {
        form.iter().enumerate().all(|(number, word)| list.is_word(at + 1 + number, word))
    })?;
    let mut end = at + 1 + form.len();
    if list.is_word(end, "OF") {
        end += 2;
        while list.is_sign(end, ",") {
            end += 2;
        }
    }
    end += usize::from(list.is_word(end, "NOWAIT"));
    end += if list.is_word(end, "SKIP") && list.is_word(end + 1, "LOCKED") { 2 } else { 0 };
    Some(end.min(list.len()))
}

/// The token behind the present time, if it begins here.
pub(super) fn find_now_end(list: &TokenList<'_>, at: usize) -> Option<usize> {
    if at > 0 && list.is_sign(at - 1, ".") {
        return None;
    }
    let brackets = list.partner(at + 1).filter(|_| list.is_sign(at + 1, "("));
    if list.is_any_word(at, &["CURRENT_TIMESTAMP", "LOCALTIMESTAMP"]) {
        return Some(brackets.map_or(at + 1, |close| close + 1));
    }
    let close = brackets.filter(|_| list.is_word(at, "NOW"))?;
    (close <= at + 3).then_some(close + 1)
}
