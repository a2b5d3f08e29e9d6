//! A trial from the inside: its drivers run, its target drains, and both are accounted for.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use bakeoff_experiment::State;
use bakeoff_load::{self as load, Outcome};
use bakeoff_results::measure::{self, DATABASE_GROUP, Measures, Scope};
use bakeoff_results::{Debts, Measured, Operation, Slot};
use bakeoff_stats::rounds::{Stretch, rounds};
use bakeoff_stats::steady::{self, Slope};
use bakeoff_workloads::Name;

use super::debts::{self, Times};
use super::first::First;
use super::unsent::unsent;
use crate::TrialError;
use crate::driving::Drive;
use crate::machine::accounts::space;
use crate::machine::open_files;
use crate::machine::run_delay::RunDelays;
use crate::machine::syncs;
use crate::machine::usage::Usage;
use crate::place::Place;
use crate::process::Output;
use crate::process::job::Message;
use crate::targets::{Processes, Running, Tally};

/// Slots that a warm-up is looked for in: with fewer there is no telling.
const SLOTS_FOR_WARMUP: usize = 30;
/// How often the threads of servers are looked at.
const LOOK: Duration = Duration::from_secs(1);
/// Whole seconds that a slope is looked for in.
const SLOTS_FOR_SLOPE: usize = 10;

/// What is measured, and what with.
pub struct Scene<'a, 'o> {
    /// The target.
    pub running: &'a dyn Running,
    /// Where it has its files and processes.
    pub place: &'a Place,
    /// Counts its syncs, where that can be.
    pub syncs: Option<&'a syncs::Counter>,
    /// Where the lab is told.
    pub output: &'a Output<'o>,
}

/// A trial whose clients have stopped.
pub struct Driven {
    measured: Measured,
    used: Used,
}

impl Scene<'_, '_> {
    fn account(&self) -> Result<Account, TrialError> {
        Account::take(self.running, self.place, self.syncs)
    }

    /// Drives what is running at a pace, and tells the lab what was measured; `behind` is what is known
    /// before.
    ///
    /// # Errors
    /// What keeps the trial from being measured.
    pub fn measure(
        &self,
        drive: &Drive,
        pace: load::Pace,
        behind: &Measures,
    ) -> Result<Driven, TrialError> {
        let Self { running, place, output, .. } = *self;
        let drivers = running.drivers(drive.clients);
        open_files::suffice(drive.clients, running.files_per_client()?)
            .map_err(TrialError::User)?;
        let plan = drive.plan(drivers, running.operations().len(), pace);
        let at_start = occupied(place)?;
        let before = self.account()?;
        let first = First::default();
        let connect = |share: &load::Share| {
            let driver = running.driver(share, None)?;
            Ok(if drive.state == State::Cold { first.of(driver) } else { driver })
        };
        let times = Times::default();
        let delays = Delays::of(running);
        let mut watch = Watch { running, drive, output, behind, delays, times: &times };
        let (outcome, debts) = std::thread::scope(|scope| {
            let debts = scope.spawn(|| debts::watch(running, &times));
            // When a driver panics, too: else that would be waited for.
            let over = times.ends();
            let outcome = load::drive(&plan, connect, &AtomicBool::new(false), &mut watch);
            drop(over);
            (outcome, debts.join().unwrap_or_default())
        });
        let outcome = outcome.map_err(named(running.operations()))?;
        if let Some(why) = unsent(outcome.open.as_ref(), running.take_busy()) {
            return Err(TrialError::User(why));
        }
        let mut delays = watch.delays;
        delays.look();
        let (used, tally) = (Used { before, after: self.account()? }, running.tally());
        let mut measured = of_clients(running, drive, &outcome, tally)?;
        measured.debts = debts;
        first.put(&mut measured.measures);
        measured.measures.set_some(&measure::SPACE_AT_START, Scope::Trial, at_start);
        used.put(&mut measured.measures, running, &outcome, tally);
        delays.put(&mut measured.measures);
        measured.measures.extend(behind.clone());
        output.send(&Message::Driven(Some(Box::new(measured.clone()))));
        Ok(Driven { measured, used })
    }

    /// Has what was driven drained, and accounts for that, too.
    ///
    /// # Errors
    /// What keeps it from being drained.
    pub fn drain(&self, driven: Driven) -> Result<Measured, TrialError> {
        let Driven { mut measured, used } = driven;
        let draining = Instant::now();
        self.running.drain()?;
        let drain = draining.elapsed();
        let measures = &mut measured.measures;
        used.put_drain(measures, &self.account()?);
        measures.set(&measure::DRAIN, Scope::Trial, drain.as_secs_f64());
        measures.set_some(&measure::SPACE, Scope::Trial, occupied(self.place)?);
        Ok(measured)
    }
}

/// Bytes that the files in a place take up; `None` for a target without files here.
fn occupied(place: &Place) -> Result<Option<f64>, TrialError> {
    let bytes = place.directory.as_deref().map(space).transpose();
    let bytes = bytes.map_err(|error| TrialError::place("no sizes", error))?;
    Ok(bytes.map(|bytes| bytes as f64))
}

/// Looks on while the clients run.
struct Watch<'a, 'b> {
    running: &'a dyn Running,
    drive: &'a Drive,
    output: &'a Output<'b>,
    behind: &'a Measures,
    delays: Delays,
    times: &'a Times,
}

impl load::Observer<TrialError> for Watch<'_, '_> {
    fn ready(&mut self) -> Result<(), TrialError> {
        let _ = self.times.start.set(Instant::now());
        Ok(())
    }

    fn progress(&mut self, progress: &load::Progress) {
        let (per_second, mean_s) = (progress.per_second, progress.mean_s.unwrap_or(0.0));
        self.output.send(&Message::Progress { per_second, mean_s });
        self.delays.look_now_and_then();
    }

    /// What is known goes home without the clients that hang; the lab ends this process then. The
    /// target may hang, too: it is asked nothing, and can't be drained.
    fn overdue(&mut self, so_far: &Outcome) {
        self.output.send(&Message::Driven(None));
        let tally = self.running.tally();
        self.output.send(&match of_clients(self.running, self.drive, so_far, tally) {
            Ok(mut measured) => {
                measured.measures.extend(self.behind.clone());
                let patience = self.drive.plan(1, 1, load::Pace::Closed).patience.as_secs();
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

/// What keeps drivers from their work, with an operation by its name.
fn named(names: &[Name]) -> impl Fn(load::DriveError<TrialError>) -> TrialError {
    let names = names.to_vec();
    move |error| match error {
        load::DriveError::Connect { client, cause } => {
            cause.because(|why| format!("client {client} could not connect: {why}"))
        }
        load::DriveError::Refused(cause) => cause,
        load::DriveError::GaveUp { client, kind, text } => TrialError::Engine(format!(
            "client {client} gave up after {} failures in a row; the last, of {}: {text}",
            load::MOST_FAILURES,
            names[kind]
        )),
        error @ load::DriveError::Thread { .. } => TrialError::process(error.to_string()),
    }
}

/// What the clients did.
fn of_clients(
    running: &dyn Running,
    drive: &Drive,
    outcome: &Outcome,
    tally: Option<Tally>,
) -> Result<Measured, TrialError> {
    let names = running.operations();
    let mut measures = Measures::default();
    in_all(&mut measures, running.concurrency(drive.clients), outcome, tally);
    put_work(&mut measures, running.concurrency(drive.clients), outcome, names);
    let window_s = outcome.window_s;
    if let Some(slope) = slope(outcome) {
        measures.set(&measure::RISE, Scope::Trial, slope.rise);
        measures.set(&measure::RISE_ERROR, Scope::Trial, slope.error);
        measures.set(&measure::RISE_SECONDS, Scope::Trial, slope.values as f64);
    }
    measures.set_some(&measure::WARM_UP, Scope::Trial, warm_up(outcome));
    if drive.state == State::Steady {
        put_rounds(&mut measures, outcome);
    }
    let rates = outcome.rates(running.concurrency(drive.clients));
    let operations = operations(outcome, names, &rates)?;
    let failed = |(name, kind): (&Name, &load::Kind)| {
        let error = kind.first_error.as_ref()?;
        Some(format!("{} {name} operations failed, first: {error}", kind.errors))
    };
    let warnings = names.iter().zip(&outcome.kinds).filter_map(failed).collect();
    let (ran_s, debts) = (outcome.ran.as_secs_f64(), Debts::default());
    Ok(Measured { ran_s, window_s, operations, measures, debts, warnings })
}

/// What they did on the whole.
fn in_all(measures: &mut Measures, concurrency: usize, outcome: &Outcome, tally: Option<Tally>) {
    let scope = || Scope::Clients;
    let ended: u64 = outcome.kinds.iter().map(|kind| kind.count() + kind.errors).sum();
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
    ];
    for (what, count) in counts {
        measures.set(what, scope(), count as f64);
    }
    let delays: Option<Vec<Duration>> = outcome.drivers.iter().map(|it| it.run_delay).collect();
    let delay = delays.map(|delays| delays.iter().sum::<Duration>().as_secs_f64());
    measures.set_some(&measure::RUN_DELAY, scope(), delay);
    let Some(open) = &outcome.open else { return };
    measures.set(&measure::OFFERED, scope(), open.per_second);
    measures.set(&measure::DUE, scope(), open.due as f64);
    measures.set(&measure::NOT_STARTED, scope(), open.not_started as f64);
    measures.set(&measure::BACKLOG, scope(), open.most_waiting as f64);
    measures.set_some(&measure::START_DELAY_P99, scope(), open.start_delay_p99_s());
}

/// What the operations did, by their kinds and on the whole. What no operation did is not counted.
fn put_work(measures: &mut Measures, concurrency: usize, outcome: &Outcome, names: &[Name]) {
    let totals = outcome.totals(concurrency);
    measures.set(&measure::DONE_RATE, Scope::Clients, totals.operations);
    let in_all: u64 = outcome.kinds.iter().map(|kind| kind.work_in_all.rows).sum();
    let in_all = Some(in_all as f64).filter(|rows| *rows > 0.0);
    measures.set_some(&measure::WORK_ROWS, Scope::Clients, in_all);
    let of = |work: fn(&load::Work) -> u64| outcome.kinds.iter().map(move |kind| work(&kind.work));
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
}

/// How long the threads of each group of processes had to wait for a processor. Those of a driver
/// tell it themselves.
struct Delays {
    groups: Vec<(&'static str, RunDelays)>,
    last: Instant,
}

impl Delays {
    fn of(running: &dyn Running) -> Self {
        let families =
            running.groups().into_iter().filter_map(|(name, processes)| match processes {
                Processes::Own => None,
                Processes::Family(root) => Some((name, RunDelays::of(vec![root]))),
                Processes::Without { root, apart } => {
                    Some((name, RunDelays::of(vec![root]).without(apart)))
                }
            });
        let mut delays = Self { groups: families.collect(), last: Instant::now() };
        delays.look();
        delays
    }

    fn look(&mut self) {
        self.groups.iter_mut().for_each(|(_, delays)| delays.look());
        self.last = Instant::now();
    }

    /// A thread that ends between two looks takes what it has waited since with it.
    fn look_now_and_then(&mut self) {
        if self.last.elapsed() > LOOK {
            self.look();
        }
    }

    fn put(&self, measures: &mut Measures) {
        for (name, delays) in &self.groups {
            let total = delays.total().map(|total| total.as_secs_f64());
            measures.set_some(&measure::RUN_DELAY, Scope::Processes((*name).into()), total);
        }
    }
}

/// What was used up to a moment.
struct Account {
    own: Usage,
    /// Of each group of processes, by its name.
    groups: BTreeMap<&'static str, (Processes, Usage)>,
    device: Option<(u64, u64)>,
    syncs: Option<(Scope, u64)>,
    counters: Measures,
}

impl Account {
    fn take(
        running: &dyn Running,
        place: &Place,
        syncs: Option<&syncs::Counter>,
    ) -> Result<Self, TrialError> {
        let failed =
            |error: std::io::Error| TrialError::place("no account of what the engine uses", error);
        let own = Usage::own().map_err(failed)?;
        let mut groups = BTreeMap::new();
        for (name, processes) in running.groups() {
            let usage = match processes {
                Processes::Own => own,
                Processes::Family(root) => Usage::of_family(root).map_err(failed)?,
                Processes::Without { root, apart } => {
                    Usage::of_family_without(root, apart).map_err(failed)?
                }
            };
            if groups.insert(name, (processes, usage)).is_some() {
                let two = format!("two groups of processes are named `{name}`");
                return Err(TrialError::process(two));
            }
        }
        let device = place.block_device().map_err(failed)?;
        // The engine's, where there is one: it is what syncs.
        let engine = groups.keys().find(|name| **name == DATABASE_GROUP);
        let group = engine.or(groups.keys().next()).copied().unwrap_or_default();
        Ok(Self {
            own,
            device: device.and_then(|device| device.bytes()),
            syncs: syncs.and_then(|counter| Some((counter.scope(group), counter.now()?))),
            counters: running.counters(),
            groups,
        })
    }
}

/// What was used while the clients ran.
struct Used {
    before: Account,
    after: Account,
}

impl Used {
    fn put(
        &self,
        measures: &mut Measures,
        running: &dyn Running,
        outcome: &Outcome,
        tally: Option<Tally>,
    ) {
        let Self { before, after } = self;
        let mut clients = (after.own - before.own).cpu;
        for (name, (processes, then)) in &before.groups {
            let Some((_, now)) = after.groups.get(name) else { continue };
            let used = *now - *then;
            let scope = || Scope::Processes((*name).into());
            let mut cpu = used.cpu;
            if *processes == Processes::Own {
                // The target works on the drivers' threads, and may have threads of its own.
                let threads: Duration = outcome.drivers.iter().map(|driver| driver.cpu).sum();
                let inside = tally.map_or(0.0, |tally| tally.inside);
                let outside = threads.mul_f64(1.0 - inside.clamp(0.0, 1.0));
                clients = (outside + outcome.collector_cpu).min(used.cpu);
                cpu = used.cpu - clients;
            }
            measures.set(&measure::CPU, scope(), cpu.as_secs_f64());
            let bytes = [
                (&measure::READ_CALLS, used.read_calls),
                (&measure::WRITE_CALLS, used.write_calls),
                (&measure::READ, used.read),
                (&measure::WRITTEN, used.write),
            ];
            bytes.into_iter().for_each(|(what, bytes)| measures.set(what, scope(), bytes as f64));
        }
        measures.set(&measure::CPU, Scope::Clients, clients.as_secs_f64());
        if let (Some(then), Some(now)) = (before.device, after.device) {
            let scope = || Scope::Device;
            measures.set(&measure::READ, scope(), (now.0 - then.0) as f64);
            measures.set(&measure::WRITTEN, scope(), (now.1 - then.1) as f64);
        }
        if let (Some((_, then)), Some((scope, now))) = (&before.syncs, &after.syncs) {
            measures.set(&measure::SYNCS, scope.clone(), (now - then) as f64);
        }
        // What was not there before has begun since.
        let earlier: BTreeMap<&str, u64> = before.counters.counters().collect();
        let (mut written_back, mut cache_misses) = (None, None);
        for (name, count) in after.counters.counters() {
            let count = count.saturating_sub(earlier.get(name).copied().unwrap_or(0));
            if running.writes_back().contains(&name) {
                *written_back.get_or_insert(0.0) += count as f64;
            }
            if running.cache_misses().contains(&name) {
                *cache_misses.get_or_insert(0.0) += count as f64;
            }
            measures.count(name.to_owned(), count);
        }
        measures.set_some(&measure::WRITTEN_BACK, Scope::Trial, written_back);
        measures.set_some(&measure::CACHE_MISSES, Scope::Trial, cache_misses);
    }
}

impl Used {
    /// What was used since, in the drain.
    fn put_drain(&self, measures: &mut Measures, end: &Account) {
        for (name, (_, then)) in &self.after.groups {
            let Some((_, now)) = end.groups.get(name) else { continue };
            let used = *now - *then;
            let scope = || Scope::Processes((*name).into());
            measures.set(&measure::DRAIN_CPU, scope(), used.cpu.as_secs_f64());
            measures.set(&measure::DRAIN_WRITTEN, scope(), used.write as f64);
        }
        if let (Some(then), Some(now)) = (self.after.device, end.device) {
            measures.set(&measure::DRAIN_WRITTEN, Scope::Device, (now.1 - then.1) as f64);
        }
    }
}

/// The operations, with how many of each there are a second.
fn operations(
    outcome: &Outcome,
    names: &[Name],
    rates: &[f64],
) -> Result<Vec<Operation>, TrialError> {
    let slot = |slot: &load::Slot| Slot {
        start_s: slot.start_s,
        end_s: slot.end_s,
        histogram: slot.histogram.clone(),
    };
    let operation = |((name, kind), rate): ((&Name, &load::Kind), &f64)| Operation {
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
    let operations: Vec<Operation> = kinds.map(operation).collect();
    // In an open loop that is far behind, what was due in the window has not begun: that it did not
    // keep up is its finding.
    let waited = outcome.open.is_none();
    if waited && operations.iter().all(|operation| operation.kept.is_empty()) {
        let ran = outcome.ran.as_secs_f64();
        return Err(TrialError::User(format!(
            "no operation that counts has ended in {ran:.1} s: raise --seconds"
        )));
    }
    Ok(operations)
}

/// The mean of a histogram of nanoseconds; 0 for an empty one.
fn mean(histogram: &hdrhistogram::Histogram<u64>) -> f64 {
    if histogram.is_empty() { 0.0 } else { histogram.mean() }
}

/// Operations and the sum of their latencies in each full second, all operations together.
fn full_seconds(outcome: &Outcome) -> Vec<(f64, u64, f64)> {
    let slots = outcome.kinds.first().map_or(0, |kind| kind.slots.len());
    let mut seconds = Vec::new();
    for slot in 0..slots {
        let all = outcome.kinds.iter().map(|kind| &kind.slots[slot]);
        let (mut count, mut sum, mut start, mut length) = (0, 0.0, 0.0, 0.0);
        for slot in all {
            count += slot.histogram.len();
            sum += slot.histogram.len() as f64 * mean(&slot.histogram);
            (start, length) = (slot.start_s, slot.end_s - slot.start_s);
        }
        if length > 0.999 {
            seconds.push((start, count, sum));
        }
    }
    seconds
}

/// Seconds at the start that are unlike the rest, by MSER-5 over the mean latency of each second:
/// advice on how long a warm-up to ask for, and no more. A window that was chosen so, by each trial
/// for itself, made a ratio of 7.0 out of one pair of series and of 1.4 out of another alike.
fn warm_up(outcome: &Outcome) -> Option<f64> {
    let full = full_seconds(outcome);
    if full.len() < SLOTS_FOR_WARMUP {
        return None;
    }
    let means: Vec<f64> = full.iter().map(|(_, count, sum)| sum / (*count).max(1) as f64).collect();
    let cut = bakeoff_stats::warmup::mser5(&means)?;
    (cut > 0).then(|| full[cut].0)
}

/// What the window says in rounds of equal numbers of operations.
fn put_rounds(measures: &mut Measures, outcome: &Outcome) {
    let (from, to) = outcome.window_s;
    let slots = outcome.kinds.first().map_or(0, |kind| kind.slots.len());
    let stretch = |slot: usize| {
        let all = outcome.kinds.iter().map(|kind| &kind.slots[slot]);
        let operations = all.clone().map(|slot| slot.histogram.len()).sum();
        let slot = all.clone().next().expect("a workload has an operation");
        Stretch { start_s: slot.start_s, end_s: slot.end_s, operations }
    };
    let inside = |it: &Stretch| it.start_s >= from && it.end_s <= to && it.end_s > it.start_s;
    let window: Vec<Stretch> = (0..slots).map(stretch).filter(inside).collect();
    let Some(rounds) = rounds(&window) else { return };
    measures.set(&measure::ROUNDS_RANGE, Scope::Trial, rounds.range);
    measures.set(&measure::ROUNDS_RISE, Scope::Trial, rounds.rise);
    measures.set(&measure::ROUNDS_ERROR, Scope::Trial, rounds.error);
}

/// The line through the rates of the full seconds in the window; `None` when they are too few.
fn slope(outcome: &Outcome) -> Option<Slope> {
    let (from, to) = outcome.window_s;
    let inside = |(start, _, _): &&(f64, u64, f64)| *start >= from && start + 1.0 <= to;
    let full = full_seconds(outcome);
    let rates: Vec<f64> = full.iter().filter(inside).map(|(_, count, _)| *count as f64).collect();
    if rates.len() < SLOTS_FOR_SLOPE { None } else { steady::slope(&rates) }
}

#[cfg(test)]
mod tests;
