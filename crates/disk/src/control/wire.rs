//! The wire between a disk's daemon and who asks it: a Unix socket, lines with a limit, waits with
//! an end, and only oneself or root at the other end.

use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::own;

/// Bytes that a request has at most: a path and a few words.
pub const LONGEST_REQUEST: usize = 64 << 10;
/// Bytes that an answer has at most.
pub const LONGEST_ANSWER: usize = 1 << 20;

/// Connects to who listens on `socket`, and tells its process's number. Each read and write on it
/// takes `patience` at most, and so does this.
///
/// # Errors
/// Nobody listens there, or it is another user than oneself or root.
pub fn connect(socket: &Path, patience: Duration) -> io::Result<(UnixStream, u32)> {
    let made = rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    // Where too many wait to be heard, the one who connects waits as one who writes.
    sockopt::set_socket_timeout(&made, Timeout::Send, Some(patience))?;
    sockopt::set_socket_timeout(&made, Timeout::Recv, Some(patience))?;
    reach(socket, |path| Ok(rustix::net::connect(&made, &SocketAddrUnix::new(path)?)?))?;
    let peer = trusted_peer(&made)?;
    Ok((made.into(), peer))
}

/// Listens on a new socket.
pub fn listen(socket: &Path) -> io::Result<UnixListener> {
    reach(socket, UnixListener::bind)
}

/// The number of the process at the other end, which is one's own or root's.
///
/// # Errors
/// It is another user's.
pub fn trusted_peer(socket: impl AsFd) -> io::Result<u32> {
    let peer = sockopt::socket_peercred(socket)?;
    match peer.uid.as_raw() {
        user if own::is_trusted(user) => Ok(peer.pid.as_raw_nonzero().get().unsigned_abs()),
        user => {
            let why = format!("user {user} is at the other end");
            Err(io::Error::new(ErrorKind::PermissionDenied, why))
        }
    }
}

/// The lines that come over a connection, one after the other. What has come after the end of one is
/// kept for the next: signs of life and the answer may be read at once.
pub struct ConnectionLines<'a> {
    from: &'a UnixStream,
    /// What has been read and belongs to no line yet.
    rest: Vec<u8>,
}

impl<'a> ConnectionLines<'a> {
    /// Those of a connection that nobody else reads.
    pub fn from_stream(from: &'a UnixStream) -> Self {
        Self { from, rest: Vec::new() }
    }

    /// The next one without its end, of at most `longest` bytes, which comes whole within `patience`.
    ///
    /// # Errors
    /// It is longer, comes too late, or not at all ([`ErrorKind::UnexpectedEof`]).
    pub fn line(&mut self, longest: usize, patience: Duration) -> io::Result<Vec<u8>> {
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

    /// Waits for more, and takes what has come.
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

/// Whether the other end has gone.
pub fn is_gone(stream: &UnixStream) -> bool {
    let mut look = [PollFd::new(stream, PollFlags::RDHUP)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
    poll(&mut look, Some(&now)).is_ok() && look[0].revents().intersects(gone)
}

/// Uses a socket by way of its opened folder, since the address of a socket is short: 107 bytes.
fn reach<T>(socket: &Path, with: impl Fn(PathBuf) -> io::Result<T>) -> io::Result<T> {
    let (Some(folder), Some(name)) = (socket.parent(), socket.file_name()) else {
        return Err(ErrorKind::InvalidInput.into());
    };
    let folder = own::folder(folder)?;
    with(Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name))
}
