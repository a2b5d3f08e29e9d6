//! A client of an application's own program, as a driver: bakeoff says when an operation begins, and
//! times it from its own side.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bakeoff_load::{
    Blocking, BlockingClient, Driver, OperationOutcome, OperationSink, Pacer, WorkAmount,
};
use bakeoff_results::Measures;
use bakeoff_workloads::{Claims, WorkloadClient};

use super::super::kinds::Kinds;
use super::claims::make_record;
use super::process::{ProgramFault, ProgramProcess};
use super::protocol::{ProgramReply, ProtocolFault};
use crate::monotonic::now_ns;

/// What programs say that their operations had to do with the database, and how long these took.
#[derive(Debug, Default)]
pub struct DatabaseUse {
    statements: AtomicU64,
    in_database_us: AtomicU64,
    operations_us: AtomicU64,
}

impl DatabaseUse {
    fn add(&self, statements: u64, in_database_us: u64, operation: Duration) {
        self.statements.fetch_add(statements, Relaxed);
        self.in_database_us.fetch_add(in_database_us, Relaxed);
        self.operations_us.fetch_add(operation.as_micros() as u64, Relaxed);
    }

    /// Nothing where no program says so.
    pub fn measures(&self) -> Measures {
        let mut measures = Measures::default();
        let counts = [
            ("program_statements", &self.statements),
            ("program_in_database_us", &self.in_database_us),
            ("program_operations_us", &self.operations_us),
        ];
        for (name, count) in counts.into_iter().filter(|_| self.statements.load(Relaxed) > 0) {
            measures.set_counter(name, count.load(Relaxed));
        }
        measures
    }
}

pub struct ProgramClient<'a> {
    /// It chooses operations, and runs none.
    pub chooser: Box<dyn WorkloadClient + 'a>,
    pub kinds: &'a Kinds,
    pub process: ProgramProcess<'a>,
    pub timeout: Duration,
    pub database: &'a DatabaseUse,
    /// Where acknowledged keys are kept, if the power will be cut.
    claims: Option<Box<dyn Claims + 'a>>,
    /// Operations begun.
    number: u64,
    request: String,
    /// What it did wrong. It has ended since.
    fault: Option<String>,
}

impl<'a> ProgramClient<'a> {
    pub fn new(
        chooser: Box<dyn WorkloadClient + 'a>,
        kinds: &'a Kinds,
        process: ProgramProcess<'a>,
        timeout: Duration,
        database: &'a DatabaseUse,
    ) -> Self {
        let (claims, request) = (None, String::new());
        Self { chooser, kinds, process, timeout, database, claims, number: 0, request, fault: None }
    }

    pub fn with_claims(self, claims: Option<Box<dyn Claims + 'a>>) -> Self {
        Self { claims, ..self }
    }

    pub fn tell_to_go(&mut self) {
        if let Err(fault) = self.process.send("go\n") {
            self.fault = Some(self.process.end_faulty(&fault));
        }
    }

    /// Runs one operation of each kind.
    pub fn try_operations(&mut self) -> Result<(), String> {
        self.tell_to_go();
        for (kind, name) in self.kinds.names().iter().enumerate() {
            let outcome = (&mut *self).run_operation(kind);
            if let Some(error) = outcome.error {
                return Err(format!("operation {name}: {error}"));
            }
        }
        Ok(())
    }

    fn ask_operation(&mut self, kind: usize) -> Result<OperationOutcome, ProgramFault> {
        let begun = Instant::now();
        let mut used = None;
        let outcome = self.hear_outcome(kind, begun, &mut used)?;
        if let Some((statements, micros)) = used {
            self.database.add(statements, micros, begun.elapsed());
        }
        Ok(outcome)
    }

    /// `used` gets the statements and the microseconds of the database, if the program tells them.
    fn hear_outcome(
        &mut self,
        kind: usize,
        begun: Instant,
        used: &mut Option<(u64, u64)>,
    ) -> Result<OperationOutcome, ProgramFault> {
        self.process.check_quiet()?;
        self.request.clear();
        let name = self.kinds.any_name(self.kinds.operation(kind));
        let _ = writeln!(self.request, "do {name} {}", self.number);
        self.number += 1;
        self.process.send(&self.request)?;
        let mut outcome = OperationOutcome::default();
        let until = begun + self.timeout;
        loop {
            let missing = || format!("answered `{}`", self.request.trim());
            let left = until.saturating_duration_since(Instant::now());
            match self.process.receive_within(missing, left, self.timeout)? {
                ProgramReply::Done { rows, bytes } => {
                    outcome.work = WorkAmount { rows, bytes, ..WorkAmount::default() };
                    return Ok(outcome);
                }
                ProgramReply::Failed(why) => {
                    outcome.error = Some(why);
                    return Ok(outcome);
                }
                ProgramReply::InDatabase { statements, micros } => {
                    let (before, spent) = used.unwrap_or_default();
                    *used = Some((before.saturating_add(statements), spent.saturating_add(micros)));
                }
                ProgramReply::Retried(times) => {
                    outcome.retries = outcome.retries.saturating_add(times);
                }
                ProgramReply::Acknowledged(key) => {
                    if let Some(claims) = &mut self.claims {
                        claims.store_claim(&make_record(&key, now_ns()));
                    }
                }
                other @ (ProgramReply::Ready
                | ProgramReply::Told { .. }
                | ProgramReply::Lost
                | ProgramReply::Torn) => {
                    return Err(ProtocolFault::Unasked { said: other.to_word().into() }.into());
                }
            }
        }
    }
}

impl BlockingClient for &mut ProgramClient<'_> {
    fn choose_operation(&mut self) -> usize {
        self.kinds.kind(self.chooser.choose_operation())
    }

    fn run_operation(&mut self, kind: usize) -> OperationOutcome {
        if self.fault.is_none() {
            match self.ask_operation(kind) {
                Ok(outcome) => return outcome,
                Err(fault) => self.fault = Some(self.process.end_faulty(&fault)),
            }
        }
        // The drive gives up after a few of these.
        OperationOutcome { error: self.fault.clone(), ..OperationOutcome::default() }
    }

    fn think_time(&mut self, kind: usize) -> Duration {
        self.chooser.think_time(self.kinds.operation(kind))
    }
}

impl Driver for ProgramClient<'_> {
    fn run(&mut self, pacer: &mut dyn Pacer, record: &mut dyn OperationSink) {
        self.tell_to_go();
        Blocking(self).run(pacer, record);
    }
}
