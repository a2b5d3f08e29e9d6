//! How late the machine wakes a thread that does nothing but sleep: what no timing can be better
//! than, measured beside each job.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long it sleeps each time.
const NAP: Duration = Duration::from_millis(2);

/// A thread that sleeps, without timer slack and before other threads if that is permitted.
pub(crate) struct Sleeper {
    awake: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Duration>>,
}

impl Sleeper {
    pub(crate) fn start() -> Self {
        let awake = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&awake);
        let thread = thread::spawn(move || {
            let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
            let me = rustix::thread::gettid();
            let _ = rustix::process::setpriority_process(Some(me), -20);
            let mut late = Vec::new();
            while !ended.load(Ordering::Relaxed) {
                let start = Instant::now();
                thread::sleep(NAP);
                late.push(start.elapsed().saturating_sub(NAP));
            }
            late
        });
        Self { awake, thread }
    }

    /// Ends it; the 99th percentile of how late it was woken, in seconds.
    pub(crate) fn late(self) -> f64 {
        self.awake.store(true, Ordering::Relaxed);
        let mut late = self.thread.join().expect("a sleeper does not panic");
        late.sort_unstable();
        late[late.len() * 99 / 100].as_secs_f64()
    }
}
