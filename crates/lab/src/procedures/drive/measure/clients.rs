use bakeoff_experiment::EngineState;
use bakeoff_load::cpu::ThreadScheduling;
use bakeoff_load::{self as load, DriveOutcome};
use bakeoff_results::measure::{self, Measures, Scope};
use bakeoff_results::{
    Debts, ENOUGH_OPERATIONS, OperationRecord, SlotRecord, TrialMeasurements, operations_failed,
};
use bakeoff_workloads::Name;

use super::delays::put_scheduling;
use super::seconds::{fit_slope, put_rounds, warm_up};
use crate::TrialError;
use crate::driving::Drive;
use crate::targets::{ClientTally, RunningTarget};

pub fn of_clients(
    running: &dyn RunningTarget,
    drive: &Drive,
    outcome: &DriveOutcome,
    tally: Option<ClientTally>,
) -> Result<TrialMeasurements, TrialError> {
    let names = running.operations();
    let mut measures = Measures::default();
    in_all(&mut measures, running.concurrency(drive.clients), outcome, tally);
    let least = running.least_operations(drive.clients);
    let least = (least > ENOUGH_OPERATIONS).then_some(least as f64);
    measures.set_some(&measure::LEAST_OPERATIONS, Scope::Clients, least);
    put_work(&mut measures, outcome, names);
    let window_s = outcome.window_s;
    if let Some(slope) = fit_slope(outcome) {
        measures.set(&measure::RISE, Scope::Trial, slope.rise);
        measures.set(&measure::RISE_ERROR, Scope::Trial, slope.error);
        measures.set(&measure::RISE_SECONDS, Scope::Trial, slope.values as f64);
    }
    measures.set_some(&measure::WARM_UP, Scope::Trial, warm_up(outcome));
    if drive.state == EngineState::Steady {
        put_rounds(&mut measures, outcome);
    }
    let operations = operation_records(outcome, names, &outcome.rates())?;
    let failed = |(name, kind): (&Name, &load::KindOutcome)| {
        let error = kind.first_error.as_ref()?;
        Some(operations_failed(kind.errors, name, error))
    };
    let warnings = names.iter().zip(&outcome.kinds).filter_map(failed).collect();
    let (ran_s, debts) = (outcome.ran.as_secs_f64(), Debts::default());
    Ok(TrialMeasurements { ran_s, window_s, operations, measures, debts, warnings })
}

fn in_all(
    measures: &mut Measures,
    concurrency: usize,
    outcome: &DriveOutcome,
    tally: Option<ClientTally>,
) {
    let scope = || Scope::Clients;
    let ended: u64 = outcome.kinds.iter().map(|kind| kind.count_succeeded() + kind.errors).sum();
    if let Some(tally) = tally {
        measures.set(&measure::COMMITS, scope(), tally.commits as f64);
        measures.set(&measure::PAYLOAD, scope(), tally.bytes as f64);
        measures.set_some(&measure::RETURNED, scope(), tally.returned.map(|bytes| bytes as f64));
    }
    let counts = [
        (&measure::OPERATIONS, ended),
        (&measure::CONCURRENCY, concurrency as u64),
        (&measure::DRIVERS, outcome.drivers.len() as u64),
        (&measure::IN_FLIGHT, outcome.in_flight),
        (&measure::STARVED, outcome.count_starved()),
    ];
    for (what, count) in counts {
        measures.set(what, scope(), count as f64);
    }
    measures.set_some(&measure::LITTLE_RATE, scope(), outcome.littles_rate(concurrency));
    let refused = outcome.drivers.iter().any(|driver| driver.batch_refused).then_some(1.0);
    measures.set_some(&measure::BATCH_REFUSED, scope(), refused);
    let each: Option<Vec<_>> = outcome.drivers.iter().map(|it| it.scheduling).collect();
    if let Some(all) = each.and_then(|each| each.into_iter().reduce(ThreadScheduling::plus)) {
        put_scheduling(measures, &Scope::Clients, all);
    }
    let Some(open) = &outcome.open else { return };
    measures.set(&measure::OFFERED, scope(), open.per_second);
    measures.set(&measure::DUE, scope(), open.due as f64);
    measures.set(&measure::NOT_STARTED, scope(), open.not_started as f64);
    measures.set(&measure::BACKLOG, scope(), open.most_waiting as f64);
    measures.set_some(&measure::START_DELAY_P99, scope(), open.start_delay_p99_s());
}

fn put_work(measures: &mut Measures, outcome: &DriveOutcome, names: &[Name]) {
    let totals = outcome.totals();
    measures.set(&measure::DONE_RATE, Scope::Clients, totals.operations);
    let in_all: u64 = outcome.kinds.iter().map(|kind| kind.work_in_all.rows).sum();
    let in_all = Some(in_all as f64).filter(|rows| *rows > 0.0);
    measures.set_some(&measure::WORK_ROWS, Scope::Clients, in_all);
    let of = |work: fn(&load::WorkAmount) -> u64| {
        outcome.kinds.iter().map(move |kind| work(&kind.ended.work))
    };
    for (name, kind) in names.iter().zip(&outcome.kinds) {
        let ended = kind.ended.operations as f64;
        measures.set(&measure::ENDED, Scope::Operation(name.clone()), ended);
    }
    let counted = [
        (&measure::ROWS, of(|work| work.rows), (&measure::ROWS_RATE, totals.rows)),
        (&measure::BYTES, of(|work| work.bytes), (&measure::BYTES_RATE, totals.bytes)),
    ];
    for (what, each, (total, rate)) in counted {
        if each.clone().all(|number| number == 0) {
            continue;
        }
        measures.set(total, Scope::Clients, rate);
        for (name, number) in names.iter().zip(each) {
            measures.set(what, Scope::Operation(name.clone()), number as f64);
        }
    }
    put_paths(measures, outcome, names);
}

fn put_paths(measures: &mut Measures, outcome: &DriveOutcome, names: &[Name]) {
    for (name, kind) in names.iter().zip(&outcome.kinds) {
        for (what, count) in measure::PATHS.into_iter().zip(kind.ended.work.counts) {
            let count = Some(count as f64).filter(|count| *count > 0.0);
            measures.set_some(what, Scope::Operation(name.clone()), count);
        }
    }
}

fn operation_records(
    outcome: &DriveOutcome,
    names: &[Name],
    rates: &[f64],
) -> Result<Vec<OperationRecord>, TrialError> {
    let slot = |slot: &load::LatencySlot| SlotRecord {
        start_s: slot.start_s,
        end_s: slot.end_s,
        histogram: slot.histogram.clone(),
    };
    let operation = |((name, kind), rate): ((&Name, &load::KindOutcome), &f64)| OperationRecord {
        name: name.clone().into(),
        kept: kind.kept.clone(),
        unfinished: kind.unfinished,
        per_second: *rate,
        service: kind.service.clone(),
        slots: kind.slots.iter().map(slot).collect(),
        errors: kind.errors,
        retries: kind.retries,
    };
    let kinds = names.iter().zip(&outcome.kinds).zip(rates);
    let operations: Vec<OperationRecord> = kinds.map(operation).collect();
    // An open loop that is far behind has not begun all that was due in the window. Its finding is
    // that it did not keep up.
    let waited = outcome.open.is_none();
    if waited && operations.iter().all(|operation| operation.kept.is_empty()) {
        let ran = outcome.ran.as_secs_f64();
        return Err(TrialError::User(format!(
            "no operation that counts has ended in {ran:.1} s: raise --seconds"
        )));
    }
    Ok(operations)
}
