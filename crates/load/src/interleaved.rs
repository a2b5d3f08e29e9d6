//! Many clients on one thread, for operations that never wait. During another's turn a client
//! waits, which its response time includes.

use std::collections::VecDeque;

use crate::{BlockingClient, ClockNanos, Driver, EndedOperation, OperationSink, Pacer};

#[derive(Debug)]
pub struct Interleaved<C> {
    clients: Vec<C>,
}

impl<C: BlockingClient> Interleaved<C> {
    pub fn new(clients: Vec<C>) -> Self {
        Self { clients }
    }
}

impl<C: BlockingClient> Driver for Interleaved<C> {
    /// The client that has been free longest is next.
    fn run(&mut self, pacer: &mut dyn Pacer, record: &mut dyn OperationSink) {
        let clock = record.clock();
        let mut now = clock.now();
        let mut free: VecDeque<(usize, ClockNanos)> =
            (0..self.clients.len()).map(|client| (client, now)).collect();
        while let Some((client, since)) = free.pop_front() {
            let Some(intended) = pacer.next(since) else { return };
            if intended > now {
                let Some(then) = pacer.wait_until(intended) else { return };
                now = then;
            }
            let started = now;
            let kind = self.clients[client].choose_operation();
            record.begin_operation(0, kind, intended);
            let done = self.clients[client].run_operation(kind);
            let ended = clock.now();
            let operation = EndedOperation { lane: 0, kind, intended, started, ended, done };
            let Some(next) = record.record(operation) else { return };
            free.push_back((client, next));
            now = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DriverClock, OperationOutcome};

    /// What a driver has told, until so many operations have ended.
    struct Told {
        clock: DriverClock,
        most: usize,
        operations: Vec<EndedOperation>,
    }

    impl OperationSink for Told {
        fn clock(&self) -> DriverClock {
            self.clock
        }

        fn begin_operation(&mut self, _: usize, _: usize, _: ClockNanos) {}

        fn record(&mut self, operation: EndedOperation) -> Option<ClockNanos> {
            let ended = operation.ended;
            self.operations.push(operation);
            (self.operations.len() < self.most).then_some(ended)
        }
    }

    struct AtOnce;

    impl Pacer for AtOnce {
        fn next(&mut self, free: ClockNanos) -> Option<ClockNanos> {
            Some(free)
        }

        fn wait_until(&mut self, _: ClockNanos) -> Option<ClockNanos> {
            panic!("what is due at once is not waited for")
        }
    }

    /// A client whose number is the kind of its operations.
    struct Numbered(usize);

    impl BlockingClient for Numbered {
        fn choose_operation(&mut self) -> usize {
            self.0
        }

        fn run_operation(&mut self, kind: usize) -> OperationOutcome {
            assert_eq!(kind, self.0);
            OperationOutcome::default()
        }
    }

    /// A client is always in an operation, be it in its turn or before it: each was to start when its
    /// client's last one ended, and starts when the thread's last one ended.
    #[test]
    fn clients_take_turns_and_wait_for_them_in_their_operations() {
        const CLIENTS: usize = 100;
        let (clock, most) = (DriverClock::start_now(), 5 * CLIENTS);
        let mut told = Told { clock, most, operations: Vec::new() };
        Interleaved::new((0..CLIENTS).map(Numbered).collect()).run(&mut AtOnce, &mut told);
        let all = &told.operations;
        assert_eq!(all.len(), most);
        assert!(all.iter().enumerate().all(|(turn, it)| it.kind == turn % CLIENTS));
        assert!(all.iter().all(|it| it.intended <= it.started && it.started <= it.ended));
        assert!(all.windows(2).all(|pair| pair[1].started == pair[0].ended));
        assert!(all.windows(CLIENTS + 1).all(|row| row[CLIENTS].intended == row[0].ended));
        assert!(all[..CLIENTS].iter().all(|it| it.intended == all[0].intended));
    }
}
