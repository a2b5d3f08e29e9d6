//! The workload `vote`: a page with the best nine of 16,000 entries, as a site of 2017 served it from a
//! database in memory. Visitors are known by a cookie or get a session; now and then one of them votes.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use bakeoff_engines::{Access, Database, Error, Result, Rows, Schema, Session, Statement};

use crate::rtt::{self, RTT};
use crate::sent::one_of;
use crate::site::{Script, Site, SiteWorker, Visits};
use crate::{
    Declared, DeclaredLevels, DeclaredStatements, FigureOfMerit, Name, OperationCounts,
    PreparedWorkload, RowsError, Scales, Take, TextSource, Workload, WorkloadClient,
    WorkloadParameters, WorkloadScale, names, stream,
};

mod guests;
mod page;
mod sessions;
mod tables;
mod visitor;
mod web;

use sessions::Sessions;
use tables::{StepStatements, VoteStatementNumbers};
use visitor::VoteClient;
use web::{VoteWorker, WebVisitors};

/// The numbers of the operations.
const PAGE: usize = 0;
const VOTE: usize = 1;
/// One request in so many is a vote.
const VOTES: u32 = 10;
/// The most sessions that conditioning adds, all clients together.
const CONDITIONED: u64 = 100;
/// Sets what conditions apart from what is measured.
const CONDITIONING: u64 = 0x636f_6e64_6974_696f;

/// The workload.
pub struct Vote;

/// The scales, and how many sessions there are before anybody comes. A session has some 180 bytes, an
/// entry some 50.
static SCALES: LazyLock<Scales<u64, 2>> = LazyLock::new(|| {
    let bytes = |sessions: u64| 50 * tables::ENTRIES as u64 + 180 * sessions;
    let small = WorkloadScale::new("small", "16,000 entries, no session yet", bytes(0));
    let large = WorkloadScale::new("large", "16,000 entries, 1,500,000 sessions", bytes(1_500_000));
    Scales::new([(small, 0), (large, 1_500_000)])
});

/// How much of a page is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PageStep {
    /// The page is made of constants.
    Stub,
    /// There is a connection, and nothing is asked.
    Connect,
    /// The session of the visitor's cookie is read, and the best nine.
    Read,
    /// Sessions are kept, and visitors vote.
    ReadWrite,
}

impl PageStep {
    /// All of them, by their levels.
    const ALL: [(&str, Self); 4] = [
        ("stub", Self::Stub),
        ("connect", Self::Connect),
        ("read", Self::Read),
        ("read+write", Self::ReadWrite),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, known)| *known == self).map_or("", |(name, _)| *name)
    }

    fn from_levels(levels: &DeclaredLevels) -> Self {
        let name = levels.level_of(&STEP);
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.expect("a checked level").1
    }
}

static STEP: Declared = Declared {
    name: "step",
    summary: "how much of a page is done: constants alone; a connection and nothing else; the \
              visitor's session and the best nine are read; sessions are kept and votes cast",
    syntax: "stub, connect, read or read+write",
    default: "read+write",
    canonical: |text| one_of("a step of a page", text, &PageStep::ALL.map(|(name, _)| name)),
};

static CONNECTION: Declared = Declared {
    name: "connection",
    summary: "whether each page connects to the database and prepares its statements, or a client \
              keeps its connection",
    syntax: "request or kept",
    default: "request",
    canonical: |text| one_of("a life of connections", text, &["request", "kept"]),
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

    fn entries(&self, scale: &str) -> u64 {
        2 * tables::ENTRIES as u64 + SCALES.find_data(scale)
    }

    fn factors(&self) -> Vec<&'static Declared> {
        vec![&STEP, &CONNECTION, &RTT]
    }

    fn shapes_rows(&self, _: &Declared) -> bool {
        false
    }

    fn operations(&self) -> Vec<Name> {
        names(["page", "vote"])
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
        let step = PageStep::from_levels(&parameters.levels);
        let schema = tables::schema();
        let mut statements = DeclaredStatements::default();
        let asks = StepStatements::declare(&schema, &mut statements, step);
        Box::new(Poll {
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

/// The site at a scale.
struct Poll {
    /// Those that are there before anybody comes.
    sessions: Sessions,
    seed: u64,
    text: Arc<TextSource>,
    schema: Schema,
    statements: Vec<Statement>,
    asks: StepStatements,
    step: PageStep,
    /// Whether each page has a connection of its own.
    connects: bool,
    /// How far its visitors are.
    round_trip: Duration,
    /// Votes that a later page did not show, in sentences.
    missed: Mutex<Vec<String>>,
}

impl Poll {
    /// Holds a page against a vote that was cast before it: the entry is shown with at least the rating
    /// that it then had, or nine others have at least that. `best` are the entries that the page shows,
    /// with their ratings.
    fn shows(&self, best: impl Iterator<Item = (i64, i64)>, entry: i64, rating: i64) -> Result<()> {
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
        Err(Error::engine(why))
    }

    fn sums(&self, session: &mut dyn Session, changes: &VoteStatementNumbers) -> Result<[i64; 2]> {
        let mut rows = Rows::new();
        let mut sum = |number| -> Result<i64> {
            session.run(number, &[], &mut rows)?;
            Ok(rows.int(0, 0).unwrap_or_default())
        };
        Ok([sum(changes.ratings)?, sum(changes.votes)?])
    }
}

impl PreparedWorkload for Poll {
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
            "entries" => tables::entries(self.seed, &self.text, row),
            _ => self.sessions.rows(row),
        }?;
        Ok(())
    }

    /// Each vote adds one to an entry's rating and one to its session's votes, in one transaction; and what
    /// was voted is shown.
    fn invariants(&self, database: &dyn Database) -> Result<Vec<String>> {
        let mut broken = self.missed();
        let Some(changes) = &self.asks.changes else { return Ok(broken) };
        let mut session = database.session()?;
        session.begin(Access::Read)?;
        let sums = self.sums(&mut *session, changes);
        session.rollback()?;
        let [ratings, cast] = sums?;
        let given = ratings - tables::ratings(self.seed).sum::<i64>();
        if given != cast {
            broken.push(format!(
                "its entries were given {given} votes, and its sessions have cast {cast}"
            ));
        }
        Ok(broken)
    }

    fn client(&self, number: usize, _: usize, seed: u64) -> Box<dyn WorkloadClient + '_> {
        Box::new(VoteClient::new(self, stream(seed, number as u64), None))
    }

    /// Its visitors come back, so that there are no more and no more sessions.
    fn conditioner(
        &self,
        number: usize,
        clients: usize,
        seed: u64,
    ) -> Box<dyn WorkloadClient + '_> {
        let most = (CONDITIONED / clients.max(1) as u64).max(1);
        let random = stream(seed ^ CONDITIONING, number as u64);
        Box::new(VoteClient::new(self, random, Some(most)))
    }

    fn site(&self) -> Option<&dyn Site> {
        Some(self)
    }
}

impl Site for Poll {
    fn worker(&self, number: usize) -> Box<dyn SiteWorker + '_> {
        Box::new(VoteWorker::new(self, number))
    }

    fn visits(&self, number: usize, _: usize, seed: u64) -> Box<dyn Visits + '_> {
        Box::new(WebVisitors::new(self, stream(seed, number as u64)))
    }

    fn script(&self) -> Option<Script> {
        let text = include_str!("vote/page.php");
        Some(Script { text, step: self.step.name(), keeps: !self.connects })
    }

    fn missed(&self) -> Vec<String> {
        self.missed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
