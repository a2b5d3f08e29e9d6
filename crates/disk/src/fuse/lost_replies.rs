//! Handles answers that can't be delivered: the kernel does not take one, or the thread that makes
//! it panics. The caller would wait for ever and could not even be killed in a call that can't be
//! interrupted. So the daemon ends: the kernel ends the connection with it, and every waiting call
//! fails.

use std::io::Write;

use log::{LevelFilter, Log, Metadata, Record};
use rustix::process::Signal;

const LOST: &str = "Failed to send FUSE reply";
/// The caller was interrupted (ENOENT), or the mount is gone (ENODEV): nobody waits.
const NOBODY_WAITS: [&str; 2] = ["(os error 2)", "(os error 19)"];

struct ReplyErrorLogger;

impl Log for ReplyErrorLogger {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        about.target().starts_with("fuser")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) && is_lost(&record.args().to_string()) {
            give_up(&record.args().to_string());
        }
    }

    fn flush(&self) {}
}

fn is_lost(said: &str) -> bool {
    said.starts_with(LOST) && !NOBODY_WAITS.iter().any(|end| said.ends_with(end))
}

pub fn end_with_a_lost_reply() {
    if log::set_logger(&ReplyErrorLogger).is_ok() {
        log::set_max_level(LevelFilter::Error);
    }
}

pub fn end_with_a_panic() {
    let say = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        say(panic);
        give_up("a thread of the daemon has panicked");
    }));
}

pub fn give_up(why: &str) -> ! {
    let _ = writeln!(std::io::stderr(), "error: {why}");
    // Not by a signal that dumps a core: the kernel would wait for every thread to end before it
    // closes anything, and one may wait for an answer of this very mount.
    for _ in 0..3 {
        let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::KILL);
    }
    std::process::abort()
}

#[cfg(test)]
mod tests {
    use super::is_lost;

    #[test]
    fn an_answer_that_nobody_waits_for_is_not_lost() {
        let said = |number| format!("Failed to send FUSE reply: {}", errno(number));
        assert!(is_lost(&said(5)) && is_lost(&said(12)));
        assert!(!is_lost(&said(2)) && !is_lost(&said(19)));
        assert!(!is_lost("Request 4: INTERRUPT"));
    }

    fn errno(number: i32) -> std::io::Error {
        std::io::Error::from_raw_os_error(number)
    }
}
