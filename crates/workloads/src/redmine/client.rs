//! The two operations of the 2017 article, and who runs them on what.
//!
//! A client acts for users of its own (those whose number, divided by the number of clients,
//! leaves its own), one after the other in an order of its own, so that clients meet on the same
//! issue only by chance. With more clients than users, some share a user. Each client alternates
//! between the operations; every other client starts with the second, and the seed says which.
//!
//! Issues do not run out: all of them stay open and assigned, they only move from assignee to
//! author, and every other operation adds one. But a user's list may be short for a while, or
//! all those of a client's users when many clients share few users. Then the list goes on with
//! the next user, at last with anybody's, so that the operation always processes ten.

use bakeoff_engines::{Error, Result, Session};
use rand::RngExt;
use rand::seq::SliceRandom;

use super::people::{MEMBERS, ProjectMember, RedmineSize};
use super::rows::{COMMENTS, description, notes, subject};
use super::saves::{ApplicationProcess, Draft, IssueChange, ListedIssue};
use super::statements::LISTED;
use crate::{OperationTally, TextSource, WorkloadClient, WorkloadRandom};

pub(super) const CREATE_ISSUE: usize = 0;
const PROCESS_ISSUES: usize = 1;

/// A client.
pub struct Person<'a> {
    size: RedmineSize,
    text: &'a TextSource,
    application: ApplicationProcess<'a>,
    random: WorkloadRandom,
    /// All users; the first `own` are those for whom it acts, in turn.
    users: Vec<i64>,
    own: usize,
    turn: usize,
    operation: usize,
}

impl<'a> Person<'a> {
    /// Client `number` of so many, which begins with the operation `first` modulo two.
    pub fn new(
        size: RedmineSize,
        text: &'a TextSource,
        numbers: &'a [String],
        mut random: WorkloadRandom,
        (number, clients): (usize, usize),
        first: usize,
    ) -> Self {
        let everybody = size.users as usize;
        let groups = clients.min(everybody);
        let mut users: Vec<i64> = (1..=size.users).collect();
        users.shuffle(&mut random);
        users.sort_by_key(|user| *user as usize % groups != number % groups);
        let own = (1..=everybody).filter(|user| user % groups == number % groups).count();
        let application = ApplicationProcess::new(numbers);
        Self { size, text, application, random, users, own, turn: 0, operation: first % 2 }
    }

    /// What it sends its saves through.
    pub(super) fn application(&mut self) -> &mut ApplicationProcess<'a> {
        &mut self.application
    }

    fn next_user(&mut self) -> i64 {
        self.turn += 1;
        self.users[self.turn % self.own]
    }

    /// Runs an operation; the numbers of the issues that it created or changed.
    pub(super) fn operate(
        &mut self,
        operation: usize,
        session: &mut dyn Session,
        tally: &mut OperationTally,
    ) -> Result<Vec<i64>> {
        match operation {
            CREATE_ISSUE => Ok(vec![self.create_issue(session, tally)?]),
            PROCESS_ISSUES => self.process_issues(session, tally),
            _ => Err(Error::Usage(format!("redmine has no operation {operation}"))),
        }
    }

    /// Somebody creates an issue for another member of a project, and others comment on it; its
    /// number.
    fn create_issue(
        &mut self,
        session: &mut dyn Session,
        tally: &mut OperationTally,
    ) -> Result<i64> {
        let user = self.next_user();
        let author = self.size.membership(user, self.random.random_range(0..1 << 20));
        let other = self.random.random_range(1..MEMBERS);
        let draft = Draft {
            author,
            assignee: self.size.member(author.project, author.place + other).user,
            subject: subject(self.text, &mut self.random),
            description: description(self.text, &mut self.random),
        };
        let issue = self.application.create(session, tally, &draft)?;
        for number in 0..COMMENTS {
            let member = author.commentator(&self.size, number);
            let notes = notes(self.text, &mut self.random);
            self.application.comment(session, tally, issue, member, notes)?;
        }
        Ok(issue)
    }

    /// Somebody lists ten of his or her issues, starts each, and gives it back resolved; their
    /// numbers.
    fn process_issues(
        &mut self,
        session: &mut dyn Session,
        tally: &mut OperationTally,
    ) -> Result<Vec<i64>> {
        let assigned = self.assigned_issues(session)?;
        for (issue, member) in assigned {
            self.application.change(session, tally, issue, member, IssueChange::Start)?;
            self.application.change(session, tally, issue, member, IssueChange::Resolve)?;
        }
        Ok(assigned.map(|(issue, _)| issue).into())
    }

    /// Ten issues and to whom they are assigned: if possible the same user.
    fn assigned_issues(
        &mut self,
        session: &mut dyn Session,
    ) -> Result<[(i64, ProjectMember); LISTED]> {
        let mut list = [ListedIssue::default(); LISTED];
        let mut users = [0; LISTED];
        let mut count = 0;
        for tries in 0..self.users.len() {
            let user = match self.users.len() - self.own {
                others if tries >= self.own => self.users[self.own + (self.turn + tries) % others],
                _ => self.next_user(),
            };
            let before = count;
            count = self.application.list(session, user, &mut list, before)?;
            users[before..count].fill(user);
            if count == LISTED {
                return Ok(std::array::from_fn(|at| {
                    let ListedIssue { issue, project } = list[at];
                    (issue, self.size.as_member(users[at], project))
                }));
            }
        }
        Err(Error::engine(format!(
            "only {count} open issues are assigned to anybody, where {LISTED} are needed: \
             was the database loaded?"
        )))
    }
}

impl WorkloadClient for Person<'_> {
    fn choose(&mut self) -> usize {
        let chosen = self.operation;
        self.operation = CREATE_ISSUE + PROCESS_ISSUES - chosen;
        chosen
    }

    fn perform(
        &mut self,
        operation: usize,
        session: &mut dyn Session,
        tally: &mut OperationTally,
    ) -> Result<()> {
        self.operate(operation, session, tally).map(drop)
    }
}
