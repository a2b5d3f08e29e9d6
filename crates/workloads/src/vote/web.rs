//! The page over HTTP: a worker of the web server, and visitors who check its answers.

use bakeoff_engines::{Error, Result, Rows, Session};
use rand::RngExt;

use super::guests::{GuestKind, GuestPool};
use super::page::{self, PageVisitor};
use super::sessions::{draw_origin, write_uuid};
use super::tables::{ENTRIES, PageStatementNumbers, VoteStatementNumbers, check_changed};
use super::{PAGE, VOTE, VOTES, VoteWorkload};
use crate::sender::{Sender, send_statements};
use crate::site::{SiteReply, SiteRequest, SiteWorker, Visits};
use crate::{OperationTally, WorkloadRandom, seed_stream};

const COOKIE: &str = "session=";
/// The entry's number follows.
const VOTE_PATH: &str = "/vote?id=";
/// The random stream of session names that workers draw.
const OF_WORKERS: u64 = 0x776f_726b_6572_7321;

pub struct VoteWorker<'a> {
    poll: &'a VoteWorkload,
    random: WorkloadRandom,
    uuid: String,
    best: Rows,
    row: Rows,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FoundSession {
    Known,
    New,
    Unknown,
}

impl<'a> VoteWorker<'a> {
    pub fn new(poll: &'a VoteWorkload, number: usize) -> Self {
        let random = seed_stream(poll.seed ^ OF_WORKERS, number as u64);
        let (uuid, row) = (String::new(), Rows::new());
        Self { poll, random, uuid, best: page::make_constants(), row }
    }

    /// Keeps the session, as far as the step goes, and reads the best nine.
    fn run_page(
        &mut self,
        sender: &mut Sender<'_>,
        request: &SiteRequest<'_>,
    ) -> Result<FoundSession> {
        let Some(reads) = self.poll.asks.reads else { return Ok(FoundSession::Unknown) };
        let mut found = FoundSession::Unknown;
        if let Some(uuid) = session_of(request.cookie) {
            self.uuid.clear();
            self.uuid.push_str(uuid);
            if sender.read(reads.session, &[uuid.into()], &mut self.row)? > 0 {
                found = FoundSession::Known;
            }
        }
        if let Some(changes) = self.poll.asks.changes {
            match found {
                FoundSession::Known => self.renew_session(sender, request, &changes)?,
                FoundSession::New | FoundSession::Unknown => {
                    self.add_session(sender, request, &changes)?;
                    found = FoundSession::New;
                }
            }
        }
        sender.read(reads.best, &[], &mut self.best)?;
        Ok(found)
    }

    fn renew_session(
        &mut self,
        sender: &mut Sender<'_>,
        request: &SiteRequest<'_>,
        changes: &VoteStatementNumbers,
    ) -> Result<()> {
        let SiteRequest { at_us, address, agent, .. } = *request;
        let uuid = &*self.uuid;
        let values = [at_us.into(), address.into(), agent.into(), uuid.into()];
        check_changed(sender.write(changes.renew, &values, &mut self.row)?, "session", &uuid)
    }

    fn add_session(
        &mut self,
        sender: &mut Sender<'_>,
        request: &SiteRequest<'_>,
        changes: &VoteStatementNumbers,
    ) -> Result<()> {
        write_uuid(self.random.random(), &mut self.uuid);
        let SiteRequest { at_us, address, agent, .. } = *request;
        let values = [(&*self.uuid).into(), at_us.into(), address.into(), agent.into(), 0.into()];
        match sender.write(changes.add, &values, &mut self.row) {
            // This worker may have come to the same data before.
            Err(Error::Duplicate(_)) => self.renew_session(sender, request, changes),
            other => other.map(drop),
        }
    }

    fn cast_vote(
        &mut self,
        request: &SiteRequest<'_>,
        entry: i64,
        (reads, changes): (PageStatementNumbers, VoteStatementNumbers),
        (session, tally): (&mut dyn Session, &mut OperationTally),
    ) -> Result<i64> {
        let uuid = session_of(request.cookie);
        let uuid = uuid.ok_or_else(|| Error::from_engine("a vote has no session"))?;
        let rating = changes.cast_vote(session, tally, entry, uuid, &mut self.row)?;
        send_statements(session, tally, None, |sender| {
            sender.read(reads.best, &[], &mut self.best).map(drop)
        })?;
        Ok(rating)
    }
}

fn session_of(cookie: &str) -> Option<&str> {
    let value = cookie.split(';').find_map(|it| it.trim().strip_prefix(COOKIE))?;
    let is_uuid = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    (value.len() == 36 && value.bytes().all(is_uuid)).then_some(value)
}

fn entry_of(target: &str) -> Option<i64> {
    target.strip_prefix(VOTE_PATH)?.parse().ok()
}

impl SiteWorker for VoteWorker<'_> {
    fn answer_request(
        &mut self,
        request: &SiteRequest<'_>,
        session: &mut dyn Session,
        tally: &mut OperationTally,
        reply: &mut SiteReply,
    ) -> Result<()> {
        (reply.status, reply.cookie) = (200, None);
        let asks = self.poll.asks;
        match (request.posts, request.target) {
            (false, "/") => {
                let mut found = FoundSession::Unknown;
                send_statements(session, tally, None, |sender| {
                    found = self.run_page(sender, request)?;
                    Ok(())
                })?;
                let visitor = match found {
                    FoundSession::Known => PageVisitor::Known(&self.uuid),
                    FoundSession::New => PageVisitor::New(&self.uuid),
                    FoundSession::Unknown => PageVisitor::Unknown,
                };
                reply.cookie =
                    (found == FoundSession::New).then(|| format!("{COOKIE}{}", self.uuid));
                page::write_page(visitor, &self.best, &mut reply.body)
            }
            (true, target) => {
                let (Some(entry), Some(reads), Some(changes)) =
                    (entry_of(target), asks.reads, asks.changes)
                else {
                    reply.status = 404;
                    reply.body = "there is nothing to vote for".into();
                    return Ok(());
                };
                let rating = self.cast_vote(request, entry, (reads, changes), (session, tally))?;
                let uuid = session_of(request.cookie).unwrap_or_default();
                page::write_page(PageVisitor::Known(uuid), &self.best, &mut reply.body)?;
                page::add_vote(entry, rating, &mut reply.body);
                Ok(())
            }
            (false, _) => {
                reply.status = 404;
                reply.body = "there is no such page".into();
                Ok(())
            }
        }
    }
}

pub struct WebVisitors<'a> {
    poll: &'a VoteWorkload,
    random: WorkloadRandom,
    guests: GuestPool,
    who: GuestKind,
    uuid: String,
    is_known: bool,
    address: String,
    agent: &'static str,
    shown: Vec<i64>,
    entry: i64,
    /// The last vote, which the next page must show: the entry and its rating.
    cast: Option<(i64, i64)>,
}

impl<'a> WebVisitors<'a> {
    pub fn new(poll: &'a VoteWorkload, random: WorkloadRandom) -> Self {
        Self {
            poll,
            random,
            guests: GuestPool::new(poll.sessions, poll.asks.changes.is_some(), None),
            who: GuestKind::Unknown,
            uuid: String::new(),
            is_known: false,
            address: String::new(),
            agent: "",
            shown: Vec::new(),
            entry: 0,
            cast: None,
        }
    }

    fn draw_entry(&mut self) -> i64 {
        let at = self.random.random_range(0..2 * self.shown.len().max(1));
        let any = self.random.random_range(1..=ENTRIES);
        self.shown.get(at).copied().unwrap_or(any)
    }

    fn is_theirs(&mut self, visitor: PageVisitor<'_>) -> std::result::Result<(), String> {
        if self.poll.asks.reads.is_none() {
            return Ok(());
        }
        match (self.who, visitor) {
            (GuestKind::New(_), PageVisitor::New(uuid)) => {
                let bits = u128::from_str_radix(&uuid.replace('-', ""), 16);
                self.guests
                    .remember_session(bits.map_err(|_| format!("{uuid} is no name of a session"))?);
                self.uuid.clear();
                self.uuid.push_str(uuid);
                Ok(())
            }
            (GuestKind::Known, PageVisitor::Known(uuid)) if uuid == self.uuid => Ok(()),
            (GuestKind::Unknown, PageVisitor::Unknown) => Ok(()),
            (GuestKind::Known, PageVisitor::New(_) | PageVisitor::Unknown) => {
                Err(format!("session {} is missing", self.uuid))
            }
            (_, other) => Err(format!("the page is somebody else's: {other}")),
        }
    }

    fn check_vote(&mut self, vote: Option<(i64, i64)>) -> std::result::Result<(i64, i64), String> {
        match vote {
            Some((entry, rating)) if entry == self.entry => {
                self.cast = vote;
                Ok((entry, rating))
            }
            _ => Err(format!("the page does not tell the vote for entry {}", self.entry)),
        }
    }
}

impl Visits for WebVisitors<'_> {
    fn choose_operation(&mut self) -> usize {
        let votes = self.poll.asks.changes.is_some() && self.is_known;
        if votes && self.random.random_range(0..VOTES) == 0 { VOTE } else { PAGE }
    }

    fn write_request(&mut self, operation: usize, request: &mut Vec<u8>) {
        if operation == VOTE {
            self.entry = self.draw_entry();
        } else {
            self.is_known = false;
            self.who = self.guests.next(&mut self.random, &mut self.uuid);
            self.agent = draw_origin(&mut self.random, &mut self.address);
        }
        let has_cookie = operation == VOTE || !matches!(self.who, GuestKind::New(_));
        request.clear();
        let mut line = |parts: &[&str]| {
            parts.iter().for_each(|part| request.extend_from_slice(part.as_bytes()));
            request.extend_from_slice(b"\r\n");
        };
        match operation {
            VOTE => {
                line(&["POST ", VOTE_PATH, &self.entry.to_string(), " HTTP/1.1"]);
                line(&["Content-Length: 0"]);
            }
            _ => line(&["GET / HTTP/1.1"]),
        }
        line(&["Host: localhost"]);
        line(&["User-Agent: ", self.agent]);
        line(&["X-Forwarded-For: ", &self.address]);
        if has_cookie {
            line(&["Cookie: ", COOKIE, &self.uuid]);
        }
        line(&[]);
    }

    fn check_answer(&mut self, operation: usize, body: &[u8]) -> std::result::Result<(), String> {
        let read = page::read_page(body)?;
        self.shown.clear();
        self.shown.extend(read.best.iter().map(|(entry, _)| *entry));
        let must_show = if operation == VOTE {
            Some(self.check_vote(read.vote)?)
        } else {
            self.is_theirs(read.visitor)?;
            self.is_known = self.who != GuestKind::Unknown;
            self.cast.take()
        };
        let Some((entry, rating)) = must_show else { return Ok(()) };
        let shows = self.poll.check_shown(read.best.into_iter(), entry, rating);
        shows.map_err(|error| error.to_string())
    }
}
