//! The countdown to moments that are waited for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bakeoff_devices::trigger::{Awaited, Trigger};

/// How far off the armed moments are.
#[derive(Default)]
pub(super) struct Armed {
    /// Whether any is counted to.
    counting: AtomicBool,
    due: Mutex<Due>,
}

#[derive(Default)]
struct Due {
    /// The moments, each until it has come.
    awaited: Vec<Option<Trigger>>,
    writes: u64,
    syncs: u64,
    /// Told when the last has come; dropped when others are armed.
    come: Option<Sender<()>>,
}

/// The moments that have come with something.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Met {
    /// Which, in the order in which they were armed.
    pub which: Vec<usize>,
    /// Whether no other is waited for.
    pub last: bool,
}

impl Armed {
    /// Counts to these moments, and to none that were armed before; tells `come`.
    pub fn set(&self, moments: &[Awaited], come: Sender<()>) {
        let awaited = moments.iter().map(|moment| Some(moment.trigger)).collect();
        *self.lock() = Due { awaited, writes: 0, syncs: 0, come: Some(come) };
        self.counting.store(true, Ordering::Relaxed);
    }

    /// Counts a write.
    pub fn write(&self) -> Met {
        self.count(|due| {
            due.writes += 1;
            let now = Trigger::Writes(due.writes);
            due.meet(|_, awaited| awaited == now)
        })
    }

    /// Counts a sync.
    pub fn sync(&self) -> Met {
        self.count(|due| {
            due.syncs += 1;
            let now = Trigger::Syncs(due.syncs);
            due.meet(|_, awaited| awaited == now)
        })
    }

    /// A moment has come by the time, unless it had before.
    pub fn is_due(&self, number: usize) -> Met {
        self.count(|due| due.meet(|it, _| it == number))
    }

    /// Tells that the last moment has come.
    pub fn come(&self) {
        if let Some(come) = self.lock().come.take() {
            // Nobody listens when the power went otherwise meanwhile.
            let _ = come.send(());
        }
    }

    /// While nothing is armed, this only looks.
    fn count(&self, count: impl FnOnce(&mut Due) -> Met) -> Met {
        if !self.counting.load(Ordering::Relaxed) {
            return Met::default();
        }
        let met = count(&mut self.lock());
        if met.last {
            self.counting.store(false, Ordering::Relaxed);
        }
        met
    }

    fn lock(&self) -> MutexGuard<'_, Due> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Met {
    /// Takes in what came with the same.
    pub fn join(&mut self, other: Self) {
        self.which.extend(other.which);
        self.last |= other.last;
    }
}

impl Due {
    fn meet(&mut self, comes: impl Fn(usize, Trigger) -> bool) -> Met {
        let mut which = Vec::new();
        for (number, awaited) in self.awaited.iter_mut().enumerate() {
            if awaited.is_some_and(|trigger| comes(number, trigger)) {
                *awaited = None;
                which.push(number);
            }
        }
        let last = !which.is_empty() && self.awaited.iter().all(Option::is_none);
        Met { which, last }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn until(trigger: Trigger) -> Awaited {
        Awaited { trigger, within: None }
    }

    #[test]
    fn the_nth_is_met_once_and_the_other_kind_is_not_counted() {
        let armed = Armed::default();
        assert!(!armed.write().last && !armed.sync().last);
        armed.set(&[until(Trigger::Writes(3))], channel().0);
        assert!(!armed.sync().last);
        assert_eq!([(); 5].map(|()| armed.write().last), [false, false, true, false, false]);
        armed.set(&[until(Trigger::Syncs(1))], channel().0);
        assert!(!armed.write().last && armed.sync().last && !armed.sync().last);
    }

    #[test]
    fn of_several_each_is_met_by_itself_and_the_power_goes_with_the_last() {
        let armed = Armed::default();
        let all = [Trigger::Writes(2), Trigger::Syncs(1), Trigger::Writes(1), Trigger::Writes(2)];
        armed.set(&all.map(until), channel().0);
        let met = |which: &[usize], last| Met { which: which.to_vec(), last };
        assert_eq!(armed.write(), met(&[2], false));
        assert_eq!(armed.write(), met(&[0, 3], false));
        assert_eq!(armed.is_due(0), met(&[], false), "it has come before");
        assert_eq!(armed.sync(), met(&[1], true));
        assert_eq!((armed.write(), armed.sync()), (met(&[], false), met(&[], false)));
    }

    #[test]
    fn what_is_armed_later_replaces_what_was() {
        let armed = Armed::default();
        let ((first, replaced), (second, heard)) = (channel(), channel());
        armed.set(&[until(Trigger::Writes(1))], first);
        armed.set(&[until(Trigger::Syncs(2))], second);
        assert!(replaced.recv().is_err() && !armed.write().last);
        armed.come();
        armed.come();
        assert!(heard.recv().is_ok() && heard.recv().is_err());
    }

    #[test]
    fn of_many_threads_one_meets_the_moment() {
        let armed = Armed::default();
        armed.set(&[until(Trigger::Writes(1000))], channel().0);
        let met: usize = std::thread::scope(|scope| {
            let count = || (0..500).filter(|_| armed.write().last).count();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(count)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(met, 1);
    }
}
