//! The driver of many clients on one thread, for operations that never wait: what a client does
//! while another one's turn is on is to wait, and its response time says so.

use std::collections::VecDeque;

use crate::{Client, Driver, Nanos, Operation, Pacer, Record};

/// Clients that take turns on a thread, each whole operations at a time.
#[derive(Debug)]
pub struct Interleaved<C> {
    clients: Vec<C>,
}

impl<C: Client> Interleaved<C> {
    /// The driver of these clients, at least one.
    pub fn new(clients: Vec<C>) -> Self {
        Self { clients }
    }
}

impl<C: Client> Driver for Interleaved<C> {
    /// The client that has been free the longest is the next one.
    fn run(&mut self, pacer: &mut dyn Pacer, record: &mut dyn Record) {
        let clock = record.clock();
        let mut now = clock.now();
        let mut free: VecDeque<(usize, Nanos)> =
            (0..self.clients.len()).map(|client| (client, now)).collect();
        while let Some((client, since)) = free.pop_front() {
            let Some(intended) = pacer.next(since) else { return };
            if intended > now {
                let Some(then) = pacer.wait(intended) else { return };
                now = then;
            }
            let started = now;
            let kind = self.clients[client].choose();
            record.begin(0, kind, intended);
            let done = self.clients[client].operate(kind);
            let ended = clock.now();
            let operation = Operation { lane: 0, kind, intended, started, ended, done };
            let Some(next) = record.record(operation) else { return };
            free.push_back((client, next));
            now = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Clock, Done};

    /// What a driver has told, until so many operations have ended.
    struct Told {
        clock: Clock,
        most: usize,
        operations: Vec<Operation>,
    }

    impl Record for Told {
        fn clock(&self) -> Clock {
            self.clock
        }

        fn begin(&mut self, _: usize, _: usize, _: Nanos) {}

        fn record(&mut self, operation: Operation) -> Option<Nanos> {
            let ended = operation.ended;
            self.operations.push(operation);
            (self.operations.len() < self.most).then_some(ended)
        }
    }

    struct AtOnce;

    impl Pacer for AtOnce {
        fn next(&mut self, free: Nanos) -> Option<Nanos> {
            Some(free)
        }

        fn wait(&mut self, _: Nanos) -> Option<Nanos> {
            panic!("what is due at once is not waited for")
        }
    }

    /// A client whose number is the kind of its operations.
    struct Numbered(usize);

    impl Client for Numbered {
        fn choose(&mut self) -> usize {
            self.0
        }

        fn operate(&mut self, kind: usize) -> Done {
            assert_eq!(kind, self.0);
            Done::default()
        }
    }

    /// A client is always in an operation, be it in its turn or before it: each was to start when its
    /// client's last one ended, and starts when the thread's last one ended.
    #[test]
    fn clients_take_turns_and_wait_for_them_in_their_operations() {
        const CLIENTS: usize = 100;
        let (clock, most) = (Clock::begun(), 5 * CLIENTS);
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
