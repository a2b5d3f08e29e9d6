//! The target `page`: a page of an existing web server on this machine, requested over HTTP/1.1 by
//! many connections.
//!
//! Every answer must match the page's answer before the load: its status, and its body if that was
//! the same twice. The time to connect is part of a request's latency.

mod answer;
mod connection;
mod delayed_answers;
mod driver_time;
mod events;
mod fault;
mod lanes;
mod probe;
mod request;
mod slot;
mod url;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bakeoff_experiment::{Declared, EngineState, Factor, WorkloadNames};
use bakeoff_load::{ClientShare, Driver};
use bakeoff_results::Measures;
use bakeoff_workloads::rtt::{self, RTT};
use bakeoff_workloads::{Claims, FigureOfMerit, Name, OperationCounts};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(super) use self::driver_time::DriverTime;
pub(super) use self::events::EventDriver;
pub(super) use self::fault::{Fault, FaultCounters};
use self::lanes::One;
pub(super) use self::lanes::{PageAccess, RequestLanes, count_client_threads};
use self::probe::ExpectedResponse;
use self::request::{BODY, HEADER, METHOD, PageRequest};
pub use self::request::{check_header, encode_level};
pub(super) use self::url::At;
use self::url::PageAddress;
use super::{
    MostClients, PreparedTarget, Processes, RunningTarget, Setup, Subject, Target, TargetHome,
    WantedLevels, WorkloadDescription,
};
use crate::TrialError;
use crate::machine::count_processors;
use crate::place::TargetPlace;
use crate::place::images::Recipe;
use crate::refusal::Refusal;

const WORKLOAD: &str = "page";
static OPERATIONS: [Name; 1] = [Name::Borrowed("request")];
pub(super) const CONNECTIONS: MostClients =
    MostClients { number: 20_000, why: "each takes a port and an open file of this machine" };
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
const MOST_BODY: usize = 64 << 20;
const MOST_REQUESTS: u32 = 1_000_000;
const UNLIMITED: &str = "unlimited";

static URL: Declared = Declared {
    name: "url",
    summary: "the page that is asked for, on this machine",
    syntax: url::SYNTAX,
    default: "http://127.0.0.1/",
    canonical: &url::to_canonical_url,
};

static REQUESTS: Declared = Declared {
    name: "requests_per_connection",
    summary: "requests that a connection is used for, before another one is made",
    syntax: "unlimited, or 1 to 1000000",
    default: UNLIMITED,
    canonical: &|text| match (text, text.parse::<u32>()) {
        (UNLIMITED, _) => Ok(UNLIMITED.into()),
        (_, Ok(requests @ 1..=MOST_REQUESTS)) => Ok(requests.to_string()),
        _ => Err(format!(
            "`{text}` is no number of requests\nvalid: unlimited, or 1 to {MOST_REQUESTS}"
        )),
    },
};

#[derive(Clone, Copy, Debug, Default)]
pub struct PageTarget {
    /// Whether pages of other machines may be loaded: their owner has allowed it.
    elsewhere: bool,
}

impl PageTarget {
    pub(crate) const NAME: &'static str = "page";

    pub(crate) const ANYWHERE: Self = Self { elsewhere: true };
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ResolvedPage {
    url: String,
    source: PageAddress,
    request: PageRequest,
    requests_each: Option<u32>,
    /// How much later an answer counts as received.
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
                Factor::Declared(&METHOD),
                Factor::Declared(&HEADER),
                Factor::Declared(&BODY),
                Factor::Declared(&REQUESTS),
                Factor::Declared(&RTT),
            ],
            reads_back: false,
            takes_rows: Vec::new(),
            cut_by: Err(format!("{WORKLOAD} asks a server that bakeoff did not start")),
        }]
    }

    fn describe_workload(&self, workload: &str) -> Option<WorkloadDescription> {
        (workload == WORKLOAD).then(|| WorkloadDescription {
            summary: "asks a web server on this machine for one page, over HTTP/1.1".into(),
            operations: OPERATIONS.to_vec(),
            rows: None,
            figure_of_merit: FigureOfMerit::Requests,
            counts: OperationCounts { rows: false, bytes: true },
            scales: Vec::new(),
        })
    }

    fn resolve(&self, wanted: &WantedLevels<'_>) -> Result<Setup, Refusal> {
        let cell = wanted.cell;
        if wanted.experiment.images > 1 {
            let why = format!("{WORKLOAD} loads no data: leave `images` out");
            return Err(Refusal { levels: BTreeMap::new(), why });
        }
        let url = cell.base(Factor::Declared(&URL)).to_owned();
        let refused = |why| Refusal::from_cell(cell, &[Factor::Declared(&URL)], why);
        let found = if self.elsewhere {
            PageAddress::from_url_anywhere(&url)
        } else {
            PageAddress::from_url(&url)
        };
        let source = found.map_err(refused)?;
        let [method, header, body] =
            [&METHOD, &HEADER, &BODY].map(|it| cell.base(Factor::Declared(it)));
        let request = PageRequest::from_levels(method, header, body)
            .map_err(|why| Refusal::from_cell(cell, &[Factor::Declared(&HEADER)], why))?;
        let requests_each = cell.base(Factor::Declared(&REQUESTS)).parse().ok();
        let rtt = rtt::parse(cell.base(Factor::Declared(&RTT))).unwrap_or_default();
        let recipe =
            Recipe { key: format!("{WORKLOAD} {url}"), about: url.clone(), into: url.clone() };
        Ok(Setup {
            target: self.name(),
            subject: Arc::new(ResolvedPage { url, source, request, requests_each, rtt }),
            recipe,
            groups: Vec::new(),
            shared: Vec::new(),
            home: TargetHome::Elsewhere,
        })
    }

    fn read_subject(&self, json: &Value) -> Result<Box<dyn Subject>, TrialError> {
        let wrong = |error| TrialError::process_error(format!("no subject: {error}"));
        Ok(Box::new(serde_json::from_value::<ResolvedPage>(json.clone()).map_err(wrong)?))
    }
}

impl Subject for ResolvedPage {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("it is plain data")
    }

    /// A connection takes no thread.
    fn most_clients(&self) -> MostClients {
        CONNECTIONS
    }

    fn plan_remark(&self, _: Option<u64>, _: EngineState) -> Option<String> {
        let twice = (!self.request.is_idempotent()).then(|| {
            let method = self.request.method();
            format!("{method} is sent twice before each trial, so that its answer is known")
        });
        let milliseconds = Some(self.rtt.as_micros() as f64 / 1e3).filter(|it| *it > 0.0);
        let kept = milliseconds.map(|it| {
            format!(
                "the client keeps each answer for {it} ms before it counts as received, and for twice that on a \
                 new connection; the server has no such network"
            )
        });
        let remarks: Vec<String> = twice.into_iter().chain(kept).collect();
        (!remarks.is_empty()).then(|| remarks.join("; "))
    }

    fn prepare(&self) -> Result<Box<dyn PreparedTarget>, TrialError> {
        Ok(Box::new(self.clone()))
    }

    fn check_ready(&self, _: bool) -> Result<(), Vec<String>> {
        let asked = self.request_text(true).and_then(|it| probe::ask_twice(&self.source, &it));
        asked.map(drop).map_err(|why| vec![why])
    }
}

impl ResolvedPage {
    /// `is_last` adds the header that ends the connection.
    fn request_text(&self, is_last: bool) -> Result<Vec<u8>, String> {
        let PageAddress { host, path, .. } = &self.source;
        self.request.write(host, path, is_last)
    }
}

impl PreparedTarget for ResolvedPage {
    /// The web server has its data already.
    fn load(&self, _: &TargetPlace, _: &mut dyn FnMut(u64, u64)) -> Result<(), TrialError> {
        Ok(())
    }

    fn open<'a>(&'a self, _: &TargetPlace) -> Result<Box<dyn RunningTarget + 'a>, TrialError> {
        let failed = |why| TrialError::Engine(format!("{}: {why}", self.url));
        let requests = [self.request_text(false), self.request_text(true)];
        let [each, last] = requests.map(|it| it.map_err(failed));
        let requests = [each?, last?];
        let expected = probe::ask_twice(&self.source, &requests[1]).map_err(failed)?;
        Ok(Box::new(OpenPage {
            resolved: self.clone(),
            requests,
            expected,
            faults: FaultCounters::default(),
            spent: DriverTime::default(),
        }))
    }
}

struct OpenPage {
    resolved: ResolvedPage,
    /// The request in the middle of a connection, and the last one.
    requests: [Vec<u8>; 2],
    expected: ExpectedResponse,
    faults: FaultCounters,
    spent: DriverTime,
}

impl OpenPage {
    fn access(&self) -> PageAccess<'_> {
        let ResolvedPage { source, requests_each, rtt, .. } = &self.resolved;
        PageAccess {
            at: &source.at,
            requests_each: *requests_each,
            rtt: *rtt,
            faults: &self.faults,
            spent: &self.spent,
        }
    }

    fn request_numbered(&self, number: u32) -> &[u8] {
        let is_last = self.resolved.requests_each.is_some_and(|most| number >= most);
        &self.requests[usize::from(is_last)]
    }

    /// True if the body is unknown.
    fn has(&self, at: usize, part: &[u8]) -> bool {
        let Some(body) = &self.expected.body else { return true };
        body.get(at..).is_some_and(|rest| rest.starts_with(part))
    }

    fn check_answer(&self, status: u16, length: usize, differs: bool) -> Result<(), Fault> {
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

    fn drivers(&self, clients: usize) -> usize {
        match self.resolved.source.at.is_on_this_machine() {
            true => count_client_threads(clients, count_processors()),
            false => clients.min(count_processors()),
        }
    }

    fn make_driver<'a>(
        &'a self,
        share: &ClientShare,
        _: Option<Box<dyn Claims + 'a>>,
    ) -> Result<Box<dyn Driver + 'a>, TrialError> {
        let lanes = One::new(self, share.clients.len());
        Ok(Box::new(EventDriver::new(lanes, self.access(), share)?))
    }

    /// The web server can't be told to do deferred work.
    fn drain(&self) -> Result<(), TrialError> {
        Ok(())
    }

    /// Only its clients belong to the lab.
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
