//! Rows from a dictionary in dictd's format: an index of headwords, and a file of articles.
//!
//! An article is shorter than a row. So a row is a headword and as many whole articles from there
//! on as come nearest to the wanted length.

use std::fs;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use bakeoff_engines::Result;

use super::records::{OmissionCounts, OmissionReason};
use crate::{RowsError, SourceError, articles, seed_stream};

const ENDINGS: [&str; 2] = [".dict.dz", ".dict"];
const ABOUT: &str = "00-";
/// Longer articles are taken for a broken index.
const LONGEST_ARTICLE: u64 = 1 << 20;

pub fn index_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let stem = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending))?;
    Some(path.with_file_name(format!("{stem}.index")))
}

struct DictionaryEntry {
    at: u64,
    length: u64,
    headword: String,
}

/// Returns how many articles were skipped. Rows have the same lengths on every machine.
pub fn read_rows(
    index: &Path,
    source: impl Read,
    take: &mut dyn FnMut(&str, &str) -> Result<bool>,
) -> std::result::Result<OmissionCounts, RowsError> {
    let entries = read_entries(index)?;
    let mut source = BufReader::with_capacity(1 << 16, source);
    let mut skipped = OmissionCounts::default();
    let mut lengths = seed_stream(0, 0);
    let (mut at, mut article) = (0, Vec::new());
    let mut row =
        DictionaryRow { wanted: articles::draw_length(&mut lengths), ..DictionaryRow::default() };
    for (number, entry) in (1..).zip(&entries) {
        let DictionaryEntry { at: start, length, headword } = entry;
        if *start < at {
            // A part of the article before.
            continue;
        }
        let failed = |error: io::Error| {
            SourceError::new(format!("the article `{headword}` can't be read: {error}"))
        };
        io::copy(&mut source.by_ref().take(start - at), &mut io::sink()).map_err(failed)?;
        article.clear();
        let read = source.by_ref().take(*length).read_to_end(&mut article).map_err(failed)?;
        if (read as u64) < *length {
            let what = format!("the file ends before the end of the article `{headword}`");
            return Err(SourceError::new(what).into());
        }
        at = start + length;
        match std::str::from_utf8(&article) {
            _ if headword.starts_with(ABOUT) => {}
            Err(_) => skipped.add_skipped(number, OmissionReason::NotUtf8),
            Ok(text) if text.trim().is_empty() => {
                skipped.add_skipped(number, OmissionReason::Empty)
            }
            Ok(text) if text.contains('\0') => {
                let what = format!("a NUL byte in the article `{headword}`, which no text has");
                return Err(SourceError::new(what).into());
            }
            Ok(text) => {
                if row.is_full(text) {
                    if !take(&row.title, &row.text)? {
                        return Ok(skipped);
                    }
                    row.begin_row(articles::draw_length(&mut lengths));
                }
                row.add_article(headword, text);
            }
        }
    }
    if !row.text.is_empty() {
        take(&row.title, &row.text)?;
    }
    Ok(skipped)
}

#[derive(Default)]
struct DictionaryRow {
    title: String,
    text: String,
    wanted: usize,
}

impl DictionaryRow {
    fn is_full(&self, next: &str) -> bool {
        !self.text.is_empty() && self.text.len() + next.len() / 2 > self.wanted
    }

    fn begin_row(&mut self, wanted: usize) {
        self.title.clear();
        self.text.clear();
        self.wanted = wanted;
    }

    fn add_article(&mut self, headword: &str, article: &str) {
        if self.text.is_empty() {
            self.title.push_str(headword);
        }
        self.text.push_str(article);
    }
}

fn read_entries(index: &Path) -> std::result::Result<Vec<DictionaryEntry>, SourceError> {
    let bytes = fs::read(index).map_err(|error| {
        let what = format!("the index of the dictionary can't be read: {error}");
        SourceError::new(what).in_file(index)
    })?;
    let mut entries = Vec::new();
    for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        if line.is_empty() {
            continue;
        }
        let entry = std::str::from_utf8(line).ok().and_then(parse_entry).ok_or_else(|| {
            let what = "no headword, place and length, as the index of a dictionary has them";
            SourceError::new(what).at_line(number).in_file(index)
        })?;
        entries.push(entry);
    }
    // Several headwords may have one article; the sort keeps the first.
    entries.sort_by_key(|entry: &DictionaryEntry| (entry.at, entry.length));
    entries.dedup_by_key(|entry| (entry.at, entry.length));
    Ok(entries)
}

fn parse_entry(line: &str) -> Option<DictionaryEntry> {
    let mut fields = line.split('\t');
    let (headword, at, length) = (fields.next()?, fields.next()?, fields.next()?);
    let (at, length) = (parse_number(at)?, parse_number(length)?);
    let is_one = !headword.is_empty() && headword.chars().count() <= super::records::LONGEST_TITLE;
    let fits = length <= LONGEST_ARTICLE && at.checked_add(length).is_some();
    (is_one && fits).then(|| DictionaryEntry { at, length, headword: headword.into() })
}

/// dictd's base 64, most significant digit first.
fn parse_number(digits: &str) -> Option<u64> {
    if digits.is_empty() || digits.len() > 8 {
        return None;
    }
    digits.bytes().try_fold(0, |number, digit| {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        Some(number * 64 + u64::from(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_base_64() {
        assert_eq!(["A", "Fz", "BQ+", "//"].map(parse_number), [0, 371, 5182, 4095].map(Some));
        assert_eq!(["", "a b", "AAAAAAAAA"].map(parse_number), [None; 3]);
    }

    #[test]
    fn a_name_leads_to_the_index() {
        let index = |name: &str| index_of(name.as_ref()).map(|path| path.display().to_string());
        assert_eq!(index("/d/it.dict.dz").as_deref(), Some("/d/it.index"));
        assert_eq!(index("it.dict").as_deref(), Some("it.index"));
        assert_eq!([index("it.tsv"), index("it.dz"), index("dict")], [None, None, None]);
    }
}
