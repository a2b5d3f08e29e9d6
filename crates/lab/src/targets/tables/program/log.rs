//! What an application's programs write to standard output and standard error: the beginning is
//! kept in a file of the run folder, and the end is shown where a program fails.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write as _};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The most bytes that all trials of a run keep together.
const MOST_KEPT: u64 = 1 << 20;
const MOST_SHOWN: usize = 600;

/// The file that programs of a trial share; without one nothing is kept.
#[derive(Debug, Default)]
pub struct ProgramLog {
    path: Option<PathBuf>,
    writing: Mutex<()>,
}

impl ProgramLog {
    pub fn new(path: Option<PathBuf>) -> Self {
        Self { path, writing: Mutex::default() }
    }

    fn keep(&self, name: &str, text: &[u8]) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let _alone = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = File::options().append(true).create(true).open(path)?;
        let left = MOST_KEPT.saturating_sub(file.metadata()?.len()) as usize;
        let mut lines = Vec::with_capacity(text.len() + 2 * name.len());
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            lines.extend_from_slice(format!("{name}: ").as_bytes());
            lines.extend_from_slice(line.strip_suffix(b"\n").unwrap_or(line));
            lines.push(b'\n');
        }
        file.write_all(&lines[..lines.len().min(left)])
    }
}

/// One program's output. It is read wherever the program is waited for, so that a full pipe doesn't
/// stop the program.
#[derive(Debug)]
pub struct ProgramOutput<'l> {
    log: &'l ProgramLog,
    name: String,
    /// `None`: the program has closed it.
    pub pipe: Option<PipeReader>,
    tail: Vec<u8>,
    /// Bytes so far.
    pub count: u64,
}

impl<'l> ProgramOutput<'l> {
    pub fn new(log: &'l ProgramLog, name: String) -> io::Result<(Self, PipeWriter)> {
        let (reader, writer) = io::pipe()?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        Ok((Self { log, name, pipe: Some(reader), tail: Vec::new(), count: 0 }, writer))
    }

    /// Takes what is there, and waits for nothing.
    pub fn read_more(&mut self) {
        let mut buffer = [0; 16 << 10];
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(read) => self.add(&buffer[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.pipe = None,
            }
        }
    }

    fn add(&mut self, text: &[u8]) {
        self.count += text.len() as u64;
        if let Err(error) = self.log.keep(&self.name, text) {
            tracing::warn!(%error, "a program's output can't be kept");
        }
        self.tail.extend_from_slice(text);
        let surplus = self.tail.len().saturating_sub(MOST_SHOWN);
        self.tail.drain(..surplus);
    }

    /// The last that it wrote, as the end of a message; empty if that is nothing.
    pub fn describe_tail(&self) -> String {
        let text = String::from_utf8_lossy(&self.tail);
        match text.trim() {
            "" => String::new(),
            text => format!("; it wrote:\n{text}"),
        }
    }
}
