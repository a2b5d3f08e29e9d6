//! What can go wrong with a request, by kind, and how often each did.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bakeoff_results::Measures;
use rustix::io::Errno;

use super::{MOST_BODY, PATIENCE};

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nobody listens there, or the socket may not be used.
    Refused(Errno),
    /// This machine has no address or port left to connect from.
    NoAddress,
    /// The server closed or reset the connection in the middle of it.
    Closed,
    /// There was no whole answer in time.
    TimedOut,
    /// What came is no answer of HTTP/1: why.
    NoHttp(&'static str),
    /// Another status than the page has.
    Status(u16),
    /// Another body than the page has.
    Body,
    /// A longer body than a page may have.
    TooLong,
    /// Something else that the system said.
    System(Errno),
}

/// The kinds of faults, as counters name them.
const KINDS: [&str; 10] = [
    "page.refused",
    "page.no_address",
    "page.closed",
    "page.timed_out",
    "page.no_http",
    "page.wrong_status",
    "page.wrong_body",
    "page.too_long",
    "page.system",
    "page.gateway",
];
/// The statuses by which a web server says that what is behind it did not answer, or has no room (RFC 9110,
/// 15.6).
const GATEWAY: RangeInclusive<u16> = 502..=504;

impl Fault {
    /// What failed while a connection was made.
    pub fn connecting(errno: Errno) -> Self {
        match errno {
            Errno::ADDRNOTAVAIL | Errno::ADDRINUSE => Self::NoAddress,
            Errno::CONNREFUSED | Errno::AGAIN | Errno::NOENT | Errno::ACCESS => {
                Self::Refused(errno)
            }
            Errno::CONNRESET | Errno::PIPE => Self::Closed,
            Errno::TIMEDOUT => Self::TimedOut,
            other => Self::System(other),
        }
    }

    /// What failed on a connection.
    pub fn talking(errno: Errno) -> Self {
        match errno {
            Errno::CONNRESET | Errno::PIPE => Self::Closed,
            Errno::TIMEDOUT => Self::TimedOut,
            other => Self::System(other),
        }
    }

    fn kind(self) -> usize {
        match self {
            Self::Refused(_) => 0,
            Self::NoAddress => 1,
            Self::Closed => 2,
            Self::TimedOut => 3,
            Self::NoHttp(_) => 4,
            Self::Status(status) if GATEWAY.contains(&status) => 9,
            Self::Status(_) => 5,
            Self::Body => 6,
            Self::TooLong => 7,
            Self::System(_) => 8,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(errno) => write!(f, "the server can't be connected to: {errno}"),
            Self::NoAddress => write!(
                f,
                "this machine has no port left to connect from: give the URL as 127.0.0.1, which has many \
                 addresses, or a Unix socket"
            ),
            Self::Closed => {
                write!(f, "the server closed the connection before its answer was whole")
            }
            Self::TimedOut => write!(f, "no whole answer came within {} s", PATIENCE.as_secs()),
            Self::NoHttp(why) => write!(f, "the answer is not HTTP/1: {why}"),
            Self::Status(status) => write!(f, "the answer has the status {status}"),
            Self::Body => write!(f, "the answer has another body than the page had before"),
            Self::TooLong => write!(f, "the answer is longer than {} MiB", MOST_BODY >> 20),
            Self::System(errno) => write!(f, "the connection failed: {errno}"),
        }
    }
}

/// How often each kind of fault happened, on all threads together.
#[derive(Debug, Default)]
pub struct FaultCounters([AtomicU64; KINDS.len()]);

impl FaultCounters {
    /// Counts one.
    pub fn count(&self, fault: Fault) {
        self.0[fault.kind()].fetch_add(1, Relaxed);
    }

    /// What was counted so far, also of kinds that never happened.
    pub fn measures(&self) -> Measures {
        let mut measures = Measures::default();
        for (name, count) in KINDS.iter().zip(&self.0) {
            measures.count(*name, count.load(Relaxed));
        }
        measures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the system says is of one kind whether it says so of a connection that is made or of one that is used.
    #[test]
    fn what_the_system_says_is_of_the_kind_that_a_reader_knows() {
        for (errno, kind) in [
            (Errno::CONNREFUSED, "page.refused"),
            (Errno::NOENT, "page.refused"),
            (Errno::ADDRNOTAVAIL, "page.no_address"),
            (Errno::ADDRINUSE, "page.no_address"),
            (Errno::CONNRESET, "page.closed"),
            (Errno::TIMEDOUT, "page.timed_out"),
            (Errno::MFILE, "page.system"),
        ] {
            assert_eq!(KINDS[Fault::connecting(errno).kind()], kind, "{errno}");
        }
        for (errno, kind) in [
            (Errno::CONNRESET, "page.closed"),
            (Errno::PIPE, "page.closed"),
            (Errno::TIMEDOUT, "page.timed_out"),
            (Errno::NOMEM, "page.system"),
        ] {
            assert_eq!(KINDS[Fault::talking(errno).kind()], kind, "{errno}");
        }
    }

    #[test]
    fn what_a_gateway_answers_is_no_other_status() {
        let kind = |status| KINDS[Fault::Status(status).kind()];
        assert_eq!([502, 503, 504].map(kind), ["page.gateway"; 3]);
        assert_eq!([301, 404, 499, 500, 501, 505].map(kind), ["page.wrong_status"; 6]);
    }

    #[test]
    fn each_kind_is_counted_by_itself() {
        let all = [
            Fault::Refused(Errno::CONNREFUSED),
            Fault::NoAddress,
            Fault::Closed,
            Fault::TimedOut,
            Fault::NoHttp("x"),
            Fault::Status(500),
            Fault::Body,
            Fault::TooLong,
            Fault::System(Errno::NOMEM),
            Fault::Status(503),
        ];
        let faults = FaultCounters::default();
        for (number, fault) in all.into_iter().enumerate() {
            (0..=number).for_each(|_| faults.count(fault));
        }
        let measures = faults.measures();
        let counted: Vec<_> = measures.counters().collect();
        let wanted: Vec<_> = KINDS.iter().zip(1..).map(|(name, count)| (*name, count)).collect();
        assert_eq!(counted, wanted);
    }
}
