//! A client that chooses by itself when an operation begins, and says afterwards how long it took.
//! What it says must be possible: within the time between `go` and the line, and not before its
//! last operation has ended.

use std::time::Duration;

use bakeoff_load::{Driver, EndedOperation, OperationOutcome, OperationSink, Pacer};
use bakeoff_workloads::Claims;

use super::super::kinds::Kinds;
use super::claims::make_record;
use super::process::{ProgramFault, ProgramProcess};
use super::protocol::{ProgramReply, ProtocolFault};
use crate::monotonic::now_ns;

pub struct SelfPacedClient<'a> {
    kinds: &'a Kinds,
    process: ProgramProcess<'a>,
    timeout: Duration,
    claims: Option<Box<dyn Claims + 'a>>,
    /// When it may have begun its next operation, by `CLOCK_MONOTONIC`.
    free_ns: u64,
}

struct ToldOperation {
    kind: usize,
    started_ns: u64,
    ended_ns: u64,
    error: Option<String>,
}

impl<'a> SelfPacedClient<'a> {
    pub fn new(
        kinds: &'a Kinds,
        process: ProgramProcess<'a>,
        timeout: Duration,
        claims: Option<Box<dyn Claims + 'a>>,
    ) -> Self {
        Self { kinds, process, timeout, claims, free_ns: u64::MAX }
    }

    /// Waits for one operation.
    pub fn try_operation(&mut self) -> Result<(), String> {
        let told = self.begin().and_then(|()| self.hear_operation());
        match told {
            Ok(told) => told.error.map_or(Ok(()), Err),
            Err(fault) => Err(self.process.end_faulty(&fault)),
        }
    }

    fn begin(&mut self) -> Result<(), ProgramFault> {
        self.free_ns = now_ns();
        self.process.send("go\n")
    }

    fn hear_operation(&mut self) -> Result<ToldOperation, ProgramFault> {
        loop {
            let missing = || "told of an operation".to_owned();
            match self.process.receive(missing, self.timeout)? {
                ProgramReply::Told { name, started_ns, ended_ns, error } => {
                    let kind = self.kinds.names().iter().position(|it| *it == name);
                    let said = || format!("op {name} {started_ns} {ended_ns}");
                    let impossible =
                        |why| ProgramFault::from(ProtocolFault::WrongLine { said: said(), why });
                    let kind = kind.ok_or_else(|| impossible("there is no such operation"))?;
                    if started_ns < self.free_ns {
                        return Err(impossible("it begins before `go`, or within the last one"));
                    }
                    if ended_ns < started_ns || ended_ns > now_ns() {
                        return Err(impossible("it ends before it begins, or has not ended yet"));
                    }
                    self.free_ns = ended_ns;
                    return Ok(ToldOperation { kind, started_ns, ended_ns, error });
                }
                ProgramReply::Acknowledged(key) => {
                    if let Some(claims) = &mut self.claims {
                        claims.store_claim(&make_record(&key, now_ns()));
                    }
                }
                other => {
                    return Err(ProtocolFault::Unasked { said: other.to_word().into() }.into());
                }
            }
        }
    }
}

impl Driver for SelfPacedClient<'_> {
    fn run(&mut self, pacer: &mut dyn Pacer, record: &mut dyn OperationSink) {
        let clock = record.clock();
        let mut fault = self.begin().err().map(|fault| self.process.end_faulty(&fault));
        while pacer.next(clock.now()).is_some() {
            let heard = match &fault {
                // The drive gives up after a few of these.
                Some(fault) => Err(fault.clone()),
                None => self.hear_operation().map_err(|fault| self.process.end_faulty(&fault)),
            };
            let (now, now_ns) = (clock.now(), now_ns());
            let at = |time_ns: u64| now.saturating_sub(now_ns.saturating_sub(time_ns));
            let (kind, started, ended, error) = match heard {
                Ok(told) => (told.kind, at(told.started_ns), at(told.ended_ns), told.error),
                Err(why) => {
                    fault = Some(why.clone());
                    (0, now, now, Some(why))
                }
            };
            let done = OperationOutcome { error, ..OperationOutcome::default() };
            record.begin_operation(0, kind, started);
            let operation =
                EndedOperation { lane: 0, kind, intended: started, started, ended, done };
            if record.record(operation).is_none() {
                return;
            }
        }
    }
}
