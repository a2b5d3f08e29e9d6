//! Conditioning: work before the measuring that brings an engine's debts to their lasting level. A few
//! clients do it together, and the disk takes no time meanwhile.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bakeoff_engines::Debt;
use bakeoff_experiment::random::SplitMix64;
use bakeoff_results::measure::{self, Measures, Scope};

use crate::TrialError;
use crate::driving::Conditioning;
use crate::process::MessageOutput;
use crate::process::job::Message;
use crate::targets::RunningTarget;

/// How many clients condition, whatever number works in the window, so that the work is the same for all
/// trials. One alone would leave processors idle while it waits for a server's answers.
const CLIENTS: usize = 4;
/// How often it is told how far the work is, and looked whether the debts have turned over.
const LOOK: Duration = Duration::from_millis(250);
/// How often it is looked whether the work is over.
const TICK: Duration = Duration::from_millis(10);
/// After so long an engine of which nothing is put off by the work, as by one that only reads, is
/// known as such.
const NOTHING: Duration = Duration::from_secs(10);

/// Does the work, and accounts for it.
///
/// # Errors
/// What keeps it from being done.
pub fn condition(
    running: &dyn RunningTarget,
    work: Conditioning,
    output: &MessageOutput<'_>,
) -> Result<Measures, TrialError> {
    let (most, seed, longest) = match work {
        Conditioning::None => return Ok(Measures::default()),
        Conditioning::Operations { count, seed, .. } => (count, seed, None),
        Conditioning::Calibrate { seed, longest } => (u64::MAX, seed, Some(longest)),
    };
    let at_first = debt(running)?;
    let (start, mut turned) = (Instant::now(), false);
    let done = together(running, CLIENTS, most, seed, |CompletedWork { operations, commits }| {
        let of = longest.is_none().then_some(most);
        output.send(&Message::Conditioning { done: operations, of });
        // Some engines' payments are seen where something differs from the last look.
        let debt = debt(running)?;
        // A debt that comes in large pieces can stand still while something is put off.
        let idle = commits == 0 && debt == at_first;
        let is_idle = idle && (operations == most || start.elapsed() > NOTHING);
        turned |= is_idle || debt.has_turned_over();
        Ok(longest.is_none_or(|longest| !turned && start.elapsed() <= longest))
    })?;
    let mut measures = Measures::default();
    measures.set(&measure::CONDITIONED, Scope::Clients, done.operations as f64);
    measures.set(&measure::CONDITIONING, Scope::Trial, start.elapsed().as_secs_f64());
    measures.set(&measure::TURNED_OVER, Scope::Trial, f64::from(u8::from(turned)));
    Ok(measures)
}

/// What clients have done together.
#[derive(Clone, Copy)]
pub(super) struct CompletedWork {
    /// How many operations have ended.
    pub operations: u64,
    /// How many writing transactions these committed.
    pub commits: u64,
}

/// Has so many clients do at most so many operations together, until `look` does not want more; it is
/// asked now and then, and once when all is done.
///
/// # Errors
/// The first of a client's; what `look` answers with.
pub(super) fn together(
    running: &dyn RunningTarget,
    clients: usize,
    most: u64,
    seed: u64,
    mut look: impl FnMut(CompletedWork) -> Result<bool, TrialError>,
) -> Result<CompletedWork, TrialError> {
    let clients = running.drivers(clients);
    let (begun, ended, commits) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let over = AtomicBool::new(false);
    let so_far = || CompletedWork {
        operations: ended.load(Ordering::Relaxed),
        commits: commits.load(Ordering::Relaxed),
    };
    let client = |number: usize| -> Result<(), TrialError> {
        let seed = SplitMix64::from_words(&[seed, number as u64]).next();
        let mut operate = running.conditioner(number, clients, seed)?;
        while !over.load(Ordering::Relaxed) && begun.fetch_add(1, Ordering::Relaxed) < most {
            commits.fetch_add(operate()?, Ordering::Relaxed);
            ended.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    let (client, over) = (&client, &over);
    thread::scope(|scope| {
        let work = |number| {
            scope.spawn(move || client(number).inspect_err(|_| over.store(true, Ordering::Relaxed)))
        };
        let all: Vec<_> = (0..clients).map(work).collect();
        let (mut told, mut wanted) = (Instant::now(), Ok(true));
        while !all.iter().all(thread::ScopedJoinHandle::is_finished) {
            thread::sleep(TICK);
            if told.elapsed() > LOOK && matches!(wanted, Ok(true)) {
                told = Instant::now();
                wanted = look(so_far());
                over.fetch_or(!matches!(wanted, Ok(true)), Ordering::Relaxed);
            }
        }
        let panicked = || TrialError::process("a client that conditions panicked");
        all.into_iter().try_for_each(|it| it.join().map_err(|_| panicked())?)?;
        if wanted? {
            look(so_far())?;
        }
        Ok(so_far())
    })
}

/// What it owes.
///
/// # Errors
/// The target's own, or nobody knows.
pub fn debt(running: &dyn RunningTarget) -> Result<Debt, TrialError> {
    let unknown =
        || TrialError::User("nobody knows what it owes, so that it can't be steady".into());
    running.debt()?.ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use bakeoff_engines::DebtTurn;
    use bakeoff_load::{ClientShare, Driver};
    use bakeoff_workloads::{Claims, Name};

    use super::*;
    use crate::targets::{ConditioningStep, Processes};

    /// A target whose debt has turned over after so many operations.
    struct Owes {
        turns_after: u64,
        done: AtomicU64,
    }

    impl RunningTarget for Owes {
        fn operations(&self) -> &[Name] {
            &[Name::Borrowed("add")]
        }

        fn driver<'a>(
            &'a self,
            _: &ClientShare,
            _: Option<Box<dyn Claims + 'a>>,
        ) -> Result<Box<dyn Driver + 'a>, TrialError> {
            unreachable!("no client starts")
        }

        fn conditioner(
            &self,
            _: usize,
            _: usize,
            _: u64,
        ) -> Result<ConditioningStep<'_>, TrialError> {
            Ok(Box::new(|| {
                std::thread::sleep(Duration::from_millis(1));
                self.done.fetch_add(1, Ordering::Relaxed);
                Ok(1)
            }))
        }

        fn debt(&self) -> Result<Option<Debt>, TrialError> {
            let done = u64::from(self.done.load(Ordering::Relaxed) >= self.turns_after);
            let turns = vec![DebtTurn { name: "log", done, whole: 1 }];
            Ok(Some(Debt { owed: Vec::new(), turns, payments: Vec::new() }))
        }

        fn warm(&self) -> Result<(), TrialError> {
            Ok(())
        }

        fn drain(&self) -> Result<(), TrialError> {
            Ok(())
        }

        fn groups(&self) -> Vec<(&'static str, Processes)> {
            Vec::new()
        }
    }

    /// What is known after a calibration that may take so long: whether all debts have turned over, and
    /// after how many operations.
    fn calibrated(turns_after: u64, longest: Duration) -> (bool, u64) {
        let owes = Owes { turns_after, done: AtomicU64::new(0) };
        let mut said = Vec::new();
        let work = Conditioning::Calibrate { seed: 1, longest };
        let measures = condition(&owes, work, &MessageOutput::new(&mut said)).unwrap();
        let of = |what, scope| measures.get(what, &scope).unwrap();
        let seconds = of(&measure::CONDITIONING, Scope::Trial);
        let turned = of(&measure::TURNED_OVER, Scope::Trial) == 1.0;
        assert!(turned || seconds >= longest.as_secs_f64(), "{seconds} s");
        (turned, of(&measure::CONDITIONED, Scope::Clients) as u64)
    }

    #[test]
    fn a_debt_that_never_levels_is_given_up_on_and_told() {
        let (turned, operations) = calibrated(u64::MAX, Duration::from_millis(600));
        assert!(!turned && operations > 0, "{operations}");
        // One that does is waited for no longer than it takes.
        let (turned, operations) = calibrated(5, Duration::from_secs(600));
        assert!(turned && operations >= 5, "{operations}");
    }
}
