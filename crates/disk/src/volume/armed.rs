//! The countdown to an armed power cut.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};

use bakeoff_devices::trigger::Trigger;

/// How far off the armed moment is.
#[derive(Default)]
pub(super) struct Armed {
    /// Writes up to the one that the power goes with; 0 when they are not counted.
    writes: AtomicU64,
    /// Syncs, likewise.
    syncs: AtomicU64,
    /// Told when the moment has come; dropped when another one is armed.
    come: Mutex<Option<Sender<()>>>,
}

impl Armed {
    /// Counts to this moment, and to none that was armed before; tells `come`.
    pub fn set(&self, trigger: Trigger, come: Sender<()>) {
        let (writes, syncs) = match trigger {
            Trigger::Writes(count) => (count, 0),
            Trigger::Syncs(count) => (0, count),
            Trigger::After(_) => (0, 0),
        };
        *self.come.lock().unwrap_or_else(PoisonError::into_inner) = Some(come);
        self.writes.store(writes, Ordering::Relaxed);
        self.syncs.store(syncs, Ordering::Relaxed);
    }

    /// Counts a write. Says whether the power goes with it.
    pub fn write(&self) -> bool {
        reaches_zero(&self.writes)
    }

    /// Counts a sync. Says whether the power goes with it.
    pub fn sync(&self) -> bool {
        reaches_zero(&self.syncs)
    }

    /// Tells that the moment has come.
    pub fn come(&self) {
        let come = self.come.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(come) = come {
            // Nobody listens when the power went otherwise meanwhile.
            let _ = come.send(());
        }
    }
}

/// Counts down, and says whether that was the last one. While nothing is counted, it only looks.
fn reaches_zero(left: &AtomicU64) -> bool {
    left.load(Ordering::Relaxed) != 0
        && left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
            == Ok(1)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn the_nth_is_met_once_and_the_other_kind_is_not_counted() {
        let armed = Armed::default();
        assert!(!armed.write() && !armed.sync());
        armed.set(Trigger::Writes(3), channel().0);
        assert!(!armed.sync());
        assert_eq!([(); 5].map(|()| armed.write()), [false, false, true, false, false]);
        armed.set(Trigger::Syncs(1), channel().0);
        assert!(!armed.write() && armed.sync() && !armed.sync());
    }

    #[test]
    fn what_is_armed_later_replaces_what_was() {
        let armed = Armed::default();
        let ((first, replaced), (second, heard)) = (channel(), channel());
        armed.set(Trigger::Writes(1), first);
        armed.set(Trigger::Syncs(2), second);
        assert!(replaced.recv().is_err() && !armed.write());
        armed.come();
        armed.come();
        assert!(heard.recv().is_ok() && heard.recv().is_err());
    }

    #[test]
    fn of_many_threads_one_meets_the_moment() {
        let armed = Armed::default();
        armed.set(Trigger::Writes(1000), channel().0);
        let met: usize = std::thread::scope(|scope| {
            let count = || (0..500).filter(|_| armed.write()).count();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(count)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(met, 1);
    }
}
