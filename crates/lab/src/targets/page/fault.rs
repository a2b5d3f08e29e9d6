use std::fmt;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bakeoff_results::Measures;
use rustix::io::Errno;

use super::{ANSWER_TIMEOUT, MOST_BODY};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Refused(Errno),
    NoAddress,
    Closed,
    TimedOut,
    NoHttp(&'static str),
    Status(u16),
    Body,
    TooLong,
    System(Errno),
}

/// In the order of [`Fault::kind`].
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
/// A web server's codes if the server behind it did not answer or has no room (RFC 9110, 15.6).
const GATEWAY: RangeInclusive<u16> = 502..=504;

impl Fault {
    /// Bytes that came with an answer, and belong to none.
    pub const SURPLUS: Self = Self::NoHttp("more came than its length says");

    pub fn from_connect_error(errno: Errno) -> Self {
        match errno {
            Errno::ADDRNOTAVAIL | Errno::ADDRINUSE => Self::NoAddress,
            Errno::CONNREFUSED | Errno::AGAIN | Errno::NOENT | Errno::ACCESS => {
                Self::Refused(errno)
            }
            other => Self::from_io_error(other),
        }
    }

    pub fn from_io_error(errno: Errno) -> Self {
        match errno {
            Errno::CONNRESET | Errno::PIPE => Self::Closed,
            Errno::TIMEDOUT => Self::TimedOut,
            other => Self::System(other),
        }
    }

    fn kind_index(self) -> usize {
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
            Self::TimedOut => {
                write!(f, "no whole answer came within {} s", ANSWER_TIMEOUT.as_secs())
            }
            Self::NoHttp(why) => write!(f, "the answer is not HTTP/1: {why}"),
            Self::Status(status) => write!(f, "the answer has the status {status}"),
            Self::Body => write!(f, "the answer has another body than the page had before"),
            Self::TooLong => write!(f, "the answer is longer than {} MiB", MOST_BODY >> 20),
            Self::System(errno) => write!(f, "the connection failed: {errno}"),
        }
    }
}

#[derive(Debug, Default)]
pub struct FaultCounters([AtomicU64; KINDS.len()]);

impl FaultCounters {
    pub fn count(&self, fault: Fault) {
        self.0[fault.kind_index()].fetch_add(1, Relaxed);
    }

    /// Includes kinds that never happened.
    pub fn measures(&self) -> Measures {
        let mut measures = Measures::default();
        for (name, count) in KINDS.iter().zip(&self.0) {
            measures.set_counter(*name, count.load(Relaxed));
        }
        measures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the system says is of one kind whether it says so of a connection that is made or of one that is used;
    /// what a gateway answers is no other status.
    #[test]
    fn a_fault_is_of_the_kind_that_a_reader_knows() {
        for (fault, kind) in [
            (Fault::from_connect_error(Errno::CONNREFUSED), "refused"),
            (Fault::from_connect_error(Errno::NOENT), "refused"),
            (Fault::from_connect_error(Errno::ADDRNOTAVAIL), "no_address"),
            (Fault::from_connect_error(Errno::ADDRINUSE), "no_address"),
            (Fault::from_connect_error(Errno::CONNRESET), "closed"),
            (Fault::from_connect_error(Errno::TIMEDOUT), "timed_out"),
            (Fault::from_connect_error(Errno::MFILE), "system"),
            (Fault::from_io_error(Errno::CONNRESET), "closed"),
            (Fault::from_io_error(Errno::PIPE), "closed"),
            (Fault::from_io_error(Errno::TIMEDOUT), "timed_out"),
            (Fault::from_io_error(Errno::NOMEM), "system"),
        ] {
            assert_eq!(KINDS[fault.kind_index()], format!("page.{kind}"), "{fault:?}");
        }
        let kind = |status| KINDS[Fault::Status(status).kind_index()];
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
