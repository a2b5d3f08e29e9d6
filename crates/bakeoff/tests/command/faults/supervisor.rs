//! A command whose system calls are looked at one by one, and of which any can be made to fail.
//!
//! A seccomp filter hands the calls of interest to a supervisor (`SECCOMP_RET_USER_NOTIF`), which
//! lets each go on or answers it with an error. Children inherit the filter, so that it sees the
//! processes of a whole run, and no call goes past it, whichever library makes it.

use std::fs::File;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use bakeoff_testkit::Since;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// The calls that can be made to fail, by number and name.
pub const CALLS: [(libc::c_long, &str); 15] = [
    (libc::SYS_open, "open"),
    (libc::SYS_openat, "open"),
    (libc::SYS_write, "write"),
    (libc::SYS_writev, "write"),
    (libc::SYS_pwrite64, "write"),
    (libc::SYS_fsync, "fsync"),
    (libc::SYS_fdatasync, "fsync"),
    (libc::SYS_mount, "mount"),
    (libc::SYS_fork, "fork"),
    (libc::SYS_vfork, "fork"),
    (libc::SYS_clone, "fork"),
    (libc::SYS_clone3, "fork"),
    (libc::SYS_kill, "kill"),
    (libc::SYS_tgkill, "kill"),
    (libc::SYS_pidfd_send_signal, "kill"),
];

/// `_IOWR('!', 0, struct seccomp_notif)`: waits for a call.
const RECEIVE: libc::Ioctl = request(3, 0, size_of::<libc::seccomp_notif>());
/// `_IOWR('!', 1, struct seccomp_notif_resp)`: answers it.
const SEND: libc::Ioctl = request(3, 1, size_of::<libc::seccomp_notif_resp>());
/// Lets a call go on (`SECCOMP_USER_NOTIF_FLAG_CONTINUE`).
const CONTINUE: u32 = 1;

const fn request(direction: u64, number: u64, size: usize) -> libc::Ioctl {
    (direction << 30 | (size as u64) << 16 | (b'!' as u64) << 8 | number) as libc::Ioctl
}

/// A call that a process is about to make.
pub struct Call {
    /// The thread that makes it.
    pub pid: u32,
    /// Its name in [`CALLS`].
    pub name: &'static str,
    /// Its number.
    pub number: libc::c_long,
    /// Its arguments.
    pub arguments: [u64; 6],
}

/// A command under supervision.
pub struct Supervised {
    child: Child,
    listener: File,
}

impl Supervised {
    /// Starts a command whose calls wait for [`Supervised::watch`].
    pub fn start(mut command: Command) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        // SAFETY: between fork and exec it makes system calls alone, and allocates nothing.
        unsafe { command.pre_exec(move || hand_over(theirs.as_fd())) };
        let child = command.spawn()?;
        let listener = take_over(&ours)?;
        Ok(Self { child, listener: File::from(listener) })
    }

    /// Looks at each call until no process is left; `decide` names the error of one that is to fail.
    /// The command's end, or `None` when it, or what it left, lived for longer than `limit`.
    pub fn watch(
        mut self,
        limit: Duration,
        mut decide: impl FnMut(&Call) -> Option<Errno>,
    ) -> io::Result<Option<ExitStatus>> {
        let since = Since::now();
        while !since.at_least(limit) {
            match self.wait_for_call()? {
                Some(true) => self.answer(&mut decide)?,
                Some(false) => {}
                None => return self.child.wait().map(Some),
            }
        }
        self.child.kill()?;
        self.child.wait()?;
        Ok(None)
    }

    /// Whether a call waits; `None` when no process is left.
    fn wait_for_call(&self) -> io::Result<Option<bool>> {
        let mut poll =
            libc::pollfd { fd: self.listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry, which lives through the call.
        let ready = unsafe { libc::poll(&raw mut poll, 1, 100) };
        if ready < 0 {
            return Err(io::Error::last_os_error());
        }
        let gone = poll.revents & libc::POLLHUP != 0 && poll.revents & libc::POLLIN == 0;
        Ok((!gone).then_some(poll.revents & libc::POLLIN != 0))
    }

    fn answer(&self, decide: &mut impl FnMut(&Call) -> Option<Errno>) -> io::Result<()> {
        // SAFETY: plain numbers, for which zeros are values.
        let mut asked: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: the request's size is that of the structure.
        if unsafe { libc::ioctl(self.listener.as_raw_fd(), RECEIVE, &raw mut asked) } < 0 {
            return gone_meanwhile();
        }
        let number = libc::c_long::from(asked.data.nr);
        let name = CALLS.iter().find(|call| call.0 == number).expect("the filter asks of no other");
        let call = Call { pid: asked.pid, name: name.1, number, arguments: asked.data.args };
        let error = decide(&call).map_or(0, |errno| -errno.raw_os_error());
        let flags = if error == 0 { CONTINUE } else { 0 };
        let mut reply = libc::seccomp_notif_resp { id: asked.id, val: 0, error, flags };
        // SAFETY: as above.
        if unsafe { libc::ioctl(self.listener.as_raw_fd(), SEND, &raw mut reply) } < 0 {
            return gone_meanwhile();
        }
        Ok(())
    }
}

/// A process that was killed while it waited is no failure.
fn gone_meanwhile() -> io::Result<()> {
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
        error if error.raw_os_error() == Some(libc::EINTR) => Ok(()),
        error => Err(error),
    }
}

/// In the child: installs the filter, and sends its listener to the supervisor.
fn hand_over(to: BorrowedFd<'_>) -> io::Result<()> {
    let listener = install()?;
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors = [listener.as_fd()];
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(to, &[io::IoSlice::new(b"l")], &mut ancillary, SendFlags::empty())?;
    Ok(())
}

/// In the parent: the listener that the child has sent.
fn take_over(from: &UnixStream) -> io::Result<OwnedFd> {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let into = &mut [io::IoSliceMut::new(&mut byte)];
    recvmsg(from, into, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let sent = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    sent.ok_or_else(|| io::Error::other("the child has sent no listener"))
}

/// Installs the filter in this process.
fn install() -> io::Result<OwnedFd> {
    const fn statement(code: u32, k: u32) -> libc::sock_filter {
        libc::sock_filter { code: code as u16, jt: 0, jf: 0, k }
    }
    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    const END: usize = CALLS.len() + 1;
    let mut program = [statement(RETURN, libc::SECCOMP_RET_ALLOW); END + 2];
    // The number of the call is the first word of the data.
    program[0] = statement(LOAD, 0);
    for (place, (number, _)) in CALLS.iter().enumerate() {
        let mut look = statement(EQUAL, *number as u32);
        look.jt = (END - place - 1) as u8;
        program[place + 1] = look;
    }
    program[END + 1] = statement(RETURN, libc::SECCOMP_RET_USER_NOTIF);
    let length = program.len() as u16;
    let filter = libc::sock_fprog { len: length, filter: program.as_mut_ptr() };
    // SAFETY: the program lives through the call; the kernel checks and copies it.
    let listener = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const filter,
        )
    };
    if listener < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has made it for this process alone.
    Ok(unsafe { OwnedFd::from_raw_fd(listener as i32) })
}
