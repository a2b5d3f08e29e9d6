use std::time::Duration;

use super::OpenPage;
use super::driver_time::DriverTime;
use super::fault::{Fault, FaultCounters};
use super::url::At;

/// So many processors are few for clients and their server together.
const FEW_PROCESSORS: usize = 2;

/// Of clients whose server is on the same machine: a thread for each processor. Where these are few,
/// one thread asks for all, since a second one would take what the server needs.
pub fn count_client_threads(clients: usize, processors: usize) -> usize {
    let threads = if processors <= FEW_PROCESSORS { 1 } else { processors };
    clients.min(threads)
}

/// Access to the page, shared by all clients of a driver.
#[derive(Clone, Copy)]
pub struct PageAccess<'a> {
    pub at: &'a At,
    pub requests_each: Option<u32>,
    /// How much later an answer counts as received, per round trip.
    pub rtt: Duration,
    pub faults: &'a FaultCounters,
    pub spent: &'a DriverTime,
}

/// The clients of a driver, one per lane. An implementation makes their requests and checks the
/// answers.
pub trait RequestLanes {
    fn choose_operation(&mut self, lane: usize) -> usize;

    /// `number` counts the requests of the connection from 1.
    fn request_for(&self, lane: usize, number: u32) -> &[u8];

    /// Whether the request may be sent again if it is unknown whether it arrived: only if it
    /// changes nothing.
    fn may_repeat(&self, lane: usize) -> bool;

    fn take_body(&mut self, lane: usize, at: usize, part: &[u8]);

    /// Called after the whole body. An error is the fault and its text.
    fn judge_answer(
        &mut self,
        lane: usize,
        status: u16,
        length: usize,
    ) -> Result<(), (Fault, String)>;
}

pub struct One<'a> {
    page: &'a OpenPage,
    differs: Vec<bool>,
}

impl<'a> One<'a> {
    pub fn new(page: &'a OpenPage, lanes: usize) -> Self {
        Self { page, differs: vec![false; lanes] }
    }
}

impl RequestLanes for One<'_> {
    fn choose_operation(&mut self, lane: usize) -> usize {
        self.differs[lane] = false;
        0
    }

    fn request_for(&self, _: usize, number: u32) -> &[u8] {
        self.page.request_numbered(number)
    }

    fn may_repeat(&self, _: usize) -> bool {
        self.page.resolved.request.is_idempotent()
    }

    fn take_body(&mut self, lane: usize, at: usize, part: &[u8]) {
        self.differs[lane] |= !self.page.has(at, part);
    }

    fn judge_answer(
        &mut self,
        lane: usize,
        status: u16,
        length: usize,
    ) -> Result<(), (Fault, String)> {
        let expected = self.page.check_answer(status, length, self.differs[lane]);
        expected.map_err(|fault| (fault, fault.to_string()))
    }
}
