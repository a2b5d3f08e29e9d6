use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bakeoff_devices::trigger::{CallSignature, SignatureCall, TimedTrigger, Trigger};

use crate::fault::path_matches;

#[derive(Default)]
pub(super) struct ArmedTriggers {
    counting: AtomicBool,
    /// Whether some calls are matched by the names of their files.
    by_signature: AtomicBool,
    due: Mutex<MomentCountdown>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CountedCall {
    Write(u64),
    Sync,
}

#[derive(Default)]
struct MomentCountdown {
    awaited: Vec<Option<Trigger>>,
    by_itself: Vec<bool>,
    writes: u64,
    syncs: u64,
    signatures: Vec<(CallSignature, u64)>,
    /// Told when the last has come; dropped when others are armed.
    come: Option<Sender<()>>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FiredTriggers {
    /// In the order in which they were armed.
    pub which: Vec<usize>,
    pub last: bool,
}

impl ArmedTriggers {
    /// Replaces what was armed before; tells `come` at the end.
    pub fn set_moments(
        &self,
        moments: &[TimedTrigger],
        signatures: &[CallSignature],
        come: Sender<()>,
    ) {
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

    /// `path` is called only if it matters.
    pub fn count_call(
        &self,
        call: CountedCall,
        path: impl FnOnce() -> Option<PathBuf>,
    ) -> FiredTriggers {
        if !self.counting.load(Ordering::Relaxed) {
            return FiredTriggers::default();
        }
        let path = if self.by_signature.load(Ordering::Relaxed) { path() } else { None };
        self.count_if_armed(|due| due.count_call(call, path.as_deref()))
    }

    /// For each moment, whether its event came before its time was over.
    pub fn by_itself(&self) -> Vec<bool> {
        self.lock().by_itself.clone()
    }

    /// A moment has come by the time, unless it had before.
    pub fn is_due(&self, number: usize) -> FiredTriggers {
        self.count_if_armed(|due| due.meet_moments(false, |it, _| it == number))
    }

    pub fn notify_last(&self) {
        if let Some(come) = self.lock().come.take() {
            // Nobody listens when the power went otherwise meanwhile.
            let _ = come.send(());
        }
    }

    /// While nothing is armed, this only looks.
    fn count_if_armed(
        &self,
        count: impl FnOnce(&mut MomentCountdown) -> FiredTriggers,
    ) -> FiredTriggers {
        if !self.counting.load(Ordering::Relaxed) {
            return FiredTriggers::default();
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

impl FiredTriggers {
    pub fn merge(&mut self, other: Self) {
        self.which.extend(other.which);
        self.last |= other.last;
    }
}

impl MomentCountdown {
    fn count_call(&mut self, call: CountedCall, path: Option<&Path>) -> FiredTriggers {
        let (count, of_all) = match call {
            CountedCall::Write(_) => (&mut self.writes, Trigger::Writes as fn(u64) -> Trigger),
            CountedCall::Sync => (&mut self.syncs, Trigger::Syncs as fn(u64) -> Trigger),
        };
        *count += 1;
        let now = of_all(*count);
        let mut met = self.meet_moments(true, |_, awaited| awaited == now);
        for number in 0..self.signatures.len() {
            let (signature, count) = &mut self.signatures[number];
            if path.is_some_and(|path| matches_call(signature, call, path)) {
                *count += 1;
                let now = Trigger::Signature { signature: number, count: *count };
                met.merge(self.meet_moments(true, |_, awaited| awaited == now));
            }
        }
        met
    }

    fn meet_moments(
        &mut self,
        by_itself: bool,
        comes: impl Fn(usize, Trigger) -> bool,
    ) -> FiredTriggers {
        let mut which = Vec::new();
        for (number, awaited) in self.awaited.iter_mut().enumerate() {
            let Some(trigger) = awaited.filter(|trigger| comes(number, *trigger)) else { continue };
            self.by_itself[number] = by_itself || matches!(trigger, Trigger::After(_));
            *awaited = None;
            which.push(number);
        }
        let last = !which.is_empty() && self.awaited.iter().all(Option::is_none);
        FiredTriggers { which, last }
    }
}

fn matches_call(signature: &CallSignature, call: CountedCall, path: &Path) -> bool {
    let is_such = match (signature.call, call) {
        (SignatureCall::Write, CountedCall::Write(_))
        | (SignatureCall::Sync, CountedCall::Sync) => true,
        (SignatureCall::WriteBelow(end), CountedCall::Write(offset)) => offset < end,
        (SignatureCall::Write | SignatureCall::WriteBelow(_), CountedCall::Sync)
        | (SignatureCall::Sync, CountedCall::Write(_)) => false,
    };
    is_such && signature.files.iter().any(|pattern| path_matches(pattern, path))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    impl ArmedTriggers {
        fn write(&self) -> FiredTriggers {
            self.count_call(CountedCall::Write(0), || None)
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
        let armed = ArmedTriggers::default();
        let signed = |signature, count| until(Trigger::Signature { signature, count });
        let late =
            TimedTrigger { trigger: Trigger::Signature { signature: 0, count: 9 }, within: None };
        let all = [signed(0, 2), signed(1, 2), signed(2, 1), until(Trigger::Writes(5)), late];
        armed.set_moments(&all, &signatures, channel().0);
        let call = |call, path: &str| armed.count_call(call, || Some(path.into())).which;
        assert!(call(CountedCall::Write(0), "a-wal").is_empty());
        assert!(call(CountedCall::Write(32), "a-wal").is_empty(), "it begins after the header");
        assert!(call(CountedCall::Write(4096), "base/1").is_empty());
        assert!(call(CountedCall::Sync, "a-wal").is_empty());
        assert_eq!(call(CountedCall::Write(31), "b-wal"), [0]);
        assert_eq!(call(CountedCall::Sync, "base/2"), [2]);
        assert_eq!(call(CountedCall::Write(8192), "base/2"), [3, 1], "of all, and of these files");
        assert!(armed.is_due(3).which.is_empty(), "it has come before");
        assert!(armed.is_due(4).last);
        assert_eq!(armed.by_itself(), [true, true, true, true, false]);
    }

    fn until(trigger: Trigger) -> TimedTrigger {
        TimedTrigger { trigger, within: None }
    }

    #[test]
    fn what_is_armed_later_replaces_what_was() {
        let armed = ArmedTriggers::default();
        let ((first, replaced), (second, heard)) = (channel(), channel());
        armed.set_moments(&[until(Trigger::Writes(1))], &[], first);
        armed.set_moments(&[until(Trigger::Syncs(2))], &[], second);
        assert!(replaced.recv().is_err() && !armed.write().last);
        armed.notify_last();
        armed.notify_last();
        assert!(heard.recv().is_ok() && heard.recv().is_err());
    }

    #[test]
    fn of_many_threads_one_meets_the_moment() {
        let armed = ArmedTriggers::default();
        armed.set_moments(&[until(Trigger::Writes(1000))], &[], channel().0);
        let met: usize = std::thread::scope(|scope| {
            let count = || (0..500).filter(|_| armed.write().last).count();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(count)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(met, 1);
    }
}
