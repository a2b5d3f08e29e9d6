//! Times and memory of the clients, without a server that answers.

use std::net::TcpListener;

use super::super::lanes::One;
use super::super::{
    DriverTime, ExpectedResponse, FaultCounters, OpenPage, PageAddress, PageRequest, ResolvedPage,
};
use super::*;

fn share() -> ClientShare {
    ClientShare { driver: 0, clients: 0..3, of: 3, seed: 1 }
}

/// A page as if it had been asked for.
fn opened(url: &str) -> OpenPage {
    let (url, source) = (url.to_owned(), PageAddress::from_url(url).unwrap());
    let request = PageRequest::from_levels("GET", "none", "none").unwrap();
    let resolved = ResolvedPage { url, source, request, requests_each: None, rtt: Duration::ZERO };
    OpenPage {
        requests: [false, true].map(|is_last| resolved.request_text(is_last).unwrap()),
        resolved,
        expected: ExpectedResponse { status: 200, body: None },
        faults: FaultCounters::default(),
        spent: DriverTime::default(),
    }
}

/// A server whose connections nobody accepts: the system takes the requests, and nothing answers them.
#[test]
fn a_request_that_is_never_answered_is_given_up_after_its_time_and_not_before() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let page = opened(&url);
    let mut events = EventDriver::new(One::new(&page, 3), page.access(), &share()).unwrap();
    let patience = ANSWER_TIMEOUT.as_nanos() as ClockNanos;
    for (lane, started) in [(0, 5), (2, 7)] {
        assert_eq!(events.start_operation(lane, (0, started, started)), None);
    }
    assert_eq!(events.late_lanes(patience + 4), Vec::<usize>::new());
    assert_eq!(events.late_lanes(patience + 5), [0]);
    assert_eq!(events.late_lanes(patience + 7), [0, 2]);
    let done = events.fail_request(0, Fault::TimedOut).expect("it is over");
    assert!(done.error.is_some_and(|error| error.contains("within 30 s")));
    assert_eq!(events.late_lanes(patience + 7), [2], "the other one still waits");
    let counted = page.faults.measures();
    let timed_out = counted.counters().find(|(name, _)| *name == "page.timed_out");
    assert_eq!(timed_out.map(|(_, count)| count), Some(1));
}

/// What a connection takes of the client's memory while it waits for its next answer: all of what is kept
/// for each, so that 10,000 of them take at most 10 MB.
#[test]
fn a_connection_takes_little_memory() {
    let kept =
        size_of::<ClientSlot>() + size_of::<(usize, ClockNanos)>() + size_of::<EndedOperation>();
    assert!(kept <= 1024, "{kept} bytes");
}
