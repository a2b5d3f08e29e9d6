//! A trial's process as the lab sees it: it conditions, is ready, works on a disk that takes its
//! time, and drains. Other trials may follow the same conditioning.

use std::time::{Duration, Instant};

use bakeoff_results::TrialMeasurements;
use bakeoff_results::measure::Measures;

use super::drain::{DrainTimer, combine_measurements};
use super::priced::{self, TracePrices};
use super::{TrialEndCallback, TrialTurn, Turns, drive_task};
use crate::TrialError;
use crate::driving::Drive;
use crate::machine::suspect::MachineAccount;
use crate::place::TargetPlace;
use crate::place::disk::{DiskObservations, TrialDisk};
use crate::place::limits::LimitedGroups;
use crate::procedures::{GRACE, PATIENCE, ProcedureContext};
use crate::process::ReceiveOutcome;
use crate::process::job::Message;
use crate::watch::RunEvent;

/// The longest time of a trial: the cap of its window, twice for its drain, and time before and
/// after.
fn longest_turn(turn: &TrialTurn) -> Duration {
    turn.drive.longest_duration() * 2 + GRACE
}

/// The disk takes its time while clients work and the target drains. Returns the measurements of
/// the last trial; `ended` gets the others.
pub fn run(
    turns: &Turns<'_>,
    stage: &mut ProcedureContext<'_>,
    place: &TargetPlace,
    (disk, limits): (&mut TrialDisk, &LimitedGroups),
    ended: &mut TrialEndCallback<'_>,
) -> Result<TrialMeasurements, TrialError> {
    let drives: Vec<&Drive> = turns.turns.iter().map(|turn| &turn.drive).collect();
    let mut process =
        stage.start_process(&turns.trial.setup, place.clone(), drive_task(&drives))?;
    let server = turns.trial.setup.subject.find_local_server();
    let (mut turn, mut later) = turns.turns.split_first().expect("a trial");
    let mut start = Instant::now();
    let (mut seen, mut memory) = (DiskObservations::default(), Measures::default());
    let (mut machine, mut waited) = (MachineAccount::beside_server(server), limits.read_waits());
    let (mut drain, mut prices) = (DrainTimer::default(), TracePrices::default());
    let mut unchecked: Option<(Box<TrialMeasurements>, Option<u64>)> = None;
    let mut unlifted = None;
    loop {
        stage.go_on()?;
        let is_overdue = start.elapsed() > longest_turn(turn);
        if let Some((measured, drained)) = unchecked.take_if(|_| is_overdue || unlifted.is_some()) {
            let mut measured =
                drain.complete_measurements(combine_measurements(*measured, seen, drained), memory);
            let why = unlifted.map_or(" in time".into(), |error: TrialError| format!(": {error}"));
            measured.warnings.push(format!("what it left could not be checked{why}"));
            prices.put_into(turn, &mut measured.measures);
            return Ok(measured);
        }
        if is_overdue {
            let seconds = longest_turn(turn).as_secs();
            return Err(TrialError::process_error(format!("it was not done after {seconds} s")));
        }
        if drain.is_overdue(disk.is_virtual()) {
            drain.cut_off = Some(drain.elapsed());
            seen.add(disk.stop_timing()?);
            // On a virtual disk, which takes no time any more, it ends soon. The machine's own disk
            // is not waited for.
            if let Some(early) = drain.early.take_if(|_| !disk.is_virtual()) {
                let mut measured =
                    drain.complete_measurements(combine_measurements(*early, seen, None), memory);
                prices.put_into(turn, &mut measured.measures);
                return Ok(measured);
            }
        }
        match process.receive(PATIENCE) {
            ReceiveOutcome::Message(Message::Conditioning { done, of }) => {
                // However long it takes, it gets on.
                start = Instant::now();
                stage.watch.on_event(RunEvent::Conditioning { done, of });
            }
            ReceiveOutcome::Message(Message::Tracing) => {
                disk.begin_trace(&priced::trace_file(stage), priced::sync_hold(&turn.drive))?;
                process = process.tell_to_go()?;
            }
            ReceiveOutcome::Message(Message::Traced) => {
                disk.end_trace()?;
                prices = TracePrices::from_trace(stage, turns)?;
                start = Instant::now();
                process = process.tell_to_go()?;
            }
            ReceiveOutcome::Message(Message::Ready) => {
                disk.begin_clients(turn.neighbours, stage.hired.as_ref())?;
                (machine, waited) = (MachineAccount::beside_server(server), limits.read_waits());
                drain.clients = Some(Instant::now());
                process = process.tell_to_go()?;
            }
            ReceiveOutcome::Message(Message::Progress { per_second, mean_s }) => {
                stage.watch.on_event(RunEvent::Progress { per_second, mean_s });
            }
            ReceiveOutcome::Message(Message::Driven(early)) => {
                tracing::debug!("the clients have stopped");
                let others = MachineAccount::beside_server(server).since(&machine);
                memory = limits.account_since(&waited);
                match (early, later.split_first()) {
                    // Its debts are the next trial's: it is not drained.
                    (Some(measured), Some(next)) => {
                        let mut seen = disk.handed_on()?;
                        seen.measures.extend(others);
                        let mut measured = combine_measurements(*measured, seen, None);
                        measured.measures.extend(memory.clone());
                        prices.put_into(turn, &mut measured.measures);
                        if limits.has_killed() {
                            return Err(TrialError::process_error(
                                "one of its processes was killed",
                            ));
                        }
                        ended(stage, measured)?;
                        (turn, later) = next;
                        start = Instant::now();
                    }
                    (early, _) => {
                        seen = disk.end_clients()?;
                        seen.measures.extend(others);
                        drain.begin(early);
                    }
                }
            }
            ReceiveOutcome::Message(Message::Drained(measured)) => {
                unchecked = Some((measured, disk.end_drain()?));
                // A check is not measured: the disk takes no time for it, and it may use all
                // memory.
                seen.add(disk.stop_timing()?);
                drain.is_over = true;
                start = Instant::now();
                match limits.lift_memory() {
                    Ok(()) => process = process.tell_to_go()?,
                    Err(error) => unlifted = Some(error),
                }
            }
            ReceiveOutcome::Message(Message::Done(Some(measured))) => {
                let drained = match unchecked {
                    Some((_, drained)) => drained,
                    None => {
                        let drained = disk.end_drain()?;
                        seen.add(disk.stop_timing()?);
                        drained
                    }
                };
                let mut measured = drain
                    .complete_measurements(combine_measurements(*measured, seen, drained), memory);
                prices.put_into(turn, &mut measured.measures);
                return Ok(measured);
            }
            ReceiveOutcome::Message(Message::Failed(reason)) => return Err(reason),
            ReceiveOutcome::Message(_) | ReceiveOutcome::Nothing => {}
            ReceiveOutcome::End => return Err(TrialError::process_error(process.exit_report())),
        }
    }
}
