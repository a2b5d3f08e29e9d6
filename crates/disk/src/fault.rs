//! Faults on demand: calls that fail, and a disk that is full.
//!
//! A fault is written as text:
//! - `read:N:ERROR:PATH`, `write:N:ERROR:PATH`, `fsync:N:ERROR:PATH`: from now on the `N`-th such
//!   call of a file whose path fits `PATH` fails, once, with `EIO` or `ENOSPC`. A path starts in
//!   the disk's root, without a slash; `*` stands for any letters and `?` for one. A pattern
//!   without a slash is held against the file's name. `write` is also what changes a size or
//!   allocates; `fsync` is also `fdatasync`, and a write with `O_SYNC` or `O_DSYNC`;
//! - `full:BYTES`: the disk holds no more than so many bytes, rounded up to blocks by the backing
//!   file system; `full:off`: as many as the backing file system.
//!
//! A write that fails changes nothing. A sync that fails drops what was written since the last
//! sync that did not, as Linux does: the next sync succeeds, the application still reads what it
//! wrote, and a cut of the power takes it, but for the sectors that are written again.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;

/// What can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Reading data.
    Read,
    /// Writing or allocating data, or setting a size.
    Write,
    /// Making data lasting.
    Fsync,
}

/// One call that is to fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFault {
    /// Which kind.
    pub call: Call,
    /// Which of those to come, from 1 on.
    pub nth: u64,
    /// With which error.
    pub error: Errno,
    /// Of which files: a pattern of paths.
    pub path: String,
}

/// What goes wrong; see the module's text for how it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultRule {
    /// A call fails.
    Call(CallFault),
    /// The disk holds no more than this many bytes; or as many as it can.
    Full(Option<u64>),
}

/// A text that is no fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no fault: write read:N:EIO:PATH, or write or fsync for read and ENOSPC for EIO, \
     or full:BYTES or full:off"
)]
pub struct FaultError(String);

impl FromStr for FaultRule {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let rule = match text.split_once(':') {
            Some(("full", "off")) => Some(Self::Full(None)),
            Some(("full", bytes)) => bytes.parse().ok().map(|bytes| Self::Full(Some(bytes))),
            _ => call(text).map(Self::Call),
        };
        rule.ok_or_else(|| FaultError(text.to_owned()))
    }
}

fn call(text: &str) -> Option<CallFault> {
    let mut parts = text.splitn(4, ':');
    let call = match parts.next()? {
        "read" => Call::Read,
        "write" => Call::Write,
        "fsync" => Call::Fsync,
        _ => return None,
    };
    let nth = parts.next()?.parse().ok().filter(|nth| *nth > 0)?;
    let error = match parts.next()? {
        "EIO" => Errno::IO,
        "ENOSPC" => Errno::NOSPC,
        _ => return None,
    };
    let path = parts.next().filter(|path| !path.is_empty())?.to_owned();
    Some(CallFault { call, nth, error, path })
}

impl fmt::Display for FaultRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(Some(bytes)) => write!(f, "full:{bytes}"),
            Self::Full(None) => f.write_str("full:off"),
            Self::Call(CallFault { call, nth, error, path }) => {
                let call = match call {
                    Call::Read => "read",
                    Call::Write => "write",
                    Call::Fsync => "fsync",
                };
                let error = if *error == Errno::NOSPC { "ENOSPC" } else { "EIO" };
                write!(f, "{call}:{nth}:{error}:{path}")
            }
        }
    }
}

/// The faults to come.
#[derive(Default)]
pub(crate) struct Faults {
    /// Whether there are any: read without a lock.
    any: AtomicBool,
    rules: Mutex<Vec<CallFault>>,
}

impl Faults {
    /// Adds one.
    pub fn add(&self, fault: CallFault) {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
        self.any.store(true, Ordering::Release);
    }

    /// Counts a call of the file at `path`, and fails if it is one that was to fail. A fault is
    /// over when it has struck.
    pub fn check(&self, call: Call, path: impl FnOnce() -> Option<PathBuf>) -> Result<(), Errno> {
        if !self.any.load(Ordering::Acquire) {
            return Ok(());
        }
        let Some(path) = path() else { return Ok(()) };
        let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let mut struck = Ok(());
        for rule in rules.iter_mut().filter(|rule| rule.call == call && fits(&rule.path, &path)) {
            rule.nth -= 1;
            if rule.nth == 0 {
                struck = Err(rule.error);
            }
        }
        rules.retain(|rule| rule.nth > 0);
        self.any.store(!rules.is_empty(), Ordering::Release);
        struck
    }
}

/// Whether a path fits a pattern.
fn fits(pattern: &str, path: &Path) -> bool {
    let whole = path.as_os_str();
    let text = if pattern.contains('/') { whole } else { path.file_name().unwrap_or(whole) };
    matches(pattern.as_bytes(), text.as_encoded_bytes())
}

/// Whether a text fits a pattern with `*` and `?`. Only the last star is ever tried again, so that
/// it takes no more than the product of the two lengths.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(letter) if *letter == b'?' || *letter == text[t] => (p, t) = (p + 1, t + 1),
            _ => match &mut star {
                Some((at, from)) => {
                    *from += 1;
                    (p, t) = (*at + 1, *from);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|letter| *letter == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_as_they_are_written() {
        for text in
            ["read:1:EIO:*", "write:7:ENOSPC:a/b*.ibd", "fsync:2:EIO:x:y", "full:4096", "full:off"]
        {
            let rule: FaultRule = text.parse().unwrap();
            assert_eq!(rule.to_string(), text);
        }
        for text in
            ["", "read", "read:0:EIO:x", "read:1:EPERM:x", "read:1:EIO:", "full:x", "stat:1:EIO:x"]
        {
            assert!(text.parse::<FaultRule>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_fault_strikes_the_nth_call_once() {
        let faults = Faults::default();
        let call = |text: &str| match text.parse() {
            Ok(FaultRule::Call(call)) => call,
            other => panic!("{other:?}"),
        };
        faults.add(call("write:3:ENOSPC:*.log"));
        let write = |path: &str| faults.check(Call::Write, || Some(path.into()));
        assert_eq!(write("d/a.log"), Ok(()));
        assert_eq!(write("d/a.dat"), Ok(()));
        assert_eq!(faults.check(Call::Read, || Some("a.log".into())), Ok(()));
        assert_eq!(write("b.log"), Ok(()));
        assert_eq!(write("d/a.log"), Err(Errno::NOSPC));
        assert_eq!(write("d/a.log"), Ok(()));
    }

    #[test]
    fn patterns_fit_names_or_whole_paths() {
        let fit = |pattern, path: &str| fits(pattern, Path::new(path));
        assert!(fit("*", "a/b") && fit("b", "a/b") && fit("a/b", "a/b") && fit("a/*", "a/b/c"));
        assert!(fit("ib*file?", "x/ib_logfile0") && fit("*a*b", "xaabab"));
        assert!(!fit("a", "a/b") && !fit("/b", "a/b") && !fit("a?", "a") && !fit("*a*b", "xaaba"));
    }
}
