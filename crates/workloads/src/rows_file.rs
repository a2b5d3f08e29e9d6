//! Rows from a user's file of titles and texts: read as a stream, in order, never whole in memory.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bakeoff_engines::Result;
use serde::{Deserialize, Serialize};

use self::records::{Format, OmissionCounts, read_records};
use self::text_sample::{FEWEST_BYTES, TextSample};
use crate::fnv::{START, add_to_hash};
use crate::{RowsError, SourceError, seed_stream};

pub use self::collection::{COLLECTIONS, Collection};
pub use self::unpack::unpack;

mod collection;
mod dictionary;
mod records;
#[cfg(test)]
mod tests;
mod text_sample;
mod unpack;

/// Takes a title and a text.
pub type ArticleCallback<'a> = dyn FnMut(&str, &str) -> Result<()> + 'a;

const GENERATED: u64 = u64::MAX;

/// A file of titles and texts, surveyed once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowsFile {
    path: PathBuf,
    state: FileFingerprint,
    index: Option<FileFingerprint>,
    fingerprint: u64,
    rows: u64,
    bytes: u64,
    skipped: OmissionCounts,
}

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
        // A pipe blocks, and can be read only once.
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
    /// Reads and counts the whole file, once in a process while it doesn't change. Errors name the
    /// line.
    pub fn survey(path: &Path) -> std::result::Result<Self, SourceError> {
        static KNOWN: Mutex<Vec<RowsFile>> = Mutex::new(Vec::new());
        let state =
            FileFingerprint::from_path(path).map_err(|error| unreadable_error(path, &error))?;
        let index = dictionary::index_of(path);
        let index = index.map(|index| {
            FileFingerprint::from_path(&index).map_err(|error| unreadable_error(&index, &error))
        });
        let index = index.transpose()?;
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |file: &&Self| file.path == path && file.state == state && file.index == index;
        if let Some(file) = known.iter().find(same) {
            return Ok(file.clone());
        }
        let file = Self::read_whole(path, state, index)?;
        known.push(file.clone());
        Ok(file)
    }

    fn read_whole(
        path: &Path,
        state: FileFingerprint,
        index: Option<FileFingerprint>,
    ) -> std::result::Result<Self, SourceError> {
        if state.bytes == 0 {
            return Err(SourceError::new(format!("it is empty; {VALID}")).in_file(path));
        }
        let skipped = OmissionCounts::default();
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
            let read = fs::read(&index).map_err(|error| unreadable_error(&index, &error))?;
            hash.set(add_to_hash(START, &read));
        }
        let (mut rows, mut bytes) = (0, 0);
        let read = file.read_records(&hash, &mut |title, text| {
            rows += 1;
            bytes += (title.len() + text.len()) as u64;
            Ok(true)
        });
        // A change while reading is the real cause of broken records.
        file.check_unchanged("while it was read")?;
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

    /// Adds what is read to a hash; `take` returns whether it wants more.
    fn read_records(
        &self,
        hash: &Cell<u64>,
        take: &mut dyn FnMut(&str, &str) -> Result<bool>,
    ) -> std::result::Result<OmissionCounts, RowsError> {
        let path = &*self.path;
        let unreadable = |error: io::Error| unreadable_error(path, &error);
        let source = HashingReader { inner: File::open(path).map_err(unreadable)?, hash };
        let source = unpack(source).map_err(unreadable)?;
        let read = match dictionary::index_of(path) {
            Some(index) => dictionary::read_rows(&index, source, take),
            None => read_records(source, Format::from_path(path), take),
        };
        read.map_err(|error| error.in_file(path))
    }

    /// Gives `count` rows: first the file's, in order, then [generated](Self::count_generated) ones, none
    /// of them twice. Fails if the file has changed.
    pub fn give_rows(
        &self,
        count: u64,
        seed: u64,
        take: &mut ArticleCallback<'_>,
    ) -> std::result::Result<(), RowsError> {
        self.check_holds(count, count)?;
        self.check_unchanged("after the run was planned")?;
        let generated = self.count_generated(count);
        let mut sample = (generated > 0).then(|| TextSample::new(self.bytes));
        let mut left = count;
        let read = self.read_records(&Cell::new(START), &mut |title, text| {
            take(title, text)?;
            if let Some(sample) = &mut sample {
                sample.add_row(title, text);
            }
            left -= 1;
            Ok(left > 0)
        });
        if let Err(RowsError::Refused(error)) = read {
            return Err(error.into());
        }
        self.check_unchanged("while it was read")?;
        read?;
        let Some(sample) = sample else { return Ok(()) };
        let made = sample.give_rows(generated, &mut seed_stream(seed, GENERATED), take);
        made.map_err(|error| error.in_file(&self.path))
    }

    fn check_unchanged(&self, when: &str) -> std::result::Result<(), SourceError> {
        check_unchanged(&self.path, self.state, when)?;
        match (dictionary::index_of(&self.path), self.index) {
            (Some(path), Some(state)) => check_unchanged(&path, state, when),
            _ => Ok(()),
        }
    }

    /// Fails if it has too few rows and too little text to generate the rest. `fewest` is what the
    /// smallest scale takes.
    pub fn check_holds(&self, count: u64, fewest: u64) -> std::result::Result<(), SourceError> {
        if self.count_generated(count) == 0 || self.bytes >= FEWEST_BYTES {
            return Ok(());
        }
        let smaller = if self.count_generated(fewest) == 0 { "a smaller scale, or " } else { "" };
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

    /// Fails if any line was skipped.
    pub fn check_whole(&self) -> std::result::Result<(), SourceError> {
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

    /// How many of `count` rows are generated.
    pub fn count_generated(&self, count: u64) -> u64 {
        count.saturating_sub(self.rows)
    }

    fn skipped_in_words(&self) -> String {
        self.skipped.in_words(if self.index.is_some() { "article" } else { "line" })
    }

    /// Bytes of `count` rows, by their mean in the file.
    pub fn bytes_of(&self, count: u64) -> u64 {
        let bytes = u128::from(self.bytes) * u128::from(count) / u128::from(self.rows);
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// A hash of the file's content.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// `, the first line among them`; empty where nobody could take it for the names of columns.
    fn header_in_words(&self) -> &'static str {
        if Format::from_path(&self.path) == Format::Csv && !self.skipped.header {
            ", the first line among them (it does not name `title` and `text`)"
        } else {
            ""
        }
    }

    /// Describes it for a report, with the rows at scales that it [has](Self::check_holds) enough
    /// for.
    pub fn describe(&self, scales: &[(&str, u64)]) -> String {
        let collection = COLLECTIONS.iter().find(|it| Path::new(it.path) == self.path);
        let name = collection
            .map_or(String::new(), |it| format!("{}, Debian's package {}: ", it.name, it.package));
        let what = if self.index.is_some() { " of whole articles" } else { "" };
        let mut told = format!(
            "rows from {name}{} ({} bytes, fingerprint {:016x}): {} rows{what}{}{}, {} bytes each on average",
            self.path.display(),
            self.state.bytes,
            self.fingerprint,
            self.rows,
            self.header_in_words(),
            self.skipped_in_words(),
            self.bytes_of(1),
        );
        let held = scales.iter().filter(|(_, count)| self.check_holds(*count, *count).is_ok());
        for (scale, count) in held {
            told += &match self.count_generated(*count) {
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

const VALID: &str = "give lines of title TAB text, or a .csv or .jsonl file of titles and texts; plain, gzip \
                     or zstd";

fn unreadable_error(path: &Path, error: &io::Error) -> SourceError {
    SourceError::new(format!("the file of rows can't be read: {error}")).in_file(path)
}

fn check_unchanged(
    path: &Path,
    then: FileFingerprint,
    when: &str,
) -> std::result::Result<(), SourceError> {
    let now = FileFingerprint::from_path(path).map_err(|error| unreadable_error(path, &error))?;
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

struct HashingReader<'a, R> {
    inner: R,
    hash: &'a Cell<u64>,
}

impl<R: Read> Read for HashingReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hash.set(add_to_hash(self.hash.get(), &buffer[..count]));
        Ok(count)
    }
}
