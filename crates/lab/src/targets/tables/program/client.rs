//! A client of an application's own program, as a driver: bakeoff says when an operation begins, and
//! times it from its own side.

use std::fmt::Write as _;
use std::time::Duration;

use bakeoff_load::{
    Blocking, BlockingClient, Driver, OperationOutcome, OperationSink, Pacer, WorkAmount,
};
use bakeoff_workloads::{Claims, WorkloadClient};

use super::super::kinds::Kinds;
use super::claims::make_record;
use super::process::{ProgramFault, ProgramProcess};
use super::protocol::{ProgramReply, ProtocolFault};
use crate::monotonic::now_ns;

/// How often a program may say in one operation that it ran something again.
const MOST_RETRIES: u32 = 1000;

pub struct ProgramClient<'a> {
    /// It chooses operations, and runs none.
    pub chooser: Box<dyn WorkloadClient + 'a>,
    pub kinds: &'a Kinds,
    pub process: ProgramProcess<'a>,
    pub timeout: Duration,
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
    ) -> Self {
        let (claims, request) = (None, String::new());
        Self { chooser, kinds, process, timeout, claims, number: 0, request, fault: None }
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
        self.process.check_quiet()?;
        self.request.clear();
        let name = self.kinds.any_name(self.kinds.operation(kind));
        let _ = writeln!(self.request, "do {name} {}", self.number);
        self.number += 1;
        self.process.send(&self.request)?;
        let mut outcome = OperationOutcome::default();
        for _ in 0..MOST_RETRIES {
            let missing = || format!("answered `{}`", self.request.trim());
            match self.process.receive(missing, self.timeout)? {
                ProgramReply::Done { rows, bytes } => {
                    outcome.work = WorkAmount { rows, bytes, ..WorkAmount::default() };
                    return Ok(outcome);
                }
                ProgramReply::Failed(why) => {
                    outcome.error = Some(why);
                    return Ok(outcome);
                }
                ProgramReply::Retried(times) => {
                    outcome.retries = outcome.retries.saturating_add(times);
                }
                ProgramReply::Acknowledged(key) => {
                    if let Some(claims) = &mut self.claims {
                        claims.store_claim(&make_record(&key, now_ns()));
                    }
                }
                other @ (ProgramReply::Ready | ProgramReply::Lost | ProgramReply::Torn) => {
                    return Err(ProtocolFault::Unasked { said: other.to_word().into() }.into());
                }
            }
        }
        Err(ProtocolFault::Flood.into())
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
