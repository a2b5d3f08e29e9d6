//! The client that makes a database defer work without making it larger. It does what any client does,
//! and a few operations later deletes what the operation added, as Redmine deletes an issue with all that
//! belongs to it.

use std::collections::VecDeque;

use bakeoff_engines::{Result, Session};

use super::client::{CREATE_ISSUE, Person};
use crate::{OperationTally, WorkloadClient};

/// What an operation added stays for so many operations of its kind: enough that it has left the pages
/// that are being written, and little beside the smallest scale.
const STAYS: usize = 5;

/// A client that deletes what it added.
pub struct RedmineConditioner<'a> {
    person: Person<'a>,
    /// The issues of each operation's last runs, the oldest run first.
    runs: [VecDeque<Vec<i64>>; 2],
}

impl<'a> RedmineConditioner<'a> {
    /// A client that works as `person` does.
    pub fn new(person: Person<'a>) -> Self {
        Self { person, runs: Default::default() }
    }
}

impl WorkloadClient for RedmineConditioner<'_> {
    fn choose(&mut self) -> usize {
        self.person.choose()
    }

    fn perform(
        &mut self,
        operation: usize,
        session: &mut dyn Session,
        tally: &mut OperationTally,
    ) -> Result<()> {
        let issues = self.person.operate(operation, session, tally)?;
        let runs = &mut self.runs[operation];
        runs.push_back(issues);
        let oldest = if runs.len() > STAYS { runs.pop_front() } else { None };
        let application = self.person.application();
        oldest.into_iter().flatten().try_for_each(|issue| match operation {
            CREATE_ISSUE => application.delete_issue(session, tally, issue),
            _ => application.delete_changes(session, tally, issue),
        })
    }
}
