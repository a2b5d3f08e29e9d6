//! The kernel's table of mounts, and how something is taken out of it.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::mount::UnmountFlags;

/// What a disk of bakeoff's calls itself in the table (its source).
pub const SOURCE: &str = "bakeoff-disk";

/// How something is unmounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Only if nobody uses it.
    Now,
    /// It is not to be seen from now on, and goes when the last one who uses it is gone.
    Lazily,
}

/// A mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The kind of file system, as `ext4` or `fuse`.
    pub kind: String,
    /// What it is made of.
    pub source: String,
}

/// What is mounted on a path; the uppermost, if there are several.
pub fn at(path: &Path) -> Option<Entry> {
    let table = std::fs::read("/proc/self/mountinfo").ok()?;
    let lines = table.split(|byte| *byte == b'\n').rev();
    let mut entries = lines.filter_map(parse);
    entries.find_map(|(place, entry)| (place == path).then_some(entry))
}

/// Whether a disk of bakeoff's is mounted on a path.
pub fn is_ours(path: &Path) -> bool {
    at(path).is_some_and(|entry| entry.kind.starts_with("fuse") && entry.source == SOURCE)
}

/// A line of the table: see proc_pid_mountinfo(5).
fn parse(line: &[u8]) -> Option<(PathBuf, Entry)> {
    let mut words = line.split(|byte| *byte == b' ');
    let place = PathBuf::from(OsString::from_vec(unescape(words.nth(4)?)));
    let mut words = words.skip_while(|word| *word != b"-").skip(1);
    let text = |word: &[u8]| String::from_utf8_lossy(&unescape(word)).into_owned();
    Some((place, Entry { kind: text(words.next()?), source: text(words.next()?) }))
}

/// Spaces and the like are written as a backslash and three octal digits.
fn unescape(word: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let [first, tail @ ..] = rest {
        let code = rest.get(1..4).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if *first == b'\\' => {
                bytes.push(byte);
                rest = &rest[4..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    bytes
}

/// Unmounts what is on `path`: with the system call, or with FUSE's helper where that is not
/// permitted.
///
/// # Errors
/// It is in use, or may not be unmounted by this user.
pub fn unmount(path: &Path, how: How) -> io::Result<()> {
    let (flags, options): (_, &[&str]) = match how {
        How::Now => (UnmountFlags::NOFOLLOW, &["-u"]),
        How::Lazily => (UnmountFlags::NOFOLLOW | UnmountFlags::DETACH, &["-u", "-z"]),
    };
    match rustix::mount::unmount(path, flags) {
        Err(rustix::io::Errno::PERM) => {}
        other => return Ok(other?),
    }
    let mut helper = Command::new("fusermount3");
    helper.args(options).arg("--").arg(path.as_os_str()).stdin(Stdio::null());
    let output = helper.output()?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(output.stderr.trim_ascii()).into_owned();
    let kind =
        if text.contains("busy") { io::ErrorKind::ResourceBusy } else { io::ErrorKind::Other };
    Err(io::Error::new(kind, text))
}

/// The absolute path of a mountpoint, with links resolved. What is mounted there is not asked: its
/// daemon may be gone.
///
/// # Errors
/// The folder that it is in does not exist.
pub fn resolve(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => {
            let resolved = parent.canonicalize()?.join(name);
            // A link is followed unless it is a mount: then it is none.
            if at(&resolved).is_some() { Ok(resolved) } else { resolved.canonicalize() }
        }
        _ => path.canonicalize(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_their_escapes() {
        let line =
            br"36 35 98:0 /mnt1 /mnt/a\040b\134c rw,noatime master:1 - fuse.x bakeoff-disk rw";
        let (place, entry) = parse(line).unwrap();
        assert_eq!(place, Path::new(r"/mnt/a b\c"));
        assert_eq!(entry, Entry { kind: "fuse.x".into(), source: SOURCE.into() });
        assert!(parse(b"").is_none());
    }

    #[test]
    fn the_table_is_there() {
        assert_eq!(at(Path::new("/proc")).unwrap().kind, "proc");
        assert_eq!(at(Path::new("/proc/self")), None);
        assert!(!is_ours(Path::new("/proc")));
    }
}
