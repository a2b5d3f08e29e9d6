//! The kernel's table of mounts, and how a mount is removed from it.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::mount::UnmountFlags;

/// How the source of a disk of bakeoff's begins in the table; the rest is where its daemon listens.
const SOURCE: &str = "bakeoff-disk:";
/// How long a file system may take to say that it is there.
const ASKING: Duration = Duration::from_secs(1);

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
pub struct MountEntry {
    /// Where it is to be seen.
    pub place: PathBuf,
    /// The kind of file system, as `ext4` or `fuse`.
    pub kind: String,
    /// What it is made of.
    pub source: String,
    /// How it is mounted: the options of the mount, then those of its file system.
    pub options: Vec<String>,
    /// The number of the user whose daemon serves it; a FUSE file system alone has one.
    pub user: Option<u32>,
}

impl MountEntry {
    /// Where the daemon of a disk of bakeoff's listens; `None` for any other mount.
    pub fn socket(&self) -> Option<PathBuf> {
        let path = self.source.strip_prefix(SOURCE).filter(|_| self.kind.starts_with("fuse"))?;
        let mut pieces = path.split('%');
        let mut bytes = pieces.next()?.as_bytes().to_vec();
        for piece in pieces {
            let (code, plain) = piece.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(code, 16).ok()?);
            bytes.extend(plain.as_bytes());
        }
        Some(OsString::from_vec(bytes).into())
    }

    /// Whether its daemon is gone: the kernel says so of a FUSE file system that it can't ask. Of
    /// one whose daemon takes long to answer, or is stopped, it says nothing.
    pub fn is_dead(&self) -> bool {
        let place = self.place.clone();
        let (answer, answered) = mpsc::channel();
        // Nobody waits longer for the answer than for the one who asks.
        let ask = move || {
            let _ = answer.send(rustix::fs::statfs(&place).err());
        };
        let asks = thread::Builder::new().spawn(ask);
        asks.is_ok() && answered.recv_timeout(ASKING) == Ok(Some(rustix::io::Errno::NOTCONN))
    }
}

/// The source of a disk whose daemon listens there. What FUSE's helper or the table would not take
/// as it is, such as a comma, is written as in a URL.
pub(crate) fn source(socket: &Path) -> String {
    let mut source = SOURCE.to_owned();
    for &byte in socket.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => {
                source.push(byte.into());
            }
            other => source.push_str(&format!("%{other:02X}")),
        }
    }
    source
}

/// What is mounted on a path; the uppermost, if there are several.
pub fn at(path: &Path) -> Option<MountEntry> {
    entries().into_iter().rev().find(|entry| entry.place == path)
}

/// The mount that a path is on; `path` has no link in it.
pub fn over(path: &Path) -> Option<MountEntry> {
    uppermost(entries(), path)
}

/// The mount that is to be seen at a path: of those on the longest way to it the last.
fn uppermost(entries: Vec<MountEntry>, path: &Path) -> Option<MountEntry> {
    let over = entries.into_iter().filter(|entry| path.starts_with(&entry.place));
    over.max_by_key(|entry| entry.place.components().count())
}

/// Whether a disk of bakeoff's is mounted on a path.
pub fn is_ours(path: &Path) -> bool {
    at(path).is_some_and(|entry| entry.socket().is_some())
}

/// The disks of bakeoff's, whoever mounted them, with where their daemons listen.
pub fn disks() -> Vec<(MountEntry, PathBuf)> {
    entries().into_iter().filter_map(|entry| entry.socket().map(|socket| (entry, socket))).collect()
}

/// All mounts, in the order in which they were made.
fn entries() -> Vec<MountEntry> {
    read(&std::fs::read("/proc/self/mountinfo").unwrap_or_default())
}

fn read(table: &[u8]) -> Vec<MountEntry> {
    table.split(|byte| *byte == b'\n').filter_map(parse).collect()
}

/// A line of the table: see proc_pid_mountinfo(5).
fn parse(line: &[u8]) -> Option<MountEntry> {
    let mut words = line.split(|byte| *byte == b' ');
    let text = |word: &[u8]| String::from_utf8_lossy(&unescape(word)).into_owned();
    let place = PathBuf::from(OsString::from_vec(unescape(words.nth(4)?)));
    let mount = words.next()?;
    let mut words = words.skip_while(|word| *word != b"-").skip(1);
    let (kind, source) = (text(words.next()?), text(words.next()?));
    let file_system = words.next().unwrap_or_default();
    let mut options: Vec<String> = Vec::new();
    // A comma inside an option is escaped: it is split before the escapes are read.
    for word in [mount, file_system].into_iter().flat_map(|it| it.split(|byte| *byte == b',')) {
        let option = text(word);
        if !option.is_empty() && !options.contains(&option) {
            options.push(option);
        }
    }
    // Either makes it read-only.
    if options.iter().any(|option| option == "ro") {
        options.retain(|option| option != "rw");
    }
    let user = options.iter().find_map(|option| option.strip_prefix("user_id=")?.parse().ok());
    Some(MountEntry { place, kind, source, options, user })
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

/// Unmounts the file system on `path`, which may have no link in it: with the system call, or with
/// FUSE's helper where the call is not permitted.
///
/// # Errors
/// The file system is in use, or this user may not unmount it.
pub fn unmount(path: &Path, how: How) -> io::Result<()> {
    let (flags, options): (_, &[&str]) = match how {
        How::Now => (UnmountFlags::NOFOLLOW, &["-u"]),
        How::Lazily => (UnmountFlags::NOFOLLOW | UnmountFlags::DETACH, &["-u", "-z"]),
    };
    match unmount_in_its_folder(path, flags) {
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

/// Who can write a folder above could put a link in its place, and have something else unmounted:
/// the way is gone without following any.
fn unmount_in_its_folder(path: &Path, flags: UnmountFlags) -> rustix::io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return rustix::mount::unmount(path, flags);
    };
    let (open, links) =
        (OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, ResolveFlags::NO_SYMLINKS);
    let folder = rustix::fs::openat2(rustix::fs::CWD, parent, open, Mode::empty(), links)?;
    let way = Path::new("/proc/thread-self/fd").join(folder.as_raw_fd().to_string()).join(name);
    rustix::mount::unmount(way, flags)
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
        let line = concat!(
            r"36 35 98:0 /mnt1 /mnt/a\040b\134c rw,noatime master:1 - fuse.x ",
            "bakeoff-disk:/a%2C rw,user_id=7,group_id=8"
        );
        let entry = parse(line.as_bytes()).unwrap();
        assert_eq!(entry.place, Path::new(r"/mnt/a b\c"));
        assert_eq!((&*entry.kind, entry.user), ("fuse.x", Some(7)));
        assert_eq!(entry.options, ["rw", "noatime", "user_id=7", "group_id=8"]);
        assert_eq!(entry.socket().unwrap(), Path::new("/a,"));
        let other = MountEntry { kind: "ext4".into(), ..entry };
        assert_eq!(other.socket(), None);
        assert!(parse(b"").is_none());
    }

    #[test]
    fn a_source_tells_the_socket() {
        for path in ["/run/user/7/a.socket", "/tmp/a b,c%d\\e/ä\n.socket"] {
            let source = source(Path::new(path));
            assert!(source.bytes().all(|byte| byte.is_ascii_graphic() && byte != b','));
            let (place, kind) = ("/".into(), "fuse".into());
            let entry = MountEntry { place, kind, source, options: Vec::new(), user: None };
            assert_eq!(entry.socket().unwrap(), Path::new(path));
        }
    }

    #[test]
    fn a_path_is_on_the_uppermost_of_the_longest_mounts_above_it() {
        let table = [
            &br"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,errors=remount-ro,data=a\054b"[..],
            br"28 27 0:25 / /srv/my\040disk rw - xfs /dev/sdb rw",
            br"29 27 0:26 / /srv/my\040disk ro,noatime master:1 - btrfs /dev/sdc rw,subvol=/@",
            b"30 27 0:27 / /srv/\xff\xfe rw - tmpfs odd\xff rw,size=4k\xff",
            b"31 27 0:28 /",
            b"\xff",
            b"",
        ];
        let over = |path: &[u8]| {
            let path = PathBuf::from(OsString::from_vec(path.to_vec()));
            uppermost(read(&table.join(&b'\n')), &path).expect("the root is there")
        };
        assert_eq!(over(b"/srv/my").kind, "ext4");
        assert_eq!(over(b"/srv/my disk2").kind, "ext4", "not a folder of that name");
        let options = ["rw", "relatime", "errors=remount-ro", "data=a,b"];
        assert_eq!(over(b"/srv/my").options, options);
        let last = over(b"/srv/my disk/run");
        assert_eq!((&*last.kind, &*last.source), ("btrfs", "/dev/sdc"));
        assert_eq!(last.options, ["ro", "noatime", "subvol=/@"]);
        assert_eq!(over(b"/srv/\xff\xfe/run").options, ["rw", "size=4k\u{fffd}"]);
        assert_eq!(uppermost(Vec::new(), Path::new("/")), None);
    }

    #[test]
    fn the_table_is_there() {
        assert_eq!(at(Path::new("/proc")).unwrap().kind, "proc");
        assert_eq!(over(Path::new("/proc/self")).unwrap().kind, "proc");
        assert_eq!(at(Path::new("/proc/self")), None);
        assert!(!is_ours(Path::new("/proc")));
    }
}
