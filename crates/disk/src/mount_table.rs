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

/// The start of a disk's source in the table; the rest is the daemon's socket.
const SOURCE: &str = "bakeoff-disk:";
const ASKING: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    Now,
    /// It is invisible from now on, and goes with its last user.
    Lazily,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountEntry {
    pub place: PathBuf,
    pub kind: String,
    pub source: String,
    /// Options of the mount, then those of its file system.
    pub options: Vec<String>,
    /// The user whose daemon serves it; a FUSE file system alone has one.
    pub user: Option<u32>,
}

impl MountEntry {
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

    /// Whether its daemon is gone: the kernel reports this for a FUSE file system that it can't
    /// reach. A slow or stopped daemon shows nothing.
    pub fn is_dead(&self) -> bool {
        let place = self.place.clone();
        let (answer, answered) = mpsc::channel();
        // statfs may hang on a dead mount, so call it on a thread with a timeout.
        let ask = move || {
            let _ = answer.send(rustix::fs::statfs(&place).err());
        };
        let asks = thread::Builder::new().spawn(ask);
        asks.is_ok() && answered.recv_timeout(ASKING) == Ok(Some(rustix::io::Errno::NOTCONN))
    }
}

/// The source of a disk whose daemon listens there. Characters that FUSE's helper or the table
/// would not take, such as a comma, are escaped as in a URL.
pub(crate) fn format_source(socket: &Path) -> String {
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

pub fn find_mount_at(path: &Path) -> Option<MountEntry> {
    read_entries().into_iter().rev().find(|entry| entry.place == path)
}

/// The mount that a path is on; `path` has no link in it.
pub fn find_mount_over(path: &Path) -> Option<MountEntry> {
    find_uppermost(read_entries(), path)
}

/// The last of the mounts on the longest way to the path.
fn find_uppermost(entries: Vec<MountEntry>, path: &Path) -> Option<MountEntry> {
    let over = entries.into_iter().filter(|entry| path.starts_with(&entry.place));
    over.max_by_key(|entry| entry.place.components().count())
}

pub fn is_ours(path: &Path) -> bool {
    find_mount_at(path).is_some_and(|entry| entry.socket().is_some())
}

pub fn list_disks() -> Vec<(MountEntry, PathBuf)> {
    read_entries()
        .into_iter()
        .filter_map(|entry| entry.socket().map(|socket| (entry, socket)))
        .collect()
}

fn read_entries() -> Vec<MountEntry> {
    parse_table(&std::fs::read("/proc/self/mountinfo").unwrap_or_default())
}

fn parse_table(table: &[u8]) -> Vec<MountEntry> {
    table.split(|byte| *byte == b'\n').filter_map(parse_line).collect()
}

/// A line of the table: see proc_pid_mountinfo(5).
fn parse_line(line: &[u8]) -> Option<MountEntry> {
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
/// FUSE's helper if the call is not permitted.
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

/// Follows no link on the way: a user who can write a folder above could make it unmount something
/// else.
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

/// The absolute path of a mountpoint, with links resolved. Does not ask the mounted file system,
/// whose daemon may be gone.
pub fn resolve_mountpoint(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => {
            let resolved = parent.canonicalize()?.join(name);
            // A link is followed unless it is a mount: then it is none.
            if find_mount_at(&resolved).is_some() { Ok(resolved) } else { resolved.canonicalize() }
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
        let entry = parse_line(line.as_bytes()).unwrap();
        assert_eq!(entry.place, Path::new(r"/mnt/a b\c"));
        assert_eq!((&*entry.kind, entry.user), ("fuse.x", Some(7)));
        assert_eq!(entry.options, ["rw", "noatime", "user_id=7", "group_id=8"]);
        assert_eq!(entry.socket().unwrap(), Path::new("/a,"));
        let other = MountEntry { kind: "ext4".into(), ..entry };
        assert_eq!(other.socket(), None);
        assert!(parse_line(b"").is_none());
    }

    #[test]
    fn a_source_tells_the_socket() {
        for path in ["/run/user/7/a.socket", "/tmp/a b,c%d\\e/ä\n.socket"] {
            let source = format_source(Path::new(path));
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
            find_uppermost(parse_table(&table.join(&b'\n')), &path).expect("the root is there")
        };
        assert_eq!(over(b"/srv/my").kind, "ext4");
        assert_eq!(over(b"/srv/my disk2").kind, "ext4", "not a folder of that name");
        let options = ["rw", "relatime", "errors=remount-ro", "data=a,b"];
        assert_eq!(over(b"/srv/my").options, options);
        let last = over(b"/srv/my disk/run");
        assert_eq!((&*last.kind, &*last.source), ("btrfs", "/dev/sdc"));
        assert_eq!(last.options, ["ro", "noatime", "subvol=/@"]);
        assert_eq!(over(b"/srv/\xff\xfe/run").options, ["rw", "size=4k\u{fffd}"]);
        assert_eq!(find_uppermost(Vec::new(), Path::new("/")), None);
    }

    #[test]
    fn the_table_is_there() {
        assert_eq!(find_mount_at(Path::new("/proc")).unwrap().kind, "proc");
        assert_eq!(find_mount_over(Path::new("/proc/self")).unwrap().kind, "proc");
        assert_eq!(find_mount_at(Path::new("/proc/self")), None);
        assert!(!is_ours(Path::new("/proc")));
    }
}
