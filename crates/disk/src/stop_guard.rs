//! Kills a daemon that is stopped (SIGSTOP): it answers nobody, and processes that wait for its
//! disk can't even be killed.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};

/// Long enough for a moment in a debugger.
pub(crate) const STOPPED: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(100);

/// Kills a child that is stopped for 5 s. It costs nothing while the child is not stopped.
#[derive(Debug)]
pub(crate) struct Guard(Arc<AtomicBool>);

impl Guard {
    /// Anybody may wait for the child's end meanwhile.
    pub(crate) fn new(child: &Child) -> io::Result<Self> {
        let handle = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
        let over = Arc::new(AtomicBool::new(false));
        let unwatched = Arc::clone(&over);
        thread::Builder::new()
            .name("disk-guard".into())
            .spawn(move || watch_child(&handle, &unwatched))?;
        Ok(Self(over))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn watch_child(child: &OwnedFd, unwatched: &AtomicBool) {
    let either = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while check_stopped(child, either) == Some(true) && !unwatched.load(Ordering::Relaxed) {
        let start = Instant::now();
        while check_stopped(child, either | WaitIdOptions::NOHANG) == Some(true) {
            if start.elapsed() > STOPPED && !unwatched.load(Ordering::Relaxed) {
                let _ = pidfd_send_signal(child, Signal::KILL);
                return;
            }
            thread::sleep(LOOK);
        }
    }
}

/// Whether the child is stopped rather than ended; `None` if neither is known.
fn check_stopped(child: &OwnedFd, options: WaitIdOptions) -> Option<bool> {
    loop {
        match waitid(WaitId::PidFd(child.as_fd()), options) {
            Ok(status) => return status.map(|status| status.stopped()),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// Looks at the first thread alone.
pub(crate) fn is_stopped(pid: u32) -> bool {
    // The state stands behind the name, which is in parentheses and may hold some.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
}
