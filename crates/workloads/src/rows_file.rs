//! Rows from a file of the user's: titles and texts, read in a stream, in order, never whole in memory.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bakeoff_engines::Result;
use serde::{Deserialize, Serialize};

use self::records::{Format, Skipped, records};
use self::spliced::{FEWEST_BYTES, TextSample};
use self::unpack::unpack;
use crate::{RowsError, SourceError, stream};

pub use self::collection::{COLLECTIONS, Collection};

mod collection;
mod dictionary;
mod records;
mod spliced;
#[cfg(test)]
mod tests;
mod unpack;

/// Takes a title and a text, or says why not.
pub type TakeArticle<'a> = dyn FnMut(&str, &str) -> Result<()> + 'a;

/// The number of the stream that generates rows, apart from those of tables and clients.
const GENERATED: u64 = u64::MAX;

/// A file of titles and texts that was read once as a whole: what it holds, and which state of it that
/// was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowsFile {
    path: PathBuf,
    state: FileFingerprint,
    /// Of a dictionary, the state of its index.
    index: Option<FileFingerprint>,
    fingerprint: u64,
    rows: u64,
    bytes: u64,
    skipped: Skipped,
}

/// What tells whether a file was changed or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileFingerprint {
    device: u64,
    inode: u64,
    bytes: u64,
    modified_s: i64,
    modified_ns: i64,
}

impl FileFingerprint {
    fn from_path(path: &Path) -> io::Result<Self> {
        // A pipe would be waited for, and could be read only once.
        let metadata = fs::metadata(path)?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        Ok(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified_s: metadata.mtime(),
            modified_ns: metadata.mtime_nsec(),
        })
    }
}

impl RowsFile {
    /// Reads the whole file, and counts: once in a process, as long as the file doesn't change.
    ///
    /// # Errors
    /// A file that can't be read, is empty, binary or broken, holds no row, or changes meanwhile; with the
    /// line where there is one.
    pub fn survey(path: &Path) -> std::result::Result<Self, SourceError> {
        static KNOWN: Mutex<Vec<RowsFile>> = Mutex::new(Vec::new());
        let state = FileFingerprint::from_path(path).map_err(|error| unreadable(path, &error))?;
        let index = dictionary::index_of(path);
        let index = index.map(|index| {
            FileFingerprint::from_path(&index).map_err(|error| unreadable(&index, &error))
        });
        let index = index.transpose()?;
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |file: &&Self| file.path == path && file.state == state && file.index == index;
        if let Some(file) = known.iter().find(same) {
            return Ok(file.clone());
        }
        let file = Self::read(path, state, index)?;
        known.push(file.clone());
        Ok(file)
    }

    fn read(
        path: &Path,
        state: FileFingerprint,
        index: Option<FileFingerprint>,
    ) -> std::result::Result<Self, SourceError> {
        if state.bytes == 0 {
            return Err(SourceError::new(format!("it is empty; {VALID}")).in_file(path));
        }
        let skipped = Skipped::default();
        let mut file = Self {
            path: path.into(),
            state,
            index,
            fingerprint: START,
            rows: 0,
            bytes: 0,
            skipped,
        };
        let hash = Cell::new(START);
        if let Some(index) = dictionary::index_of(path) {
            let read = fs::read(&index).map_err(|error| unreadable(&index, &error))?;
            hash.set(read.iter().fold(START, |hash, byte| fnv(hash, *byte)));
        }
        let (mut rows, mut bytes) = (0, 0);
        let read = file.records(&hash, &mut |title, text| {
            rows += 1;
            bytes += (title.len() + text.len()) as u64;
            Ok(true)
        });
        // Where it was changed, that is why it looks broken.
        file.unchanged("while it was read")?;
        file.skipped = read.map_err(|error| match error {
            RowsError::Source(error) => error,
            RowsError::Refused(error) => SourceError::new(error).in_file(path),
        })?;
        (file.rows, file.bytes, file.fingerprint) = (rows, bytes, hash.get());
        if file.rows == 0 {
            let what = format!("it holds no row{}; {VALID}", file.skipped_in_words());
            return Err(SourceError::new(what).in_file(path));
        }
        Ok(file)
    }

    /// Gives the records of the file as it is now, until `take` answers that it wants no more; adds what is
    /// read to a hash.
    fn records(
        &self,
        hash: &Cell<u64>,
        take: &mut dyn FnMut(&str, &str) -> Result<bool>,
    ) -> std::result::Result<Skipped, RowsError> {
        let path = &*self.path;
        let unreadable = |error: io::Error| unreadable(path, &error);
        let source = Hashed { inner: File::open(path).map_err(unreadable)?, hash };
        let source = unpack(source).map_err(unreadable)?;
        let read = match dictionary::index_of(path) {
            Some(index) => dictionary::rows(&index, source, take),
            None => records(source, Format::from_path(path), take),
        };
        read.map_err(|error| match error {
            RowsError::Source(error) => error.in_file(path).into(),
            refused @ RowsError::Refused(_) => refused,
        })
    }

    /// Gives `count` rows: the file's, in order, and where it has fewer, more that are
    /// [generated](Self::generates) by the seed from its words, none of them twice.
    ///
    /// # Errors
    /// A file that is not as it was when it was read as a whole, changes meanwhile, or holds too little to
    /// generate rows from; whatever `take` returns.
    pub fn each(
        &self,
        count: u64,
        seed: u64,
        take: &mut TakeArticle<'_>,
    ) -> std::result::Result<(), RowsError> {
        self.holds(count, count)?;
        self.unchanged("after the run was planned")?;
        let generated = self.generates(count);
        let mut sample = (generated > 0).then(|| TextSample::new(self.bytes));
        let mut left = count;
        let read = self.records(&Cell::new(START), &mut |title, text| {
            take(title, text)?;
            if let Some(sample) = &mut sample {
                sample.add(title, text);
            }
            left -= 1;
            Ok(left > 0)
        });
        if let Err(RowsError::Refused(error)) = read {
            return Err(error.into());
        }
        self.unchanged("while it was read")?;
        read?;
        let Some(sample) = sample else { return Ok(()) };
        let made = sample.each(generated, &mut stream(seed, GENERATED), take);
        made.map_err(|error| match error {
            RowsError::Source(error) => error.in_file(&self.path).into(),
            refused @ RowsError::Refused(_) => refused,
        })
    }

    /// Checks that the file, and a dictionary's index, are as they were.
    fn unchanged(&self, when: &str) -> std::result::Result<(), SourceError> {
        unchanged(&self.path, self.state, when)?;
        match (dictionary::index_of(&self.path), self.index) {
            (Some(path), Some(state)) => unchanged(&path, state, when),
            _ => Ok(()),
        }
    }

    /// Whether it holds so many rows, or enough text to generate the rest from. `fewest` is how many the smallest
    /// scale takes.
    ///
    /// # Errors
    /// It says how many there are, and names a smaller scale where it has enough for one.
    pub fn holds(&self, count: u64, fewest: u64) -> std::result::Result<(), SourceError> {
        if self.generates(count) == 0 || self.bytes >= FEWEST_BYTES {
            return Ok(());
        }
        let smaller = if self.generates(fewest) == 0 { "a smaller scale, or " } else { "" };
        let what = format!(
            "it holds {} rows of {} bytes in all{}, and {count} are needed; name {smaller}a longer file (of {} \
             MB of text and more, the missing rows are generated from its words)",
            self.rows,
            self.bytes,
            self.skipped_in_words(),
            FEWEST_BYTES / 1_000_000,
        );
        Err(SourceError::new(what).in_file(&self.path))
    }

    /// Whether every line of it is a row.
    ///
    /// # Errors
    /// The first that was skipped, and how many were.
    pub fn whole(&self) -> std::result::Result<(), SourceError> {
        let Some((number, why)) = self.skipped.first else { return Ok(()) };
        let (which, of) = match self.index {
            Some(_) => (format!("its article {number}"), "article"),
            None => ("it".to_owned(), "line"),
        };
        let error = SourceError::new(format!(
            "{which} is {}, and no {of} may be skipped{}; mend the file, or leave out --rows-strict \
             (`rows_strict`)",
            why.in_words(),
            self.skipped.in_words(of)
        ));
        let error = if self.index.is_none() { error.at_line(number) } else { error };
        Err(error.in_file(&self.path))
    }

    /// How many of so many rows are generated, because it has fewer.
    pub fn generates(&self, count: u64) -> u64 {
        count.saturating_sub(self.rows)
    }

    fn skipped_in_words(&self) -> String {
        self.skipped.in_words(if self.index.is_some() { "article" } else { "line" })
    }

    /// Bytes of the titles and texts of so many rows, by their mean in the file.
    pub fn bytes_of(&self, count: u64) -> u64 {
        let bytes = u128::from(self.bytes) * u128::from(count) / u128::from(self.rows);
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Tells the file's content from others'.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// What a report says of it, and of the rows at scales of so many, as far as it [has](Self::holds) them.
    pub fn describe(&self, scales: &[(&str, u64)]) -> String {
        let collection = COLLECTIONS.iter().find(|it| Path::new(it.path) == self.path);
        let name = collection
            .map_or(String::new(), |it| format!("{}, Debian's package {}: ", it.name, it.package));
        let what = if self.index.is_some() { " of whole articles" } else { "" };
        let mut told = format!(
            "rows from {name}{} ({} bytes, fingerprint {:016x}): {} rows{what}{}, {} bytes each on average",
            self.path.display(),
            self.state.bytes,
            self.fingerprint,
            self.rows,
            self.skipped_in_words(),
            self.bytes_of(1),
        );
        let held = scales.iter().filter(|(_, count)| self.holds(*count, *count).is_ok());
        for (scale, count) in held {
            told += &match self.generates(*count) {
                0 => format!("; {scale}: the first {count} of them"),
                generated => format!(
                    "; {scale}: all {} of them and {generated} generated from their words, as long as they \
                     are",
                    self.rows
                ),
            };
        }
        told
    }
}

/// What a file of rows may be.
const VALID: &str = "give lines of title TAB text, or a .csv or .jsonl file of titles and texts; plain, gzip \
                     or zstd";

fn unreadable(path: &Path, error: &io::Error) -> SourceError {
    SourceError::new(format!("the file of rows can't be read: {error}")).in_file(path)
}

/// Checks that a file is as it was.
fn unchanged(
    path: &Path,
    then: FileFingerprint,
    when: &str,
) -> std::result::Result<(), SourceError> {
    let now = FileFingerprint::from_path(path).map_err(|error| unreadable(path, &error))?;
    if now == then {
        return Ok(());
    }
    let how = if now.bytes == then.bytes {
        format!("it was written anew, with {} bytes as before", now.bytes)
    } else {
        format!("it had {} bytes, and has {} now", then.bytes, now.bytes)
    };
    let what = format!("the file changed {when}: {how}; run again when nobody writes it");
    Err(SourceError::new(what).in_file(path))
}

/// A hash with one more byte, by FNV-1a with 64 bits.
fn fnv(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
}

/// Adds up what is read.
struct Hashed<'a, R> {
    inner: R,
    hash: &'a Cell<u64>,
}

/// The hash of nothing.
const START: u64 = 0xcbf2_9ce4_8422_2325;

impl<R: Read> Read for Hashed<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hash.set(buffer[..count].iter().fold(self.hash.get(), |hash, byte| fnv(hash, *byte)));
        Ok(count)
    }
}
