//! Titles and texts from lines: title TAB text, CSV (RFC 4180), JSON Lines.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use bakeoff_engines::Result;
use serde::{Deserialize, Serialize};

use crate::{RowsError, SourceError};

/// Characters of a title, bytes of a text: what the columns take.
pub const LONGEST_TITLE: usize = 512;
pub const LONGEST_TEXT: usize = (1 << 24) - 1;
/// Bytes of a record; quotes and escapes make it longer than its text.
const LONGEST_RECORD: usize = 64 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Tabs,
    Csv,
    JsonLines,
}

impl Format {
    /// By the ending, without that of a packing.
    pub fn from_path(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let packings = [".gz", ".zst"].iter();
        let plain = packings.filter_map(|ending| name.strip_suffix(ending)).next().unwrap_or(&name);
        match plain.rsplit_once('.') {
            Some((_, "csv")) => Self::Csv,
            Some((_, "jsonl")) => Self::JsonLines,
            _ => Self::Tabs,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OmissionCounts {
    pub empty: u64,
    pub too_long: u64,
    pub not_utf8: u64,
    pub first: Option<(u64, OmissionReason)>,
    /// Whether a first line names the columns and so is no row.
    pub header: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OmissionReason {
    Empty,
    TooLong,
    NotUtf8,
}

impl OmissionReason {
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::TooLong => "too long",
            Self::NotUtf8 => "not UTF-8",
        }
    }
}

impl OmissionCounts {
    pub fn add_skipped(&mut self, line: u64, why: OmissionReason) {
        self.first.get_or_insert((line, why));
        *match why {
            OmissionReason::Empty => &mut self.empty,
            OmissionReason::TooLong => &mut self.too_long,
            OmissionReason::NotUtf8 => &mut self.not_utf8,
        } += 1;
    }

    /// `, 3 lines skipped (1 empty, 2 not UTF-8)`; empty if none.
    pub fn in_words(&self, of: &str) -> String {
        let all = [
            (self.empty, OmissionReason::Empty),
            (self.too_long, OmissionReason::TooLong),
            (self.not_utf8, OmissionReason::NotUtf8),
        ];
        let reasons = all.iter().filter(|(count, _)| *count > 0);
        let reasons: Vec<String> =
            reasons.map(|(count, why)| format!("{count} {}", why.in_words())).collect();
        match all.iter().map(|(count, _)| count).sum::<u64>() {
            0 => String::new(),
            1 => format!(", 1 {of} skipped ({})", reasons.join(", ")),
            sum => format!(", {sum} {of}s skipped ({})", reasons.join(", ")),
        }
    }
}

/// Gives the records in order until `take` wants no more; returns what was skipped.
pub fn read_records(
    source: impl Read,
    format: Format,
    take: &mut dyn FnMut(&str, &str) -> Result<bool>,
) -> std::result::Result<OmissionCounts, RowsError> {
    let mut lines = SourceLines::from_source(source);
    let mut columns = None;
    let mut begun = false;
    let mut skipped = OmissionCounts::default();
    while lines.read_record(format == Format::Csv)? {
        let here = |what: String| SourceError::new(what).at_line(lines.first);
        if lines.too_long {
            skipped.add_skipped(lines.first, OmissionReason::TooLong);
            continue;
        }
        let line = match std::str::from_utf8(&lines.held) {
            Ok(line) => line,
            Err(error) if lines.cut_off && error.error_len().is_none() => {
                let what = "the file ends in the middle of a character: it was cut off";
                return Err(here(what.into()).into());
            }
            Err(_) => {
                skipped.add_skipped(lines.first, OmissionReason::NotUtf8);
                continue;
            }
        };
        let line = if lines.first == 1 { line.trim_start_matches('\u{feff}') } else { line };
        if line.trim().is_empty() {
            skipped.add_skipped(lines.first, OmissionReason::Empty);
            continue;
        }
        let article = match format {
            Format::Tabs => parse_tabs(line, !begun),
            Format::Csv => parse_csv(line, &mut columns),
            Format::JsonLines => parse_json(line).map(Some),
        };
        begun = true;
        let Some((title, text)) = article.map_err(here)? else {
            skipped.header = true;
            continue;
        };
        if title.contains('\0') || text.contains('\0') {
            return Err(here(NUL_ESCAPE.into()).into());
        }
        if title.chars().count() > LONGEST_TITLE || text.len() > LONGEST_TEXT {
            skipped.add_skipped(lines.first, OmissionReason::TooLong);
        } else if title.trim().is_empty() || text.trim().is_empty() {
            skipped.add_skipped(lines.first, OmissionReason::Empty);
        } else if !take(&title, &text)? {
            break;
        }
    }
    Ok(skipped)
}

const NUL: &str = "a NUL byte, which no text has: take it out, or name a file of text";
const NUL_ESCAPE: &str = "its title or text holds `\\u0000`, the character NUL, which no engine stores in a text: take it out";

struct SourceLines<R> {
    source: BufReader<R>,
    held: Vec<u8>,
    too_long: bool,
    cut_off: bool,
    read: u64,
    first: u64,
}

impl<R: Read> SourceLines<R> {
    fn from_source(source: R) -> Self {
        let source = BufReader::with_capacity(1 << 16, source);
        Self { source, held: Vec::new(), too_long: false, cut_off: false, read: 0, first: 0 }
    }

    /// Reads a line, or with `quotes` as many lines as the quotes span. `false` at the end.
    fn read_record(&mut self, quotes: bool) -> std::result::Result<bool, SourceError> {
        self.held.clear();
        self.too_long = false;
        self.first = self.read + 1;
        let mut open = false;
        loop {
            let Some(odd) = self.read_line()? else {
                if open {
                    let what = "a quote is opened here and not closed until the file ends";
                    return Err(SourceError::new(what).at_line(self.first));
                }
                return Ok(false);
            };
            open ^= quotes && odd;
            if !open {
                break;
            }
            self.hold_bytes(b"\n");
        }
        if self.held.ends_with(b"\r") {
            self.held.pop();
        }
        Ok(true)
    }

    /// Returns whether the line has an odd number of quotes; `None` at the end.
    fn read_line(&mut self) -> std::result::Result<Option<bool>, SourceError> {
        let number = self.read + 1;
        let (mut quotes, mut any) = (0, false);
        loop {
            let buffer = self.source.fill_buf().map_err(|error| {
                SourceError::new(format!("it can't be read on: {error}")).at_line(number)
            })?;
            if buffer.is_empty() {
                self.cut_off = any;
                self.read += u64::from(any);
                return Ok(any.then_some(quotes % 2 == 1));
            }
            any = true;
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let piece = &buffer[..end.unwrap_or(buffer.len())];
            if piece.contains(&0) {
                return Err(SourceError::new(NUL).at_line(number));
            }
            quotes += piece.iter().filter(|byte| **byte == b'"').count();
            let used = piece.len() + usize::from(end.is_some());
            let room = LONGEST_RECORD.saturating_sub(self.held.len());
            self.too_long |= piece.len() > room;
            self.held.extend_from_slice(&piece[..piece.len().min(room)]);
            self.source.consume(used);
            if end.is_some() {
                self.read += 1;
                return Ok(Some(quotes % 2 == 1));
            }
        }
    }

    fn hold_bytes(&mut self, bytes: &[u8]) {
        if self.held.len() + bytes.len() > LONGEST_RECORD {
            self.too_long = true;
        } else {
            self.held.extend_from_slice(bytes);
        }
    }
}

type TitleAndText = (String, String);

fn names_column(field: &str, name: &str) -> bool {
    field.trim().eq_ignore_ascii_case(name)
}

/// `None` for a first line that names the columns.
fn parse_tabs(line: &str, is_first: bool) -> std::result::Result<Option<TitleAndText>, String> {
    let Some((title, text)) = line.split_once('\t') else {
        let what = "no TAB between a title and a text";
        return Err(match line.trim_start().starts_with(['{', '[']) {
            true => format!(
                "{what}; JSON has a name that ends in .jsonl, and an object of `title` and `text` a line"
            ),
            false => format!("{what}; a .csv or .jsonl file has an ending that says so"),
        });
    };
    let is_header = is_first && names_column(title, "title") && names_column(text, "text");
    Ok((!is_header).then(|| (title.into(), text.into())))
}

fn parse_json(line: &str) -> std::result::Result<TitleAndText, String> {
    #[derive(Deserialize)]
    struct Object {
        title: String,
        text: String,
    }
    let wrong =
        |what: &str| format!("no JSON object with a `title` and a `text`, both strings: {what}");
    // The parser would take an array for the fields in their order.
    if line.trim_start().starts_with('[') {
        return Err(wrong("an array"));
    }
    let object: Object = serde_json::from_str(line).map_err(|error| {
        let error = error.to_string();
        // The parser counts one line only.
        wrong(error.rsplit_once(" at line ").map_or(&*error, |(what, _)| what))
    })?;
    Ok((object.title, object.text))
}

#[derive(Clone, Copy)]
struct ArticleColumns {
    title: usize,
    text: usize,
    of: usize,
}

/// `None` for a first record that names the columns.
fn parse_csv(
    record: &str,
    columns: &mut Option<ArticleColumns>,
) -> std::result::Result<Option<TitleAndText>, String> {
    let mut fields = split_fields(record)?;
    let Some(ArticleColumns { title, text, of }) = *columns else {
        let column = |name: &str| fields.iter().position(|field| names_column(field, name));
        let of = fields.len();
        if let (Some(title), Some(text)) = (column("title"), column("text")) {
            let is_repeated =
                |name: &str| fields.iter().filter(|it| names_column(it, name)).count() > 1;
            if let Some(name) = ["title", "text"].into_iter().find(|name| is_repeated(name)) {
                return Err(format!(
                    "the line of names has `{name}` twice: rename one of the columns"
                ));
            }
            *columns = Some(ArticleColumns { title, text, of });
            return Ok(None);
        }
        if of != 2 {
            let columns = if of == 1 { "1 column".to_owned() } else { format!("{of} columns") };
            return Err(format!(
                "{columns}, where two are needed: a title, a comma and a text, or more with a first line \
                 that names `title` and `text`"
            ));
        }
        *columns = Some(ArticleColumns { title: 0, text: 1, of });
        return parse_csv(record, columns);
    };
    if fields.len() != of {
        return Err(format!("{} columns, where the first line has {of}", fields.len()));
    }
    Ok(Some((std::mem::take(&mut fields[title]), std::mem::take(&mut fields[text]))))
}

fn split_fields(record: &str) -> std::result::Result<Vec<String>, String> {
    let mut fields = Vec::new();
    let mut rest = record;
    loop {
        let mut field = String::new();
        if let Some(quoted) = rest.strip_prefix('"') {
            rest = quoted;
            loop {
                let (piece, after) = rest.split_once('"').ok_or("a quote is not closed")?;
                field.push_str(piece);
                rest = after;
                let Some(after) = rest.strip_prefix('"') else { break };
                field.push('"');
                rest = after;
            }
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            field.push_str(&rest[..end]);
            rest = &rest[end..];
            if field.contains('"') {
                return Err(
                    "a quote inside a field that does not begin with one: put the whole field \
                            between quotes, and write a quote in it twice"
                        .into(),
                );
            }
        }
        fields.push(field);
        if rest.is_empty() {
            return Ok(fields);
        }
        rest = rest
            .strip_prefix(',')
            .ok_or("something follows a closing quote, and it is no comma")?;
    }
}
