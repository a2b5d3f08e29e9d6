//! A daemon that was stopped (SIGSTOP) answers nobody, and whoever waits for its disk can't even be
//! killed. Who has started it sees that, and ends it.

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

/// How long a daemon may be stopped: somebody may look at it.
pub(crate) const STOPPED: Duration = Duration::from_secs(5);
/// How often a look is taken meanwhile whether it goes on.
const LOOK: Duration = Duration::from_millis(100);

/// Ends a child that is stopped for 5 s, as long as this is there. It costs nothing while the child
/// is not stopped.
#[derive(Debug)]
pub(crate) struct Guard(Arc<AtomicBool>);

impl Guard {
    /// Watches a child of this process, whoever waits for its end.
    pub(crate) fn new(child: &Child) -> io::Result<Self> {
        let handle = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
        let over = Arc::new(AtomicBool::new(false));
        let unwatched = Arc::clone(&over);
        thread::Builder::new()
            .name("disk-guard".into())
            .spawn(move || watch(&handle, &unwatched))?;
        Ok(Self(over))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Until the child has ended.
fn watch(child: &OwnedFd, unwatched: &AtomicBool) {
    let either = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while stopped(child, either) == Some(true) && !unwatched.load(Ordering::Relaxed) {
        let start = Instant::now();
        while stopped(child, either | WaitIdOptions::NOHANG) == Some(true) {
            if start.elapsed() > STOPPED && !unwatched.load(Ordering::Relaxed) {
                let _ = pidfd_send_signal(child, Signal::KILL);
                return;
            }
            thread::sleep(LOOK);
        }
    }
}

/// Whether the child is stopped rather than has ended; `None` where neither is known.
fn stopped(child: &OwnedFd, options: WaitIdOptions) -> Option<bool> {
    loop {
        match waitid(WaitId::PidFd(child.as_fd()), options) {
            Ok(status) => return status.map(|status| status.stopped()),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// Whether the first thread of a process is stopped, whatever the others do.
pub(crate) fn is_stopped(pid: u32) -> bool {
    // The state stands behind the name, which is in parentheses and may hold some.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
}
