//! Faults on demand: calls that fail, and a disk that is full.
//!
//! A fault is written as text:
//! - `read:N:ERROR:PATH`, `write:N:ERROR:PATH`, `fsync:N:ERROR:PATH`: from now on the `N`-th such
//!   call of a file whose path fits `PATH` fails, once, with `EIO` or `ENOSPC`. A path starts in
//!   the disk's root, without a slash; `*` stands for any letters and `?` for one. A pattern
//!   without a slash is held against the file's name; `.` is the root itself. `write` is also what
//!   changes a size or allocates; `fsync` is also `fdatasync`, the sync of a folder, and a write
//!   with `O_SYNC` or `O_DSYNC`;
//! - `full:BYTES`: the disk holds no more than so many bytes, as `20M`, rounded up to blocks by the
//!   backing file system; `full:off`: as many as the backing file system;
//! - `off`: none of those that were to come, and the disk is not full.
//!
//! A write that fails changes nothing. A sync that fails drops what was written since the last
//! sync that did not, as Linux does: the next sync succeeds, the application still reads what it
//! wrote, and a cut of the power takes it, but for the sectors that are written again.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bakeoff_devices::size::size_of;
use rustix::io::Errno;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FallibleCall {
    Read,
    Write,
    Fsync,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFault {
    pub call: FallibleCall,
    /// From 1 on.
    pub nth: u64,
    pub error: Errno,
    pub path: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultRule {
    Call(CallFault),
    /// Bytes that the disk holds at most; `None` for as many as it can.
    Full(Option<u64>),
    Off,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a fault: {why}; write read:N:EIO:PATH (or write or fsync, or ENOSPC), \
     full:BYTES or off"
)]
pub struct FaultError {
    text: String,
    why: String,
}

impl FromStr for FaultRule {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let rule = match text.split_once(':') {
            None if text == "off" => Ok(Self::Off),
            Some(("full", "off")) => Ok(Self::Full(None)),
            Some(("full", bytes)) => size_of(bytes)
                .map(|bytes| Self::Full(Some(bytes)))
                .ok_or_else(|| format!("`{bytes}` is not a number of bytes, as 4096, 20M or 2G")),
            _ => parse_call(text).map(Self::Call),
        };
        rule.map_err(|why| FaultError { text: text.to_owned(), why })
    }
}

fn parse_call(text: &str) -> Result<CallFault, String> {
    let mut parts = text.splitn(4, ':');
    let mut part = || parts.next().unwrap_or_default();
    let call = match part() {
        "read" => FallibleCall::Read,
        "write" => FallibleCall::Write,
        "fsync" => FallibleCall::Fsync,
        other => return Err(format!("there is none of `{other}`")),
    };
    let nth = part();
    let nth = nth.parse().ok().filter(|nth| *nth > 0);
    let nth = nth.ok_or("N is which of the calls to come, from 1 on")?;
    let error = match part() {
        "EIO" => Errno::IO,
        "ENOSPC" => Errno::NOSPC,
        _ => return Err("the error is EIO or ENOSPC".to_owned()),
    };
    let path = part();
    if path != "." && path.split('/').any(|name| ["", ".", ".."].contains(&name)) {
        return Err(format!("no path fits `{path}`: it starts in the disk's root, as log or db/*"));
    }
    Ok(CallFault { call, nth, error, path: path.to_owned() })
}

/// A rule with a path through the mountpoint, as one writes it in a shell, rewritten to start in
/// the disk's root.
pub(crate) fn strip_mountpoint(rule: &str, mountpoint: &Path) -> String {
    let Some((colon, _)) = rule.match_indices(':').nth(2) else { return rule.to_owned() };
    let (head, path) = rule.split_at(colon + 1);
    let from_here = || {
        let first = path.split_once('/')?.0;
        let here = std::env::current_dir().ok()?;
        // A user whose current folder is inside, or who names something that is there, means the
        // disk.
        let inside = here.starts_with(mountpoint) || mountpoint.join(first).exists();
        (!inside).then(|| here.join(path))
    };
    let absolute = Path::new(path).is_absolute().then(|| path.into()).or_else(from_here);
    let inside = absolute.as_deref().and_then(|path| path.strip_prefix(mountpoint).ok());
    match inside.and_then(Path::to_str) {
        Some("") => format!("{head}."),
        Some(inside) => format!("{head}{inside}"),
        None => rule.to_owned(),
    }
}

impl FaultRule {
    /// Returns a sentence without its full stop.
    pub fn describe(&self) -> String {
        match self {
            Self::Full(Some(bytes)) => format!("the disk holds no more than {bytes} bytes"),
            Self::Full(None) => "the disk is as large as its folder's file system".to_owned(),
            Self::Off => "no fault is to come".to_owned(),
            Self::Call(CallFault { call, nth, error, path }) => format!(
                "{call} number {nth} from now of what fits `{path}` fails with {}, once",
                error_name(*error)
            ),
        }
    }
}

impl fmt::Display for FallibleCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Fsync => "fsync",
        })
    }
}

fn error_name(error: Errno) -> &'static str {
    if error == Errno::NOSPC { "ENOSPC" } else { "EIO" }
}

impl fmt::Display for FaultRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(Some(bytes)) => write!(f, "full:{bytes}"),
            Self::Full(None) => f.write_str("full:off"),
            Self::Off => f.write_str("off"),
            Self::Call(CallFault { call, nth, error, path }) => {
                write!(f, "{call}:{nth}:{}:{path}", error_name(*error))
            }
        }
    }
}

#[derive(Default)]
pub(crate) struct CallFaults {
    any: AtomicBool,
    rules: Mutex<Vec<CallFault>>,
}

impl CallFaults {
    pub fn add(&self, fault: CallFault) {
        let mut rules = self.lock_rules();
        rules.push(fault);
        self.any.store(true, Ordering::Release);
    }

    pub fn clear(&self) {
        let mut rules = self.lock_rules();
        rules.clear();
        self.any.store(false, Ordering::Release);
    }

    pub fn to_come(&self) -> Vec<CallFault> {
        self.lock_rules().clone()
    }

    fn lock_rules(&self) -> MutexGuard<'_, Vec<CallFault>> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call of the file at `path`, and fails if a fault is due. That fault is then over.
    pub fn check_call(
        &self,
        call: FallibleCall,
        path: impl FnOnce() -> Option<PathBuf>,
    ) -> Result<(), Errno> {
        if !self.any.load(Ordering::Acquire) {
            return Ok(());
        }
        let Some(path) = path() else { return Ok(()) };
        let mut rules = self.lock_rules();
        let mut struck = Ok(());
        for rule in
            rules.iter_mut().filter(|rule| rule.call == call && path_matches(&rule.path, &path))
        {
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

pub(crate) fn path_matches(pattern: &str, path: &Path) -> bool {
    // The root has no name of its own.
    let whole = if path == Path::new("") { OsStr::new(".") } else { path.as_os_str() };
    let text = if pattern.contains('/') { whole } else { path.file_name().unwrap_or(whole) };
    text_matches(pattern.as_bytes(), text.as_encoded_bytes())
}

/// `*` and `?` in a pattern. Only the last star is ever tried again, so that this takes no more
/// than the product of the two lengths.
fn text_matches(pattern: &[u8], text: &[u8]) -> bool {
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
        for text in [
            "read:1:EIO:*",
            "write:7:ENOSPC:a/b*.ibd",
            "fsync:2:EIO:x:y",
            "full:4096",
            "full:off",
            "off",
            "fsync:1:EIO:.",
        ] {
            let rule: FaultRule = text.parse().unwrap();
            assert_eq!(rule.to_string(), text);
        }
        for (text, bytes) in [("full:20M", 20 << 20), ("full:1G", 1 << 30), ("full:0", 0)] {
            assert_eq!(text.parse(), Ok(FaultRule::Full(Some(bytes))));
        }
        for (text, why) in [
            ("", "none of ``"),
            ("read", "from 1 on"),
            ("read:0:EIO:x", "from 1 on"),
            ("read:1:EPERM:x", "EIO or ENOSPC"),
            ("read:1:EIO:", "no path fits ``"),
            ("read:1:EIO:/m/log", "no path fits `/m/log`: it starts in the disk's root"),
            ("read:1:EIO:../log", "no path fits"),
            ("read:1:EIO:a//log", "no path fits"),
            ("full:20X", "`20X` is not a number of bytes, as 4096, 20M"),
            ("stat:1:EIO:x", "none of `stat`"),
        ] {
            let error = text.parse::<FaultRule>().unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("read:N:EIO:PATH"), "{text}: {error}");
        }
    }

    #[test]
    fn paths_of_a_shell_are_taken_from_the_disk_s_root_on() {
        let place = tempfile::tempdir().unwrap();
        let at = place.path();
        let rule = |path: &str| format!("fsync:1:EIO:{path}");
        let whole = |path: &str| rule(at.join(path).to_str().unwrap());
        assert_eq!(strip_mountpoint(&whole("db/*"), at), rule("db/*"));
        assert_eq!(strip_mountpoint(&whole(""), at), rule("."));
        let here = std::env::current_dir().unwrap();
        assert_eq!(strip_mountpoint(&rule("m/log"), &here.join("m")), rule("log"));
        for other in [rule("m/log"), rule("/elsewhere/log"), rule("log"), "full:4096".to_owned()] {
            assert_eq!(strip_mountpoint(&other, at), other);
        }
    }

    #[test]
    fn a_fault_strikes_the_nth_call_once_unless_it_is_taken_back() {
        let faults = CallFaults::default();
        let Ok(FaultRule::Call(call)) = "write:3:ENOSPC:*.log".parse() else {
            panic!("it is a call")
        };
        faults.add(call.clone());
        let write = |path: &str| faults.check_call(FallibleCall::Write, || Some(path.into()));
        assert_eq!(write("d/a.log"), Ok(()));
        assert_eq!(write("d/a.dat"), Ok(()));
        assert_eq!(faults.check_call(FallibleCall::Read, || Some("a.log".into())), Ok(()));
        assert_eq!(faults.to_come(), [CallFault { nth: 2, ..call.clone() }]);
        assert_eq!(write("b.log"), Ok(()));
        assert_eq!(write("d/a.log"), Err(Errno::NOSPC));
        assert_eq!(write("d/a.log"), Ok(()));
        faults.add(CallFault { nth: 1, ..call });
        faults.clear();
        assert_eq!(write("d/a.log"), Ok(()));
    }

    #[test]
    fn patterns_fit_names_or_whole_paths() {
        let fit = |pattern, path: &str| path_matches(pattern, Path::new(path));
        assert!(fit("*", "a/b") && fit("b", "a/b") && fit("a/b", "a/b") && fit("a/*", "a/b/c"));
        assert!(fit(".", "") && fit("*", "") && !fit(".", "a"));
        assert!(fit("ib*file?", "x/ib_logfile0") && fit("*a*b", "xaabab"));
        assert!(!fit("a", "a/b") && !fit("/b", "a/b") && !fit("a?", "a") && !fit("*a*b", "xaaba"));
    }
}
