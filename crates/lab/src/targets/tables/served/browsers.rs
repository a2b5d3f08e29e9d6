//! Visitors of a web server: their requests, and the checks of the answers.

use std::io::Read;

use bakeoff_load::ClientShare;
use bakeoff_workloads::site::{Site, Visits};
use flate2::read::GzDecoder;

use super::super::kinds::Kinds;
use crate::targets::page::{Fault, RequestLanes};

const TOLD: usize = 200;
/// Replaces the blank line after a request's headers.
const ACCEPTS: &[u8] = b"Accept-Encoding: gzip\r\n\r\n";
/// How a compressed body begins (RFC 1952).
const GZIP: &[u8] = &[0x1f, 0x8b];
const MOST: u64 = 1 << 20;

pub struct BrowserLanes<'a> {
    kinds: &'a Kinds,
    gzip: bool,
    lanes: Vec<Browser<'a>>,
    page: Vec<u8>,
}

struct Browser<'a> {
    visits: Box<dyn Visits + 'a>,
    operation: usize,
    request: Vec<u8>,
    body: Vec<u8>,
}

impl<'a> BrowserLanes<'a> {
    pub fn new(site: &'a dyn Site, kinds: &'a Kinds, gzip: bool, share: &ClientShare) -> Self {
        let browser = |number: usize| Browser {
            visits: site.make_visits(number, share.of, share.seed),
            operation: 0,
            request: Vec::new(),
            body: Vec::new(),
        };
        let lanes = share.clients.clone().map(browser).collect();
        Self { kinds, gzip, lanes, page: Vec::new() }
    }
}

impl RequestLanes for BrowserLanes<'_> {
    fn choose_operation(&mut self, lane: usize) -> usize {
        let Browser { visits, operation, request, body } = &mut self.lanes[lane];
        *operation = visits.choose_operation();
        visits.write_request(*operation, request);
        if self.gzip {
            // The blank line comes after it.
            request.truncate(request.len().saturating_sub(2));
            request.extend_from_slice(ACCEPTS);
        }
        body.clear();
        self.kinds.kind(*operation)
    }

    fn request_for(&self, lane: usize, _: u32) -> &[u8] {
        &self.lanes[lane].request
    }

    fn may_repeat(&self, lane: usize) -> bool {
        self.lanes[lane].request.starts_with(b"GET ")
    }

    fn take_body(&mut self, lane: usize, _: usize, part: &[u8]) {
        self.lanes[lane].body.extend_from_slice(part);
    }

    fn judge_answer(&mut self, lane: usize, status: u16, _: usize) -> Result<(), (Fault, String)> {
        let Browser { visits, operation, body, .. } = &mut self.lanes[lane];
        if status != 200 {
            return Err(wrong_status(status, body));
        }
        let page = match self.gzip {
            true => unpack_body(body, &mut self.page),
            false => Ok(&body[..]),
        };
        let checked = page.and_then(|page| visits.check_answer(*operation, page));
        // No page was expected here, so the fault's own text does not fit.
        checked.map_err(|why| (Fault::Body, why))
    }
}

fn wrong_status(status: u16, body: &[u8]) -> (Fault, String) {
    let told = String::from_utf8_lossy(&body[..body.len().min(TOLD)]);
    let fault = Fault::Status(status);
    (fault, format!("{fault}: {}", told.trim()))
}

fn unpack_body<'a>(body: &[u8], page: &'a mut Vec<u8>) -> Result<&'a [u8], String> {
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
    fn an_unexpected_status_is_told_with_what_came() {
        let (fault, told) = wrong_status(502, b"Bad Gateway\n");
        assert_eq!(
            (fault, &*told),
            (Fault::Status(502), "the answer has the status 502: Bad Gateway")
        );
    }

    #[test]
    fn a_page_that_comes_compressed_is_read_and_another_one_is_told() {
        let mut packer = GzEncoder::new(Vec::new(), Compression::new(5));
        packer.write_all(b"a page").unwrap();
        let packed = packer.finish().unwrap();
        let mut page = b"an earlier one".to_vec();
        assert_eq!(unpack_body(&packed, &mut page), Ok(&b"a page"[..]));
        let told = unpack_body(b"a page", &mut page).unwrap_err();
        assert!(told.contains("did not come compressed"), "{told}");
        let told = unpack_body(&packed[..packed.len() - 9], &mut page).unwrap_err();
        assert!(told.contains("can't be decompressed"), "{told}");
    }
}
