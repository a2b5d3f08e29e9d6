//! Ends a process and all that it started.
//!
//! A private server dies with its parent, but the server's own children may go on for seconds and
//! hold files open on a disk that is to be removed.

use std::fs;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::machine::KILL_TIMEOUT;

/// The kernel may have refused the first kill.
const KILL_AGAIN: Duration = Duration::from_millis(200);

/// Kills a child and all below it, and waits until they are gone; the caller still has to wait for
/// the child itself. Returns false if one can't be killed: it is stopped for good, and must not be
/// waited for.
pub fn end_family(child: Pid) -> bool {
    let mut family = Vec::new();
    gather_family(child, &mut family);
    let deadline = Instant::now() + KILL_TIMEOUT;
    while !family.is_empty() && Instant::now() < deadline {
        for process in &family {
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
        let again = Instant::now() + KILL_AGAIN;
        family.retain(|process| !is_gone(process, again));
    }
    family.is_empty()
}

/// Kills the children of this process, and all below them. Whoever started them still has to wait
/// for them.
pub fn end_children() {
    for child in list_children() {
        end_family(child);
    }
}

/// This process's, of all its threads.
pub fn list_children() -> Vec<Pid> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = threads.filter_map(|it| fs::read_to_string(it.path().join("children")).ok());
    let numbers = lists.flat_map(|list| {
        list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>()
    });
    numbers.filter_map(Pid::from_raw).collect()
}

fn is_gone(process: &OwnedFd, until: Instant) -> bool {
    let left = until.saturating_duration_since(Instant::now());
    let left = Timespec::try_from(left).expect("a few seconds");
    matches!(poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&left)), Ok(1..))
}

/// Stops a process first, so that it starts no others.
fn gather_family(process: Pid, family: &mut Vec<OwnedFd>) {
    let Ok(handle) = pidfd_open(process, PidfdFlags::empty()) else { return };
    let _ = pidfd_send_signal(&handle, Signal::STOP);
    family.push(handle);
    // Each thread has children of its own.
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    for thread in threads {
        let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|pid| pid.parse().ok()) {
            if let Some(child) = Pid::from_raw(child) {
                gather_family(child, family);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    #[test]
    fn grandchildren_are_gone_with_their_parents() {
        // A shell that has started one that has started another, each in a group of its own.
        let script = "setsid sh -c 'sleep 60 & echo $!; wait' & wait";
        let mut shell = Command::new("sh");
        let mut shell = shell.args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let sleeper = said.trim();
        let state = || fs::read_to_string(format!("/proc/{sleeper}/stat")).unwrap_or_default();
        // Whoever inherits it has to reap it.
        let is_gone = || state().is_empty() || state().contains(") Z");
        assert!(!is_gone(), "{}", state());
        assert!(end_family(Pid::from_child(&shell)));
        assert!(is_gone(), "{}", state());
        shell.wait().unwrap();
    }
}
