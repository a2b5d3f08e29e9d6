//! Helpers for processes, and for events that must come soon.

use std::fs;
use std::process::{Child, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::PATIENCE;

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// Waits until `there` returns true.
#[track_caller]
pub fn wait_until(what: &str, mut there: impl FnMut() -> bool) {
    let start = Instant::now();
    while !there() {
        assert!(start.elapsed() < PATIENCE, "{what} did not come within {PATIENCE:?}");
        sleep(PAUSE);
    }
}

/// Waits for something that a child makes; returns whether it came before the child ended.
#[track_caller]
pub fn comes_while(child: &mut Child, what: &str, mut there: impl FnMut() -> bool) -> bool {
    let mut came = false;
    wait_until(what, || {
        came = there();
        came || child.try_wait().expect("a child of ours").is_some()
    });
    came
}

/// How often the interrupted work may be over before the test gets there.
const TRIES: u32 = 10;

/// Returns the result of the first attempt that was in time. Tests wait for processors, too: if the
/// work to interrupt is already over, the attempt returns `None` and is repeated. It gets its
/// number.
#[track_caller]
pub fn in_time<T>(what: &str, attempt: impl FnMut(u32) -> Option<T>) -> T {
    let Some(came) = (0..TRIES).find_map(attempt) else {
        panic!(
            "{what} was over in each of {TRIES} attempts, or went on as if nothing had happened"
        );
    };
    came
}

/// How a child ended, if it did within that time.
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

/// The running children of a process.
pub fn children(parent: u32) -> Vec<u32> {
    // By their own parent field: the kernel keeps a list for each thread of the parent.
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
    fn what_a_child_brings_is_told_from_its_end() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let mut left = 3;
        assert!(comes_while(&mut child, "zero", || {
            left -= 1;
            left == 0
        }));
        child.kill().unwrap();
        assert!(!comes_while(&mut child, "what nobody brings", || false));
    }

    #[test]
    fn the_first_attempt_that_is_in_time_is_the_last() {
        let mut made = Vec::new();
        let came = in_time("it", |number| {
            made.push(number);
            (number == 2).then_some("in time")
        });
        assert_eq!((came, made), ("in time", vec![0, 1, 2]));
    }

    #[test]
    #[should_panic(expected = "it was over in each of 10 attempts")]
    fn attempts_that_are_all_late_are_a_failure() {
        in_time("it", |_| None::<()>);
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
