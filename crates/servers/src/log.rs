//! A server's log: what it says on its output, in a file.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// How many of its last lines go into a message.
const LINES: usize = 40;
/// How much of its end is read for them, in bytes.
const TAIL: u64 = 16 << 10;

/// A log, from where its present writer began.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    start: u64,
}

impl Log {
    /// Opens a log, to append to it; what is in it already does not count.
    pub fn open(path: &Path) -> Result<(Self, File)> {
        let error = || Error::at("open the log", path);
        let file = File::options().create(true).append(true).open(path).map_err(error())?;
        let start = file.metadata().map_err(error())?.len();
        Ok((Self { path: path.into(), start }, file))
    }

    /// The last lines; empty when it can't be read.
    pub fn tail(&self) -> String {
        let read = || {
            let mut file = File::open(&self.path)?;
            let end = file.metadata()?.len();
            file.seek(SeekFrom::Start(self.start.max(end.saturating_sub(TAIL))))?;
            let mut bytes = Vec::new();
            file.take(TAIL).read_to_end(&mut bytes)?;
            std::io::Result::Ok(bytes)
        };
        let text = read().unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_tail_is_the_last_lines_of_the_present_writer() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        std::fs::write(&path, "of another one\n").expect("a log");
        let (log, mut file) = Log::open(&path).expect("a log");
        assert_eq!(log.tail(), "");
        writeln!(file, "first").expect("room");
        assert_eq!(log.tail(), "first");
        for line in 0..10_000 {
            writeln!(file, "line {line}").expect("room");
        }
        let tail = log.tail();
        assert_eq!(tail.lines().count(), LINES);
        assert!(
            tail.starts_with(&format!("line {}\n", 10_000 - LINES))
                && tail.ends_with("\nline 9999"),
            "{tail}"
        );
    }
}
