//! A client of `vote`: visitors, one after the other.
//!
//! Half of those who come are new and get a session. The others have a cookie: of a session that this
//! client has made, or of one that was there before, where there are any. One request in ten is a vote of
//! whoever has come last, half of the time for one of the nine that the last page has shown.

use std::collections::VecDeque;
use std::fmt::Display;

use bakeoff_engines::{Error, Result, Rows, Session};
use rand::RngExt;

use super::sessions::{START, origin, write_uuid};
use super::tables::{ENTRIES, ID};
use super::{PAGE, Poll, VOTE, page};
use crate::sent::{Sender, send};
use crate::{Client, End, Random, Tally, transaction};

/// One request in so many is a vote.
const VOTES: u32 = 10;
/// How many of its own sessions a client remembers: the latest.
const REMEMBERED: usize = 256;
/// Between two visitors of a client, in microseconds.
const APART: i64 = 1_000_000;

/// One client.
pub struct Visitor<'a> {
    poll: &'a Poll,
    random: Random,
    /// How many more may come who are new; `None` without a limit.
    newcomers: Option<u64>,
    /// The sessions that it has made.
    own: VecDeque<u128>,
    /// Whose page is the latest, and whether there is a session of that name.
    uuid: String,
    is_known: bool,
    address: String,
    at: i64,
    best: Rows,
    row: Rows,
    page: String,
}

/// Who comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    /// Somebody without a session, who gets one of these bits.
    New(u128),
    /// Somebody whose cookie has the name of a session that is there.
    Known,
    /// Somebody whose cookie has a name that nobody knows.
    Unknown,
}

impl<'a> Visitor<'a> {
    /// A client that makes so many sessions at most.
    pub fn new(poll: &'a Poll, random: Random, newcomers: Option<u64>) -> Self {
        Self {
            poll,
            random,
            newcomers,
            own: VecDeque::new(),
            uuid: String::new(),
            is_known: false,
            address: String::new(),
            at: START,
            best: page::constants(),
            row: Rows::new(),
            page: String::new(),
        }
    }

    /// Draws who comes next, and puts the name of the session into `uuid`.
    fn who(&mut self) -> Who {
        let there = self.poll.sessions;
        let keeps = self.poll.asks.changes.is_some();
        let has_any = there.count > 0 || !self.own.is_empty();
        let may_be_new = keeps && self.newcomers != Some(0);
        if may_be_new && (!has_any || self.random.random_range(0..2) == 0) {
            let bits = self.random.random();
            write_uuid(bits, &mut self.uuid);
            return Who::New(bits);
        }
        let loaded =
            there.count > 0 && (self.own.is_empty() || self.random.random_range(0..2) == 0);
        match (loaded, self.own.len()) {
            (true, _) => {
                let number = self.random.random_range(0..there.count);
                there.uuid(number, &mut self.uuid);
                Who::Known
            }
            (false, 0) => {
                write_uuid(self.random.random(), &mut self.uuid);
                Who::Unknown
            }
            (false, own) => {
                let at = self.random.random_range(0..own);
                write_uuid(self.own[at], &mut self.uuid);
                Who::Known
            }
        }
    }

    /// A page for somebody.
    fn show(&mut self, session: &mut dyn Session, tally: &mut Tally) -> Result<()> {
        self.is_known = false;
        let who = self.who();
        self.at += APART;
        let agent = origin(&mut self.random, &mut self.address);
        send(session, tally, None, |sender| self.ask(sender, who, agent))?;
        if let Who::New(bits) = who {
            self.newcomers = self.newcomers.map(|left| left.saturating_sub(1));
            if self.own.len() == REMEMBERED {
                self.own.pop_front();
            }
            self.own.push_back(bits);
        }
        self.is_known = who != Who::Unknown;
        self.write(tally)
    }

    /// The statements of a page.
    fn ask(&mut self, sender: &mut Sender<'_>, who: Who, agent: &str) -> Result<()> {
        let (asks, row) = (&self.poll.asks, &mut self.row);
        let Some(reads) = asks.reads else { return Ok(()) };
        let (uuid, address) = (&*self.uuid, &*self.address);
        let mut is_there = false;
        if !matches!(who, Who::New(_)) {
            is_there = sender.read(reads.session, &[uuid.into()], row)? > 0;
            if !is_there && who == Who::Known {
                return Err(Error::engine(format!("session {uuid} is missing")));
            }
        }
        if let Some(changes) = asks.changes {
            let renewed = [self.at.into(), address.into(), agent.into(), uuid.into()];
            let added = [uuid.into(), self.at.into(), address.into(), agent.into(), 0.into()];
            if is_there {
                changed(sender.write(changes.renew, &renewed, row)?, "session", &uuid)?;
            } else {
                // The same client may have come to the same data before.
                match sender.write(changes.add, &added, row) {
                    Err(Error::Duplicate(_)) => sender.write(changes.renew, &renewed, row)?,
                    other => other?,
                };
            }
        }
        sender.read(reads.best, &[], &mut self.best).map(drop)
    }

    /// A vote of whoever has come last, and the page after it.
    fn vote(&mut self, session: &mut dyn Session, tally: &mut Tally) -> Result<()> {
        let asks = self.poll.asks;
        let (Some(reads), Some(changes)) = (asks.reads, asks.changes) else {
            return Err(Error::Usage("nobody votes at this step".into()));
        };
        let shown = self.random.random_range(0..2 * self.best.len().max(1));
        let any = self.random.random_range(1..=ENTRIES);
        let entry = (shown < self.best.len()).then(|| self.best.int(shown, ID)).flatten();
        let entry = entry.unwrap_or(any);
        let (uuid, row) = (&*self.uuid, &mut self.row);
        let rating = transaction(session, tally, |session| {
            changed(session.run(changes.vote, &[1.into(), entry.into()], row)?, "entry", &entry)?;
            session.run(changes.rating, &[entry.into()], row)?;
            let rating = row.int(0, 0);
            let rating =
                rating.ok_or_else(|| Error::engine(format!("entry {entry} is missing")))?;
            changed(session.run(changes.count, &[1.into(), uuid.into()], row)?, "session", &uuid)?;
            Ok(End::Commit(rating))
        })?;
        send(session, tally, None, |sender| {
            sender.read(reads.best, &[], &mut self.best).map(drop)
        })?;
        self.poll.shows(&self.best, entry, rating)?;
        self.write(tally)
    }

    fn write(&mut self, tally: &mut Tally) -> Result<()> {
        page::write(&self.uuid, &self.best, &mut self.page)?;
        tally.bytes += self.page.len() as u64;
        Ok(())
    }
}

/// A row was changed, or is missing.
fn changed(rows: u64, what: &str, which: &dyn Display) -> Result<()> {
    match rows {
        0 => Err(Error::engine(format!("{what} {which} is missing"))),
        _ => Ok(()),
    }
}

impl Client for Visitor<'_> {
    fn choose(&mut self) -> usize {
        let votes = self.poll.asks.changes.is_some() && self.is_known;
        if votes && self.random.random_range(0..VOTES) == 0 { VOTE } else { PAGE }
    }

    fn perform(
        &mut self,
        operation: usize,
        session: &mut dyn Session,
        tally: &mut Tally,
    ) -> Result<()> {
        match operation {
            PAGE => self.show(session, tally),
            VOTE => self.vote(session, tally),
            _ => Err(Error::Usage(format!("vote has no operation {operation}"))),
        }
    }
}
