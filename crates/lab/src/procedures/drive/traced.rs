//! Traced work, to be priced: several turns of every debt, on a disk that takes no time. As many
//! clients do it as in the window, so that their commits share syncs in the same way.

use bakeoff_engines::Debt;
use bakeoff_experiment::random::SplitMix64;
use bakeoff_results::measure::{self, Measures, Scope};

use super::conditioning::{CompletedWork, read_debt, work_together};
use crate::TrialError;
use crate::driving::{Conditioning, Drive};
use crate::procedures::ChildContext;
use crate::process::job::Message;
use crate::targets::RunningTarget;

pub fn trace_work(
    running: &dyn RunningTarget,
    drive: &Drive,
    within: &mut ChildContext<'_, '_>,
) -> Result<Measures, TrialError> {
    let mut measures = Measures::default();
    let Conditioning::Operations { traced: count @ 1.., seed, .. } = drive.conditioning else {
        return Ok(measures);
    };
    let before = read_debt(running)?;
    within.say_and_wait(&Message::Tracing)?;
    // Not the seed of the conditioning itself.
    let seed = SplitMix64::from_words(&[seed, 1]).next();
    let CompletedWork { commits, .. } =
        work_together(running, drive.clients, count, seed, |work| {
            within.output.send(&Message::Conditioning { done: work.operations, of: Some(count) });
            Ok(true)
        })?;
    let turns = slowest_turns(&before, &read_debt(running)?);
    within.say_and_wait(&Message::Traced)?;
    measures.set(&measure::TRACED_COMMITS, Scope::Clients, commits as f64);
    measures.set_some(&measure::TRACED_TURNS, Scope::Trial, turns);
    Ok(measures)
}

/// Turns of the slowest debt. `None` for an engine that puts nothing off.
fn slowest_turns(before: &Debt, after: &Debt) -> Option<f64> {
    let turned = after.turns.iter().map(|turn| {
        let same = before.turns.iter().find(|it| it.name == turn.name);
        let done = turn.done - same.map_or(0, |it| it.done.min(turn.done));
        done as f64 / turn.whole.max(1) as f64
    });
    turned.reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use bakeoff_engines::DebtTurn;

    use super::*;

    #[test]
    fn the_slowest_debt_says_how_often_all_turned_over() {
        let debt = |log, flushed| Debt {
            turns: vec![
                DebtTurn { name: "log", done: log, whole: 100 },
                DebtTurn { name: "memtables", done: flushed, whole: 1 },
            ],
            ..Debt::default()
        };
        assert_eq!(slowest_turns(&debt(150, 2), &debt(450, 9)), Some(3.0));
        assert_eq!(slowest_turns(&debt(150, 2), &debt(950, 4)), Some(2.0));
        assert_eq!(slowest_turns(&debt(150, 2), &debt(950, 2)), Some(0.0));
        assert_eq!(slowest_turns(&Debt::default(), &debt(250, 4)), Some(2.5));
        assert_eq!(slowest_turns(&Debt::default(), &Debt::default()), None);
    }
}
