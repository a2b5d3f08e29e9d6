use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bakeoff_engines::{Database, Debt, EngineHome, Session};
use bakeoff_load::{
    Blocking, BlockingClient, ClientShare, Driver, Interleaved, MOST_FAILURES, OperationOutcome,
    OperationSink, Pacer, WorkAmount,
};
use bakeoff_results::Measures;
use bakeoff_results::measure::DATABASE_GROUP;
use bakeoff_workloads::{self as workloads, Claims, Name, OperationPaths};

use super::kinds::Kinds;
use super::meter::{MeteredSession, TimeSplit};
use super::ready::Ready;
use super::statement_totals::StatementTotals;
use crate::TrialError;
use crate::machine::{count_processors, open_files};
use crate::targets::{Audit, ClientTally, ConditioningStep, Processes, RunningTarget};

pub(super) struct OpenDatabase<'a> {
    ready: &'a Ready,
    database: Box<dyn Database>,
    /// The work of clients that stopped since the last question.
    total: Mutex<(TimeSplit, StatementTotals)>,
}

impl<'a> OpenDatabase<'a> {
    pub fn new(ready: &'a Ready, database: Box<dyn Database>) -> Self {
        Self { ready, database, total: Mutex::default() }
    }

    pub fn database(&self) -> &dyn Database {
        &*self.database
    }

    fn own_check(&self) -> Vec<String> {
        match self.database.check() {
            Ok(faults) => faults,
            Err(error) => vec![format!("its check fails: {error}")],
        }
    }

    fn make_client<'b>(
        &'b self,
        number: usize,
        share: &ClientShare,
        claims: Option<Box<dyn Claims + 'b>>,
    ) -> Result<SessionClient<'b>, TrialError> {
        let prepared = &self.ready.prepared;
        let client = match (claims, prepared.as_audited()) {
            (None, _) => prepared.make_client(number, share.of, share.seed),
            (Some(claims), Some(audited)) => audited.make_claimant(number, claims),
            (Some(_), None) => return Err(TrialError::User("its clients claim nothing".into())),
        };
        let connects = prepared.connects_each_time();
        let session = MeteredSession::open(&*self.database, connects, &self.ready.writing)?;
        let round_trip = prepared.round_trip();
        Ok(SessionClient { client, kinds: &self.ready.kinds, session, round_trip })
    }
}

impl RunningTarget for OpenDatabase<'_> {
    fn operations(&self) -> &[Name] {
        self.ready.kinds.names()
    }

    /// Calls that never wait need no thread per client: more threads than processors would measure
    /// the scheduler.
    fn drivers(&self, clients: usize) -> usize {
        if self.ready.engine.about().stores {
            return clients;
        }
        clients.min(count_processors())
    }

    fn files_per_client(&self) -> Result<usize, TrialError> {
        let failed = |error| TrialError::place_error("open files can't be counted", error);
        let before = open_files::count_open_files().map_err(failed)?;
        let one = self.database.session();
        let one =
            one.map_err(|error| TrialError::Engine(format!("no client could connect: {error}")))?;
        let each = open_files::count_open_files().map_err(failed)?.saturating_sub(before);
        drop(one);
        Ok(each)
    }

    fn make_driver<'a>(
        &'a self,
        share: &ClientShare,
        claims: Option<Box<dyn Claims + 'a>>,
    ) -> Result<Box<dyn Driver + 'a>, TrialError> {
        let mut claims = claims;
        let mut clients = Vec::with_capacity(share.clients.len());
        for number in share.clients.clone() {
            clients.push(self.make_client(number, share, claims.take())?);
        }
        Ok(Box::new(Clients { clients, total: &self.total }))
    }

    fn conditioner(
        &self,
        number: usize,
        clients: usize,
        seed: u64,
    ) -> Result<ConditioningStep<'_>, TrialError> {
        let mut session = self.database.session()?;
        let mut client = self.ready.prepared.make_conditioner(number, clients, seed);
        let kinds = &self.ready.kinds;
        // Another client may have deleted what this one works with.
        let most = if clients > 1 { MOST_FAILURES } else { 0 };
        let mut failures = 0;
        Ok(Box::new(move || {
            let operation = client.choose_operation();
            let mut tally = workloads::OperationTally::default();
            match client.run_operation(operation, &mut *session, &mut tally) {
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
        Ok(self.database.debt()?)
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
        // The application's rows are read by its programs alone.
        if self.ready.brings_server {
            return Ok(Some(faults));
        }
        match self.ready.prepared.find_violations(&*self.database) {
            Ok(broken) => faults.extend(broken),
            Err(error) => faults.push(format!("it can't be read: {error}")),
        }
        Ok(Some(faults))
    }

    fn find_unchecked(&self) -> Result<Option<String>, TrialError> {
        Ok(self.database.find_unchecked()?)
    }

    fn describe_missed(&self) -> Vec<String> {
        self.ready.prepared.site().map_or_else(Vec::new, |site| site.list_missed())
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
            measures.set_counter(name, count);
        }
        measures
    }

    fn writes_back(&self) -> Vec<&str> {
        self.database.writes_back().to_vec()
    }

    fn cache_misses(&self) -> Vec<&str> {
        self.database.cache_misses().to_vec()
    }

    fn take_tally(&self) -> Option<ClientTally> {
        let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        let (split, written) = std::mem::take(&mut *total);
        Some(written.tally(split.engine_share()))
    }

    fn audit(&self, claims: &[Vec<u8>], off_at_ns: u64) -> Result<Audit, TrialError> {
        let audited = self.ready.prepared.as_audited();
        let audited = audited.ok_or_else(|| TrialError::User("it can't audit itself".into()))?;
        let mut faults = self.own_check();
        let findings = match audited.audit_database(&*self.database, claims, off_at_ns) {
            Ok(findings) => findings,
            Err(error) => {
                faults.push(format!("it can't be read: {error}"));
                workloads::AuditFindings::default()
            }
        };
        Ok(Audit { faults, findings })
    }
}

struct SessionClient<'a> {
    client: Box<dyn workloads::WorkloadClient + 'a>,
    kinds: &'a Kinds,
    session: MeteredSession<'a>,
    /// The simulated network time by which an operation ends after the engine's answer.
    round_trip: Duration,
}

impl BlockingClient for &mut SessionClient<'_> {
    fn choose_operation(&mut self) -> usize {
        self.kinds.kind(self.client.choose_operation())
    }

    fn run_operation(&mut self, kind: usize) -> OperationOutcome {
        let mut tally = workloads::OperationTally::default();
        let SessionClient { client, kinds, session, round_trip } = &mut **self;
        let operation = kinds.operation(kind);
        let perform =
            |session: &mut dyn Session| client.run_operation(operation, session, &mut tally);
        let error = session.run_operation(perform).err().map(|error| error.to_string());
        if !round_trip.is_zero() {
            std::thread::sleep(*round_trip);
        }
        let OperationPaths { rolled_back, skipped, unmatched, begun_again } = tally.paths;
        // In the order of `measure::PATHS`.
        let counts = [rolled_back, skipped, unmatched, begun_again];
        let work = WorkAmount { rows: tally.rows, bytes: tally.bytes, counts };
        OperationOutcome { retries: tally.retries, work, error }
    }

    fn think_time(&mut self, kind: usize) -> Duration {
        self.client.think_time(self.kinds.operation(kind))
    }
}

/// Either one client that blocks its thread, or several in turn.
struct Clients<'a> {
    clients: Vec<SessionClient<'a>>,
    total: &'a Mutex<(TimeSplit, StatementTotals)>,
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
            total.1 = total.1.plus(session.statement_totals());
        }
    }
}
