//! One process of an application's own program: started, asked, and ended with all that it started.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid,
};
use thiserror::Error;

use super::host::ProgramHost;
use super::log::ProgramOutput;
use super::protocol::{LineBuffer, ProgramReply, ProtocolFault};
use crate::process::end_family;

/// How long a program may take to end after it was told to.
const STOP_TIMEOUT: Duration = Duration::from_secs(4);
/// How long the status of a program that has closed its descriptor may take.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// More than a socket holds.
const MOST_READS: usize = 100;
/// How often it is looked at whether a program that says nothing is there.
const LOOK: Duration = Duration::from_millis(100);
const PAUSE: Duration = Duration::from_millis(2);

/// Why a program can't go on.
#[derive(Debug, Error)]
pub enum ProgramFault {
    #[error(transparent)]
    Protocol(#[from] ProtocolFault),
    #[error("{0}")]
    Ended(String),
    #[error("it has not {missing} within {} s", .within.as_secs_f64())]
    Silent { missing: String, within: Duration },
    #[error("its descriptor: {0}")]
    System(#[from] io::Error),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramState {
    Sound,
    /// It is not worth telling it to stop.
    Faulty,
    /// It was waited for.
    Gone,
}

/// A running process. When it is dropped, it is told to stop, and ended if it doesn't.
pub struct ProgramProcess<'h> {
    pub(super) host: &'h ProgramHost,
    /// Its command, for messages.
    pub(super) name: String,
    pub(super) child: Child,
    /// Not blocking. `None` for a program that is asked nothing.
    pub(super) socket: Option<UnixStream>,
    pub(super) output: ProgramOutput<'h>,
    pub(super) lines: LineBuffer,
    pub(super) state: ProgramState,
}

impl ProgramProcess<'_> {
    /// Sends a line, its end included.
    pub fn send(&mut self, line: &str) -> Result<(), ProgramFault> {
        let Some(socket) = &mut self.socket else { return Ok(()) };
        match socket.write_all(line.as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(self.read_last_lines()),
            sent => Ok(sent?),
        }
    }

    /// What it wrote before it ended says more.
    fn read_last_lines(&mut self) -> ProgramFault {
        let faults = (0..MOST_READS).filter_map(|_| self.read_lines().err()).next();
        faults.unwrap_or_else(|| self.explain_end())
    }

    /// Fails if it has said something since its last answer.
    pub fn check_quiet(&mut self) -> Result<(), ProgramFault> {
        self.read_lines()?;
        Ok(self.lines.check_quiet()?)
    }

    /// The next line. `missing` says what it is, if it does not come.
    pub fn receive(
        &mut self,
        missing: impl FnOnce() -> String,
        within: Duration,
    ) -> Result<ProgramReply, ProgramFault> {
        self.receive_within(missing, within, within)
    }

    /// The same, where some of the time that it has has passed.
    pub fn receive_within(
        &mut self,
        missing: impl FnOnce() -> String,
        left: Duration,
        within: Duration,
    ) -> Result<ProgramReply, ProgramFault> {
        let until = Instant::now() + left;
        loop {
            if let Some(reply) = self.lines.take_reply()? {
                return Ok(reply);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ProgramFault::Silent { missing: missing(), within });
            }
            if self.wait_for_input(left.min(LOOK))? {
                self.read_lines()?;
            } else if self.peek_end().is_some() {
                // What it started may hold its descriptor open.
                return Err(self.read_last_lines());
            }
        }
    }

    /// Whether the socket can be read. Meanwhile the output is read.
    fn wait_for_input(&mut self, most: Duration) -> io::Result<bool> {
        let most = Timespec::try_from(most).map_err(io::Error::other)?;
        let Some(socket) = &self.socket else { return Ok(false) };
        let wait_for = |it| PollFd::new(it, PollFlags::IN);
        let mut both = [wait_for(socket), wait_for(socket)];
        if let Some(pipe) = &self.output.pipe {
            both[1] = PollFd::new(pipe, PollFlags::IN);
        }
        match poll(&mut both, Some(&most)) {
            Err(rustix::io::Errno::INTR) => return Ok(false),
            polled => polled?,
        };
        let [answered, has_output] = both.map(|it| !it.revents().is_empty());
        if has_output {
            self.output.read_more();
        }
        Ok(answered)
    }

    /// Takes what is there, and waits for nothing.
    fn read_lines(&mut self) -> Result<(), ProgramFault> {
        let mut buffer = [0; 8 << 10];
        let Some(socket) = &mut self.socket else { return Ok(()) };
        match socket.read(&mut buffer) {
            Ok(0) => Err(self.explain_end()),
            Ok(read) => Ok(self.lines.add_bytes(&buffer[..read])?),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(()),
                io::ErrorKind::ConnectionReset => Err(self.explain_end()),
                _ => Err(error.into()),
            },
        }
    }

    fn explain_end(&mut self) -> ProgramFault {
        if let Err(fault) = self.lines.check_end() {
            return fault.into();
        }
        let asked = Instant::now();
        while self.peek_end().is_none() && asked.elapsed() < LAST_WORDS {
            std::thread::sleep(PAUSE);
        }
        ProgramFault::Ended(match self.peek_end() {
            None => "it has closed the descriptor on which it is asked".into(),
            Some(status) => describe_end(&status),
        })
    }

    /// How it has ended. It keeps its number until it is waited for.
    pub(super) fn peek_end(&self) -> Option<WaitIdStatus> {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(Pid::from_child(&self.child)), look).ok().flatten()
    }

    /// Ends it at once, and says in a sentence what it did wrong.
    pub fn end_faulty(&mut self, fault: &ProgramFault) -> String {
        self.state = ProgramState::Faulty;
        self.end();
        format!("the program {}: {fault}{}", self.name, self.output.describe_tail())
    }

    fn end(&mut self) {
        if self.state == ProgramState::Gone {
            return;
        }
        if self.state == ProgramState::Sound {
            self.tell_to_stop();
        }
        self.socket = None;
        let pid = Pid::from_child(&self.child);
        let is_gone = end_family(pid);
        // Those whose parents are gone already; it has its number still.
        let _ = kill_process_group(pid, Signal::KILL);
        if is_gone {
            let _ = self.child.wait();
        }
        self.state = ProgramState::Gone;
        self.output.read_more();
        self.host.forget(pid);
    }

    fn tell_to_stop(&mut self) {
        let Some(mut socket) = self.socket.take() else { return };
        let _ = socket.write_all(b"stop\n");
        let _ = socket.shutdown(Shutdown::Write);
        let (told, mut rest) = (Instant::now(), [0; 8 << 10]);
        while self.peek_end().is_none() && told.elapsed() < STOP_TIMEOUT {
            // It may wait until somebody reads.
            self.output.read_more();
            while matches!(socket.read(&mut rest), Ok(1..)) && told.elapsed() < STOP_TIMEOUT {}
            std::thread::sleep(PAUSE);
        }
    }
}

pub(super) fn describe_end(status: &WaitIdStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("it has ended with exit code {code}"),
        (None, Some(signal)) => format!("it was killed by signal {signal}"),
        (None, None) => "it has ended".into(),
    }
}

impl Drop for ProgramProcess<'_> {
    fn drop(&mut self) {
        self.end();
    }
}
