//! The target `page`: a page that somebody's web server on this machine serves, asked for over HTTP/1.1
//! by many connections at once.
//!
//! Every answer is held against what the page answered before it was loaded: the status, and the body
//! where that was the same twice. The time to connect is part of a request's latency.

mod answer;
mod asked;
mod connection;
mod events;
mod fault;
mod on_the_way;
mod probe;
mod slot;
mod spent;
mod url;

use std::time::Duration;

use bakeoff_experiment::{Declared, EngineState, Factor, WorkloadNames};
use bakeoff_load::{ClientShare, Driver};
use bakeoff_results::Measures;
use bakeoff_workloads::rtt::{self, RTT};
use bakeoff_workloads::{Claims, FigureOfMerit, Name, OperationCounts};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::asked::One;
pub(super) use self::asked::RequestLanes;
pub(super) use self::events::Events;
pub(super) use self::fault::{Fault, FaultCounters};
use self::probe::ExpectedResponse;
pub(super) use self::spent::Spent;
pub(super) use self::url::At;
use self::url::PageAddress;
use super::{
    MostClients, PreparedTarget, Processes, RunningTarget, Setup, Target, TargetHome, WantedLevels,
    WorkloadDescription,
};
use crate::TrialError;
use crate::place::TargetPlace;
use crate::place::images::Recipe;
use crate::refusal::Refusal;

/// Its workload.
const WORKLOAD: &str = "page";
/// What its clients do.
static OPERATIONS: [Name; 1] = [Name::Borrowed("request")];
/// The most connections.
pub(super) const CONNECTIONS: MostClients =
    MostClients { number: 20_000, why: "each takes a port and an open file of this machine" };
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most bytes that a body may have.
const MOST_BODY: usize = 64 << 20;
/// The most requests that a connection can be limited to.
const MOST_REQUESTS: u32 = 1_000_000;
/// The level without a limit.
const UNLIMITED: &str = "unlimited";

/// Which page.
static URL: Declared = Declared {
    name: "url",
    summary: "the page that is asked for, on this machine",
    syntax: url::SYNTAX,
    default: "http://127.0.0.1/",
    canonical: url::canonical,
};

/// How long a connection is kept.
static REQUESTS: Declared = Declared {
    name: "requests_per_connection",
    summary: "requests that a connection is used for, before another one is made",
    syntax: "unlimited, or 1 to 1000000",
    default: UNLIMITED,
    canonical: |text| match (text, text.parse::<u32>()) {
        (UNLIMITED, _) => Ok(UNLIMITED.into()),
        (_, Ok(requests @ 1..=MOST_REQUESTS)) => Ok(requests.to_string()),
        _ => Err(format!(
            "`{text}` is no number of requests\nvalid: unlimited, or 1 to {MOST_REQUESTS}"
        )),
    },
};

/// The target.
#[derive(Clone, Copy, Debug, Default)]
pub struct PageTarget {
    /// Whether pages of other machines may be loaded: whoever runs them has said so.
    elsewhere: bool,
}

impl PageTarget {
    /// Its name.
    pub(crate) const NAME: &'static str = "page";

    /// One that loads pages of other machines, too: on the word of whoever runs these.
    pub(crate) const ANYWHERE: Self = Self { elsewhere: true };
}

/// What it makes of a trial's levels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ResolvedPage {
    /// The URL, as it was given.
    url: String,
    source: PageAddress,
    /// The most requests of a connection.
    requests_each: Option<u32>,
    /// How much later than it came an answer counts as received.
    rtt: Duration,
}

impl Target for PageTarget {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn workloads(&self) -> Vec<WorkloadNames> {
        vec![WorkloadNames {
            name: WORKLOAD.into(),
            scales: Vec::new(),
            operations: OPERATIONS.iter().map(ToString::to_string).collect(),
            factors: vec![
                Factor::CLIENTS,
                Factor::RATE,
                Factor::Declared(&URL),
                Factor::Declared(&REQUESTS),
                Factor::Declared(&RTT),
            ],
            reads_back: false,
            takes_rows: Vec::new(),
            cut_by: Err(format!("{WORKLOAD} asks a server that bakeoff did not start")),
        }]
    }

    fn about(&self, workload: &str) -> Option<WorkloadDescription> {
        (workload == WORKLOAD).then(|| WorkloadDescription {
            summary: "asks a web server on this machine for one page, over HTTP/1.1".into(),
            operations: OPERATIONS.to_vec(),
            figure_of_merit: FigureOfMerit::Requests,
            counts: OperationCounts { rows: false, bytes: true },
            scales: Vec::new(),
        })
    }

    fn resolve(&self, wanted: &WantedLevels<'_>) -> Result<Setup, Refusal> {
        let cell = wanted.cell;
        let url = cell.base(Factor::Declared(&URL)).to_owned();
        let refused = |why| Refusal::from_cell(cell, &[Factor::Declared(&URL)], why);
        let found =
            if self.elsewhere { PageAddress::anywhere(&url) } else { PageAddress::from_url(&url) };
        let source = found.map_err(refused)?;
        let requests_each = cell.base(Factor::Declared(&REQUESTS)).parse().ok();
        let rtt = rtt::parse(cell.base(Factor::Declared(&RTT))).unwrap_or_default();
        let recipe =
            Recipe { key: format!("{WORKLOAD} {url}"), about: url.clone(), into: url.clone() };
        Ok(Setup {
            target: self.name(),
            subject: serde_json::to_value(ResolvedPage { url, source, requests_each, rtt })
                .expect("it is plain data"),
            recipe,
            groups: Vec::new(),
            shared: Vec::new(),
            home: TargetHome::Elsewhere,
        })
    }

    /// A connection takes no thread.
    fn most_clients(&self, _: &Value) -> MostClients {
        CONNECTIONS
    }

    /// What the client does that no server sees.
    fn remark(&self, subject: &Value, _: Option<u64>, _: EngineState) -> Option<String> {
        let resolved: ResolvedPage = serde_json::from_value(subject.clone()).ok()?;
        let milliseconds = Some(resolved.rtt.as_micros() as f64 / 1e3).filter(|it| *it > 0.0)?;
        Some(format!(
            "the client keeps each answer for {milliseconds} ms before it counts as received, and for twice that \
             on a new connection; the server has no such network"
        ))
    }

    fn prepare(&self, subject: &Value) -> Result<Box<dyn PreparedTarget>, TrialError> {
        let wrong = |error| TrialError::process(format!("no subject: {error}"));
        let resolved: ResolvedPage = serde_json::from_value(subject.clone()).map_err(wrong)?;
        Ok(Box::new(resolved))
    }

    /// Asks for the page.
    fn ready(&self, subject: &Value, _: bool) -> Result<(), Vec<String>> {
        let resolved: ResolvedPage =
            serde_json::from_value(subject.clone()).map_err(|error| vec![error.to_string()])?;
        let asked = probe::expected(&resolved.source, &resolved.text(true));
        asked.map(drop).map_err(|why| vec![why])
    }
}

impl ResolvedPage {
    /// A request, with the word that it is the last one of its connection.
    fn text(&self, is_last: bool) -> Vec<u8> {
        let PageAddress { host, path, .. } = &self.source;
        let version = env!("CARGO_PKG_VERSION");
        let mut text = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: bakeoff/{version}\r\nAccept: */*\r\n"
        );
        if is_last {
            text.push_str("Connection: close\r\n");
        }
        text.push_str("\r\n");
        text.into_bytes()
    }
}

impl PreparedTarget for ResolvedPage {
    /// Its server has its data.
    fn load(&self, _: &TargetPlace, _: &mut dyn FnMut(u64, u64)) -> Result<(), TrialError> {
        Ok(())
    }

    fn open<'a>(&'a self, _: &TargetPlace) -> Result<Box<dyn RunningTarget + 'a>, TrialError> {
        let expected = probe::expected(&self.source, &self.text(true));
        let failed = |why| TrialError::Engine(format!("{}: {why}", self.url));
        Ok(Box::new(OpenPage {
            resolved: self.clone(),
            requests: [self.text(false), self.text(true)],
            expected: expected.map_err(failed)?,
            faults: FaultCounters::default(),
            spent: Spent::default(),
        }))
    }
}

/// A page that is there.
struct OpenPage {
    resolved: ResolvedPage,
    /// A request, and one that is its connection's last.
    requests: [Vec<u8>; 2],
    expected: ExpectedResponse,
    faults: FaultCounters,
    spent: Spent,
}

impl OpenPage {
    /// The request that is a connection's n-th, counted from 1.
    fn request(&self, number: u32) -> &[u8] {
        let is_last = self.resolved.requests_each.is_some_and(|most| number >= most);
        &self.requests[usize::from(is_last)]
    }

    /// Whether the page's body has that part there, as far as it is known.
    fn has(&self, at: usize, part: &[u8]) -> bool {
        let Some(body) = &self.expected.body else { return true };
        body.get(at..).is_some_and(|rest| rest.starts_with(part))
    }

    /// Whether an answer with a body of so many bytes is the page's.
    fn expects(&self, status: u16, length: usize, differs: bool) -> Result<(), Fault> {
        let ExpectedResponse { status: known, body } = &self.expected;
        if status != *known {
            return Err(Fault::Status(status));
        }
        match body.as_ref().is_some_and(|body| differs || body.len() != length) {
            true => Err(Fault::Body),
            false => Ok(()),
        }
    }
}

impl RunningTarget for OpenPage {
    fn operations(&self) -> &[Name] {
        &OPERATIONS
    }

    /// Connections share a thread for each processor.
    fn drivers(&self, clients: usize) -> usize {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        clients.min(processors)
    }

    fn driver<'a>(
        &'a self,
        share: &ClientShare,
        _: Option<Box<dyn Claims + 'a>>,
    ) -> Result<Box<dyn Driver + 'a>, TrialError> {
        let events = Events::new(One::new(self, share.clients.len()), share);
        Ok(Box::new(events.map_err(|errno| TrialError::place("epoll can't be had", errno))?))
    }

    /// What its server keeps in memory is its own.
    fn warm(&self) -> Result<(), TrialError> {
        Ok(())
    }

    /// Nobody can tell its server to do what it has put off.
    fn drain(&self) -> Result<(), TrialError> {
        Ok(())
    }

    /// Its clients are all that is this lab's.
    fn groups(&self) -> Vec<(&'static str, Processes)> {
        Vec::new()
    }

    fn counters(&self) -> Measures {
        self.faults.measures()
    }

    fn take_busy(&self) -> Option<f64> {
        self.spent.take_busy()
    }
}

#[cfg(test)]
mod tests;
