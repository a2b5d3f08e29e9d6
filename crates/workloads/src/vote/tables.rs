use std::fmt::Display;

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::statement::ReadOrder;
use bakeoff_engines::{Error, Result, Rows, Schema, Session};
use rand::RngExt;

use super::PageStep;
use crate::{
    DeclaredStatements, OperationTally, Take, TextSource, TransactionEnd, on_table,
    run_transaction, seed_stream,
};

pub const ENTRIES: i64 = 16_000;
pub const BEST: usize = 9;
pub const ID: usize = 0;
pub const NAME: usize = 1;
pub const RATING: usize = 2;
/// So few that the best are close together and votes change which they are.
const RATINGS: i64 = 1_000;
const LONGEST: usize = 40;
const OF_RATINGS: u64 = 1;
const OF_NAMES: u64 = 2;

pub fn declare_schema() -> Schema {
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

pub fn draw_ratings(seed: u64) -> impl Iterator<Item = i64> {
    let mut random = seed_stream(seed, OF_RATINGS);
    (0..ENTRIES).map(move |_| random.random_range(0..RATINGS))
}

pub fn give_entries(seed: u64, text: &TextSource, row: &mut Take<'_>) -> Result<()> {
    let mut random = seed_stream(seed, OF_NAMES);
    (1..=ENTRIES).zip(draw_ratings(seed)).try_for_each(|(id, rating)| {
        let name = text.cut_line(&mut random, LONGEST);
        row(&[id.into(), name.into(), rating.into()])
    })
}

#[derive(Clone, Copy, Debug)]
pub struct PageStatementNumbers {
    pub session: usize,
    pub best: usize,
}

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
    /// Casts a vote in one transaction and returns the entry's new rating.
    pub fn cast_vote(
        &self,
        session: &mut dyn Session,
        tally: &mut OperationTally,
        entry: i64,
        uuid: &str,
        row: &mut Rows,
    ) -> Result<i64> {
        run_transaction(session, tally, |session| {
            check_changed(
                session.run(self.vote, &[1.into(), entry.into()], row)?,
                "entry",
                &entry,
            )?;
            session.run(self.rating, &[entry.into()], row)?;
            let rating = row.get_int(0, 0);
            let rating =
                rating.ok_or_else(|| Error::from_engine(format!("entry {entry} is missing")))?;
            check_changed(
                session.run(self.count, &[1.into(), uuid.into()], row)?,
                "session",
                &uuid,
            )?;
            Ok(TransactionEnd::Commit(rating))
        })
    }
}

pub fn check_changed(rows: u64, what: &str, which: &dyn Display) -> Result<()> {
    match rows {
        0 => Err(Error::from_engine(format!("{what} {which} is missing"))),
        _ => Ok(()),
    }
}

pub fn list_shown(best: &Rows) -> impl Iterator<Item = (i64, i64)> {
    (0..best.len()).filter_map(|row| Some((best.get_int(row, ID)?, best.get_int(row, RATING)?)))
}

#[derive(Clone, Copy, Debug)]
pub struct StepStatements {
    pub reads: Option<PageStatementNumbers>,
    pub changes: Option<VoteStatementNumbers>,
}

impl StepStatements {
    pub fn declare(schema: &Schema, statements: &mut DeclaredStatements, step: PageStep) -> Self {
        let (entries, sessions) = (on_table(schema, "entries"), on_table(schema, "sessions"));
        let reads = (step >= PageStep::Read).then(|| PageStatementNumbers {
            session: statements.add("session by uuid", sessions.read_one()),
            best: statements.add(
                "the best nine",
                entries
                    .read_by_index(&["rating"], 0)
                    .order(ReadOrder::Descending)
                    .limit(BEST as u32),
            ),
        });
        let changes = (step >= PageStep::ReadWrite).then(|| VoteStatementNumbers {
            add: statements.add("add session", sessions.insert()),
            renew: statements
                .add("renew session", sessions.update(&["seen_at", "address", "agent"])),
            vote: statements.add("vote for entry", entries.update(&[]).plus("rating")),
            rating: statements.add("rating of entry", entries.read_one().columns(&["rating"])),
            count: statements.add("count vote of session", sessions.update(&[]).plus("votes")),
            ratings: statements.add("sum of ratings", entries.read_by_key(0).sum("rating")),
            votes: statements.add("sum of votes", sessions.read_by_key(0).sum("votes")),
        });
        Self { reads, changes }
    }
}
