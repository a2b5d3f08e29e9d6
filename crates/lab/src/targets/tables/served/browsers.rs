//! The visitors of a driver's connections: what each asks for, and what it holds the answer against.

use std::io::Read;
use std::time::Duration;

use bakeoff_load::{ClientShare, ClockNanos};
use bakeoff_workloads::site::{Site, Visits};
use flate2::read::GzDecoder;

use super::super::kinds::Kinds;
use crate::targets::page::{At, Fault, FaultCounters, RequestLanes, Spent};

/// How much of an answer that is no page is told.
const TOLD: usize = 200;
/// What the blank line after a request's headers becomes where compressed answers are wanted.
const ACCEPTS: &[u8] = b"Accept-Encoding: gzip\r\n\r\n";
/// How a compressed body begins (RFC 1952).
const GZIP: &[u8] = &[0x1f, 0x8b];
/// The most bytes of a page.
const MOST: u64 = 1 << 20;

/// How visitors reach a web server, and what is counted of that.
#[derive(Clone, Copy)]
pub struct VisitorAccess<'a> {
    /// Where they connect.
    pub at: &'a At,
    /// What goes wrong.
    pub faults: &'a FaultCounters,
    /// What the drivers' time goes to.
    pub spent: &'a Spent,
    /// Whether answers are to come compressed.
    pub gzip: bool,
    /// How much later than it came an answer counts as received, for each way to the server and back.
    pub rtt: Duration,
}

/// Visitors, each with a connection.
pub struct BrowserLanes<'a> {
    kinds: &'a Kinds,
    reached: VisitorAccess<'a>,
    lanes: Vec<Browser<'a>>,
    /// The last page that came compressed, as it was before.
    page: Vec<u8>,
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

impl<'a> BrowserLanes<'a> {
    /// Those of a share of the clients.
    pub fn new(
        site: &'a dyn Site,
        kinds: &'a Kinds,
        reached: VisitorAccess<'a>,
        share: &ClientShare,
    ) -> Self {
        let browser = |number: usize| Browser {
            visits: site.visits(number, share.of, share.seed),
            operation: 0,
            request: Vec::new(),
            body: Vec::new(),
        };
        let lanes = share.clients.clone().map(browser).collect();
        Self { kinds, reached, lanes, page: Vec::new() }
    }

    /// Counts what is wrong with an answer, and says it.
    fn wrong(&self, fault: Fault, why: &str) -> String {
        self.reached.faults.count(fault);
        told(fault, why)
    }
}

impl RequestLanes for BrowserLanes<'_> {
    fn at(&self) -> &At {
        self.reached.at
    }

    fn requests_each(&self) -> Option<u32> {
        None
    }

    fn choose(&mut self, lane: usize) -> usize {
        let Browser { visits, operation, request, body } = &mut self.lanes[lane];
        *operation = visits.choose();
        visits.ask(*operation, request);
        if self.reached.gzip {
            // The blank line comes after it.
            request.truncate(request.len().saturating_sub(2));
            request.extend_from_slice(ACCEPTS);
        }
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
        let page = match self.reached.gzip {
            true => unpacked(body, &mut self.page),
            false => Ok(&body[..]),
        };
        let checked = page.and_then(|page| visits.check(*operation, page));
        checked.map_err(|why| self.wrong(Fault::Body, &why))
    }

    fn count(&self, fault: Fault) {
        self.reached.faults.count(fault);
    }

    fn rtt(&self) -> Duration {
        self.reached.rtt
    }

    fn spent(&self, ran: ClockNanos, waited: ClockNanos) {
        self.reached.spent.add(ran, waited);
    }
}

/// What is wrong with an answer, in a sentence.
fn told(fault: Fault, why: &str) -> String {
    match fault {
        // There is no page that this one was to be the same as.
        Fault::Body => why.to_owned(),
        fault => format!("{fault}: {why}"),
    }
}

/// The page that a body holds compressed.
fn unpacked<'a>(body: &[u8], page: &'a mut Vec<u8>) -> Result<&'a [u8], String> {
    if !body.starts_with(GZIP) {
        return Err("the page did not come compressed".into());
    }
    page.clear();
    let read = GzDecoder::new(body).take(MOST).read_to_end(page);
    read.map_err(|error| format!("the page can't be decompressed: {error}"))?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn a_page_is_held_against_no_earlier_one() {
        assert_eq!(told(Fault::Body, "it has 8 entries"), "it has 8 entries");
        let status = told(Fault::Status(502), "Bad Gateway");
        assert_eq!(status, "the answer has the status 502: Bad Gateway");
    }

    #[test]
    fn a_page_that_comes_compressed_is_read_and_another_one_is_told() {
        let mut packer = GzEncoder::new(Vec::new(), Compression::new(5));
        packer.write_all(b"a page").unwrap();
        let packed = packer.finish().unwrap();
        let mut page = b"an earlier one".to_vec();
        assert_eq!(unpacked(&packed, &mut page), Ok(&b"a page"[..]));
        let told = unpacked(b"a page", &mut page).unwrap_err();
        assert!(told.contains("did not come compressed"), "{told}");
        let told = unpacked(&packed[..packed.len() - 9], &mut page).unwrap_err();
        assert!(told.contains("can't be decompressed"), "{told}");
    }
}
