//! The contract of a workload, then one file a workload.
//!
//! A workload declares a schema, statements and rows, and makes clients that run operations on an
//! engine's session. It must never know which engine it runs on, how it is timed or paced, how many
//! repetitions there are, or what becomes of the figures.
//!
//! # Calls that have a default
//!
//! Of `Workload` or `PreparedWorkload`; without it:
//!
//! - `figure_of_merit`, `counts`: engines are compared by the mean time of each operation
//! - `factors`: an experiment can vary nothing of it. `payload` and `mix` in `jobs.rs` are factors
//! - `estimate_size`, `estimate_entries`: the plan takes the bytes of the scale at every level of your factors, and doesn't
//!   refuse too little memory for `tarantool:memtx`
//! - `reads_back`: the engine `null` is allowed, which answers with made-up rows
//! - `has_operation`: a trial waits for every operation, also for those that a mix leaves out
//! - `find_preparation`: statements are prepared once a session. With the factor `PREPARED`, `read_preparation` of the
//!   levels
//! - `shapes_rows`: each level of a factor has data of its own, loaded once more
//! - `find_violations`: after a trial only the engine's own check is made
//! - `make_conditioner`: at `--state steady` the clients' own work is the preconditioning. It has to leave
//!   rows and bytes as many as they were, within a tenth

#![warn(missing_docs)]

use std::borrow::Cow;
use std::ops::AddAssign;
use std::sync::Arc;
use std::time::Duration;

use bakeoff_engines::own_server::OwnServer;
use bakeoff_engines::{Access, Database, Error, Preparation, Result, Schema, Session, Statement};
use rand::SeedableRng;

mod ageing;
mod articles;
mod declare;
mod digits;
mod file_kind;
mod fnv;
mod keys;
pub mod ledger;
mod oltp;
mod preparation;
mod program;
mod redmine;
mod rows_file;
pub mod rtt;
mod sender;
pub mod site;
mod source;
mod table_statements;
pub mod text;
mod text_oltp;
mod vocabulary;
mod vote;

pub use bakeoff_engines::{Declared, DeclaredLevels};
pub use bakeoff_results::{FigureOfMerit, OperationCounts};
pub use declare::{DeclaredStatements, Scales};
pub use file_kind::FileKind;
pub use fnv::fingerprint_parts;
pub use keys::{KeyDistribution, KeySampler};
pub use ledger::read_claim_clock;
pub use preparation::{PREPARED, read_preparation};
pub use program::ClientProgram;
pub use program::{PROGRAMS, are_programs_inside};
pub use rows_file::{ArticleCallback, COLLECTIONS, Collection, RowsFile, unpack};
pub use source::{RowsError, SourceError, Take};
pub use table_statements::{On, ReadBuilder, Updates, on_table};
pub use text::{TextError, TextSource};

/// The table of an experiment's file that holds what [`Workload::to_definition`] gave.
pub const APPLICATION: &str = "application";

/// The random generator of rows and clients: small, fast, the same on every machine.
pub type WorkloadRandom = rand::rngs::Xoshiro256PlusPlus;

/// A random generator for a table's rows or for a client, by seed and number.
#[inline]
pub fn seed_stream(seed: u64, number: u64) -> WorkloadRandom {
    let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    WorkloadRandom::seed_from_u64(seed.wrapping_add(spread))
}

/// A name from the source or from a file.
pub type Name = Cow<'static, str>;

/// Names that are written in the source.
pub fn to_names<const N: usize>(names: [&'static str; N]) -> Vec<Name> {
    names.map(Name::Borrowed).into()
}

/// What a user names as the workload of an experiment.
pub trait Workload: Send + Sync {
    /// The name in files and flags.
    fn name(&self) -> &str;

    /// One line on what it stands for.
    fn summary(&self) -> &str;

    /// From small to large; the first is the default.
    fn scales(&self) -> &[WorkloadScale];

    /// Bytes of its rows, roughly, for estimates and disk space. Panics without such a scale.
    fn estimate_size(&self, scale: &str, levels: &DeclaredLevels) -> u64 {
        let _ = levels;
        let found = self.scales().iter().find(|known| known.name == scale);
        found.unwrap_or_else(|| panic!("{} has no scale {scale}", self.name())).bytes
    }

    /// Rows and secondary index entries after loading, roughly; 0 if unknown. Estimates for engines
    /// in memory use it beside [`Workload::estimate_size`]. Panics without such a scale.
    fn estimate_entries(&self, scale: &str) -> u64 {
        let _ = scale;
        0
    }

    /// The factors that it adds to the lab's own, in order.
    fn factors(&self) -> Vec<&'static Declared> {
        Vec::new()
    }

    /// How many rows it takes from a file of titles and texts; `None` if it makes its own.
    fn rows_from_file(&self, scale: &str) -> Option<u64> {
        let _ = scale;
        None
    }

    /// How often its statements are prepared at these levels: see [`PREPARED`].
    fn find_preparation(&self, levels: &DeclaredLevels) -> Preparation {
        let _ = levels;
        Preparation::OncePerSession
    }

    /// Whether its rows depend on this one of [`Workload::factors`]. If not, all its levels start
    /// from the same loaded bytes.
    fn shapes_rows(&self, factor: &Declared) -> bool {
        let _ = factor;
        true
    }

    /// How often [`PreparedWorkload::age_rows`] changes each loaded row, on average.
    fn find_age(&self, levels: &DeclaredLevels) -> f64 {
        let _ = levels;
        0.0
    }

    /// All operations of its clients at any level; clients choose by number.
    fn operations(&self) -> Vec<Name>;

    /// The figure by which engines are compared. Rows or bytes need [`Workload::counts`] to say
    /// that they are counted.
    fn figure_of_merit(&self) -> FigureOfMerit {
        FigureOfMerit::Time
    }

    /// The counts that clients add to an [`OperationTally`] besides transactions and retries.
    fn counts(&self) -> OperationCounts {
        OperationCounts::default()
    }

    /// Whether clients read back what they wrote, so that an engine that stores nothing can't serve
    /// them.
    fn reads_back(&self) -> bool {
        false
    }

    /// Whether it is a web application: [`PreparedWorkload::site`].
    fn is_site(&self) -> bool {
        false
    }

    /// Whether it can be audited after a power cut: [`PreparedWorkload::as_audited`].
    fn is_audited(&self) -> bool {
        false
    }

    /// The program whose processes are its clients, if they are not in bakeoff's own. Then
    /// [`PreparedWorkload::make_client`] makes what chooses operations, and runs none.
    fn program(&self) -> Option<&ClientProgram> {
        None
    }

    /// The server that it brings, if its program works on none of the known engines.
    fn server(&self) -> Option<&'static OwnServer> {
        None
    }

    /// How its rows are made, for the report; `None` for built-in rules.
    fn describe_rows(&self) -> Option<String> {
        None
    }

    /// Levels at which an engine can run it that runs only these statements, as `mix=kv`.
    fn find_levels_for(&self, runs: &dyn Fn(&Schema, &Statement) -> bool) -> Option<String> {
        let _ = runs;
        None
    }

    /// What another process makes it of; `None` if it is registered there, too.
    fn to_definition(&self) -> Option<serde_json::Value> {
        None
    }

    /// The same parameters give the same rows and clients on every machine. Panics without such a
    /// scale.
    fn prepare(&self, parameters: &WorkloadParameters<'_>) -> Box<dyn PreparedWorkload>;
}

/// The parameters that determine a workload's rows and clients.
#[derive(Clone, Debug)]
pub struct WorkloadParameters<'a> {
    /// A name out of [`Workload::scales`].
    pub scale: &'a str,
    /// The seed of its rows.
    pub seed: u64,
    /// Where its text comes from.
    pub text: Arc<TextSource>,
    /// The file for [`Workload::rows_from_file`], if there is one.
    pub rows: Option<RowsFile>,
    /// The levels of [`Workload::factors`].
    pub levels: DeclaredLevels,
}

impl<'a> WorkloadParameters<'a> {
    /// Every factor of the workload has its default.
    pub fn new(scale: &'a str, seed: u64, text: Arc<TextSource>) -> Self {
        Self { scale, seed, text, rows: None, levels: DeclaredLevels::default() }
    }
}

/// A size of a workload's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadScale {
    /// The name in files and flags.
    pub name: Name,
    /// Its contents, in a few words.
    pub summary: Name,
    /// Bytes of its rows, roughly, with all factors at their defaults: text as it is, eight bytes a
    /// number.
    pub bytes: u64,
}

impl WorkloadScale {
    /// A scale that is written in the source.
    pub const fn new(name: &'static str, summary: &'static str, bytes: u64) -> Self {
        Self { name: Cow::Borrowed(name), summary: Cow::Borrowed(summary), bytes }
    }
}

/// A workload at a scale, ready to be loaded and run.
pub trait PreparedWorkload: Send + Sync {
    /// The tables and indexes.
    fn schema(&self) -> &Schema;

    /// The statements that clients run, by number.
    fn statements(&self) -> &[Statement];

    /// How many of the last [`PreparedWorkload::statements`] an engine may be without: if it can't run
    /// one of them, it gets none of them, and [`PreparedWorkload::find_violations`] does without.
    fn count_optional(&self) -> usize {
        0
    }

    /// Whether clients ever run this one of [`Workload::operations`] at these levels. A trial waits
    /// for those, and records no other.
    fn has_operation(&self, operation: usize) -> bool {
        let _ = operation;
        true
    }

    /// Whether each operation opens and closes a session of its own, as in a web application
    /// without kept connections.
    fn connects_each_time(&self) -> bool {
        false
    }

    /// The round trip between users and the application: an operation ends so much later for its
    /// client. Only for workloads that [read back](Workload::reads_back).
    fn round_trip(&self) -> Duration {
        Duration::ZERO
    }

    /// Gives a table's rows one by one in ascending order of their keys, until `row` fails.
    fn rows(&self, table: usize, row: &mut Take<'_>) -> std::result::Result<(), RowsError>;

    /// Changes loaded rows as long use does, the same for every engine. `alive` must hear from it
    /// now and then. Nobody else uses the database meanwhile.
    fn age_rows(&self, database: &dyn Database, alive: &mut dyn FnMut()) -> Result<()> {
        let _ = (database, alive);
        Ok(())
    }

    /// Client `number` of `clients`. `seed` is the same for all that is compared, and another one
    /// for the next repetition.
    fn make_client(&self, number: usize, clients: usize, seed: u64)
    -> Box<dyn WorkloadClient + '_>;

    /// A client that makes the engine defer as much work as the others do, and keeps rows and bytes
    /// within a tenth. It works before the others.
    ///
    /// The workload's own client, unless that adds more than it removes.
    fn make_conditioner(
        &self,
        number: usize,
        clients: usize,
        seed: u64,
    ) -> Box<dyn WorkloadClient + '_> {
        self.make_client(number, clients, seed)
    }

    /// Sentences on faults in the rows, whatever clients did. Nothing else uses the database
    /// meanwhile.
    fn find_violations(&self, database: &dyn Database) -> Result<Vec<String>> {
        let _ = database;
        Ok(Vec::new())
    }

    /// The pages, if [`Workload::is_site`].
    fn site(&self) -> Option<&dyn site::Site> {
        None
    }

    /// The audit, if [`Workload::is_audited`].
    fn as_audited(&self) -> Option<&dyn Audited> {
        None
    }
}

/// A workload whose clients record what they were promised, so that it can be audited after a power
/// cut.
pub trait Audited {
    /// A client that writes claims.
    fn make_claimant<'a>(
        &'a self,
        number: usize,
        claims: Box<dyn Claims + 'a>,
    ) -> Box<dyn WorkloadClient + 'a>;

    /// Commits that were acknowledged before the power went.
    fn count_acknowledged(&self, claims: &[Vec<u8>], off_at_ns: u64) -> u64;

    /// Compares the whole database with the claims, client by client. Nobody else uses it
    /// meanwhile.
    fn audit_database(
        &self,
        database: &dyn Database,
        claims: &[Vec<u8>],
        off_at_ns: u64,
    ) -> Result<AuditFindings>;
}

/// Stores a client's claims where no power cut reaches them.
pub trait Claims {
    /// The record outlives the client's process when this returns.
    fn store_claim(&mut self, record: &[u8]);
}

/// The findings of an audit; all zero if strict durability kept every promise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFindings {
    /// Acknowledged transactions that are missing.
    pub lost: u64,
    /// When the first lost one was acknowledged, in nanoseconds of `CLOCK_MONOTONIC`.
    pub oldest_lost_at_ns: Option<u64>,
    /// Transactions or rows that were never sent.
    pub phantom: u64,
    /// Rows that show a part of a transaction.
    pub torn: u64,
    /// Missing transactions with a later one of the same client present.
    pub hole: u64,
    /// Rows found by key and not by an index, or the other way round.
    pub index_broken: u64,
    /// The first findings, in words.
    pub examples: Vec<String>,
}

/// One user of the application.
pub trait WorkloadClient {
    /// Chooses the next of [`Workload::operations`].
    fn choose_operation(&mut self) -> usize;

    /// How long its user thinks after an operation.
    fn think_time(&mut self, operation: usize) -> Duration {
        let _ = operation;
        Duration::ZERO
    }

    /// Runs one operation, again after each conflict, and adds to the tally. After an error no
    /// transaction is open.
    fn run_operation(
        &mut self,
        operation: usize,
        session: &mut dyn Session,
        tally: &mut OperationTally,
    ) -> Result<()>;
}

/// The work of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationTally {
    /// Committed transactions that write.
    pub transactions: u64,
    /// Transactions that were run again after a conflict.
    pub retries: u64,
    /// Rows returned, inserted, changed or deleted, as [`Session::run`] counts them. An attempt
    /// that was run again doesn't count: the body of [`run_transaction`] returns its rows, and they are
    /// added after it.
    pub rows: u64,
    /// Bytes that the client read or wrote, counted as `rows`.
    pub bytes: u64,
    /// The paths that the operation took.
    pub paths: OperationPaths,
}

/// How often operations took a path that depends on what they found in the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationPaths {
    /// Operations whose script rolled a transaction back.
    pub rolled_back: u64,
    /// Operations that ended since a row was there already.
    pub skipped: u64,
    /// Operations that looked for a row, did not find it, and went on.
    pub unmatched: u64,
    /// How often operations rolled back, and began again with other draws. These are no retries
    /// after a conflict.
    pub begun_again: u64,
}

impl AddAssign for OperationPaths {
    fn add_assign(&mut self, more: Self) {
        self.rolled_back += more.rolled_back;
        self.skipped += more.skipped;
        self.unmatched += more.unmatched;
        self.begun_again += more.begun_again;
    }
}

/// Tries of a transaction before its conflict is an error.
pub const MOST_TRIES: u32 = 1000;

/// The end of a transaction's body, with its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionEnd<T> {
    /// All of it takes effect.
    Commit(T),
    /// The application undoes all of it: neither a transaction nor a retry.
    Rollback(T),
}

/// Runs `body` in a writing transaction until it ends without a conflict, at most [`MOST_TRIES`]
/// times. It waits longer before each retry, so that clients do not clash in step.
pub fn run_transaction<T>(
    session: &mut dyn Session,
    tally: &mut OperationTally,
    mut body: impl FnMut(&mut dyn Session) -> Result<TransactionEnd<T>>,
) -> Result<T> {
    let mut committed = false;
    let answer = retry_conflicts(session, tally, |session| {
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

/// Repeats as [`run_transaction`] does, and rolls failed attempts back.
fn retry_conflicts<T>(
    session: &mut dyn Session,
    tally: &mut OperationTally,
    mut attempt: impl FnMut(&mut dyn Session) -> Result<T>,
) -> Result<T> {
    for tries in 1.. {
        let error = match attempt(session) {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let _ = session.rollback();
        if !matches!(error, Error::Conflict(_)) || tries == MOST_TRIES {
            return Err(error);
        }
        tally.retries += 1;
        wait_before_retry(tries);
    }
    unreachable!("the loop ends by returning")
}

/// Waits longer before each retry of a transaction, so that clients do not clash in step.
pub fn wait_before_retry(tries: u32) {
    if tries > 1 {
        let longest = 50u64 << tries.min(7);
        std::thread::sleep(std::time::Duration::from_micros(rand::random_range(0..longest)));
    }
}

/// All workloads that are written in Rust, in the order of lists.
pub static WORKLOADS: &[&dyn Workload] =
    &[&redmine::Redmine, &oltp::Oltp, &text_oltp::TextOltp, &vote::Vote, &ledger::Ledger];

/// The one of [`WORKLOADS`] of that name.
pub fn find_workload(name: &str) -> Option<&'static dyn Workload> {
    WORKLOADS.iter().copied().find(|workload| workload.name() == name)
}
