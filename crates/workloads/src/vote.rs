//! The workload `vote`: a page with the best nine of 16,000 entries, as a site of 2017 served it.
//! Visitors have a cookie or get a session; now and then one votes.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use bakeoff_engines::{Database, Error, Result, Schema, Statement};

use crate::rtt::{self, RTT};
use crate::sender::{named, one_of, read_values};
use crate::site::{Script, Site, SiteWorker, Visits};
use crate::{
    Declared, DeclaredStatements, FigureOfMerit, Name, OperationCounts, PreparedWorkload,
    RowsError, Scales, Take, TextSource, Workload, WorkloadClient, WorkloadParameters,
    WorkloadScale, seed_stream, to_names,
};

mod guests;
mod page;
mod sessions;
mod tables;
mod visitor;
mod web;

use sessions::Sessions;
use tables::StepStatements;
use visitor::VoteClient;
use web::{VoteWorker, WebVisitors};

const PAGE: usize = 0;
const VOTE: usize = 1;
/// One request in ten is a vote.
const VOTES: u32 = 10;
const CONDITIONED: u64 = 100;
const CONDITIONING: u64 = 0x636f_6e64_6974_696f;

pub struct Vote;

/// Sessions that are loaded. A session has some 180 bytes, an entry some 50.
static SCALES: LazyLock<Scales<u64, 2>> = LazyLock::new(|| {
    let bytes = |sessions: u64| 50 * tables::ENTRIES as u64 + 180 * sessions;
    let small = WorkloadScale::new("small", "16,000 entries, no session yet", bytes(0));
    let large = WorkloadScale::new("large", "16,000 entries, 1,500,000 sessions", bytes(1_500_000));
    Scales::new([(small, 0), (large, 1_500_000)])
});

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PageStep {
    Stub,
    Connect,
    Read,
    ReadWrite,
}

impl PageStep {
    const ALL: [(&str, Self); 4] = [
        ("stub", Self::Stub),
        ("connect", Self::Connect),
        ("read", Self::Read),
        ("read+write", Self::ReadWrite),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, known)| *known == self).map_or("", |(name, _)| *name)
    }
}

static STEP: Declared = Declared {
    name: "step",
    summary: "how much of a page is done: constants alone; a connection and nothing else; the \
              visitor's session and the best nine are read; sessions are kept and votes cast",
    syntax: "stub, connect, read or read+write",
    default: "read+write",
    canonical: &|text| one_of("a step of a page", text, &PageStep::ALL.map(|(name, _)| name)),
};

static CONNECTION: Declared = Declared {
    name: "connection",
    summary: "whether each page connects to the database and prepares its statements, or a client \
              keeps its connection",
    syntax: "request or kept",
    default: "request",
    canonical: &|text| one_of("a life of connections", text, &["request", "kept"]),
};

impl Workload for Vote {
    fn name(&self) -> &str {
        "vote"
    }

    fn summary(&self) -> &str {
        "a page with the best nine of 16,000 entries, whose visitors have sessions and vote"
    }

    fn scales(&self) -> &[WorkloadScale] {
        SCALES.all()
    }

    fn estimate_entries(&self, scale: &str) -> u64 {
        2 * tables::ENTRIES as u64 + SCALES.find_data(scale)
    }

    fn factors(&self) -> Vec<&'static Declared> {
        vec![&STEP, &CONNECTION, &RTT]
    }

    fn shapes_rows(&self, _: &Declared) -> bool {
        false
    }

    fn operations(&self) -> Vec<Name> {
        to_names(["page", "vote"])
    }

    fn figure_of_merit(&self) -> FigureOfMerit {
        FigureOfMerit::Requests
    }

    /// The bytes are those of the pages.
    fn counts(&self) -> OperationCounts {
        OperationCounts { rows: false, bytes: true }
    }

    fn reads_back(&self) -> bool {
        true
    }

    fn is_site(&self) -> bool {
        true
    }

    fn prepare(&self, parameters: &WorkloadParameters<'_>) -> Box<dyn PreparedWorkload> {
        let step = named(&PageStep::ALL, &STEP, &parameters.levels);
        let schema = tables::declare_schema();
        let mut statements = DeclaredStatements::default();
        let asks = StepStatements::declare(&schema, &mut statements, step);
        Box::new(VoteWorkload {
            sessions: Sessions { count: SCALES.find_data(parameters.scale), seed: parameters.seed },
            seed: parameters.seed,
            text: Arc::clone(&parameters.text),
            schema,
            statements: statements.into_vec(),
            asks,
            step,
            connects: step >= PageStep::Connect
                && parameters.levels.level_of(&CONNECTION) == "request",
            round_trip: rtt::parse(parameters.levels.level_of(&RTT)).unwrap_or_default(),
            missed: Mutex::default(),
        })
    }
}

struct VoteWorkload {
    sessions: Sessions,
    seed: u64,
    text: Arc<TextSource>,
    schema: Schema,
    statements: Vec<Statement>,
    asks: StepStatements,
    step: PageStep,
    connects: bool,
    round_trip: Duration,
    missed: Mutex<Vec<String>>,
}

impl VoteWorkload {
    /// Checks a page against an earlier vote: it shows the entry with at least that rating, or nine
    /// others with at least that.
    fn check_shown(
        &self,
        best: impl Iterator<Item = (i64, i64)>,
        entry: i64,
        rating: i64,
    ) -> Result<()> {
        let (mut shown, mut last) = (None, None);
        for (id, there) in best {
            last = Some(there);
            if id == entry {
                shown = last;
            }
        }
        let there = shown.or(last);
        if there.is_some_and(|there| there >= rating) {
            return Ok(());
        }
        let there = there.map_or_else(|| "nothing".to_owned(), |there| there.to_string());
        let why = match shown {
            Some(_) => format!(
                "a vote gave entry {entry} the rating {rating}, and the next page shows {there}"
            ),
            None => format!(
                "a vote gave entry {entry} the rating {rating}, and the next page does not show it, but \
                 {there} as the ninth"
            ),
        };
        self.missed.lock().unwrap_or_else(PoisonError::into_inner).push(why.clone());
        Err(Error::from_engine(why))
    }
}

impl PreparedWorkload for VoteWorkload {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn has_operation(&self, operation: usize) -> bool {
        operation == PAGE || self.asks.changes.is_some()
    }

    fn connects_each_time(&self) -> bool {
        self.connects
    }

    fn round_trip(&self) -> Duration {
        self.round_trip
    }

    fn rows(&self, table: usize, row: &mut Take<'_>) -> std::result::Result<(), RowsError> {
        match &*self.schema.tables[table].name {
            "entries" => tables::give_entries(self.seed, &self.text, row),
            _ => self.sessions.give_rows(row),
        }?;
        Ok(())
    }

    /// Each vote adds one to an entry's rating and to its session's votes, in one transaction;
    /// later pages show it.
    fn find_violations(&self, database: &dyn Database) -> Result<Vec<String>> {
        let mut broken = self.list_missed();
        let Some(changes) = &self.asks.changes else { return Ok(broken) };
        let [ratings, cast] = read_values(database, [changes.ratings, changes.votes])?;
        let given = ratings - tables::draw_ratings(self.seed).sum::<i64>();
        if given != cast {
            broken.push(format!(
                "its entries were given {given} votes, and its sessions have cast {cast}"
            ));
        }
        Ok(broken)
    }

    fn make_client(&self, number: usize, _: usize, seed: u64) -> Box<dyn WorkloadClient + '_> {
        Box::new(VoteClient::new(self, seed_stream(seed, number as u64), None))
    }

    /// Visitors come back, so that sessions do not grow.
    fn make_conditioner(
        &self,
        number: usize,
        clients: usize,
        seed: u64,
    ) -> Box<dyn WorkloadClient + '_> {
        let most = (CONDITIONED / clients.max(1) as u64).max(1);
        let random = seed_stream(seed ^ CONDITIONING, number as u64);
        Box::new(VoteClient::new(self, random, Some(most)))
    }

    fn site(&self) -> Option<&dyn Site> {
        Some(self)
    }
}

impl Site for VoteWorkload {
    fn make_worker(&self, number: usize) -> Box<dyn SiteWorker + '_> {
        Box::new(VoteWorker::new(self, number))
    }

    fn make_visits(&self, number: usize, _: usize, seed: u64) -> Box<dyn Visits + '_> {
        Box::new(WebVisitors::new(self, seed_stream(seed, number as u64)))
    }

    fn script(&self) -> Option<Script> {
        let text = include_str!("vote/page.php");
        Some(Script { text, step: self.step.name(), keeps: !self.connects })
    }

    fn list_missed(&self) -> Vec<String> {
        self.missed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
