//! The driver of one client that blocks its thread.

use crate::{BlockingClient, Driver, EndedOperation, OperationSink, Pacer};

/// One client on a thread of its own.
#[derive(Debug)]
pub struct Blocking<C>(pub C);

impl<C: BlockingClient> Driver for Blocking<C> {
    /// Reads the clock once an operation.
    fn run(&mut self, pacer: &mut dyn Pacer, record: &mut dyn OperationSink) {
        let clock = record.clock();
        let mut free = clock.now();
        while let Some(intended) = pacer.next(free) {
            let mut started = free;
            if intended > free {
                let Some(now) = pacer.wait(intended) else { return };
                started = now;
            }
            let kind = self.0.choose();
            record.begin(0, kind, intended);
            let done = self.0.operate(kind);
            let ended = clock.now();
            let operation = EndedOperation { lane: 0, kind, intended, started, ended, done };
            let Some(next) = record.record(operation) else { return };
            free = next;
        }
    }
}
