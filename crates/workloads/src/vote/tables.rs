//! The tables of `vote`, the rows of its entries, and its statements.

use std::fmt::Display;

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::statement::ReadOrder;
use bakeoff_engines::{Error, Result, Rows, Schema, Session};
use rand::RngExt;

use super::PageStep;
use crate::{
    DeclaredStatements, OperationTally, Take, TextSource, TransactionEnd, on, stream, transaction,
};

/// How many entries there are.
pub const ENTRIES: i64 = 16_000;
/// How many of them a page shows.
pub const BEST: usize = 9;
/// The columns of what a page reads of an entry.
pub const ID: usize = 0;
pub const NAME: usize = 1;
pub const RATING: usize = 2;
/// Ratings that entries are loaded with: so few that the best are close to each other, and votes change
/// which they are.
const RATINGS: i64 = 1_000;
/// Bytes of an entry's name, at most.
const LONGEST: usize = 40;
/// The streams of ratings and of names.
const OF_RATINGS: u64 = 1;
const OF_NAMES: u64 = 2;

/// Both tables.
pub fn schema() -> Schema {
    let entries = Table::new("entries")
        .key_column("id", Type::Int)
        .column("name", Type::STRING)
        .column("rating", Type::Int)
        .index(&["rating"]);
    let sessions = Table::new("sessions")
        .key_column("uuid", Type::Text { most: 36 })
        .column("seen_at", Type::Int)
        .column("address", Type::Text { most: 45 })
        .column("agent", Type::STRING)
        .column("votes", Type::Int);
    Schema { tables: vec![entries, sessions] }
}

/// The ratings that entries are loaded with, in the order of these.
pub fn ratings(seed: u64) -> impl Iterator<Item = i64> {
    let mut random = stream(seed, OF_RATINGS);
    (0..ENTRIES).map(move |_| random.random_range(0..RATINGS))
}

/// Gives the entries.
pub fn entries(seed: u64, text: &TextSource, row: &mut Take<'_>) -> Result<()> {
    let mut random = stream(seed, OF_NAMES);
    (1..=ENTRIES).zip(ratings(seed)).try_for_each(|(id, rating)| {
        let name = text.cut_line(&mut random, LONGEST);
        row(&[id.into(), name.into(), rating.into()])
    })
}

/// The numbers of the statements that a page reads with.
#[derive(Clone, Copy, Debug)]
pub struct PageStatementNumbers {
    pub session: usize,
    pub best: usize,
}

/// The numbers of the statements that keep sessions and cast votes, and of those that add up what they did.
#[derive(Clone, Copy, Debug)]
pub struct VoteStatementNumbers {
    pub add: usize,
    pub renew: usize,
    pub vote: usize,
    pub rating: usize,
    pub count: usize,
    pub ratings: usize,
    pub votes: usize,
}

impl VoteStatementNumbers {
    /// Casts a vote of a session for an entry, in one transaction; the rating that the entry then has.
    ///
    /// # Errors
    /// The engine's own; the entry or the session is missing.
    pub fn cast(
        &self,
        session: &mut dyn Session,
        tally: &mut OperationTally,
        entry: i64,
        uuid: &str,
        row: &mut Rows,
    ) -> Result<i64> {
        transaction(session, tally, |session| {
            changed(session.run(self.vote, &[1.into(), entry.into()], row)?, "entry", &entry)?;
            session.run(self.rating, &[entry.into()], row)?;
            let rating = row.int(0, 0);
            let rating =
                rating.ok_or_else(|| Error::engine(format!("entry {entry} is missing")))?;
            changed(session.run(self.count, &[1.into(), uuid.into()], row)?, "session", &uuid)?;
            Ok(TransactionEnd::Commit(rating))
        })
    }
}

/// A row was changed, or is missing.
///
/// # Errors
/// It is missing.
pub fn changed(rows: u64, what: &str, which: &dyn Display) -> Result<()> {
    match rows {
        0 => Err(Error::engine(format!("{what} {which} is missing"))),
        _ => Ok(()),
    }
}

/// The entries that a page shows, and the rating of each.
pub fn shown(best: &Rows) -> impl Iterator<Item = (i64, i64)> {
    (0..best.len()).filter_map(|row| Some((best.int(row, ID)?, best.int(row, RATING)?)))
}

/// The statements of a step. A connection prepares those of its step alone.
#[derive(Clone, Copy, Debug)]
pub struct StepStatements {
    pub reads: Option<PageStatementNumbers>,
    pub changes: Option<VoteStatementNumbers>,
}

impl StepStatements {
    /// Declares them.
    pub fn declare(schema: &Schema, statements: &mut DeclaredStatements, step: PageStep) -> Self {
        let (entries, sessions) = (on(schema, "entries"), on(schema, "sessions"));
        let reads = (step >= PageStep::Read).then(|| PageStatementNumbers {
            session: statements.add("session by uuid", sessions.one()),
            best: statements.add(
                "the best nine",
                entries.index(&["rating"], 0).order(ReadOrder::Descending).limit(BEST as u32),
            ),
        });
        let changes = (step >= PageStep::ReadWrite).then(|| VoteStatementNumbers {
            add: statements.add("add session", sessions.insert()),
            renew: statements
                .add("renew session", sessions.update(&["seen_at", "address", "agent"])),
            vote: statements.add("vote for entry", entries.update(&[]).plus("rating")),
            rating: statements.add("rating of entry", entries.one().columns(&["rating"])),
            count: statements.add("count vote of session", sessions.update(&[]).plus("votes")),
            ratings: statements.add("sum of ratings", entries.key(0).sum("rating")),
            votes: statements.add("sum of votes", sessions.key(0).sum("votes")),
        });
        Self { reads, changes }
    }
}
