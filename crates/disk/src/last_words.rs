//! Keeps a daemon's last messages for the process that started it.
//!
//! Its standard error is a file in memory and no pipe: the daemon goes on although nobody reads it,
//! and all of it is there after the daemon's end.

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

/// The most lines and bytes that are kept: the last ones.
const LINES: usize = 20;
const BYTES: u64 = 4 << 10;
/// How long to wait for the end of a daemon that no longer answers: its connections end just before
/// it does.
const ENDING: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct CapturedStderr(File);

impl CapturedStderr {
    pub(crate) fn empty() -> io::Result<Self> {
        Ok(Self(memfd_create("bakeoff-disk-stderr", MemfdFlags::CLOEXEC)?.into()))
    }

    pub(crate) fn to_stdio(&self) -> io::Result<Stdio> {
        Ok(self.0.try_clone()?.into())
    }

    /// Empty if there were no messages, or they can't be read.
    pub(crate) fn last_lines(&self) -> String {
        let read = || -> io::Result<_> {
            // The process writes by the same descriptor, whose place must not move.
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

#[derive(Debug)]
pub(crate) struct LastWords {
    daemon: OwnedFd,
    said: CapturedStderr,
}

impl LastWords {
    pub(crate) fn from_child(daemon: &Child, said: CapturedStderr) -> io::Result<Self> {
        Ok(Self { daemon: pidfd_open(Pid::from_child(daemon), PidfdFlags::empty())?, said })
    }

    pub(crate) fn last_lines(&self) -> String {
        self.said.last_lines()
    }

    /// To append to a message; empty if there were no messages.
    pub(crate) fn format_suffix(&self) -> String {
        match &*self.last_lines() {
            "" => String::new(),
            lines => format!("; the last lines of its standard error:\n{lines}"),
        }
    }

    /// How it ended, if it did, and its last messages. Waits a moment for one that is about to end.
    pub(crate) fn describe_end(&self) -> String {
        let status = self.status().map(|status| format!("; it has ended ({status})"));
        status.unwrap_or_default() + &self.format_suffix()
    }

    /// `None` if it still runs, or its end was collected elsewhere.
    fn status(&self) -> Option<ExitStatus> {
        let patience = Timespec::try_from(ENDING).expect("a moment");
        let mut ended = [PollFd::new(&self.daemon, PollFlags::IN)];
        let _ = retry_on_intr(|| poll(&mut ended, Some(&patience)));
        // Its end is left for the process's owner to collect.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        exit_status(&waitid(WaitId::PidFd(self.daemon.as_fd()), look).ok()??)
    }
}

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
        let said = CapturedStderr::empty().unwrap();
        let mut command = Command::new("sh");
        let child = command.args(["-c", script]).stderr(said.to_stdio().unwrap()).spawn().unwrap();
        let last_words = LastWords::from_child(&child, said).unwrap();
        (child, last_words)
    }

    #[test]
    fn an_end_is_told_with_the_words_before_it() {
        let words = "; the last lines of its standard error:\none";
        for (script, told) in [
            ("echo one >&2; exit 3", format!("; it has ended (exit status: 3){words}")),
            ("kill -KILL $$", "; it has ended (signal: 9 (SIGKILL))".to_owned()),
        ] {
            let (mut child, last_words) = started(script);
            bakeoff_testkit::wait_until("its end", || last_words.describe_end() == told);
            assert!(!child.wait().unwrap().success(), "the end is still there to be seen");
        }
    }

    #[test]
    fn one_that_goes_on_is_not_said_to_have_ended() {
        let (mut child, last_words) = started("echo here >&2; exec sleep 600");
        bakeoff_testkit::wait_until("its words", || !last_words.format_suffix().is_empty());
        let told = last_words.describe_end();
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
