//! The countdown to moments that are waited for.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bakeoff_devices::trigger::{Awaited, CallSignature, SignatureCall, Trigger};

use crate::fault::fits;

/// How far off the armed moments are.
#[derive(Default)]
pub(super) struct Armed {
    /// Whether any is counted to.
    counting: AtomicBool,
    /// Whether calls of some files are told from others.
    by_signature: AtomicBool,
    due: Mutex<MomentCountdown>,
}

/// A call that a signature may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CountedCall {
    /// A write that begins there.
    Write(u64),
    Sync,
}

#[derive(Default)]
struct MomentCountdown {
    /// The moments, each until it has come.
    awaited: Vec<Option<Trigger>>,
    /// Of each of them, whether it came by itself.
    by_itself: Vec<bool>,
    writes: u64,
    syncs: u64,
    /// What is looked for, each with how often it was found.
    signatures: Vec<(CallSignature, u64)>,
    /// Told when the last has come; dropped when others are armed.
    come: Option<Sender<()>>,
}

/// The moments that have come with something.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Met {
    /// The numbers of these, in the order in which they were armed.
    pub which: Vec<usize>,
    /// Whether no other is waited for.
    pub last: bool,
}

impl Armed {
    /// Counts to these moments, and to none that were armed before; tells `come`.
    pub fn set(&self, moments: &[Awaited], signatures: &[CallSignature], come: Sender<()>) {
        let awaited = moments.iter().map(|moment| Some(moment.trigger)).collect();
        self.by_signature.store(!signatures.is_empty(), Ordering::Relaxed);
        *self.lock() = MomentCountdown {
            awaited,
            by_itself: vec![false; moments.len()],
            signatures: signatures.iter().map(|signature| (signature.clone(), 0)).collect(),
            come: Some(come),
            ..MomentCountdown::default()
        };
        self.counting.store(true, Ordering::Relaxed);
    }

    /// Counts a call of the file at `path`, which is asked for only where it matters.
    pub fn call(&self, call: CountedCall, path: impl FnOnce() -> Option<PathBuf>) -> Met {
        if !self.counting.load(Ordering::Relaxed) {
            return Met::default();
        }
        let path = if self.by_signature.load(Ordering::Relaxed) { path() } else { None };
        self.count(|due| due.call(call, path.as_deref()))
    }

    /// For each moment, whether its event came before its time was over.
    pub fn by_itself(&self) -> Vec<bool> {
        self.lock().by_itself.clone()
    }

    /// A moment has come by the time, unless it had before.
    pub fn is_due(&self, number: usize) -> Met {
        self.count(|due| due.meet(false, |it, _| it == number))
    }

    /// Tells that the last moment has come.
    pub fn come(&self) {
        if let Some(come) = self.lock().come.take() {
            // Nobody listens when the power went otherwise meanwhile.
            let _ = come.send(());
        }
    }

    /// While nothing is armed, this only looks.
    fn count(&self, count: impl FnOnce(&mut MomentCountdown) -> Met) -> Met {
        if !self.counting.load(Ordering::Relaxed) {
            return Met::default();
        }
        let met = count(&mut self.lock());
        if met.last {
            self.counting.store(false, Ordering::Relaxed);
        }
        met
    }

    fn lock(&self) -> MutexGuard<'_, MomentCountdown> {
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

impl MomentCountdown {
    fn call(&mut self, call: CountedCall, path: Option<&Path>) -> Met {
        let (count, of_all) = match call {
            CountedCall::Write(_) => (&mut self.writes, Trigger::Writes as fn(u64) -> Trigger),
            CountedCall::Sync => (&mut self.syncs, Trigger::Syncs as fn(u64) -> Trigger),
        };
        *count += 1;
        let now = of_all(*count);
        let mut met = self.meet(true, |_, awaited| awaited == now);
        for number in 0..self.signatures.len() {
            let (signature, count) = &mut self.signatures[number];
            if path.is_some_and(|path| leaves(signature, call, path)) {
                *count += 1;
                let now = Trigger::Signature { signature: number, count: *count };
                met.join(self.meet(true, |_, awaited| awaited == now));
            }
        }
        met
    }

    fn meet(&mut self, by_itself: bool, comes: impl Fn(usize, Trigger) -> bool) -> Met {
        let mut which = Vec::new();
        for (number, awaited) in self.awaited.iter_mut().enumerate() {
            let Some(trigger) = awaited.filter(|trigger| comes(number, *trigger)) else { continue };
            self.by_itself[number] = by_itself || matches!(trigger, Trigger::After(_));
            *awaited = None;
            which.push(number);
        }
        let last = !which.is_empty() && self.awaited.iter().all(Option::is_none);
        Met { which, last }
    }
}

/// Whether a call is one of a signature.
fn leaves(signature: &CallSignature, call: CountedCall, path: &Path) -> bool {
    let is_such = match (signature.call, call) {
        (SignatureCall::Write, CountedCall::Write(_))
        | (SignatureCall::Sync, CountedCall::Sync) => true,
        (SignatureCall::WriteBelow(end), CountedCall::Write(offset)) => offset < end,
        (SignatureCall::Write | SignatureCall::WriteBelow(_), CountedCall::Sync)
        | (SignatureCall::Sync, CountedCall::Write(_)) => false,
    };
    is_such && signature.files.iter().any(|pattern| fits(pattern, path))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    impl Armed {
        fn write(&self) -> Met {
            self.call(CountedCall::Write(0), || None)
        }

        fn sync(&self) -> Met {
            self.call(CountedCall::Sync, || None)
        }
    }

    #[test]
    fn calls_of_some_files_are_counted_by_themselves_and_by_where_they_begin() {
        let signature =
            |call, file: &str| CallSignature { call, files: vec!["none".into(), file.into()] };
        let signatures = [
            signature(SignatureCall::WriteBelow(32), "*-wal"),
            signature(SignatureCall::Write, "base/*"),
            signature(SignatureCall::Sync, "base/*"),
        ];
        let armed = Armed::default();
        let signed = |signature, count| until(Trigger::Signature { signature, count });
        let late = Awaited { trigger: Trigger::Signature { signature: 0, count: 9 }, within: None };
        let all = [signed(0, 2), signed(1, 2), signed(2, 1), until(Trigger::Writes(5)), late];
        armed.set(&all, &signatures, channel().0);
        let call = |call, path: &str| armed.call(call, || Some(path.into())).which;
        assert!(call(CountedCall::Write(0), "a-wal").is_empty());
        assert!(call(CountedCall::Write(32), "a-wal").is_empty(), "it begins after the header");
        assert!(call(CountedCall::Write(4096), "base/1").is_empty());
        assert!(call(CountedCall::Sync, "a-wal").is_empty());
        assert_eq!(call(CountedCall::Write(31), "b-wal"), [0]);
        assert_eq!(call(CountedCall::Sync, "base/2"), [2]);
        assert_eq!(call(CountedCall::Write(8192), "base/2"), [3, 1], "of all, and of these files");
        assert!(armed.is_due(4).last);
        assert_eq!(armed.by_itself(), [true, true, true, true, false]);
    }

    fn until(trigger: Trigger) -> Awaited {
        Awaited { trigger, within: None }
    }

    #[test]
    fn the_nth_is_met_once_and_the_other_kind_is_not_counted() {
        let armed = Armed::default();
        assert!(!armed.write().last && !armed.sync().last);
        armed.set(&[until(Trigger::Writes(3))], &[], channel().0);
        assert!(!armed.sync().last);
        assert_eq!([(); 5].map(|()| armed.write().last), [false, false, true, false, false]);
        armed.set(&[until(Trigger::Syncs(1))], &[], channel().0);
        assert!(!armed.write().last && armed.sync().last && !armed.sync().last);
    }

    #[test]
    fn of_several_each_is_met_by_itself_and_the_power_goes_with_the_last() {
        let armed = Armed::default();
        let all = [Trigger::Writes(2), Trigger::Syncs(1), Trigger::Writes(1), Trigger::Writes(2)];
        armed.set(&all.map(until), &[], channel().0);
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
        armed.set(&[until(Trigger::Writes(1))], &[], first);
        armed.set(&[until(Trigger::Syncs(2))], &[], second);
        assert!(replaced.recv().is_err() && !armed.write().last);
        armed.come();
        armed.come();
        assert!(heard.recv().is_ok() && heard.recv().is_err());
    }

    #[test]
    fn of_many_threads_one_meets_the_moment() {
        let armed = Armed::default();
        armed.set(&[until(Trigger::Writes(1000))], &[], channel().0);
        let met: usize = std::thread::scope(|scope| {
            let count = || (0..500).filter(|_| armed.write().last).count();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(count)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(met, 1);
    }
}
