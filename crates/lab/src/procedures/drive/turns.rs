//! The course of a trial's process, as the lab sees it: conditioned, ready, its clients at work on a disk
//! that takes its time, drained; and where other trials follow the same conditioning, these.

use std::time::{Duration, Instant};

use bakeoff_results::TrialMeasurements;
use bakeoff_results::measure::Measures;

use super::drain::{DrainTimer, combine};
use super::priced::{self, TracePrices};
use super::{TrialEndCallback, TrialTurn, Turns, task};
use crate::TrialError;
use crate::driving::Drive;
use crate::machine::suspect::MachineAccount;
use crate::place::TargetPlace;
use crate::place::disk::{DiskObservations, TrialDisk};
use crate::place::limits::LimitedGroups;
use crate::procedures::{GRACE, PATIENCE, ProcedureContext};
use crate::process::Received;
use crate::process::job::Message;
use crate::watch::RunEvent;

/// How long a trial has from its start: for the cap of its window, as long again for its drain, and for
/// what comes before and after them.
fn most(turn: &TrialTurn) -> Duration {
    turn.drive.cap() * 2 + GRACE
}

/// Runs the trials' process, with the disk at work while its clients are and while it drains. What the
/// last of them has measured, all before it having been given to `ended`.
///
/// # Errors
/// Why nothing came of the one after those that were given away.
pub fn run(
    turns: &Turns<'_>,
    stage: &mut ProcedureContext<'_>,
    place: &TargetPlace,
    (disk, limits): (&mut TrialDisk, &LimitedGroups),
    ended: &mut TrialEndCallback<'_>,
) -> Result<TrialMeasurements, TrialError> {
    let drives: Vec<&Drive> = turns.turns.iter().map(|turn| &turn.drive).collect();
    let mut process = stage.start(&turns.trial.setup, place.clone(), task(&drives))?;
    let (mut turn, mut later) = turns.turns.split_first().expect("a trial");
    let mut start = Instant::now();
    let (mut seen, mut memory) = (DiskObservations::default(), Measures::default());
    let (mut machine, mut waited) = (MachineAccount::now(), limits.waited());
    let (mut drain, mut prices) = (DrainTimer::default(), TracePrices::default());
    // What is known before what was left is checked.
    let mut unchecked: Option<(Box<TrialMeasurements>, Option<u64>)> = None;
    let mut unlifted = None;
    loop {
        stage.go_on()?;
        let is_overdue = start.elapsed() > most(turn);
        if let Some((measured, drained)) = unchecked.take_if(|_| is_overdue || unlifted.is_some()) {
            let mut measured = drain.put(combine(*measured, seen, drained), memory);
            let why = unlifted.map_or(" in time".into(), |error: TrialError| format!(": {error}"));
            measured.warnings.push(format!("what it left could not be checked{why}"));
            prices.put(turn, &mut measured.measures);
            return Ok(measured);
        }
        if is_overdue {
            let seconds = most(turn).as_secs();
            return Err(TrialError::process(format!("it was not done after {seconds} s")));
        }
        if drain.is_overdue(disk.is_virtual()) {
            drain.cut_off = Some(drain.elapsed());
            seen.add(disk.end()?);
            // On a disk that takes no time any more it soon ends. The machine's own goes on as it
            // does, and is not waited for.
            if let Some(early) = drain.early.take_if(|_| !disk.is_virtual()) {
                let mut measured = drain.put(combine(*early, seen, None), memory);
                prices.put(turn, &mut measured.measures);
                return Ok(measured);
            }
        }
        match process.receive(PATIENCE) {
            Received::Message(Message::Conditioning { done, of }) => {
                // However long it takes, it gets on.
                start = Instant::now();
                stage.watch.event(RunEvent::Conditioning { done, of });
            }
            Received::Message(Message::Tracing) => {
                disk.begin_trace(&priced::file(stage), priced::hold(&turn.drive))?;
                process = process.go()?;
            }
            Received::Message(Message::Traced) => {
                disk.end_trace()?;
                prices = TracePrices::from_trace(stage, turns)?;
                // However long that took, it got on.
                start = Instant::now();
                process = process.go()?;
            }
            Received::Message(Message::Ready) => {
                disk.begin(turn.neighbours, stage.hired.as_ref())?;
                (machine, waited) = (MachineAccount::now(), limits.waited());
                drain.clients = Some(Instant::now());
                process = process.go()?;
            }
            Received::Message(Message::Progress { per_second, mean_s }) => {
                stage.watch.event(RunEvent::Progress { per_second, mean_s });
            }
            Received::Message(Message::Driven(early)) => {
                tracing::debug!("the clients have stopped");
                let others = MachineAccount::now().since(&machine);
                memory = limits.account(&waited);
                match (early, later.split_first()) {
                    // Its debts are the next one's: it is not drained.
                    (Some(measured), Some(next)) => {
                        let mut seen = disk.handed_on()?;
                        seen.measures.extend(others);
                        let mut measured = combine(*measured, seen, None);
                        measured.measures.extend(memory.clone());
                        prices.put(turn, &mut measured.measures);
                        if limits.has_killed() {
                            return Err(TrialError::process("one of its processes was killed"));
                        }
                        ended(stage, measured)?;
                        (turn, later) = next;
                        start = Instant::now();
                    }
                    (early, _) => {
                        seen = disk.driven()?;
                        seen.measures.extend(others);
                        drain.begin(early);
                    }
                }
            }
            Received::Message(Message::Drained(measured)) => {
                unchecked = Some((measured, disk.drained()?));
                // A check is not measured: the disk takes no time for it, and it may have all memory.
                seen.add(disk.end()?);
                drain.is_over = true;
                start = Instant::now();
                match limits.lift_memory() {
                    Ok(()) => process = process.go()?,
                    Err(error) => unlifted = Some(error),
                }
            }
            Received::Message(Message::Done(Some(measured))) => {
                let drained = match unchecked {
                    Some((_, drained)) => drained,
                    None => {
                        let drained = disk.drained()?;
                        seen.add(disk.end()?);
                        drained
                    }
                };
                let mut measured = drain.put(combine(*measured, seen, drained), memory);
                prices.put(turn, &mut measured.measures);
                return Ok(measured);
            }
            Received::Message(Message::Failed(reason)) => return Err(reason),
            Received::Message(_) | Received::Nothing => {}
            Received::End => return Err(TrialError::process(process.exit_report())),
        }
    }
}
