//! What a daemon leaves to the process that started it: how it ended, and what it said last.
//!
//! Its standard error is a file in memory rather than a pipe. Nobody has to read it so that the daemon
//! goes on, and all of it is there after the daemon's end.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, WaitIdStatus, pidfd_open, waitid};

/// How many lines of what it said are told, and bytes of them: the last ones.
const LINES: usize = 20;
const BYTES: u64 = 4 << 10;
/// How long the end of a daemon is waited for that no longer answers: its connections end just before
/// it does.
const ENDING: Duration = Duration::from_secs(2);

/// What a process says on its standard error.
#[derive(Debug)]
pub(crate) struct CapturedStderr(File);

impl CapturedStderr {
    /// Of a process that is not started yet.
    ///
    /// # Errors
    /// The system has no room for it.
    pub(crate) fn nothing() -> io::Result<Self> {
        Ok(Self(memfd_create("bakeoff-disk-stderr", MemfdFlags::CLOEXEC)?.into()))
    }

    /// Its standard error.
    ///
    /// # Errors
    /// This process has no more descriptors.
    pub(crate) fn stderr(&self) -> io::Result<Stdio> {
        Ok(self.0.try_clone()?.into())
    }

    /// The last lines; empty where nothing was said, or it can't be read.
    pub(crate) fn last_lines(&self) -> String {
        let read = || -> io::Result<_> {
            // It writes by the same descriptor, whose place is not to be moved.
            let from = self.0.metadata()?.len().saturating_sub(BYTES);
            let mut bytes = vec![0; BYTES as usize];
            let read = self.0.read_at(&mut bytes, from)?;
            bytes.truncate(read);
            Ok(bytes)
        };
        let bytes = read().unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.trim().lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }
}

/// A daemon that this process started.
#[derive(Debug)]
pub(crate) struct LastWords {
    daemon: OwnedFd,
    said: CapturedStderr,
}

impl LastWords {
    /// Of a child whose standard error `said` is.
    ///
    /// # Errors
    /// The system has no more descriptors.
    pub(crate) fn from_child(daemon: &Child, said: CapturedStderr) -> io::Result<Self> {
        Ok(Self { daemon: pidfd_open(Pid::from_child(daemon), PidfdFlags::empty())?, said })
    }

    /// The last lines of what it has said.
    pub(crate) fn last_lines(&self) -> String {
        self.said.last_lines()
    }

    /// The same, to stand behind a message; empty where it has said nothing.
    pub(crate) fn said(&self) -> String {
        match &*self.last_lines() {
            "" => String::new(),
            lines => format!("; the last lines of its standard error:\n{lines}"),
        }
    }

    /// How it has ended, if it has, and what it has said. One that is about to end is waited for a moment.
    pub(crate) fn told(&self) -> String {
        let status = self.status().map(|status| format!("; it has ended ({status})"));
        status.unwrap_or_default() + &self.said()
    }

    /// How it ended; `None` where it goes on, or somebody has taken note of its end.
    fn status(&self) -> Option<ExitStatus> {
        let patience = Timespec::try_from(ENDING).expect("a moment");
        let mut ended = [PollFd::new(&self.daemon, PollFlags::IN)];
        let _ = retry_on_intr(|| poll(&mut ended, Some(&patience)));
        // Its end is left to who waits for it.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        exit_status(&waitid(WaitId::PidFd(self.daemon.as_fd()), look).ok()??)
    }
}

/// The status as `wait(2)` writes it.
fn exit_status(status: &WaitIdStatus) -> Option<ExitStatus> {
    let core = if status.dumped() { 0x80 } else { 0 };
    let signalled = || status.terminating_signal().map(|signal| signal | core);
    status.exit_status().map(|code| code << 8).or_else(signalled).map(ExitStatus::from_raw)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use bakeoff_testkit::{PATIENCE, ended_within};

    use super::*;

    fn started(script: &str) -> (Child, LastWords) {
        let said = CapturedStderr::nothing().unwrap();
        let mut command = Command::new("sh");
        let child = command.args(["-c", script]).stderr(said.stderr().unwrap()).spawn().unwrap();
        let last_words = LastWords::from_child(&child, said).unwrap();
        (child, last_words)
    }

    /// Waits until it is told that a child has ended so, and then for the child.
    #[track_caller]
    fn told(script: &str, ended: &str) -> String {
        let (mut child, last_words) = started(script);
        bakeoff_testkit::wait_until("its end", || last_words.told().contains(ended));
        let told = last_words.told();
        let status = child.wait().unwrap();
        assert!(ended.contains(&status.to_string()), "the end is still there to be seen: {status}");
        told
    }

    #[test]
    fn an_end_is_told_with_the_words_before_it() {
        let said = told("echo one >&2; echo two >&2; exit 3", "exit status: 3");
        let end = "; it has ended (exit status: 3)";
        assert_eq!(said, format!("{end}; the last lines of its standard error:\none\ntwo"));
        let said = told("kill -KILL $$", "signal: 9 (SIGKILL)");
        assert_eq!(said, "; it has ended (signal: 9 (SIGKILL))");
    }

    #[test]
    fn one_that_goes_on_is_not_said_to_have_ended() {
        let (mut child, last_words) = started("echo here >&2; exec sleep 600");
        bakeoff_testkit::wait_until("its words", || !last_words.said().is_empty());
        let told = last_words.told();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(told, "; the last lines of its standard error:\nhere");
    }

    #[test]
    fn one_that_says_much_is_not_held_up_and_its_last_lines_are_told() {
        // More than a pipe holds.
        let (mut child, last_words) = started("seq 1 30000 >&2");
        if ended_within(PATIENCE, &mut child).is_none() {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("it waits for somebody who reads");
        }
        let said = last_words.last_lines();
        let expected: Vec<String> = (29_981..=30_000).map(|line: u32| line.to_string()).collect();
        assert_eq!(said.lines().collect::<Vec<_>>(), expected);
        // One line without an end is cut at its beginning.
        let (mut child, last_words) = started("head -c 100000 /dev/zero | tr '\\0' x >&2");
        child.wait().unwrap();
        assert_eq!(last_words.last_lines(), "x".repeat(BYTES as usize));
    }
}
