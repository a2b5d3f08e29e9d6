//! The wire between a disk's daemon and its clients: lines of limited length over a Unix socket,
//! waits with an end, and only oneself or root at the other end.

use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bakeoff_folders::trust;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

/// A path and a few words.
pub const LONGEST_REQUEST: usize = 64 << 10;
pub const LONGEST_ANSWER: usize = 1 << 20;

/// Returns the other process's number, too. `patience` limits this call and each read and write.
/// Fails if another user than oneself or root listens.
pub fn connect(socket: &Path, patience: Duration) -> io::Result<(UnixStream, u32)> {
    let made = rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    // If too many wait to be heard, connecting waits like a write.
    sockopt::set_socket_timeout(&made, Timeout::Send, Some(patience))?;
    sockopt::set_socket_timeout(&made, Timeout::Recv, Some(patience))?;
    with_socket_path(socket, |path| Ok(rustix::net::connect(&made, &SocketAddrUnix::new(path)?)?))?;
    let peer = trusted_peer(&made)?;
    Ok((made.into(), peer))
}

pub fn listen(socket: &Path) -> io::Result<UnixListener> {
    with_socket_path(socket, UnixListener::bind)
}

/// The number of the process at the other end; fails if it is not one's own or root's.
pub fn trusted_peer(socket: impl AsFd) -> io::Result<u32> {
    let peer = sockopt::socket_peercred(socket)?;
    match peer.uid.as_raw() {
        user if trust::is_trusted(user) => Ok(peer.pid.as_raw_nonzero().get().unsigned_abs()),
        user => {
            let why = format!("user {user} is at the other end");
            Err(io::Error::new(ErrorKind::PermissionDenied, why))
        }
    }
}

/// The lines of a connection. Bytes after a line are kept: signs of life and the answer may arrive
/// together.
pub struct ConnectionLines<'a> {
    from: &'a UnixStream,
    rest: Vec<u8>,
}

impl<'a> ConnectionLines<'a> {
    pub fn from_stream(from: &'a UnixStream) -> Self {
        Self { from, rest: Vec::new() }
    }

    /// The next line without its end. Fails if it is longer or comes later than allowed;
    /// [`ErrorKind::UnexpectedEof`] if it never comes.
    pub fn read_line(&mut self, longest: usize, patience: Duration) -> io::Result<Vec<u8>> {
        let deadline = Instant::now() + patience;
        let mut searched = 0;
        loop {
            let end = self.rest[searched..].iter().position(|byte| *byte == b'\n');
            let length = end.map_or(self.rest.len(), |end| searched + end);
            if length > longest {
                let why = format!("a line of more than {longest} bytes");
                return Err(io::Error::new(ErrorKind::InvalidData, why));
            }
            if end.is_some() {
                let after = self.rest.split_off(length + 1);
                let mut line = std::mem::replace(&mut self.rest, after);
                line.truncate(length);
                return Ok(line);
            }
            searched = length;
            self.read_on(deadline)?;
        }
    }

    fn read_on(&mut self, deadline: Instant) -> io::Result<()> {
        let mut from = self.from;
        let mut piece = [0; 4096];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            from.set_read_timeout(Some(left))?;
            match from.read(&mut piece) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    self.rest.extend_from_slice(&piece[..read]);
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

pub fn is_gone(stream: &UnixStream) -> bool {
    let mut look = [PollFd::new(stream, PollFlags::RDHUP)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
    poll(&mut look, Some(&now)).is_ok() && look[0].revents().intersects(gone)
}

/// Uses a socket through its opened folder: the address of a socket has only 107 bytes.
fn with_socket_path<T>(socket: &Path, with: impl Fn(PathBuf) -> io::Result<T>) -> io::Result<T> {
    let (Some(folder), Some(name)) = (socket.parent(), socket.file_name()) else {
        return Err(ErrorKind::InvalidInput.into());
    };
    let folder = trust::folder(folder)?;
    with(Path::new("/proc/self/fd").join(folder.as_fd().as_raw_fd().to_string()).join(name))
}
