//! Text that compresses like text: seeded, or from a user's file.
//!
//! Rows are cut out of one corpus in memory from anywhere. The generated corpus is 8 MiB: engines
//! compress some hundred kilobytes together, in which cuts seldom overlap.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use rand::{Rng, RngExt, SeedableRng};

use crate::WorkloadRandom;
use crate::file_kind::FileKind;
use crate::fnv::{START, add_to_hash};
use crate::vocabulary::TextVocabulary;

const GENERATED: usize = 8 << 20;
const SHORT: usize = 64 << 10;

/// With less, a compressing engine would find every row repeated within its window (32 kB for
/// deflate, 64 kB for LZ4).
pub const SHORTEST_FILE: usize = 100_000;

/// It is held in memory.
pub const LONGEST_FILE: usize = 256_000_000;

/// How far a word's boundary is looked for; text without spaces is cut between two characters.
const LONGEST_WORD: usize = 64;

/// The corpus that subjects, descriptions and notes are cut from.
#[derive(Debug)]
pub struct TextSource {
    corpus: String,
    origin: Origin,
}

#[derive(Debug)]
enum Origin {
    Seed(u64),
    File(PathBuf),
}

/// Why a file can't serve as text.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// The system can't read it.
    #[error("can't read the text file {path}: {source}; name a readable file of plain text")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Only white space.
    #[error("the text file {0} is empty; name one with at least {SHORTEST_FILE} bytes of text")]
    Empty(PathBuf),
    /// It is of a kind that is no text in UTF-8.
    #[error("the text file {path} is {kind}")]
    OtherKind {
        /// The file.
        path: PathBuf,
        /// What it is, and how text is had of it.
        kind: String,
    },
    /// It is not UTF-8.
    #[error(
        "the text file {path} is not UTF-8: byte {at} (counted from 0) is wrong; \
         convert it with `iconv -f latin1 -t utf-8`, or name another"
    )]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The first wrong byte, from 0.
        at: usize,
    },
    /// Rows would repeat each other.
    #[error(
        "the text file {path} is too short: {bytes} bytes, where at least {SHORTEST_FILE} are \
         needed so that rows do not repeat each other; join several files into one"
    )]
    TooShort {
        /// The file.
        path: PathBuf,
        /// Bytes without white space at the ends.
        bytes: usize,
    },
    /// It would not fit in memory.
    #[error(
        "the text file {0} is longer than {LONGEST_FILE} bytes, and it is held in memory; \
         take a part with `head -c {LONGEST_FILE}`"
    )]
    TooLong(PathBuf),
}

impl TextSource {
    /// English-like text: sentences of words by Zipf's law, the same for a seed on every machine.
    pub fn generate(seed: u64) -> Self {
        Self::of_length(seed, GENERATED)
    }

    /// Little text, made at once, for callers that need a workload's statements and no rows.
    pub fn generate_short() -> Self {
        Self::of_length(0, SHORT)
    }

    fn of_length(seed: u64, least: usize) -> Self {
        let mut random = WorkloadRandom::seed_from_u64(seed);
        let vocabulary = TextVocabulary::new(&mut random);
        let mut corpus = String::with_capacity(least + 4096);
        while corpus.len() < least {
            vocabulary.write_paragraph(&mut random, &mut corpus);
        }
        Self { corpus, origin: Origin::Seed(seed) }
    }

    /// The text of a file.
    pub fn from_file(path: &Path) -> Result<Self, TextError> {
        let unreadable = |source| TextError::Unreadable { path: path.into(), source };
        let mut bytes = Vec::new();
        let file = open_file(path).map_err(unreadable)?;
        file.take(LONGEST_FILE as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() > LONGEST_FILE {
            return Err(TextError::TooLong(path.into()));
        }
        if let Some(kind) = FileKind::from_head(&bytes) {
            return Err(TextError::OtherKind { path: path.into(), kind: kind.in_words("") });
        }
        let whole = std::str::from_utf8(&bytes)
            .map_err(|error| TextError::NotUtf8 { path: path.into(), at: error.valid_up_to() })?;
        let corpus = whole.trim_start_matches('\u{feff}').trim();
        match corpus.len() {
            0 => Err(TextError::Empty(path.into())),
            bytes @ 1..SHORTEST_FILE => Err(TextError::TooShort { path: path.into(), bytes }),
            _ => Ok(Self { corpus: corpus.into(), origin: Origin::File(path.into()) }),
        }
    }

    /// The description for a report.
    pub fn describe(&self) -> String {
        match &self.origin {
            Origin::Seed(seed) => format!("generated, seed {seed}"),
            Origin::File(path) => format!(
                "{} ({} bytes, fingerprint {:016x})",
                path.display(),
                self.corpus.len(),
                add_to_hash(START, self.corpus.as_bytes())
            ),
        }
    }

    /// A random stretch from a word's start to a word's end: at most `longest` bytes, less by under
    /// a word.
    pub fn cut(&self, random: &mut impl Rng, longest: usize) -> &str {
        let last = self.corpus.len().saturating_sub(longest + LONGEST_WORD);
        let stretch = find_stretch(&self.corpus, random.random_range(0..=last), longest);
        self.corpus[stretch].trim_end()
    }

    /// The longest line of such a stretch.
    pub fn cut_line(&self, random: &mut impl Rng, longest: usize) -> &str {
        let lines = self.cut(random, longest).lines().map(str::trim);
        lines.max_by_key(|line| line.len()).unwrap_or_default()
    }
}

/// At most `longest` bytes from about `at` on, from a word's start to a word's end.
pub(crate) fn find_stretch(text: &str, at: usize, longest: usize) -> Range<usize> {
    let start = find_word_start(text, at);
    start..find_word_end(text, start, start.saturating_add(longest).min(text.len()))
}

/// From `at` on; 0 if no word starts there.
fn find_word_start(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    if at == 0 {
        return 0;
    }
    let near = &bytes[at - 1..bytes.len().min(at + LONGEST_WORD)];
    let found = match near.iter().position(u8::is_ascii_whitespace) {
        Some(space) => {
            let rest = bytes[at + space..].iter().position(|byte| !byte.is_ascii_whitespace());
            rest.map(|skipped| at + space + skipped)
        }
        None => (at..bytes.len()).find(|place| text.is_char_boundary(*place)),
    };
    found.unwrap_or(0)
}

/// Up to `at`; `start` if no word ends there.
fn find_word_end(text: &str, start: usize, at: usize) -> usize {
    let bytes = text.as_bytes();
    if at == bytes.len() {
        return at;
    }
    let least = start.max(at.saturating_sub(LONGEST_WORD)) + 1;
    let space = (least..=at).rev().find(|place| bytes[*place].is_ascii_whitespace());
    let character = || (start..=at).rev().find(|place| text.is_char_boundary(*place));
    space.or_else(character).unwrap_or(start)
}

fn open_file(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    File::open(path)
}
