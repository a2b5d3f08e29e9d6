//! A client of `vote`: visitors, one after the other. One request in ten is a vote of the last
//! visitor, half of the time for one of the nine shown.

use bakeoff_engines::{Error, Result, Rows, Session};
use rand::RngExt;

use super::guests::{GuestKind, GuestPool};
use super::sessions::{START, draw_origin};
use super::tables::{ENTRIES, ID, check_changed, list_shown};
use super::{PAGE, VOTE, VOTES, VoteWorkload, page};
use crate::sender::{Sender, send_statements};
use crate::{OperationTally, WorkloadClient, WorkloadRandom};

const APART: i64 = 1_000_000;

pub struct VoteClient<'a> {
    poll: &'a VoteWorkload,
    random: WorkloadRandom,
    guests: GuestPool,
    uuid: String,
    is_known: bool,
    address: String,
    at: i64,
    best: Rows,
    row: Rows,
    page: String,
}

impl<'a> VoteClient<'a> {
    pub fn new(poll: &'a VoteWorkload, random: WorkloadRandom, newcomers: Option<u64>) -> Self {
        Self {
            poll,
            random,
            guests: GuestPool::new(poll.sessions, poll.asks.changes.is_some(), newcomers),
            uuid: String::new(),
            is_known: false,
            address: String::new(),
            at: START,
            best: page::make_constants(),
            row: Rows::new(),
            page: String::new(),
        }
    }

    fn show_page(&mut self, session: &mut dyn Session, tally: &mut OperationTally) -> Result<()> {
        self.is_known = false;
        let who = self.guests.next(&mut self.random, &mut self.uuid);
        self.at += APART;
        let agent = draw_origin(&mut self.random, &mut self.address);
        send_statements(session, tally, None, |sender| self.run_page(sender, who, agent))?;
        if let GuestKind::New(bits) = who {
            self.guests.remember_session(bits);
        }
        self.is_known = who != GuestKind::Unknown;
        self.write_page(tally)
    }

    fn run_page(&mut self, sender: &mut Sender<'_>, who: GuestKind, agent: &str) -> Result<()> {
        let (asks, row) = (&self.poll.asks, &mut self.row);
        let Some(reads) = asks.reads else { return Ok(()) };
        let (uuid, address) = (&*self.uuid, &*self.address);
        let mut is_there = false;
        if !matches!(who, GuestKind::New(_)) {
            is_there = sender.read(reads.session, &[uuid.into()], row)? > 0;
            if !is_there && who == GuestKind::Known {
                return Err(Error::from_engine(format!("session {uuid} is missing")));
            }
        }
        if let Some(changes) = asks.changes {
            let renewed = [self.at.into(), address.into(), agent.into(), uuid.into()];
            let added = [uuid.into(), self.at.into(), address.into(), agent.into(), 0.into()];
            if is_there {
                check_changed(sender.write(changes.renew, &renewed, row)?, "session", &uuid)?;
            } else {
                // This client may have come to the same data before.
                match sender.write(changes.add, &added, row) {
                    Err(Error::Duplicate(_)) => sender.write(changes.renew, &renewed, row)?,
                    other => other?,
                };
            }
        }
        sender.read(reads.best, &[], &mut self.best).map(drop)
    }

    fn cast_vote(&mut self, session: &mut dyn Session, tally: &mut OperationTally) -> Result<()> {
        let asks = self.poll.asks;
        let (Some(reads), Some(changes)) = (asks.reads, asks.changes) else {
            return Err(Error::Usage("nobody votes at this step".into()));
        };
        let at = self.random.random_range(0..2 * self.best.len().max(1));
        let any = self.random.random_range(1..=ENTRIES);
        let entry = (at < self.best.len()).then(|| self.best.get_int(at, ID)).flatten();
        let entry = entry.unwrap_or(any);
        let rating = changes.cast_vote(session, tally, entry, &self.uuid, &mut self.row)?;
        send_statements(session, tally, None, |sender| {
            sender.read(reads.best, &[], &mut self.best).map(drop)
        })?;
        self.poll.check_shown(list_shown(&self.best), entry, rating)?;
        self.write_page(tally)
    }

    fn write_page(&mut self, tally: &mut OperationTally) -> Result<()> {
        page::write_page(page::PageVisitor::Known(&self.uuid), &self.best, &mut self.page)?;
        tally.bytes += self.page.len() as u64;
        Ok(())
    }
}

impl WorkloadClient for VoteClient<'_> {
    fn choose_operation(&mut self) -> usize {
        let votes = self.poll.asks.changes.is_some() && self.is_known;
        if votes && self.random.random_range(0..VOTES) == 0 { VOTE } else { PAGE }
    }

    fn run_operation(
        &mut self,
        operation: usize,
        session: &mut dyn Session,
        tally: &mut OperationTally,
    ) -> Result<()> {
        match operation {
            PAGE => self.show_page(session, tally),
            VOTE => self.cast_vote(session, tally),
            _ => Err(Error::Usage(format!("vote has no operation {operation}"))),
        }
    }
}
