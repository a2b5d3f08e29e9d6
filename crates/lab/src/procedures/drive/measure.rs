mod account;
mod clients;
mod delays;
mod seconds;

#[cfg(test)]
mod tests;

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use bakeoff_experiment::EngineState;
use bakeoff_load::{self as load, DriveOutcome};
use bakeoff_results::TrialMeasurements;
use bakeoff_results::measure::{self, Measures, Scope};
use bakeoff_workloads::Name;

use self::account::{UsageSnapshot, Used};
use self::clients::of_clients;
use self::delays::SchedulingDelays;
use super::debts::{self, ClientTimes};
use super::first_operations::First;
use super::unsent::why_unsent;
use crate::TrialError;
use crate::driving::Drive;
use crate::machine::accounts::allocated_bytes;
use crate::machine::open_files;
use crate::machine::syncs;
use crate::place::TargetPlace;
use crate::process::MessageOutput;
use crate::process::job::Message;
use crate::targets::RunningTarget;

pub struct DriveContext<'a, 'o> {
    pub running: &'a dyn RunningTarget,
    pub place: &'a TargetPlace,
    pub syncs: Option<&'a syncs::SyncCounter>,
    pub output: &'a MessageOutput<'o>,
}

pub struct DrivenTrial {
    measured: TrialMeasurements,
    used: Used,
}

impl DriveContext<'_, '_> {
    fn account(&self) -> Result<UsageSnapshot, TrialError> {
        UsageSnapshot::take(self.running, self.place, self.syncs)
    }

    /// Drives the clients, and sends the lab what was measured; `behind` is what is known before.
    pub fn measure(
        &self,
        drive: &Drive,
        pace: load::Pace,
        behind: &Measures,
    ) -> Result<DrivenTrial, TrialError> {
        let Self { running, place, output, .. } = *self;
        let drivers = running.drivers(drive.clients);
        open_files::ensure_enough_files(drive.clients, running.files_per_client()?)
            .map_err(TrialError::User)?;
        let mut plan = drive.to_plan(drivers, running.operations().len(), pace);
        plan.least = plan.least.max(running.least_operations(drive.clients));
        let at_start = occupied_bytes(place)?;
        let before = self.account()?;
        let first = First::default();
        let connect = |share: &load::ClientShare| {
            let driver = running.make_driver(share, None)?;
            Ok(if drive.state == EngineState::Cold { first.observe_driver(driver) } else { driver })
        };
        let times = ClientTimes::default();
        let delays = SchedulingDelays::from_running(running);
        let mut watch = TrialObserver { running, drive, output, behind, delays, times: &times };
        let (outcome, debts) = std::thread::scope(|scope| {
            let debts = scope.spawn(|| debts::watch_debts(running, &times));
            // Also when a driver panics: otherwise we would wait forever.
            let over = times.stop_guard();
            let outcome = load::drive(&plan, connect, &AtomicBool::new(false), &mut watch);
            drop(over);
            (outcome, debts.join().unwrap_or_default())
        });
        let outcome = outcome.map_err(drive_error(running.operations()))?;
        if let Some(why) = why_unsent(outcome.open.as_ref(), running.take_busy()) {
            return Err(TrialError::User(why));
        }
        if let Some(why) = describe_missed(running.describe_missed()) {
            return Err(TrialError::Engine(why));
        }
        let mut delays = watch.delays;
        delays.look();
        let (used, tally) = (Used { before, after: self.account()? }, running.take_tally());
        let mut measured = of_clients(running, drive, &outcome, tally)?;
        measured.debts = debts;
        first.put_into(&mut measured.measures);
        measured.measures.set_some(&measure::SPACE_AT_START, Scope::Trial, at_start);
        used.put_into(&mut measured.measures, running, &outcome, tally);
        delays.put_into(&mut measured.measures);
        measured.measures.extend(behind.clone());
        output.send(&Message::Driven(Some(Box::new(measured.clone()))));
        Ok(DrivenTrial { measured, used })
    }

    pub fn drain(&self, driven: DrivenTrial) -> Result<TrialMeasurements, TrialError> {
        let DrivenTrial { mut measured, used } = driven;
        let draining = Instant::now();
        self.running.drain()?;
        let drain = draining.elapsed();
        let measures = &mut measured.measures;
        used.put_drain(measures, &self.account()?);
        measures.set(&measure::DRAIN, Scope::Trial, drain.as_secs_f64());
        measures.set_some(&measure::SPACE, Scope::Trial, occupied_bytes(self.place)?);
        Ok(measured)
    }
}

/// Why a trial fails if its clients saw something impossible: the count, and the first case.
fn describe_missed(missed: Vec<String>) -> Option<String> {
    let count = missed.len();
    let first = missed.into_iter().next()?;
    Some(match count {
        1 => format!("its clients were shown what can't be: {first}"),
        _ => format!("its clients were shown what can't be {count} times; the first: {first}"),
    })
}

fn occupied_bytes(place: &TargetPlace) -> Result<Option<f64>, TrialError> {
    let bytes = place.directory.as_deref().map(allocated_bytes).transpose();
    let bytes = bytes.map_err(|error| TrialError::place_error("no sizes", error))?;
    Ok(bytes.map(|bytes| bytes as f64))
}

struct TrialObserver<'a, 'b> {
    running: &'a dyn RunningTarget,
    drive: &'a Drive,
    output: &'a MessageOutput<'b>,
    behind: &'a Measures,
    delays: SchedulingDelays,
    times: &'a ClientTimes,
}

impl load::Observer<TrialError> for TrialObserver<'_, '_> {
    fn start_ready(&mut self) -> Result<(), TrialError> {
        self.delays.place_threads(self.drive.placement)?;
        let _ = self.times.start.set(Instant::now());
        Ok(())
    }

    fn show_progress(&mut self, progress: &load::DriveProgress) {
        let (per_second, mean_s) = (progress.per_second, progress.mean_s.unwrap_or(0.0));
        self.output.send(&Message::Progress { per_second, mean_s });
        self.delays.look_now_and_then();
    }

    /// What is known goes home without the hanging clients; the lab ends this process then. The
    /// target may hang, too, so it is asked nothing and not drained.
    fn report_overdue(&mut self, so_far: &DriveOutcome) {
        self.output.send(&Message::Driven(None));
        let tally = self.running.take_tally();
        self.output.send(&match of_clients(self.running, self.drive, so_far, tally) {
            Ok(mut measured) => {
                measured.measures.extend(self.behind.clone());
                let patience = self.drive.to_plan(1, 1, load::Pace::Closed).patience.as_secs();
                measured.warnings.push(format!(
                    "its clients had not stopped {patience} s after they were cut off, so that it \
                     could not be drained, and what it used is not known"
                ));
                Message::Done(Some(Box::new(measured)))
            }
            Err(error) => Message::Failed(error),
        });
    }
}

pub fn drive_error(names: &[Name]) -> impl Fn(load::DriveError<TrialError>) -> TrialError {
    let names = names.to_vec();
    move |error| match error {
        load::DriveError::Connect { client, cause } => {
            cause.map_text(|why| format!("client {client} could not connect: {why}"))
        }
        load::DriveError::Refused(cause) => cause,
        load::DriveError::GaveUp { client, kind, text } => TrialError::Engine(format!(
            "client {client} gave up after {} failures in a row; the last, of {}: {text}",
            load::MOST_FAILURES,
            names[kind]
        )),
        error @ load::DriveError::Thread { .. } => TrialError::process_error(error.to_string()),
    }
}
