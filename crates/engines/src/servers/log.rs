//! A server's log: its output, in a file.

use std::fs::File;
use std::os::unix::fs::FileExt;

use bakeoff_folders::Dir;

use crate::servers::{Error, Result};

const LINES: usize = 40;
const TAIL: u64 = 16 << 10;

const NAME: &str = "log";

/// A log from where its present writer began. It is held open, since the server can change its
/// folder.
#[derive(Debug)]
pub struct ServerLog {
    file: File,
    start: u64,
}

impl ServerLog {
    pub fn open(folder: &Dir) -> Result<(Self, File)> {
        let path = folder.path().join(NAME);
        let error = || Error::at_path("open the log", &path);
        let file = folder.open_for_append(NAME).map_err(error())?;
        let start = file.metadata().map_err(error())?.len();
        let output = file.try_clone().map_err(error())?;
        Ok((Self { file, start }, output))
    }

    pub fn read_tail(&self) -> String {
        let read = || {
            let end = self.file.metadata()?.len();
            let mut bytes = vec![0; TAIL as usize];
            // The server writes by the same descriptor, so its position must not move.
            let from = self.start.max(end.saturating_sub(TAIL));
            let read = self.file.read_at(&mut bytes, from)?;
            bytes.truncate(read);
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
        std::fs::write(folder.path().join(NAME), "of another one\n").expect("a log");
        let folder = Dir::open(folder.path()).expect("a folder");
        let (log, mut file) = ServerLog::open(&folder).expect("a log");
        assert_eq!(log.read_tail(), "");
        writeln!(file, "first").expect("room");
        assert_eq!(log.read_tail(), "first");
        for line in 0..10_000 {
            writeln!(file, "line {line}").expect("room");
        }
        let tail = log.read_tail();
        assert_eq!(tail.lines().count(), LINES);
        assert!(
            tail.starts_with(&format!("line {}\n", 10_000 - LINES))
                && tail.ends_with("\nline 9999"),
            "{tail}"
        );
    }
}
