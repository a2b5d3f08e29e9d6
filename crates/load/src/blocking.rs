use std::time::Duration;

use crate::clock::LONGEST_SPIN;
use crate::{BlockingClient, ClockNanos, Driver, EndedOperation, OperationSink, Pacer};

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
                let Some(now) = pacer.wait_until(intended) else { return };
                started = now;
            }
            let kind = self.0.choose_operation();
            record.begin_operation(0, kind, intended);
            let done = self.0.run_operation(kind);
            let ended = clock.now();
            let operation = EndedOperation { lane: 0, kind, intended, started, ended, done };
            let Some(next) = record.record(operation) else { return };
            // Only a closed loop intends to start when the client is free.
            let think = if intended == free { self.0.think_time(kind) } else { Duration::ZERO };
            free = match think {
                Duration::ZERO => next,
                think => {
                    let start = next.saturating_add(think.as_nanos() as ClockNanos);
                    let stopped = || pacer.next(start).is_none();
                    match clock.wait_until(start, LONGEST_SPIN, stopped) {
                        Some(now) => now,
                        None => return,
                    }
                }
            };
        }
    }
}
