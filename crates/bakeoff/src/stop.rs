//! Stops a run on a signal, or when nobody can see its output any more.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::{CommandFailure, Exit};

/// Set when the run is to stop in order.
///
/// SIGINT and SIGTERM set it; the second one ends bakeoff at once. SIGHUP may come twice, from the
/// kernel and the shell, and only sets it; so does a reader of standard output or error that has
/// gone. One flag serves the whole process.
pub fn stop_flag() -> Result<Arc<AtomicBool>, CommandFailure> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    if let Some(stop) = FLAG.get() {
        return Ok(Arc::clone(stop));
    }
    let stop = Arc::new(AtomicBool::new(false));
    heed_signals(&stop)
        .and_then(|()| heed_closing(&stop))
        .map_err(|error| CommandFailure::new(Exit::Failed, format!("signals: {error}")))?;
    Ok(Arc::clone(FLAG.get_or_init(|| stop)))
}

fn heed_signals(stop: &Arc<AtomicBool>) -> io::Result<()> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let code = i32::from(Exit::Interrupted.to_code());
        flag::register_conditional_shutdown(signal, code, Arc::clone(&asked))?;
        flag::register(signal, Arc::clone(&asked))?;
        flag::register(signal, Arc::clone(stop))?;
    }
    // With nohup the run should survive a hangup.
    if !is_ignored(SIGHUP) {
        flag::register(SIGHUP, Arc::clone(stop))?;
    }
    Ok(())
}

/// Whether this process was started with a signal ignored: see proc_pid_status(5).
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// The kernel wakes the thread, so waiting costs nothing.
fn heed_closing(stop: &Arc<AtomicBool>) -> io::Result<()> {
    let stop = Arc::clone(stop);
    let wait = move || {
        let (output, errors) = (io::stdout(), io::stderr());
        let gone = PollFlags::HUP | PollFlags::ERR;
        let nothing = PollFlags::empty();
        loop {
            let mut ends = [PollFd::new(&output, nothing), PollFd::new(&errors, nothing)];
            match poll(&mut ends, None) {
                Err(rustix::io::Errno::INTR) => continue,
                Ok(_) if ends.iter().any(|end| end.revents().intersects(gone)) => {
                    stop.store(true, Ordering::Relaxed);
                }
                _ => {}
            }
            return;
        }
    };
    thread::Builder::new().name("reader".into()).spawn(wait).map(drop)
}
