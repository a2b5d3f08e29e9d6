//! The limit of the size of files (`ulimit -f`): the kernel ends a process by a signal at it, or fails its write.

use rustix::process::{Resource, getrlimit};

const REMEDY: &str =
    "raise the limit (ulimit -f, LimitFSIZE of a systemd unit, fsize in limits.conf)";

/// Lets a write at the limit fail in this process and in those that it starts, which then say so.
pub fn ignore_file_limit_signal() {
    // SAFETY: no handler is called.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Adds the limit to the text of a failure that can come of it.
pub fn explain_file_limit(text: String) -> String {
    let limit = getrlimit(Resource::Fsize).current;
    match limit.filter(|_| can_be_of_limit(&text)) {
        Some(bytes) => {
            format!("{text}; this process may write files of at most {bytes} bytes: {REMEDY}")
        }
        None => text,
    }
}

/// The kernel's words for EFBIG, and SQLite's for any error of a write.
fn can_be_of_limit(text: &str) -> bool {
    let words = ["File too large", "disk I/O error", "error 27", "rrno: 27", "rrcode: 27"];
    words.iter().any(|it| text.contains(it)) && !text.contains(REMEDY)
}
