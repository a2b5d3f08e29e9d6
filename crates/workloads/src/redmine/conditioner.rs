//! Makes a database defer work without making it larger: works as any client, and deletes what an
//! operation added a few operations later.

use std::collections::VecDeque;

use bakeoff_engines::{Result, Session};

use super::client::{CREATE_ISSUE, RedmineClient};
use crate::{OperationTally, WorkloadClient};

/// How many operations later: the added rows have left the pages being written, and are few beside
/// the smallest scale.
const STAYS: usize = 5;

pub struct RedmineConditioner<'a> {
    person: RedmineClient<'a>,
    runs: [VecDeque<Vec<i64>>; 2],
}

impl<'a> RedmineConditioner<'a> {
    pub fn new(person: RedmineClient<'a>) -> Self {
        Self { person, runs: Default::default() }
    }
}

impl WorkloadClient for RedmineConditioner<'_> {
    fn choose_operation(&mut self) -> usize {
        self.person.choose_operation()
    }

    fn run_operation(
        &mut self,
        operation: usize,
        session: &mut dyn Session,
        tally: &mut OperationTally,
    ) -> Result<()> {
        let issues = self.person.run_on_issues(operation, session, tally)?;
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
