//! The driver of one client that blocks its thread.

use crate::{Client, Driver, Operation, Pacer, Record};

/// One client on a thread of its own.
#[derive(Debug)]
pub struct Blocking<C>(pub C);

impl<C: Client> Driver for Blocking<C> {
    /// Reads the clock once an operation.
    fn run(&mut self, pacer: &mut dyn Pacer, record: &mut dyn Record) {
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
            let operation = Operation { lane: 0, kind, intended, started, ended, done };
            let Some(next) = record.record(operation) else { return };
            free = next;
        }
    }
}
