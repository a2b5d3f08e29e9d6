//! A database that is open, and the workload's clients on its sessions.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bakeoff_engines::{Database, Debt, EngineHome, Session};
use bakeoff_load::{
    Blocking, BlockingClient, ClientShare, Driver, Interleaved, MOST_FAILURES, OperationOutcome,
    OperationSink, Pacer, WorkDone,
};
use bakeoff_results::Measures;
use bakeoff_results::measure::DATABASE_GROUP;
use bakeoff_workloads::{self as workloads, Claims, Name};

use super::kinds::Kinds;
use super::meter::{Metered, Split};
use super::ready::Ready;
use super::written::StatementTotals;
use crate::TrialError;
use crate::machine::open_files;
use crate::targets::{Audit, ClientTally, ConditioningStep, Processes, RunningTarget};

/// An open database and the workload on it.
pub(super) struct OpenDatabase<'a> {
    ready: &'a Ready,
    database: Box<dyn Database>,
    /// What the clients that have stopped did, since somebody asked.
    total: Mutex<(Split, StatementTotals)>,
}

impl<'a> OpenDatabase<'a> {
    /// The workload on a database that is open.
    pub fn new(ready: &'a Ready, database: Box<dyn Database>) -> Self {
        Self { ready, database, total: Mutex::default() }
    }

    /// The database.
    pub fn database(&self) -> &dyn Database {
        &*self.database
    }

    /// What the engine's own check finds.
    fn own_check(&self) -> Vec<String> {
        match self.database.check() {
            Ok(faults) => faults,
            Err(error) => vec![format!("its check fails: {error}")],
        }
    }

    fn client<'b>(
        &'b self,
        number: usize,
        share: &ClientShare,
        claims: Option<Box<dyn Claims + 'b>>,
    ) -> Result<SessionClient<'b>, TrialError> {
        let prepared = &self.ready.prepared;
        let client = match (claims, prepared.audited()) {
            (None, _) => prepared.client(number, share.of, share.seed),
            (Some(claims), Some(audited)) => audited.claimant(number, claims),
            (Some(_), None) => return Err(TrialError::User("its clients claim nothing".into())),
        };
        let writing = &self.ready.writing;
        let session = match prepared.connects_each_time() {
            true => Metered::each(&*self.database, writing),
            false => {
                let session = self.database.session();
                let session = session.map_err(|error| TrialError::Engine(error.to_string()))?;
                Metered::new(session, writing)
            }
        };
        let round_trip = prepared.round_trip();
        Ok(SessionClient { client, kinds: &self.ready.kinds, session, round_trip })
    }
}

impl RunningTarget for OpenDatabase<'_> {
    fn operations(&self) -> &[Name] {
        self.ready.kinds.names()
    }

    /// Calls that never wait need no thread for each client: more of them than there are processors
    /// would measure the scheduler.
    fn drivers(&self, clients: usize) -> usize {
        if self.ready.engine.about().stores {
            return clients;
        }
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        clients.min(processors)
    }

    fn files_per_client(&self) -> Result<usize, TrialError> {
        let failed = |error| TrialError::place("open files can't be counted", error);
        let before = open_files::count().map_err(failed)?;
        let one = self.database.session();
        let one =
            one.map_err(|error| TrialError::Engine(format!("no client could connect: {error}")))?;
        let each = open_files::count().map_err(failed)?.saturating_sub(before);
        drop(one);
        Ok(each)
    }

    fn driver<'a>(
        &'a self,
        share: &ClientShare,
        claims: Option<Box<dyn Claims + 'a>>,
    ) -> Result<Box<dyn Driver + 'a>, TrialError> {
        let mut claims = claims;
        let mut clients = Vec::with_capacity(share.clients.len());
        for number in share.clients.clone() {
            clients.push(self.client(number, share, claims.take())?);
        }
        Ok(Box::new(Clients { clients, total: &self.total }))
    }

    fn conditioner(
        &self,
        number: usize,
        clients: usize,
        seed: u64,
    ) -> Result<ConditioningStep<'_>, TrialError> {
        let engine = |error: bakeoff_engines::Error| TrialError::Engine(error.to_string());
        let mut session = self.database.session().map_err(engine)?;
        let mut client = self.ready.prepared.conditioner(number, clients, seed);
        let kinds = &self.ready.kinds;
        // What one of several works with, another may have deleted meanwhile.
        let most = if clients > 1 { MOST_FAILURES } else { 0 };
        let mut failures = 0;
        Ok(Box::new(move || {
            let operation = client.choose();
            let mut tally = workloads::OperationTally::default();
            match client.perform(operation, &mut *session, &mut tally) {
                Ok(()) => failures = 0,
                Err(_) if failures < most => failures += 1,
                Err(error) => {
                    let name = kinds.any_name(operation);
                    let why = format!("preconditioning failed, of {name}: {error}");
                    return Err(TrialError::Engine(why));
                }
            }
            Ok(tally.transactions)
        }))
    }

    fn debt(&self) -> Result<Option<Debt>, TrialError> {
        self.database.debt().map_err(|error| TrialError::Engine(error.to_string()))
    }

    fn warm(&self) -> Result<(), TrialError> {
        let warm = self.database.warm();
        warm.map_err(|error| TrialError::Engine(format!("its tables can't be read: {error}")))
    }

    fn drain(&self) -> Result<(), TrialError> {
        let drained = self.database.drain();
        drained.map_err(|e| TrialError::Engine(format!("the engine could not be drained: {e}")))
    }

    fn check(&self) -> Result<Option<Vec<String>>, TrialError> {
        if !self.ready.engine.about().stores {
            return Ok(None);
        }
        let mut faults = self.own_check();
        match self.ready.prepared.invariants(&*self.database) {
            Ok(broken) => faults.extend(broken),
            Err(error) => faults.push(format!("it can't be read: {error}")),
        }
        Ok(Some(faults))
    }

    fn missed(&self) -> Vec<String> {
        self.ready.prepared.site().map_or_else(Vec::new, |site| site.missed())
    }

    fn groups(&self) -> Vec<(&'static str, Processes)> {
        let processes = match self.ready.engine.home() {
            EngineHome::Process => Some(Processes::Own),
            EngineHome::Server => self.database.server().map(Processes::Family),
            EngineHome::External => None,
        };
        processes.map(|processes| (DATABASE_GROUP, processes)).into_iter().collect()
    }

    fn counters(&self) -> Measures {
        let mut measures = Measures::default();
        for (name, count) in self.database.counters() {
            measures.count(name, count);
        }
        measures
    }

    fn writes_back(&self) -> &'static [&'static str] {
        self.database.writes_back()
    }

    fn cache_misses(&self) -> &'static [&'static str] {
        self.database.cache_misses()
    }

    fn tally(&self) -> Option<ClientTally> {
        let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        let (split, written) = std::mem::take(&mut *total);
        let inside = split.engine_share();
        let StatementTotals { commits, bytes, returned } = written;
        Some(ClientTally { commits, bytes, returned: Some(returned), inside })
    }

    fn audit(&self, claims: &[Vec<u8>], off_at_ns: u64) -> Result<Audit, TrialError> {
        let audited = self.ready.prepared.audited();
        let audited = audited.ok_or_else(|| TrialError::User("it can't audit itself".into()))?;
        let mut faults = self.own_check();
        let findings = match audited.audit(&*self.database, claims, off_at_ns) {
            Ok(findings) => findings,
            Err(error) => {
                faults.push(format!("it can't be read: {error}"));
                workloads::AuditFindings::default()
            }
        };
        Ok(Audit { faults, findings })
    }
}

/// A workload's client on a session of its own.
struct SessionClient<'a> {
    client: Box<dyn workloads::WorkloadClient + 'a>,
    kinds: &'a Kinds,
    session: Metered<'a>,
    /// How much later than the engine's answer an operation ends for it.
    round_trip: Duration,
}

impl BlockingClient for &mut SessionClient<'_> {
    fn choose(&mut self) -> usize {
        self.kinds.kind(self.client.choose())
    }

    fn operate(&mut self, kind: usize) -> OperationOutcome {
        let mut tally = workloads::OperationTally::default();
        let SessionClient { client, kinds, session, round_trip } = &mut **self;
        let operation = kinds.operation(kind);
        let perform = |session: &mut dyn Session| client.perform(operation, session, &mut tally);
        let error = session.operation(perform).err().map(|error| error.to_string());
        if !round_trip.is_zero() {
            std::thread::sleep(*round_trip);
        }
        let work = WorkDone { rows: tally.rows, bytes: tally.bytes };
        OperationOutcome { retries: tally.retries, work, error }
    }
}

/// The clients of a driver: one that blocks its thread, or several that take turns on it.
struct Clients<'a> {
    clients: Vec<SessionClient<'a>>,
    /// Where what they did is added up when they have stopped.
    total: &'a Mutex<(Split, StatementTotals)>,
}

impl Driver for Clients<'_> {
    fn run(&mut self, pacer: &mut dyn Pacer, record: &mut dyn OperationSink) {
        match &mut self.clients[..] {
            [only] => Blocking(only).run(pacer, record),
            several => Interleaved::new(several.iter_mut().collect()).run(pacer, record),
        }
        let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        for SessionClient { session, .. } in &self.clients {
            total.0 = total.0.plus(session.split());
            total.1 = total.1.plus(session.written());
        }
    }
}
