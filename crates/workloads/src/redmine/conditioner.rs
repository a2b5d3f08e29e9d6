//! The client that runs a database's debts up without making it larger: it does what any client does,
//! and a few operations later deletes what that added, as Redmine deletes an issue with all that is
//! its own.

use std::collections::VecDeque;

use bakeoff_engines::{Error, Result, Session};

use super::client::{CREATE_ISSUE, PROCESS_ISSUES, Person};
use crate::{Client, Tally};

/// How many operations of a kind what one added stays: enough that it has left the pages that are
/// being written, and little beside the smallest scale.
const STAYS: usize = 5;

/// A client that deletes what it added.
pub struct Conditioner<'a> {
    person: Person<'a>,
    /// The issues that it created and has not deleted, the oldest first.
    created: VecDeque<i64>,
    /// Those that it processed, ten an operation, likewise.
    processed: VecDeque<Vec<i64>>,
}

impl<'a> Conditioner<'a> {
    /// Which works as `person` does.
    pub fn new(person: Person<'a>) -> Self {
        Self { person, created: VecDeque::new(), processed: VecDeque::new() }
    }

    fn create_issue(&mut self, session: &mut dyn Session, tally: &mut Tally) -> Result<()> {
        let issue = self.person.create_issue(session, tally)?;
        self.created.push_back(issue);
        if self.created.len() > STAYS
            && let Some(oldest) = self.created.pop_front()
        {
            self.person.application().delete_issue(session, tally, oldest)?;
        }
        Ok(())
    }

    fn process_issues(&mut self, session: &mut dyn Session, tally: &mut Tally) -> Result<()> {
        let issues = self.person.process_issues(session, tally)?;
        self.processed.push_back(issues);
        if self.processed.len() > STAYS
            && let Some(oldest) = self.processed.pop_front()
        {
            for issue in oldest {
                self.person.application().delete_changes(session, tally, issue)?;
            }
        }
        Ok(())
    }
}

impl Client for Conditioner<'_> {
    fn choose(&mut self) -> usize {
        self.person.choose()
    }

    fn perform(
        &mut self,
        operation: usize,
        session: &mut dyn Session,
        tally: &mut Tally,
    ) -> Result<()> {
        match operation {
            CREATE_ISSUE => self.create_issue(session, tally),
            PROCESS_ISSUES => self.process_issues(session, tally),
            _ => Err(Error::Usage(format!("redmine has no operation {operation}"))),
        }
    }
}
