//! Text that compresses like text: seeded, or cut from a file of the user's.
//!
//! Workloads cut slices out of one corpus in memory, so that making a row costs a copy of its
//! text and little more. A cut is a stretch of the corpus from anywhere, so two rows share text
//! only where their cuts happen to overlap. The generated corpus is 8 MiB: an engine compresses
//! pages, blocks or windows of some hundred kilobytes at most, and among so much text a cut
//! meets a part of itself a few times in a hundred, which the figures of compression hardly show.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rand::{Rng, RngExt, SeedableRng};

use crate::WorkloadRandom;
use crate::vocabulary::TextVocabulary;

/// Bytes of the generated corpus; the last paragraph may exceed it.
const GENERATED: usize = 8 << 20;
/// The same of a short one.
const SHORT: usize = 64 << 10;

/// The fewest bytes that a file must hold: with less, a compressing engine would find every row
/// repeated within its window (32 kB for deflate, 64 kB for LZ4). The generated corpus is 80
/// times as long, and a file gains from being as long.
pub const SHORTEST_FILE: usize = 100_000;

/// The most bytes that a file may hold, because it is held in memory.
pub const LONGEST_FILE: usize = 256_000_000;

/// How far from where a cut would start or end a word's boundary is looked for, in bytes; text
/// without spaces is cut between two characters.
const LONGEST_WORD: usize = 64;

/// Where a workload takes its subjects, descriptions and notes from.
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
    /// There is nothing but white space in it.
    #[error("the text file {0} is empty; name one with at least {SHORTEST_FILE} bytes of text")]
    Empty(PathBuf),
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
        /// What it holds besides white space at its ends.
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
    /// English-like text: words whose frequencies follow Zipf's law, in sentences and paragraphs.
    /// The same seed gives the same text on every machine.
    pub fn generated(seed: u64) -> Self {
        Self::of_length(seed, GENERATED)
    }

    /// So little text that it is made at once: for those who want to know a workload's statements, and none
    /// of its rows.
    pub fn short() -> Self {
        Self::of_length(0, SHORT)
    }

    fn of_length(seed: u64, least: usize) -> Self {
        let mut random = WorkloadRandom::seed_from_u64(seed);
        let vocabulary = TextVocabulary::new(&mut random);
        let mut corpus = String::with_capacity(least + 4096);
        while corpus.len() < least {
            vocabulary.paragraph(&mut random, &mut corpus);
        }
        Self { corpus, origin: Origin::Seed(seed) }
    }

    /// The text of a file.
    ///
    /// # Errors
    /// A file that is unreadable, empty, not UTF-8, too short or too long.
    pub fn from_file(path: &Path) -> Result<Self, TextError> {
        let unreadable = |source| TextError::Unreadable { path: path.into(), source };
        let mut bytes = Vec::new();
        let file = open(path).map_err(unreadable)?;
        file.take(LONGEST_FILE as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() > LONGEST_FILE {
            return Err(TextError::TooLong(path.into()));
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

    /// What a report says of it.
    pub fn describe(&self) -> String {
        match &self.origin {
            Origin::Seed(seed) => format!("generated, seed {seed}"),
            Origin::File(path) => format!(
                "{} ({} bytes, fingerprint {:016x})",
                path.display(),
                self.corpus.len(),
                fingerprint(self.corpus.as_bytes())
            ),
        }
    }

    /// A stretch from anywhere, from a word's start to a word's end, of at most `longest` bytes
    /// (so at most as many characters); shorter than that by less than a word.
    pub fn cut(&self, random: &mut impl Rng, longest: usize) -> &str {
        let last = self.corpus.len().saturating_sub(longest + LONGEST_WORD);
        let start = self.word_start(random.random_range(0..=last));
        let end = self.word_end(start, start.saturating_add(longest).min(self.corpus.len()));
        self.corpus[start..end].trim_end()
    }

    /// As [`TextSource::cut`], but without a line break: the longest line of such a stretch.
    pub fn cut_line(&self, random: &mut impl Rng, longest: usize) -> &str {
        let lines = self.cut(random, longest).lines().map(str::trim);
        lines.max_by_key(|line| line.len()).unwrap_or_default()
    }

    /// The first place from `at` on where a word starts.
    fn word_start(&self, at: usize) -> usize {
        let bytes = self.corpus.as_bytes();
        if at == 0 {
            return 0;
        }
        let near = &bytes[at - 1..bytes.len().min(at + LONGEST_WORD)];
        let found = match near.iter().position(u8::is_ascii_whitespace) {
            Some(space) => {
                let rest = bytes[at + space..].iter().position(|byte| !byte.is_ascii_whitespace());
                rest.map(|skipped| at + space + skipped)
            }
            None => (at..bytes.len()).find(|place| self.corpus.is_char_boundary(*place)),
        };
        found.unwrap_or(0)
    }

    /// The last place up to `at` where a word that starts at `start` or later ends.
    fn word_end(&self, start: usize, at: usize) -> usize {
        let bytes = self.corpus.as_bytes();
        if at == bytes.len() {
            return at;
        }
        let least = start.max(at.saturating_sub(LONGEST_WORD)) + 1;
        let space = (least..=at).rev().find(|place| bytes[*place].is_ascii_whitespace());
        let character = || (start..=at).rev().find(|place| self.corpus.is_char_boundary(*place));
        space.or_else(character).unwrap_or(start)
    }
}

/// FNV-1a with 64 bits: tells whether it is still the same text, and is the same everywhere.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
/// Opens a file, without waiting for somebody to write into a pipe.
fn open(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    File::open(path)
}
