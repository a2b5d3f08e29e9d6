//! The contract of a workload, then one file a workload.
//!
//! A workload declares a schema, statements and rows to load, and makes clients that run
//! operations out of transactions on an engine's session. It must never know which engine it
//! runs on, how it is timed or paced, how many repetitions there are, or what becomes of the
//! figures.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bakeoff_engines::{Access, Database, Error, Result, Schema, Session, Statement};
use rand::SeedableRng;

mod ageing;
mod articles;
mod declare;
mod digits;
mod keys;
pub mod ledger;
mod oltp;
mod on;
mod point;
mod redmine;
mod rows_file;
pub mod rtt;
mod sent;
pub mod site;
mod source;
pub mod text;
mod text_oltp;
mod vocabulary;
mod vote;

pub use bakeoff_factor::{Declared, DeclaredLevels, FigureOfMerit, OperationCounts};
pub use declare::{DeclaredStatements, Scales};
pub use on::{On, ReadBuilder, Updates, on};
pub use rows_file::{COLLECTIONS, Collection, RowsFile, TakeArticle};
pub use source::{RowsError, SourceError, Take};
pub use text::{TextError, TextSource};

/// The generator behind rows and clients: small, fast, and the same on every machine.
pub type WorkloadRandom = rand::rngs::Xoshiro256PlusPlus;

/// A generator of its own for each number and seed: of a table's rows, of a client.
pub fn stream(seed: u64, number: u64) -> WorkloadRandom {
    let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    WorkloadRandom::seed_from_u64(seed.wrapping_add(spread))
}

/// A name of something: written in the source, or read from a file.
pub type Name = Cow<'static, str>;

/// Names that are written in the source.
pub fn names<const N: usize>(names: [&'static str; N]) -> Vec<Name> {
    names.map(Name::Borrowed).into()
}

/// A workload: what a user names in an experiment.
pub trait Workload: Send + Sync {
    /// Its name in files and flags.
    fn name(&self) -> &str;

    /// One line on what it stands for.
    fn summary(&self) -> &str;

    /// The scales that it comes in, from small to large; the first is the default.
    fn scales(&self) -> &[WorkloadScale];

    /// Bytes of its rows at a scale and at levels of its own factors, roughly: what it is estimated
    /// by, and what room is made for. Those of the scale, unless the levels change them.
    ///
    /// # Panics
    /// When there is no such scale.
    fn size(&self, scale: &str, levels: &DeclaredLevels) -> u64 {
        let _ = levels;
        let found = self.scales().iter().find(|known| known.name == scale);
        found.unwrap_or_else(|| panic!("{} has no scale {scale}", self.name())).bytes
    }

    /// How many entries its tables and their indexes have once they are loaded, roughly: each row once, and once
    /// more for each secondary index of its table. What an engine that holds all in memory is estimated by,
    /// beside [`Workload::size`]; 0 where nobody counted.
    ///
    /// # Panics
    /// When there is no such scale.
    fn entries(&self, scale: &str) -> u64 {
        let _ = scale;
        0
    }

    /// The factors that it adds to the lab's own, in the order in which they are listed.
    fn factors(&self) -> Vec<&'static Declared> {
        Vec::new()
    }

    /// How many rows it takes from a file of titles and texts at a scale; `None` where it makes its own.
    fn rows_from_file(&self, scale: &str) -> Option<u64> {
        let _ = scale;
        None
    }

    /// Whether its rows depend on the level of one of [`Workload::factors`]. Where they don't, all levels of
    /// that factor start from the same loaded bytes.
    fn shapes_rows(&self, factor: &Declared) -> bool {
        let _ = factor;
        true
    }

    /// How many rows are changed after they were loaded, as a multiple of all, at levels of its own factors:
    /// what [`PreparedWorkload::age`] does.
    fn age(&self, levels: &DeclaredLevels) -> f64 {
        let _ = levels;
        0.0
    }

    /// All operations that its clients may run, whatever the levels; a client's choice is a number into
    /// these.
    fn operations(&self) -> Vec<Name>;

    /// What its readers speak of, and so what engines are compared by. One that needs rows or bytes is
    /// refused unless [`Workload::counts`] says that these are counted.
    fn figure_of_merit(&self) -> FigureOfMerit {
        FigureOfMerit::Time
    }

    /// What its clients add to each operation's [`OperationTally`] beside transactions and retries.
    fn counts(&self) -> OperationCounts {
        OperationCounts::default()
    }

    /// Whether its clients read again what they wrote, so that an engine that stores nothing can't
    /// serve them.
    fn reads_back(&self) -> bool {
        false
    }

    /// Whether it is a web application, whose pages a web server can serve: [`PreparedWorkload::site`].
    fn is_site(&self) -> bool {
        false
    }

    /// Whether what its clients were promised can be held against what a power cut has left:
    /// [`PreparedWorkload::audited`].
    fn is_audited(&self) -> bool {
        false
    }

    /// Gets it ready: the same parameters give the same rows and the same clients on every
    /// machine.
    ///
    /// # Panics
    /// When there is no such scale.
    fn prepare(&self, parameters: &WorkloadParameters<'_>) -> Box<dyn PreparedWorkload>;
}

/// What determines a workload's rows and clients.
#[derive(Clone, Debug)]
pub struct WorkloadParameters<'a> {
    /// A name out of [`Workload::scales`].
    pub scale: &'a str,
    /// Seeds its rows.
    pub seed: u64,
    /// Where its text comes from.
    pub text: Arc<TextSource>,
    /// The file that its rows come from, where [`Workload::rows_from_file`] takes them from one.
    pub rows: Option<RowsFile>,
    /// The levels of [`Workload::factors`].
    pub levels: DeclaredLevels,
}

impl<'a> WorkloadParameters<'a> {
    /// A scale, a seed and a text; every factor of the workload's own at its default.
    pub fn new(scale: &'a str, seed: u64, text: Arc<TextSource>) -> Self {
        Self { scale, seed, text, rows: None, levels: DeclaredLevels::default() }
    }
}

/// A size of a workload's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadScale {
    /// Its name in files and flags.
    pub name: Name,
    /// What it holds, in a few words.
    pub summary: Name,
    /// Bytes of its rows, roughly, with every factor of the workload's own at its default: a text's
    /// own, eight of a number.
    pub bytes: u64,
}

impl WorkloadScale {
    /// One that is written in the source.
    pub const fn new(name: &'static str, summary: &'static str, bytes: u64) -> Self {
        Self { name: Cow::Borrowed(name), summary: Cow::Borrowed(summary), bytes }
    }
}

/// A workload at a scale, ready to be loaded and run.
pub trait PreparedWorkload: Send + Sync {
    /// The tables.
    fn schema(&self) -> &Schema;

    /// The statements that clients run, by number.
    fn statements(&self) -> &[Statement];

    /// Whether its clients ever run an operation, by its number in [`Workload::operations`]: at the levels
    /// that this was prepared for, a mix may be without writes. A trial waits for those that they run, and
    /// records no other.
    fn has_operation(&self, operation: usize) -> bool {
        let _ = operation;
        true
    }

    /// Whether each operation of its clients has a session of its own, which is opened for it and closed
    /// after it, as in a web application that keeps no connection. Else a client has one session for all
    /// that it does.
    fn connects_each_time(&self) -> bool {
        false
    }

    /// How long a round trip is between its users and the application that these clients stand for: an operation
    /// ends for a client so much after the engine has answered. Only for workloads that read back: see
    /// [`Workload::reads_back`].
    fn round_trip(&self) -> Duration {
        Duration::ZERO
    }

    /// Gives the rows of a table, one by one, in ascending order of their keys. Each is taken before
    /// the next is asked for, so that none need be kept.
    ///
    /// # Errors
    /// [`RowsError::Source`] where they come from something that fails; whatever `row` returns. It stops
    /// there.
    fn rows(&self, table: usize, row: &mut Take<'_>) -> std::result::Result<(), RowsError>;

    /// Changes rows that were loaded, so that the engine has what long use leaves behind. It does the same
    /// to every engine, which holds the same rows afterwards. `alive` hears from it every now and then.
    /// Nobody else uses the database meanwhile.
    ///
    /// # Errors
    /// The engine's own.
    fn age(&self, database: &dyn Database, alive: &mut dyn FnMut()) -> Result<()> {
        let _ = (database, alive);
        Ok(())
    }

    /// Client `number` of `clients`, both fixed for a trial. What it does follows from `seed`, which
    /// is the same for all that is compared and another one for the next time.
    fn client(&self, number: usize, clients: usize, seed: u64) -> Box<dyn WorkloadClient + '_>;

    /// A client whose work makes the engine put off what all clients' does, and leaves the data as
    /// large as they were: rows and bytes within a tenth, however long it works. It works before
    /// the others, as one of so many of its kind.
    ///
    /// The client of the workload itself, unless that adds more than it takes away.
    fn conditioner(
        &self,
        number: usize,
        clients: usize,
        seed: u64,
    ) -> Box<dyn WorkloadClient + '_> {
        self.client(number, clients, seed)
    }

    /// What its rows must be whatever its clients did, and are not, in sentences. Nobody else uses the
    /// database meanwhile.
    ///
    /// # Errors
    /// The engine's own, where something can't be read.
    fn invariants(&self, database: &dyn Database) -> Result<Vec<String>> {
        let _ = database;
        Ok(Vec::new())
    }

    /// Its pages, where [`Workload::is_site`].
    fn site(&self) -> Option<&dyn site::Site> {
        None
    }

    /// How it is audited, where [`Workload::is_audited`].
    fn audited(&self) -> Option<&dyn Audited> {
        None
    }
}

/// A workload whose clients claim what they were promised, and that can be held against the claims
/// after a power cut.
pub trait Audited {
    /// Client `number`, which claims on the way.
    fn claimant<'a>(
        &'a self,
        number: usize,
        claims: Box<dyn Claims + 'a>,
    ) -> Box<dyn WorkloadClient + 'a>;

    /// How many commits were acknowledged until the power went, by what each client claimed.
    fn acknowledged(&self, claims: &[Vec<u8>], off_at_ns: u64) -> u64;

    /// Reads the whole database and holds it against what each client claimed, from client 0. Nobody
    /// else uses the database meanwhile.
    ///
    /// # Errors
    /// The engine's own, where something can't be read.
    fn audit(
        &self,
        database: &dyn Database,
        claims: &[Vec<u8>],
        off_at_ns: u64,
    ) -> Result<AuditFindings>;
}

/// Stores a client's claims in a place that no power cut reaches.
pub trait Claims {
    /// Takes a record. When it returns, the record outlives the client's process.
    fn claim(&mut self, record: &[u8]);
}

/// What an audit found wrong. Everything is zero when every promise of strict durability was kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFindings {
    /// Acknowledged transactions that are not there.
    pub lost: u64,
    /// When the first of these was acknowledged, in nanoseconds of `CLOCK_MONOTONIC`.
    pub oldest_lost_at_ns: Option<u64>,
    /// Transactions or rows that are there and were never sent.
    pub phantom: u64,
    /// Rows that show a part of a transaction.
    pub torn: u64,
    /// Transactions that are gone while a later one of the same client is there.
    pub hole: u64,
    /// Rows that are found by key and not by an index, or the other way round.
    pub index_broken: u64,
    /// The first findings, in words.
    pub examples: Vec<String>,
}

/// One user of the application.
pub trait WorkloadClient {
    /// Decides what to do next; the number of an operation in [`Workload::operations`], of those that
    /// [`PreparedWorkload::has_operation`] says it runs.
    fn choose(&mut self) -> usize;

    /// Runs one operation, as often as conflicts make it necessary, and adds what it had to
    /// retry to the tally.
    ///
    /// # Errors
    /// The engine's error that ended the operation; no transaction is left open.
    fn perform(
        &mut self,
        operation: usize,
        session: &mut dyn Session,
        tally: &mut OperationTally,
    ) -> Result<()>;
}

/// What an operation did besides succeeding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationTally {
    /// Transactions that were committed.
    pub transactions: u64,
    /// Transactions that were run again after a conflict.
    pub retries: u64,
    /// Rows that the operation's statements returned to the client, and rows that they inserted,
    /// changed or deleted: what [`Session::run`] returns, added up. A row that an aggregate looks at and
    /// doesn't return is none. Rows of an attempt that was run again don't count: where there can be one,
    /// the body of [`transaction`] answers with its rows, and they are added once it has ended.
    pub rows: u64,
    /// Bytes that the operation read or wrote, as its client sees them, counted as `rows` are.
    pub bytes: u64,
}

/// How often a transaction is tried before its conflict is an error.
pub const MOST_TRIES: u32 = 1000;

/// How the body of a transaction wants it to end, and what it answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionEnd<T> {
    /// All of it takes effect.
    Commit(T),
    /// None of it does; it is the application that wants this, so it counts as neither a
    /// transaction nor a retry.
    Rollback(T),
}

/// Runs `body` in a writing transaction, again and again while it ends in a conflict, and counts.
/// Between two tries it waits a little, longer each time up to a few milliseconds, so that
/// clients that clash do not clash in step.
///
/// # Errors
/// Any error but a conflict, at once; the conflict, after [`MOST_TRIES`].
pub fn transaction<T>(
    session: &mut dyn Session,
    tally: &mut OperationTally,
    mut body: impl FnMut(&mut dyn Session) -> Result<TransactionEnd<T>>,
) -> Result<T> {
    let mut committed = false;
    let answer = again(session, tally, |session| {
        session.begin(Access::Write)?;
        match body(session)? {
            TransactionEnd::Commit(answer) => session.commit().map(|()| {
                committed = true;
                answer
            }),
            TransactionEnd::Rollback(answer) => session.rollback().map(|()| answer),
        }
    });
    tally.transactions += u64::from(committed);
    answer
}

/// Makes an attempt again and again while it ends in a conflict, as [`transaction`] does, and counts the
/// retries. What an attempt that failed has begun is rolled back.
fn again<T>(
    session: &mut dyn Session,
    tally: &mut OperationTally,
    mut attempt: impl FnMut(&mut dyn Session) -> Result<T>,
) -> Result<T> {
    for tries in 1.. {
        let error = match attempt(session) {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        // What the rollback itself says adds nothing to why it was needed.
        let _ = session.rollback();
        if !matches!(error, Error::Conflict(_)) || tries == MOST_TRIES {
            return Err(error);
        }
        tally.retries += 1;
        back_off(tries);
    }
    unreachable!("the loop ends by returning")
}

fn back_off(tries: u32) {
    if tries > 1 {
        let longest = 50u64 << tries.min(7);
        std::thread::sleep(std::time::Duration::from_micros(rand::random_range(0..longest)));
    }
}

/// Every workload, in the order in which they are listed.
pub static WORKLOADS: &[&dyn Workload] = &[
    &redmine::Redmine,
    &oltp::Oltp,
    &text_oltp::TextOltp,
    &vote::Vote,
    &ledger::Ledger,
    &point::PointWorkload,
];

/// The workload of that name.
pub fn find(name: &str) -> Option<&'static dyn Workload> {
    WORKLOADS.iter().copied().find(|workload| workload.name() == name)
}
