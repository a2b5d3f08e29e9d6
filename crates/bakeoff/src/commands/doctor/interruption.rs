//! Ctrl-C while doctor tries servers: they are ended, and their folder is removed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use bakeoff_lab::process::end_children;

use crate::exit::{CommandFailure, Exit};
use crate::stop;

const LOOK: Duration = Duration::from_millis(50);

#[derive(Clone, Default)]
pub struct Interruption {
    stop: Arc<AtomicBool>,
    may_exit: Arc<AtomicBool>,
}

impl Interruption {
    /// From now on a signal ends the servers that are tried, not doctor itself.
    pub fn heed() -> Result<Self, CommandFailure> {
        let it = Self { stop: stop::stop_flag()?, may_exit: Arc::default() };
        let watched = it.clone();
        let watch = move || {
            while !watched.stop.load(Ordering::Relaxed) {
                thread::sleep(LOOK);
            }
            while !watched.may_exit.load(Ordering::Relaxed) {
                end_children();
                thread::sleep(LOOK);
            }
            std::process::exit(Exit::Interrupted.to_code().into());
        };
        let started = thread::Builder::new().name("interruption".into()).spawn(watch);
        started.map_err(|error| CommandFailure::new(Exit::Failed, error))?;
        Ok(it)
    }

    /// Nothing is left that would have to be removed.
    pub fn allow_exit(&self) {
        self.may_exit.store(true, Ordering::Relaxed);
    }

    /// Fails once a signal has come.
    pub fn check(&self) -> Result<(), CommandFailure> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(CommandFailure::new(Exit::Interrupted, "doctor was interrupted")),
            false => Ok(()),
        }
    }
}
