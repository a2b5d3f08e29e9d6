//! Conditioning brings an engine's debts to their lasting level before the measuring. A few clients
//! do it while the disk takes no time.

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

/// The same number for all trials, so that their work is the same. One client alone would leave
/// processors idle while it waits for a server.
const CLIENTS: usize = 4;
const LOOK: Duration = Duration::from_millis(250);
const TICK: Duration = Duration::from_millis(10);
/// An engine that has put off no work after this time (one that only reads, say) never will.
const NOTHING: Duration = Duration::from_secs(10);

pub fn condition_target(
    running: &dyn RunningTarget,
    work: Conditioning,
    output: &MessageOutput<'_>,
) -> Result<Measures, TrialError> {
    let (most, seed, longest) = match work {
        Conditioning::None => return Ok(Measures::default()),
        Conditioning::Operations { count, seed, .. } => (count, seed, None),
        Conditioning::Calibrate { seed, longest } => (u64::MAX, seed, Some(longest)),
    };
    let at_first = read_debt(running)?;
    let (start, mut turned) = (Instant::now(), false);
    let done =
        work_together(running, CLIENTS, most, seed, |CompletedWork { operations, commits }| {
            let of = longest.is_none().then_some(most);
            output.send(&Message::Conditioning { done: operations, of });
            // Some engines' payments show only as a difference between looks.
            let debt = read_debt(running)?;
            // A debt that comes in large pieces can stand still while work is put off.
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

#[derive(Clone, Copy)]
pub(super) struct CompletedWork {
    pub operations: u64,
    pub commits: u64,
}

/// At most `most` operations, until `look` returns false. `look` is called now and then, and at the
/// end.
pub(super) fn work_together(
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
        let panicked = || TrialError::process_error("a client that conditions panicked");
        all.into_iter().try_for_each(|it| it.join().map_err(|_| panicked())?)?;
        if wanted? {
            look(so_far())?;
        }
        Ok(so_far())
    })
}

pub fn read_debt(running: &dyn RunningTarget) -> Result<Debt, TrialError> {
    let unknown =
        || TrialError::User("nobody knows what it owes, so that it can't be steady".into());
    running.debt()?.ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use bakeoff_engines::DebtTurn;

    use super::*;
    use crate::tests::IdleTarget;

    /// Whether all debts had turned over after a calibration that may take so long, and after how many operations;
    /// they do after so many.
    fn calibrated(turns_after: u64, longest: Duration) -> (bool, u64) {
        let worked = AtomicU64::new(0);
        let debt = || {
            let done = u64::from(worked.load(Ordering::Relaxed) >= turns_after);
            let turns = vec![DebtTurn { name: "log", done, whole: 1 }];
            Some(Debt { turns, ..Debt::default() })
        };
        let step = || {
            std::thread::sleep(Duration::from_millis(1));
            worked.fetch_add(1, Ordering::Relaxed);
        };
        let owes =
            IdleTarget { debt: Box::new(debt), step: Box::new(step), ..IdleTarget::default() };
        let mut said = Vec::new();
        let work = Conditioning::Calibrate { seed: 1, longest };
        let measures = condition_target(&owes, work, &MessageOutput::new(&mut said)).unwrap();
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
