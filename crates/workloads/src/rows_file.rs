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
use self::unpack::unpack;
use crate::{RowsError, SourceError};

mod records;
#[cfg(test)]
mod tests;
mod unpack;

/// Takes a title and a text, or says why not.
pub type TakeArticle<'a> = dyn FnMut(&str, &str) -> Result<()> + 'a;

/// A file of titles and texts that was read once as a whole: what it holds, and which state of it that
/// was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowsFile {
    path: PathBuf,
    state: State,
    fingerprint: u64,
    rows: u64,
    bytes: u64,
    skipped: Skipped,
}

/// What tells whether a file was changed or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    device: u64,
    inode: u64,
    bytes: u64,
    modified_s: i64,
    modified_ns: i64,
}

impl State {
    fn of(path: &Path) -> io::Result<Self> {
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
        let state = State::of(path).map_err(|error| unreadable(path, &error))?;
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = known.iter().find(|file| file.path == path && file.state == state) {
            return Ok(file.clone());
        }
        let file = Self::read(path, state)?;
        known.push(file.clone());
        Ok(file)
    }

    fn read(path: &Path, state: State) -> std::result::Result<Self, SourceError> {
        let unreadable = |error: io::Error| unreadable(path, &error);
        if state.bytes == 0 {
            return Err(SourceError::new(format!("it is empty; {VALID}")).in_file(path));
        }
        let hash = Cell::new(START);
        let source = Hashed { inner: File::open(path).map_err(unreadable)?, hash: &hash };
        let (mut rows, mut bytes) = (0, 0);
        let read = unpack(source).map_err(unreadable).and_then(|source| {
            records(source, Format::of(path), &mut |title, text| {
                rows += 1;
                bytes += (title.len() + text.len()) as u64;
                Ok(true)
            })
            .map_err(|error| match error {
                RowsError::Source(error) => error.in_file(path),
                RowsError::Refused(error) => SourceError::new(error).in_file(path),
            })
        });
        // Where it was changed, that is why it looks broken.
        unchanged(path, state, "while it was read")?;
        let skipped = read?;
        if rows == 0 {
            let what = format!("it holds no row{}; {VALID}", skipped.in_words());
            return Err(SourceError::new(what).in_file(path));
        }
        Ok(Self { path: path.into(), state, fingerprint: hash.get(), rows, bytes, skipped })
    }

    /// Gives the first `count` rows, in order.
    ///
    /// # Errors
    /// A file that is not as it was when it was read as a whole, changes meanwhile, or holds fewer rows;
    /// whatever `take` returns.
    pub fn each(
        &self,
        count: u64,
        take: &mut TakeArticle<'_>,
    ) -> std::result::Result<(), RowsError> {
        let path = &*self.path;
        let unreadable = |error: io::Error| unreadable(path, &error);
        self.holds(count)?;
        unchanged(path, self.state, "after the run was planned")?;
        let source = unpack(File::open(path).map_err(unreadable)?).map_err(unreadable)?;
        let mut left = count;
        let read = records(source, Format::of(path), &mut |title, text| {
            take(title, text)?;
            left -= 1;
            Ok(left > 0)
        });
        if let Err(RowsError::Refused(error)) = read {
            return Err(error.into());
        }
        unchanged(path, self.state, "while it was read")?;
        match read {
            Err(RowsError::Source(error)) => Err(error.in_file(path).into()),
            other => other.map(|_| ()),
        }
    }

    /// Whether it holds so many rows.
    ///
    /// # Errors
    /// It says how many there are.
    pub fn holds(&self, count: u64) -> std::result::Result<(), SourceError> {
        if count <= self.rows {
            return Ok(());
        }
        let what = format!(
            "it holds {} rows{}, and {count} are needed; name a smaller scale, or a longer file",
            self.rows,
            self.skipped.in_words()
        );
        Err(SourceError::new(what).in_file(&self.path))
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

    /// What a report says of it.
    pub fn describe(&self) -> String {
        format!(
            "rows from {} ({} bytes, fingerprint {:016x}): the scale's first of its {} rows{}",
            self.path.display(),
            self.state.bytes,
            self.fingerprint,
            self.rows,
            self.skipped.in_words()
        )
    }
}

/// What a file of rows may be.
const VALID: &str = "give lines of title TAB text, or a .csv or .jsonl file of titles and texts; plain, gzip \
                     or zstd";

fn unreadable(path: &Path, error: &io::Error) -> SourceError {
    SourceError::new(format!("the file of rows can't be read: {error}")).in_file(path)
}

/// Checks that a file is as it was.
fn unchanged(path: &Path, then: State, when: &str) -> std::result::Result<(), SourceError> {
    let now = State::of(path).map_err(|error| unreadable(path, &error))?;
    if now == then {
        return Ok(());
    }
    let what = format!(
        "the file changed {when}: it had {} bytes, and has {} now; run again when nobody writes it",
        then.bytes, now.bytes
    );
    Err(SourceError::new(what).in_file(path))
}

/// Adds up what is read, by FNV-1a with 64 bits.
struct Hashed<'a, R> {
    inner: R,
    hash: &'a Cell<u64>,
}

/// The hash of nothing.
const START: u64 = 0xcbf2_9ce4_8422_2325;

impl<R: Read> Read for Hashed<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let hash = buffer[..count].iter().fold(self.hash.get(), |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        self.hash.set(hash);
        Ok(count)
    }
}
