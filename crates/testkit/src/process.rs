//! Processes, and what must come soon.

use std::fs;
use std::process::{Child, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::PATIENCE;

/// How long it sleeps before it looks again.
const PAUSE: Duration = Duration::from_millis(10);

/// Waits until something is there.
///
/// # Panics
/// When it did not come within a minute.
#[track_caller]
pub fn wait_until(what: &str, mut there: impl FnMut() -> bool) {
    let start = Instant::now();
    while !there() {
        assert!(start.elapsed() < PATIENCE, "{what} did not come within a minute");
        sleep(PAUSE);
    }
}

/// How a child ended, if it did within that time.
///
/// # Panics
/// When it was waited for before.
pub fn ended_within(limit: Duration, child: &mut Child) -> Option<ExitStatus> {
    let end = Instant::now() + limit;
    loop {
        let ended = child.try_wait().expect("a child of ours");
        let left = end.saturating_duration_since(Instant::now());
        if ended.is_some() || left.is_zero() {
            return ended;
        }
        sleep(left.min(PAUSE));
    }
}

/// The processes that a process has started and that have not been waited for.
///
/// # Panics
/// When there is no `/proc`.
pub fn children(parent: u32) -> Vec<u32> {
    // By their own word: the kernel's list is one of each thread of the parent.
    let is_child = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat.rsplit_once(')').map(|(_, fields)| fields);
        let of = fields.and_then(|fields| fields.split_whitespace().nth(1)?.parse().ok());
        of == Some(parent)
    };
    let processes = fs::read_dir("/proc").expect("the kernel has it").filter_map(Result::ok);
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(is_child).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_child_is_found_until_it_was_waited_for() {
        // Started by a thread that is not the first.
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        assert!(children(std::process::id()).contains(&child.id()));
        assert_eq!(ended_within(Duration::from_millis(50), &mut child), None);
        child.kill().unwrap();
        let ended = ended_within(PATIENCE, &mut child).expect("it was killed");
        assert!(!ended.success());
        assert!(!children(std::process::id()).contains(&child.id()));
    }

    #[test]
    fn what_comes_later_is_waited_for() {
        let mut left = 3;
        wait_until("zero", || {
            left -= 1;
            left == 0
        });
        assert_eq!(left, 0);
    }
}
