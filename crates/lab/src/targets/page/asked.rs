//! What the clients of a driver ask for, and what they hold the answers against.

use std::time::Duration;

use bakeoff_load::ClockNanos;

use super::OpenPage;
use super::fault::Fault;
use super::url::At;

/// What the clients of a driver ask for, each in a lane of its own.
pub trait RequestLanes {
    /// Where they connect.
    fn at(&self) -> &At;

    /// The most requests of a connection, where it is limited.
    fn requests_each(&self) -> Option<u32>;

    /// Decides what the client of a lane asks for next; the kind of the operation.
    fn choose(&mut self, lane: usize) -> usize;

    /// The request of a lane, as the n-th of its connection, counted from 1.
    fn request(&self, lane: usize, number: u32) -> &[u8];

    /// Whether the request of a lane may be sent once more, where nobody knows whether it came: it
    /// changes nothing.
    fn may_repeat(&self, lane: usize) -> bool;

    /// Takes a part of the body of a lane's answer, which begins at this byte of it.
    fn take(&mut self, lane: usize, at: usize, part: &[u8]);

    /// Judges the answer of a lane, whose body of so many bytes was taken, and counts what is wrong.
    ///
    /// # Errors
    /// What is wrong with it.
    fn judge(&mut self, lane: usize, status: u16, length: usize) -> Result<(), String>;

    /// Counts a fault that is none of the answer's content.
    fn count(&self, fault: Fault);

    /// How much later than it came an answer counts as received, for each way to the server and back.
    fn rtt(&self) -> Duration;

    /// Takes how long a driver ran, and how much of that it waited: for answers, or until a start was due.
    fn spent(&self, ran: ClockNanos, waited: ClockNanos);
}

/// One page, the same for all.
pub struct One<'a> {
    page: &'a OpenPage,
    /// Of each lane, whether the body that comes in is another page's.
    differs: Vec<bool>,
}

impl<'a> One<'a> {
    /// A page for so many clients.
    pub fn new(page: &'a OpenPage, lanes: usize) -> Self {
        Self { page, differs: vec![false; lanes] }
    }
}

impl RequestLanes for One<'_> {
    fn at(&self) -> &At {
        &self.page.resolved.source.at
    }

    fn requests_each(&self) -> Option<u32> {
        self.page.resolved.requests_each
    }

    fn choose(&mut self, lane: usize) -> usize {
        self.differs[lane] = false;
        0
    }

    fn request(&self, _: usize, number: u32) -> &[u8] {
        self.page.request(number)
    }

    fn may_repeat(&self, _: usize) -> bool {
        true
    }

    fn take(&mut self, lane: usize, at: usize, part: &[u8]) {
        self.differs[lane] |= !self.page.has(at, part);
    }

    fn judge(&mut self, lane: usize, status: u16, length: usize) -> Result<(), String> {
        self.page.expects(status, length, self.differs[lane]).map_err(|fault| {
            self.page.faults.count(fault);
            fault.to_string()
        })
    }

    fn count(&self, fault: Fault) {
        self.page.faults.count(fault);
    }

    fn rtt(&self) -> Duration {
        self.page.resolved.rtt
    }

    fn spent(&self, ran: ClockNanos, waited: ClockNanos) {
        self.page.spent.add(ran, waited);
    }
}
