//! The two operations of the 2017 article, and who runs them.
//!
//! Each client acts for users of its own (user number modulo clients), so that clients seldom meet
//! on an issue. Clients alternate between the operations; every other one starts with the second.
//!
//! Issues stay open and assigned, and every other operation adds one, so they do not run out. If a
//! user has fewer than ten, the list goes on with the next user, at last with anybody's.

use bakeoff_engines::{Error, Result, Session};
use rand::RngExt;
use rand::seq::SliceRandom;

use super::people::{MEMBERS, ProjectMember, RedmineSize};
use super::rows::{COMMENTS, draw_description, draw_notes, draw_subject};
use super::saves::{ApplicationProcess, Draft, IssueChange, ListedIssue};
use super::statements::LISTED;
use crate::{OperationTally, TextSource, WorkloadClient, WorkloadRandom};

pub(super) const CREATE_ISSUE: usize = 0;
const PROCESS_ISSUES: usize = 1;

pub struct RedmineClient<'a> {
    size: RedmineSize,
    text: &'a TextSource,
    application: ApplicationProcess<'a>,
    random: WorkloadRandom,
    /// The first `own` are those for whom this client acts, in turn.
    users: Vec<i64>,
    own: usize,
    turn: usize,
    operation: usize,
}

impl<'a> RedmineClient<'a> {
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

    pub(super) fn application(&mut self) -> &mut ApplicationProcess<'a> {
        &mut self.application
    }

    fn next_user(&mut self) -> i64 {
        self.turn += 1;
        self.users[self.turn % self.own]
    }

    pub(super) fn run_on_issues(
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

    /// Creates an issue for another member of a project; others comment on it.
    fn create_issue(
        &mut self,
        session: &mut dyn Session,
        tally: &mut OperationTally,
    ) -> Result<i64> {
        let user = self.next_user();
        let author = self.size.membership_at(user, self.random.random_range(0..1 << 20));
        let other = self.random.random_range(1..MEMBERS);
        let draft = Draft {
            author,
            assignee: self.size.member_at(author.project, author.place + other).user,
            subject: draw_subject(self.text, &mut self.random),
            description: draw_description(self.text, &mut self.random),
        };
        let issue = self.application.create_issue(session, tally, &draft)?;
        for number in 0..COMMENTS {
            let member = author.choose_commentator(&self.size, number);
            let notes = draw_notes(self.text, &mut self.random);
            self.application.add_comment(session, tally, issue, member, notes)?;
        }
        Ok(issue)
    }

    /// Lists ten issues, starts each, and gives it back resolved.
    fn process_issues(
        &mut self,
        session: &mut dyn Session,
        tally: &mut OperationTally,
    ) -> Result<Vec<i64>> {
        let assigned = self.assigned_issues(session)?;
        for (issue, member) in assigned {
            self.application.change_issue(session, tally, issue, member, IssueChange::Start)?;
            self.application.change_issue(session, tally, issue, member, IssueChange::Resolve)?;
        }
        Ok(assigned.map(|(issue, _)| issue).into())
    }

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
            count = self.application.list_issues(session, user, &mut list, before)?;
            users[before..count].fill(user);
            if count == LISTED {
                return Ok(std::array::from_fn(|at| {
                    let ListedIssue { issue, project } = list[at];
                    (issue, self.size.as_member(users[at], project))
                }));
            }
        }
        Err(Error::from_engine(format!(
            "only {count} open issues are assigned to anybody, where {LISTED} are needed: \
             was the database loaded?"
        )))
    }
}

impl WorkloadClient for RedmineClient<'_> {
    fn choose_operation(&mut self) -> usize {
        let chosen = self.operation;
        self.operation = CREATE_ISSUE + PROCESS_ISSUES - chosen;
        chosen
    }

    fn run_operation(
        &mut self,
        operation: usize,
        session: &mut dyn Session,
        tally: &mut OperationTally,
    ) -> Result<()> {
        self.run_on_issues(operation, session, tally).map(drop)
    }
}
