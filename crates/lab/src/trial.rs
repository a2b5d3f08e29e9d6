//! The clients of a trial: a workload's clients on an engine's sessions, driven and accounted.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bakeoff_disk::spec::{self, Spec, SpecError};
use bakeoff_engines::{Database, Engine, Home, Session, Terms};
use bakeoff_experiment::{
    DeviceProblem, Disks, EngineNames, Engines, Factor, Vocabulary, WorkloadNames,
};
use bakeoff_load::{self as load};
use bakeoff_results::{Cost, Cpu, HARNESS, Io, Syncs};
use bakeoff_workloads::ledger::Books;
use bakeoff_workloads::{Client, Prepared, Tally, Text};

use crate::accounts::{Device, space};
use crate::child::Speaker;
use crate::job::{Counts, Data, Measured, Message, Operation};
use crate::meter::{Metered, Split};
use crate::open_files;
use crate::syncs::Watcher;
use crate::usage::Usage;
use crate::written::{self, Written};

/// The share of a trial that is dropped at each end for the headline figures.
const TRIM: f64 = 0.1;
/// Slots that a warm-up is looked for in: with fewer there is no telling.
const SLOTS_FOR_WARMUP: usize = 30;
/// Whole seconds that a slope is looked for in.
const SLOTS_FOR_SLOPE: usize = 10;

/// The workload whose clients read again what they wrote, and so can tell what a power cut has left.
const LEDGER: &str = "ledger";

/// The names that are valid in an experiment: every engine and workload that is built in.
pub fn vocabulary() -> Vocabulary {
    let engines = bakeoff_engines::ENGINES.iter().map(|engine| {
        let about = engine.about();
        EngineNames {
            name: about.name.into(),
            takes_settings: about.home == Home::Server,
            stores: about.name != HARNESS,
        }
    });
    let engines = Engines::new(engines.collect(), |url| {
        bakeoff_engines::elsewhere::name(url).map(Into::into)
    });
    let workloads = bakeoff_workloads::WORKLOADS.iter().map(|workload| WorkloadNames {
        name: workload.name().into(),
        scales: workload.scales().iter().map(|scale| scale.name.into()).collect(),
        factors: Factor::OWN.into(),
        reads_back: workload.name() == LEDGER,
        cut_by: Ok(LEDGER.into()),
    });
    let disks = Disks::new(
        spec::listed().iter().map(|disk| disk.name.to_string()).collect(),
        "ssd-sata".into(),
        |text| Spec::parse(text).map(|spec| spec.to_string()).map_err(|e| e.to_string()),
        |table| Spec::from_table(table).map(drop).map_err(problems),
    );
    Vocabulary { engines, workloads: workloads.collect(), disks }
}

/// What is wrong with a device, by the keys of its table.
fn problems(error: SpecError) -> Vec<DeviceProblem> {
    let problems = error.0.iter().map(|problem| DeviceProblem {
        key: problem.parameter().map(str::to_owned),
        message: problem.to_string(),
    });
    problems.collect()
}

fn workload(data: &Data) -> Result<&'static dyn bakeoff_workloads::Workload, String> {
    let found = bakeoff_workloads::find(&data.workload);
    found.ok_or_else(|| format!("there is no workload {}", data.workload))
}

/// The operations of the workload.
pub fn operations(data: &Data) -> Result<&'static [&'static str], String> {
    Ok(workload(data)?.operations())
}

/// The workload's text.
fn text(data: &Data) -> Result<Arc<Text>, String> {
    let text = match &data.text {
        Some(path) => Text::from_file(path).map_err(|error| error.to_string())?,
        None => Text::generated(data.seed),
    };
    Ok(Arc::new(text))
}

/// Gets the workload ready, with its text.
pub fn prepare(data: &Data) -> Result<Box<dyn Prepared>, String> {
    Ok(workload(data)?.prepare(&data.scale, data.seed, text(data)?))
}

/// Gets the ledger ready, with its text.
pub fn books(data: &Data) -> Result<Books, String> {
    Ok(Books::new(&data.scale, data.seed, text(data)?))
}

/// The engine: of `own`, or of those that are built in.
pub fn engine<'a>(data: &Data, own: &[&'a dyn Engine]) -> Result<&'a dyn Engine, String> {
    let named = own.iter().copied().find(|engine| engine.about().name == data.engine);
    let found = named.or_else(|| bakeoff_engines::find(&data.engine));
    found.ok_or_else(|| format!("there is no engine {}", data.engine))
}

/// Opens the engine in `directory`.
pub fn open(
    engine: &dyn Engine,
    prepared: &dyn Prepared,
    directory: &Path,
    terms: &Terms,
) -> Result<Box<dyn Database>, String> {
    engine
        .open(directory, terms, prepared.schema(), prepared.statements())
        .map_err(|error| format!("{} can't be opened: {error}", engine.about().name))
}

/// A workload's client on a session of its own, as the load sees it.
struct Bound<'a> {
    client: Box<dyn Client + 'a>,
    session: Metered<'a>,
    books: &'a Mutex<(Split, Written)>,
}

impl load::Client for Bound<'_> {
    fn operate(&mut self) -> load::Done {
        let operation = self.client.choose();
        let mut tally = Tally::default();
        let client = &mut self.client;
        let perform = |session: &mut dyn Session| client.perform(operation, session, &mut tally);
        let error = self.session.operation(perform).err().map(|error| error.to_string());
        load::Done { operation, retries: tally.retries, error }
    }
}

impl Drop for Bound<'_> {
    fn drop(&mut self) {
        if let Ok(mut books) = self.books.lock() {
            books.0 = books.0.plus(self.session.split());
            books.1 = books.1.plus(self.session.written());
        }
    }
}

/// What a trial runs on.
pub struct Trial<'a> {
    /// The workload.
    pub prepared: &'a dyn Prepared,
    /// The database that holds its rows.
    pub database: &'a dyn Database,
    /// Where the engine does its work.
    pub home: Home,
    /// Who counts syncs, if anybody does.
    pub syncs: Option<&'a Watcher>,
    /// The names of its operations.
    pub names: &'static [&'static str],
    /// Where its files are.
    pub directory: &'a Path,
}

impl Trial<'_> {
    /// Runs the clients, drains the engine, and accounts for both.
    pub fn run(
        &self,
        clients: usize,
        duration: Duration,
        speaker: &Speaker<'_>,
    ) -> Result<Measured, String> {
        self.room_for(clients)?;
        let writing = written::writing(self.prepared.statements());
        let books = Mutex::new((Split::default(), Written::default()));
        let plan = load::Plan { clients, operations: self.names.len(), duration, trim: TRIM };
        let connect = |number| -> bakeoff_engines::Result<Bound<'_>> {
            Ok(Bound {
                client: self.prepared.client(number, clients),
                session: Metered::new(self.database.session()?, &writing),
                books: &books,
            })
        };
        let mut observe = |progress: &load::Progress| {
            let (per_second, mean_s) = (progress.per_second, progress.mean_s.unwrap_or(0.0));
            speaker.say(&Message::Progress { per_second, mean_s });
        };

        let before = self.account()?;
        let outcome = load::drive(&plan, connect, &AtomicBool::new(false), &mut observe)
            .map_err(|error| error.to_string())?;
        let after = self.account()?;
        speaker.say(&Message::Driven);
        let drained = self.database.drain();
        drained.map_err(|error| format!("the engine could not be drained: {error}"))?;
        let end = self.account()?;

        let (split, written) = *books.lock().map_err(|_| "a client has panicked")?;
        let cpu_s = self.cpu(&outcome, &before, &after, split);
        // A server elsewhere has its files where they are.
        let here = (self.home != Home::Elsewhere).then(|| space(self.directory)).transpose();
        let space = here.map_err(|error| format!("no sizes: {error}"))?;
        let mut measured = Measured {
            ran_s: outcome.ran.as_secs_f64(),
            window_s: window(&outcome, duration),
            operations: Vec::new(),
            space_bytes: space,
            cpu_s,
            io: after.since(&before, &end),
            counted_s: (after.at - before.at).as_secs_f64(),
            cost: self.cost(&outcome, (&before, &after, &end), cpu_s, written),
            littles_law: 0.0,
            steady: None,
            counters: counted(&before.counters, &after.counters),
            warnings: Vec::new(),
        };
        self.judge(&mut measured, &outcome, clients)?;
        Ok(measured)
    }

    /// Makes sure that so many clients can have the files that a session takes.
    fn room_for(&self, clients: usize) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("open files can't be counted: {error}");
        let before = open_files::count().map_err(failed)?;
        let session = self.database.session();
        let one = session.map_err(|error| format!("no client could connect: {error}"))?;
        let each = open_files::count().map_err(failed)?.saturating_sub(before);
        drop(one);
        open_files::suffice(clients, each)
    }

    /// What was used up to now.
    fn account(&self) -> Result<Account, String> {
        let failed = |error: std::io::Error| format!("no account of what the engine uses: {error}");
        let own = Usage::own().map_err(failed)?;
        let server = self.database.server().map(Usage::of_family).transpose();
        Ok(Account {
            at: Instant::now(),
            own,
            server: server.map_err(failed)?,
            device: Device::under(self.directory).map_err(failed)?.bytes(),
            syncs: self.syncs.and_then(Watcher::now),
            counters: self.database.counters(),
        })
    }

    /// Processor time of the clients and of the engine. One that works in this process shares the
    /// clients' threads; a server is processes of its own.
    fn cpu(&self, outcome: &load::Outcome, before: &Account, after: &Account, split: Split) -> Cpu {
        let own = (after.own - before.own).cpu.as_secs_f64();
        if let Some((after, before)) = after.server.zip(before.server) {
            return Cpu { client: own, engine: (after - before).cpu.as_secs_f64() };
        }
        if self.home == Home::Elsewhere {
            return Cpu { client: own, engine: 0.0 };
        }
        let threads: f64 = outcome.clients.iter().map(|client| client.cpu.as_secs_f64()).sum();
        let collector = outcome.collector_cpu.as_secs_f64();
        let client = (threads * (1.0 - split.engine_share()) + collector).min(own);
        Cpu { client, engine: own - client }
    }

    /// What the clients' work cost, by what the machine's own kernel knows.
    fn cost(
        &self,
        outcome: &load::Outcome,
        (before, after, end): (&Account, &Account, &Account),
        cpu_s: Cpu,
        written: Written,
    ) -> Cost {
        let ended = |tally: &load::Operation| {
            tally.slots.iter().map(|slot| slot.histogram.len()).sum::<u64>() + tally.errors
        };
        let here = self.home != Home::Elsewhere;
        let syncs = after.syncs.zip(before.syncs);
        Cost {
            operations: outcome.operations.iter().map(ended).sum::<u64>()
                + outcome.in_flight as u64,
            commits: written.commits,
            application_bytes: written.bytes,
            device_bytes: here.then(|| (end.engine() - before.engine()).write),
            engine_cpu_s: here.then_some(cpu_s.engine),
            syncs: syncs
                .map(|(after, before)| Syncs { count: after.count - before.count, ..after }),
        }
    }

    /// Fills in the operations and what follows from them.
    fn judge(
        &self,
        measured: &mut Measured,
        outcome: &load::Outcome,
        clients: usize,
    ) -> Result<(), String> {
        let (from, to) = measured.window_s;
        let mut latencies_s = 0.0;
        let mut kept_count = 0;
        for (name, tally) in self.names.iter().zip(&outcome.operations) {
            let kept = load::kept(&tally.slots, from, to);
            latencies_s += kept.len() as f64 * mean(&kept) / 1e9;
            kept_count += kept.len();
            let slots = tally.slots.iter();
            measured.operations.push(Operation {
                name: (*name).into(),
                kept: Counts::of(&kept),
                slots: slots.map(|s| (s.start_s, s.end_s, Counts::of(&s.histogram))).collect(),
                errors: tally.errors,
                retries: tally.retries,
            });
            if let Some(error) = &tally.first_error {
                let text = format!("{} {name} operations failed, first: {error}", tally.errors);
                measured.warnings.push(text);
            }
        }
        let span = to - from;
        measured.littles_law = latencies_s / (span * clients as f64);
        measured.steady = steady(outcome, from, to);
        if kept_count == 0 {
            return Err(format!(
                "no operation ended within the window of {span:.1} s: raise --seconds"
            ));
        }
        Ok(())
    }
}

/// The mean of a histogram of nanoseconds; 0 for an empty one.
fn mean(histogram: &hdrhistogram::Histogram<u64>) -> f64 {
    if histogram.is_empty() { 0.0 } else { histogram.mean() }
}

/// Operations and the sum of their latencies in each full second, all operations together.
fn full_seconds(outcome: &load::Outcome) -> Vec<(f64, u64, f64)> {
    let slots = outcome.operations.first().map_or(0, |operation| operation.slots.len());
    let mut seconds = Vec::new();
    for slot in 0..slots {
        let all = outcome.operations.iter().map(|operation| &operation.slots[slot]);
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

/// The headline window: the trial without its first and last tenth, and without more at the start
/// if the warm-up took longer (MSER-5 over the mean latency of each second).
fn window(outcome: &load::Outcome, duration: Duration) -> (f64, f64) {
    let seconds = duration.as_secs_f64();
    let (mut from, to) = (seconds * TRIM, seconds * (1.0 - TRIM));
    let full = full_seconds(outcome);
    if full.len() >= SLOTS_FOR_WARMUP {
        let means: Vec<f64> =
            full.iter().map(|(_, count, sum)| sum / (*count).max(1) as f64).collect();
        if let Some(warm) = bakeoff_stats::warmup::mser5(&means) {
            from = f64::max(from, full[warm].0);
        }
    }
    (from, to)
}

/// Whether the rate of the full seconds in the window has settled; `None` when they are too few.
fn steady(outcome: &load::Outcome, from: f64, to: f64) -> Option<bool> {
    let inside = |(start, _, _): &&(f64, u64, f64)| *start >= from && start + 1.0 <= to;
    let full = full_seconds(outcome);
    let rates: Vec<f64> = full.iter().filter(inside).map(|(_, count, _)| *count as f64).collect();
    (rates.len() >= SLOTS_FOR_SLOPE).then(|| bakeoff_stats::steady::is_steady(&rates))
}

/// What was used up to a moment.
struct Account {
    at: Instant,
    own: Usage,
    /// What a private server used.
    server: Option<Usage>,
    device: Option<(u64, u64)>,
    syncs: Option<Syncs>,
    counters: Vec<(&'static str, u64)>,
}

impl Account {
    /// Of the processes that do the engine's work.
    fn engine(&self) -> Usage {
        self.server.unwrap_or(self.own)
    }

    /// What was moved between `before` and this account, and in the drain up to `end`.
    fn since(&self, before: &Self, end: &Self) -> Io {
        let used = self.engine() - before.engine();
        let device = self.device.zip(before.device);
        Io {
            read_call_bytes: used.read_calls,
            write_call_bytes: used.write_calls,
            read_bytes: used.read,
            write_bytes: used.write,
            drain_write_bytes: (end.engine() - self.engine()).write,
            device_read_bytes: device.map(|(now, then)| now.0 - then.0),
            device_write_bytes: device.map(|(now, then)| now.1 - then.1),
            drain_device_write_bytes: end.device.zip(self.device).map(|(end, now)| end.1 - now.1),
        }
    }
}

/// What an engine counted between two moments. What was not there before has begun since.
fn counted(before: &[(&'static str, u64)], after: &[(&'static str, u64)]) -> BTreeMap<String, u64> {
    let earlier = |name: &str| before.iter().find(|(known, _)| *known == name).map_or(0, |c| c.1);
    let counted = |(name, count): &(&'static str, u64)| {
        ((*name).to_owned(), count.saturating_sub(earlier(name)))
    };
    after.iter().map(counted).collect()
}
