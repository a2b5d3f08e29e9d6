//! A client of `vote`: visitors, one after the other. One request in ten is a vote of whoever has come last,
//! half of the time for one of the nine that the last page has shown.

use bakeoff_engines::{Error, Result, Rows, Session};
use rand::RngExt;

use super::guests::{GuestKind, Guests};
use super::sessions::{START, origin};
use super::tables::{ENTRIES, ID, changed, shown};
use super::{PAGE, Poll, VOTE, VOTES, page};
use crate::sent::{Sender, send};
use crate::{OperationTally, WorkloadClient, WorkloadRandom};

/// Between two visitors of a client, in microseconds.
const APART: i64 = 1_000_000;

/// One client.
pub struct VoteClient<'a> {
    poll: &'a Poll,
    random: WorkloadRandom,
    guests: Guests,
    /// Whose page is the latest, and whether there is a session of that name.
    uuid: String,
    is_known: bool,
    address: String,
    at: i64,
    best: Rows,
    row: Rows,
    page: String,
}

impl<'a> VoteClient<'a> {
    /// A client that makes so many sessions at most.
    pub fn new(poll: &'a Poll, random: WorkloadRandom, newcomers: Option<u64>) -> Self {
        Self {
            poll,
            random,
            guests: Guests::new(poll.sessions, poll.asks.changes.is_some(), newcomers),
            uuid: String::new(),
            is_known: false,
            address: String::new(),
            at: START,
            best: page::constants(),
            row: Rows::new(),
            page: String::new(),
        }
    }

    /// A page for somebody.
    fn show(&mut self, session: &mut dyn Session, tally: &mut OperationTally) -> Result<()> {
        self.is_known = false;
        let who = self.guests.next(&mut self.random, &mut self.uuid);
        self.at += APART;
        let agent = origin(&mut self.random, &mut self.address);
        send(session, tally, None, |sender| self.ask(sender, who, agent))?;
        if let GuestKind::New(bits) = who {
            self.guests.came(bits);
        }
        self.is_known = who != GuestKind::Unknown;
        self.write(tally)
    }

    /// The statements of a page.
    fn ask(&mut self, sender: &mut Sender<'_>, who: GuestKind, agent: &str) -> Result<()> {
        let (asks, row) = (&self.poll.asks, &mut self.row);
        let Some(reads) = asks.reads else { return Ok(()) };
        let (uuid, address) = (&*self.uuid, &*self.address);
        let mut is_there = false;
        if !matches!(who, GuestKind::New(_)) {
            is_there = sender.read(reads.session, &[uuid.into()], row)? > 0;
            if !is_there && who == GuestKind::Known {
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
    fn vote(&mut self, session: &mut dyn Session, tally: &mut OperationTally) -> Result<()> {
        let asks = self.poll.asks;
        let (Some(reads), Some(changes)) = (asks.reads, asks.changes) else {
            return Err(Error::Usage("nobody votes at this step".into()));
        };
        let at = self.random.random_range(0..2 * self.best.len().max(1));
        let any = self.random.random_range(1..=ENTRIES);
        let entry = (at < self.best.len()).then(|| self.best.int(at, ID)).flatten();
        let entry = entry.unwrap_or(any);
        let rating = changes.cast(session, tally, entry, &self.uuid, &mut self.row)?;
        send(session, tally, None, |sender| {
            sender.read(reads.best, &[], &mut self.best).map(drop)
        })?;
        self.poll.shows(shown(&self.best), entry, rating)?;
        self.write(tally)
    }

    fn write(&mut self, tally: &mut OperationTally) -> Result<()> {
        page::write(page::PageVisitor::Known(&self.uuid), &self.best, &mut self.page)?;
        tally.bytes += self.page.len() as u64;
        Ok(())
    }
}

impl WorkloadClient for VoteClient<'_> {
    fn choose(&mut self) -> usize {
        let votes = self.poll.asks.changes.is_some() && self.is_known;
        if votes && self.random.random_range(0..VOTES) == 0 { VOTE } else { PAGE }
    }

    fn perform(
        &mut self,
        operation: usize,
        session: &mut dyn Session,
        tally: &mut OperationTally,
    ) -> Result<()> {
        match operation {
            PAGE => self.show(session, tally),
            VOTE => self.vote(session, tally),
            _ => Err(Error::Usage(format!("vote has no operation {operation}"))),
        }
    }
}
