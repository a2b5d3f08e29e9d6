//! What asks a run to stop: a signal, or that nobody can see it any more.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::{CommandFailure, Exit};

/// A flag that is set when the run is to stop in order.
///
/// SIGINT and SIGTERM set it; the second of them ends bakeoff at once, and what is left then is
/// removed by the next bakeoff. A closed terminal sets it, too, as often as it is told: the kernel
/// and the shell both send SIGHUP. So does a reader of standard output or standard error that has
/// gone.
///
/// One flag is for the whole process, however many runs it makes: who asks the first to stop wants no
/// other.
pub fn flag() -> Result<Arc<AtomicBool>, CommandFailure> {
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
        let code = i32::from(Exit::Interrupted.code());
        flag::register_conditional_shutdown(signal, code, Arc::clone(&asked))?;
        flag::register(signal, Arc::clone(&asked))?;
        flag::register(signal, Arc::clone(stop))?;
    }
    // Who starts it by nohup wants it to go on.
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

/// Sets the flag when a terminal is closed or the last reader of a pipe has gone. Somebody waits for
/// that in the kernel, so that it costs nothing.
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
