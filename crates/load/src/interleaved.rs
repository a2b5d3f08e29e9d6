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
    /// Of these clients, at least one.
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
