//! A script's statements and commands, in order.

use super::commands::{CommandText, MetaCommand, parse_command};
use crate::sql::{TokenKind, read_token, split_statements};
use crate::{Mistakes, SourcePlace};

/// A statement or a command, with its place.
#[derive(Clone, Debug, PartialEq)]
pub enum ScriptPiece<'t> {
    Statement { text: &'t str, place: SourcePlace, end: PieceEnd<'t> },
    Command { command: MetaCommand<'t>, place: SourcePlace },
}

/// What ends a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum PieceEnd<'t> {
    /// A semicolon, or the end of the file.
    Plain,
    /// `\gset` or `\lset`.
    Command { command: MetaCommand<'t>, place: SourcePlace },
}

/// Splits a script. Wrong commands are added to the mistakes, and left out.
pub fn split_script<'t>(
    text: &'t str,
    place: &SourcePlace,
    mistakes: &mut Mistakes,
) -> Vec<ScriptPiece<'t>> {
    let mut splitter =
        ScriptSplitter { text, place, mistakes, at: 0, pieces: Vec::new(), last_statement: None };
    while splitter.at < text.len() {
        splitter.read_piece();
    }
    splitter.pieces
}

struct ScriptSplitter<'t, 'm> {
    text: &'t str,
    place: &'m SourcePlace,
    mistakes: &'m mut Mistakes,
    at: usize,
    pieces: Vec<ScriptPiece<'t>>,
    /// Where the last statement begins.
    last_statement: Option<usize>,
}

impl<'t> ScriptSplitter<'t, '_> {
    fn place_at(&self, byte: usize) -> SourcePlace {
        self.place.advance(self.text, byte)
    }

    /// Reads from here to the end of a statement or of a command. Comments belong to what follows.
    fn read_piece(&mut self) {
        let begin = self.at;
        let mut first = None;
        while self.at < self.text.len() {
            let (kind, length) = read_token(&self.text[self.at..]);
            let (start, end) = (self.at, self.at + length);
            match kind {
                _ if kind.is_blank() => {}
                TokenKind::Semicolon => {
                    self.at = end;
                    return self.add_statement(begin, first, start, PieceEnd::Plain);
                }
                _ if self.text[start..].starts_with('\\') => {
                    return self.read_command(begin, first, start);
                }
                _ => drop(first.get_or_insert(start)),
            }
            self.at = end;
        }
        self.at = self.text.len();
        self.add_statement(begin, first, self.text.len(), PieceEnd::Plain);
    }

    /// `first`: where a statement begins that has not ended.
    fn read_command(&mut self, begin: usize, first: Option<usize>, start: usize) {
        let line_end = self.find_line_end(start);
        let line = self.text[start + 1..line_end].trim_end();
        self.at = line_end;
        let place = self.place_at(start);
        let text = CommandText { text: line, place: self.place_at(start + 1) };
        let parsed = parse_command(&text, self.mistakes);
        let Some(command) = parsed else {
            return self.add_statement(begin, first, start, PieceEnd::Plain);
        };
        let ends = matches!(command, MetaCommand::Gset { .. } | MetaCommand::Lset { .. });
        match (first, ends) {
            (Some(_), true) => {
                let end = PieceEnd::Command { command, place };
                self.add_statement(begin, first, start, end);
            }
            (Some(_), false) => {
                self.mistakes.add(place, "the statement before it has no end: write `;`");
                self.add_statement(begin, first, start, PieceEnd::Plain);
            }
            (None, _) => self.pieces.push(ScriptPiece::Command { command, place }),
        }
    }

    /// A backslash at a line's end continues it.
    fn find_line_end(&self, from: usize) -> usize {
        let mut at = from;
        loop {
            let end = self.text[at..].find('\n').map_or(self.text.len(), |end| at + end);
            let continues = self.text[at..end].trim_end_matches('\r').ends_with('\\');
            if !continues || end == self.text.len() || end == from {
                return end;
            }
            at = end + 1;
        }
    }

    /// Comments before it may name its dialects. Variants for several dialects are one statement.
    fn add_statement(&mut self, begin: usize, first: Option<usize>, end: usize, by: PieceEnd<'t>) {
        if first.is_none() {
            return;
        }
        let text = self.text[begin..end].trim_start();
        let start = end - text.len();
        let end = start + text.trim_end().len();
        let start = match (self.pieces.last(), self.last_statement) {
            (Some(ScriptPiece::Statement { end: PieceEnd::Plain, .. }), Some(before))
                if split_statements(&self.text[before..end]).len() == 1 =>
            {
                self.pieces.pop();
                before
            }
            _ => start,
        };
        self.last_statement = Some(start);
        let (text, place) = (&self.text[start..end], self.place_at(start));
        self.pieces.push(ScriptPiece::Statement { text, place, end: by });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> (Vec<String>, String) {
        let mut mistakes = Mistakes::default();
        let pieces = split_script(text, &SourcePlace::from_file("buy.sql"), &mut mistakes);
        let told = pieces.iter().map(|piece| match piece {
            ScriptPiece::Statement { text, place, end: PieceEnd::Plain } => {
                format!("{} {text}", place.line)
            }
            ScriptPiece::Statement { text, place, .. } => format!("{} {text} =>", place.line),
            ScriptPiece::Command { command: MetaCommand::Set { expression, .. }, place } => {
                format!("{} set {}", place.line, expression.text)
            }
            ScriptPiece::Command { place, .. } => format!("{} command", place.line),
        });
        (told.collect(), mistakes.to_string())
    }

    #[test]
    fn statements_and_commands_are_told_apart() {
        for (text, expected) in [
            ("SELECT 1;\nSELECT 2", &["1 SELECT 1", "2 SELECT 2"][..]),
            (
                "\\set a 'it''s;'\nSELECT ';' AS x \\gset\n",
                &["1 set 'it''s;'", "2 SELECT ';' AS x =>"],
            ),
            ("\\set a 1 + \\\n 2\nSELECT 1;", &["1 set 1 + \\\n 2", "3 SELECT 1"]),
            ("-- don't\n\\else\n/* \\set */ SELECT 1 ;;", &["2 command", "3 /* \\set */ SELECT 1"]),
            (
                "-- sqlite:\nA;\n-- mysql, postgres:\nB;\nC;",
                &["1 -- sqlite:\nA;\n-- mysql, postgres:\nB", "5 C"],
            ),
            ("", &[]),
        ] {
            assert_eq!(
                split(text),
                (expected.iter().map(|it| (*it).into()).collect(), String::new()),
                "{text}"
            );
        }
    }

    #[test]
    fn a_statement_without_an_end_is_told() {
        let (_, said) = split("SELECT 1\n\\set a 1");
        assert!(said.starts_with("buy.sql:2:1: the statement before it has no end"), "{said}");
    }
}
