//! The visitors of a driver's connections: what each asks for, and what it holds the answer against.

use bakeoff_load::Share;
use bakeoff_workloads::site::{Site, Visits};

use super::super::kinds::Kinds;
use crate::targets::page::{Asked, At, Fault, Faults};

/// How much of an answer that is no page is told.
const TOLD: usize = 200;

/// Visitors, each with a connection.
pub struct Browsers<'a> {
    kinds: &'a Kinds,
    at: &'a At,
    faults: &'a Faults,
    lanes: Vec<Browser<'a>>,
}

/// The visitors of one connection, one after the other.
struct Browser<'a> {
    visits: Box<dyn Visits + 'a>,
    /// What the present one asks for.
    operation: usize,
    request: Vec<u8>,
    /// The body that has come.
    body: Vec<u8>,
}

impl<'a> Browsers<'a> {
    /// Those of a share of the clients. They connect `at` the address, and count what goes wrong.
    pub fn new(
        site: &'a dyn Site,
        kinds: &'a Kinds,
        (at, faults): (&'a At, &'a Faults),
        share: &Share,
    ) -> Self {
        let browser = |number: usize| Browser {
            visits: site.visits(number, share.of, share.seed),
            operation: 0,
            request: Vec::new(),
            body: Vec::new(),
        };
        Self { kinds, at, faults, lanes: share.clients.clone().map(browser).collect() }
    }

    /// Counts what is wrong with an answer, and says it.
    fn wrong(&self, fault: Fault, why: &str) -> String {
        self.faults.count(fault);
        format!("{fault}: {why}")
    }
}

impl Asked for Browsers<'_> {
    fn at(&self) -> &At {
        self.at
    }

    fn requests_each(&self) -> Option<u32> {
        None
    }

    fn choose(&mut self, lane: usize) -> usize {
        let Browser { visits, operation, request, body } = &mut self.lanes[lane];
        *operation = visits.choose();
        visits.ask(*operation, request);
        body.clear();
        self.kinds.kind(*operation)
    }

    fn request(&self, lane: usize, _: u32) -> &[u8] {
        &self.lanes[lane].request
    }

    /// What is read may be read again.
    fn may_repeat(&self, lane: usize) -> bool {
        self.lanes[lane].request.starts_with(b"GET ")
    }

    fn take(&mut self, lane: usize, _: usize, part: &[u8]) {
        self.lanes[lane].body.extend_from_slice(part);
    }

    fn judge(&mut self, lane: usize, status: u16, _: usize) -> Result<(), String> {
        let Browser { visits, operation, body, .. } = &mut self.lanes[lane];
        if status != 200 {
            let told = &body[..body.len().min(TOLD)];
            let told = String::from_utf8_lossy(told).into_owned();
            return Err(self.wrong(Fault::Status(status), told.trim()));
        }
        let checked = visits.check(*operation, body);
        checked.map_err(|why| self.wrong(Fault::Body, &why))
    }

    fn count(&self, fault: Fault) {
        self.faults.count(fault);
    }
}
