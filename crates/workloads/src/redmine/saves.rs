//! The statements that Redmine sends for each save and for a list: look-ups, the transaction, and
//! all of it again if another user saved the issue in between.

use bakeoff_engines::Value::{Int, Null, Text as Words};
use bakeoff_engines::{Error, Result, Rows, Session, Value};

use super::configuration::{IN_PROGRESS, RESOLVED};
use super::people::{MEMBERS, ProjectMember};
use super::rows::ISSUE;
use super::schema::columns::{self, issues};
use super::statements::{Ask, FIELDS, LISTED, OPEN_STATUSES, TRACKERS};
use super::{END, SECOND};
use crate::{MOST_TRIES, OperationTally, TransactionEnd, run_transaction, wait_before_retry};

/// Microseconds that the application's clock advances with each save, as in Rails. It is not the
/// machine's clock, so that statements do not depend on how fast the engine is.
const A_SAVE: i64 = SECOND / 10;

pub struct ApplicationProcess<'a> {
    numbers: &'a [String],
    clock: i64,
    rows: Rows,
}

pub struct Draft<'a> {
    pub author: ProjectMember,
    pub assignee: i64,
    pub subject: &'a str,
    pub description: &'a str,
}

#[derive(Clone, Copy, Default)]
pub struct ListedIssue {
    pub issue: i64,
    pub project: i64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum IssueChange {
    Start,
    Resolve,
}

struct Issue {
    id: i64,
    tracker: i64,
    project: i64,
    status: i64,
    assignee: i64,
    author: i64,
    lock_version: i64,
    updated_on: i64,
}

impl<'a> ApplicationProcess<'a> {
    pub fn new(numbers: &'a [String]) -> Self {
        Self { numbers, clock: END, rows: Rows::new() }
    }

    pub fn create_issue(
        &mut self,
        session: &mut dyn Session,
        tally: &mut OperationTally,
        draft: &Draft<'_>,
    ) -> Result<i64> {
        let now = self.advance_clock();
        let tracker = self.first_tracker(session, draft.author.project)?;
        self.run_statement(session, Ask::DefaultPriority, &[Words("IssuePriority"), Int(1)])?;
        let priority = self.read_int(columns::ID, "default priority")?;
        self.run_statement(session, Ask::FirstStatus, &[])?;
        let status = self.read_int(columns::ID, "first status")?;
        self.run_statement(session, Ask::Status, &[Int(status)])?;
        run_transaction(session, tally, |session| {
            let Draft { author, assignee, subject, description } = *draft;
            self.load_permissions(session, author, tracker, 0)?;
            self.load_permissions(session, author, tracker, status)?;
            self.common_fields(session, author.project, tracker)?;
            self.run_statement(session, Ask::HasTracker, &[Int(author.project), Int(tracker)])?;
            let mut row = [Null; 24];
            row[issues::TRACKER] = Int(tracker);
            row[issues::PROJECT] = Int(author.project);
            row[issues::SUBJECT] = Words(subject);
            row[issues::DESCRIPTION] = Words(description);
            row[issues::STATUS] = Int(status);
            row[issues::ASSIGNEE] = Int(assignee);
            row[issues::PRIORITY] = Int(priority);
            row[issues::AUTHOR] = Int(author.user);
            row[issues::LOCK_VERSION] = Int(0);
            row[issues::CREATED_ON] = Int(now);
            row[issues::UPDATED_ON] = Int(now);
            row[issues::START_DATE] = Int(now);
            row[issues::DONE_RATIO] = Int(0);
            row[issues::IS_PRIVATE] = Int(0);
            let id = self.insert_row(session, Ask::InsertIssue, &row)?;
            let place = [Int(id), Int(1), Int(2), Int(1), Int(id)];
            self.run_statement(session, Ask::PlaceIssue, &place)?;
            self.run_statement(session, Ask::CustomValues, &[ISSUE, Int(id)])?;
            Ok(TransactionEnd::Commit(id))
        })
    }

    pub fn add_comment(
        &mut self,
        session: &mut dyn Session,
        tally: &mut OperationTally,
        id: i64,
        member: ProjectMember,
        notes: &str,
    ) -> Result<()> {
        let now = self.advance_clock();
        until_saved(session, tally, |session, tally| {
            let issue = self.load_issue(session, id)?;
            run_transaction(session, tally, |session| {
                self.load_permissions(session, member, issue.tracker, issue.status)?;
                self.run_statement(session, Ask::CustomValues, &[ISSUE, Int(id)])?;
                self.run_statement(session, Ask::Modules, &[Int(issue.project)])?;
                if self.run_statement(
                    session,
                    Ask::Watching,
                    &[Int(id), ISSUE, Int(member.user)],
                )? == 0
                {
                    self.watch_issue(session, id, member.user)?;
                }
                if issue.updated_on != now {
                    let lock = issue.lock_version;
                    let touch = [Int(now), Int(lock + 1), Int(id), Int(lock)];
                    if self.run_statement(session, Ask::TouchIssue, &touch)? == 0 {
                        return Ok(TransactionEnd::Rollback(false));
                    }
                }
                self.add_journal(session, id, member.user, notes, now)?;
                Ok(TransactionEnd::Commit(true))
            })
        })
    }

    pub fn change_issue(
        &mut self,
        session: &mut dyn Session,
        tally: &mut OperationTally,
        id: i64,
        member: ProjectMember,
        change: IssueChange,
    ) -> Result<()> {
        let now = self.advance_clock();
        until_saved(session, tally, |session, tally| {
            if change == IssueChange::Resolve {
                self.assignable_users(session, member.project)?;
            }
            let issue = self.load_issue(session, id)?;
            let status = if change == IssueChange::Start { IN_PROGRESS } else { RESOLVED };
            self.run_statement(session, Ask::Status, &[Int(status)])?;
            if change == IssueChange::Resolve {
                self.run_statement(session, Ask::User, &[Int(issue.author)])?;
                self.run_statement(session, Ask::User, &[Int(issue.assignee)])?;
            }
            run_transaction(session, tally, |session| {
                self.load_permissions(session, member, issue.tracker, issue.status)?;
                if !self.update_issue(session, &issue, change, status, now)? {
                    return Ok(TransactionEnd::Rollback(false));
                }
                self.run_statement(session, Ask::CustomValues, &[ISSUE, Int(id)])?;
                self.run_statement(session, Ask::Modules, &[Int(issue.project)])?;
                let watching = self.run_statement(
                    session,
                    Ask::Watching,
                    &[Int(id), ISSUE, Int(member.user)],
                )?;
                self.run_statement(session, Ask::Watchers, &[Int(id), ISSUE])?;
                if watching == 0 {
                    self.watch_issue(session, id, member.user)?;
                }
                let journal = self.add_journal(session, id, member.user, "", now)?;
                self.add_details(session, journal, &issue, change, status)?;
                Ok(TransactionEnd::Commit(true))
            })
        })
    }

    pub fn delete_issue(
        &mut self,
        session: &mut dyn Session,
        tally: &mut OperationTally,
        id: i64,
    ) -> Result<()> {
        run_transaction(session, tally, |session| {
            self.run_statement(session, Ask::Watchers, &[Int(id), ISSUE])?;
            for watcher in self.read_column(columns::ID) {
                self.run_statement(session, Ask::DeleteWatcher, &[Int(watcher)])?;
            }
            self.delete_journals(session, id, |_| true)?;
            self.run_statement(session, Ask::DeleteIssue, &[Int(id)])?;
            Ok(TransactionEnd::Commit(()))
        })
    }

    /// Keeps the comments.
    pub fn delete_changes(
        &mut self,
        session: &mut dyn Session,
        tally: &mut OperationTally,
        id: i64,
    ) -> Result<()> {
        run_transaction(session, tally, |session| {
            self.delete_journals(session, id, str::is_empty)?;
            Ok(TransactionEnd::Commit(()))
        })
    }

    fn delete_journals(
        &mut self,
        session: &mut dyn Session,
        issue: i64,
        such: impl Fn(&str) -> bool,
    ) -> Result<()> {
        self.run_statement(session, Ask::Journals, &[Int(issue), ISSUE])?;
        let notes = |row: &usize| match self.rows.get(*row, columns::journals::NOTES) {
            Words(notes) => notes,
            _ => "",
        };
        let rows = (0..self.rows.len()).filter(|row| such(notes(row)));
        let journals: Vec<i64> =
            rows.filter_map(|row| self.rows.get_int(row, columns::ID)).collect();
        for journal in journals {
            self.run_statement(session, Ask::Details, &[Int(journal)])?;
            for detail in self.read_column(0) {
                self.run_statement(session, Ask::DeleteDetail, &[Int(detail)])?;
            }
            self.run_statement(session, Ask::DeleteJournal, &[Int(journal)])?;
        }
        Ok(())
    }

    /// Adds the newest open issues of a user to a short list, and returns its length.
    pub fn list_issues(
        &mut self,
        session: &mut dyn Session,
        user: i64,
        list: &mut [ListedIssue; LISTED],
        mut count: usize,
    ) -> Result<usize> {
        self.run_statement(session, Ask::OpenStatuses, &[Int(0)])?;
        let statuses = self.read_keys::<OPEN_STATUSES>(columns::ID);
        let mut parameters = [Int(user); 1 + OPEN_STATUSES];
        parameters[1..].copy_from_slice(&statuses);
        self.run_statement(session, Ask::AssignedIssues, &parameters)?;
        for row in 0..self.rows.len().min(LISTED - count) {
            let cell = |column| self.rows.get_int(row, column).unwrap_or_default();
            list[count] = ListedIssue { issue: cell(columns::ID), project: cell(issues::PROJECT) };
            count += 1;
        }
        Ok(count)
    }

    fn advance_clock(&mut self) -> i64 {
        self.clock += A_SAVE;
        self.clock / SECOND * SECOND
    }

    fn run_statement(
        &mut self,
        session: &mut dyn Session,
        ask: Ask,
        parameters: &[Value<'_>],
    ) -> Result<u64> {
        session.run(ask as usize, parameters, &mut self.rows)
    }

    fn read_int(&self, column: usize, what: &str) -> Result<i64> {
        let missing =
            || Error::from_engine(format!("the database holds no {what}: was it loaded?"));
        self.rows.get_int(0, column).ok_or_else(missing)
    }

    fn read_column(&self, column: usize) -> Vec<i64> {
        (0..self.rows.len()).filter_map(|row| self.rows.get_int(row, column)).collect()
    }

    fn read_keys<const N: usize>(&self, column: usize) -> [Value<'static>; N] {
        let first = self.rows.get_int(0, column).unwrap_or_default();
        std::array::from_fn(|row| Int(self.rows.get_int(row, column).unwrap_or(first)))
    }

    fn insert_row(
        &mut self,
        session: &mut dyn Session,
        ask: Ask,
        row: &[Value<'_>],
    ) -> Result<i64> {
        self.run_statement(session, ask, row)?;
        self.read_int(0, "key of the row just inserted")
    }

    fn first_tracker(&mut self, session: &mut dyn Session, project: i64) -> Result<i64> {
        self.run_statement(session, Ask::ProjectTrackers, &[Int(project)])?;
        let keys = self.read_keys::<TRACKERS>(0);
        self.run_statement(session, Ask::TrackersAmong, &keys)?;
        let rows = &self.rows;
        (0..rows.len())
            .min_by_key(|row| rows.get_int(*row, columns::trackers::POSITION))
            .and_then(|row| rows.get_int(row, columns::ID))
            .ok_or_else(|| Error::from_engine(format!("project {project} has no tracker")))
    }

    fn load_issue(&mut self, session: &mut dyn Session, id: i64) -> Result<Issue> {
        self.run_statement(session, Ask::Issue, &[Int(id)])?;
        let cell = |column| self.read_int(column, "such issue");
        let issue = Issue {
            id,
            tracker: cell(issues::TRACKER)?,
            project: cell(issues::PROJECT)?,
            status: cell(issues::STATUS)?,
            assignee: cell(issues::ASSIGNEE)?,
            author: cell(issues::AUTHOR)?,
            lock_version: cell(issues::LOCK_VERSION)?,
            updated_on: cell(issues::UPDATED_ON)?,
        };
        self.run_statement(session, Ask::Tracker, &[Int(issue.tracker)])?;
        self.run_statement(session, Ask::Project, &[Int(issue.project)])?;
        self.load_fields(session, Ask::ProjectFields, issue.project)?;
        self.load_fields(session, Ask::TrackerFields, issue.tracker)?;
        Ok(issue)
    }

    fn load_fields(&mut self, session: &mut dyn Session, of: Ask, owner: i64) -> Result<()> {
        self.run_statement(session, of, &[Int(owner)])?;
        let keys = self.read_keys::<FIELDS>(0);
        self.run_statement(session, Ask::FieldsAmong, &keys)?;
        Ok(())
    }

    fn common_fields(
        &mut self,
        session: &mut dyn Session,
        project: i64,
        tracker: i64,
    ) -> Result<()> {
        self.run_statement(session, Ask::ProjectFields, &[Int(project)])?;
        let mut parameters = [Int(tracker); 1 + FIELDS];
        parameters[1..].copy_from_slice(&self.read_keys::<FIELDS>(0));
        self.run_statement(session, Ask::CommonFields, &parameters)?;
        let keys = self.read_keys::<FIELDS>(0);
        self.run_statement(session, Ask::FieldsAmong, &keys)?;
        Ok(())
    }

    fn assignable_users(&mut self, session: &mut dyn Session, project: i64) -> Result<()> {
        const EACH: usize = MEMBERS as usize;
        self.run_statement(session, Ask::Members, &[Int(project)])?;
        let (members, users) = (self.read_keys::<EACH>(0), self.read_keys::<EACH>(1));
        self.run_statement(session, Ask::MemberRoles, &members)?;
        let roles = self.read_keys::<EACH>(0);
        let and_one = |keys: [Value<'static>; EACH]| -> [Value<'static>; EACH + 1] {
            std::array::from_fn(|at| keys.get(at).copied().unwrap_or(Int(1)))
        };
        self.run_statement(session, Ask::AssignableRoles, &and_one(roles))?;
        self.run_statement(session, Ask::ActiveUsers, &and_one(users))?;
        Ok(())
    }

    fn load_permissions(
        &mut self,
        session: &mut dyn Session,
        member: ProjectMember,
        tracker: i64,
        old_status: i64,
    ) -> Result<()> {
        let rule = [Int(member.role()), Int(tracker), Int(old_status), Words("WorkflowPermission")];
        self.run_statement(session, Ask::Permissions, &rule)?;
        Ok(())
    }

    fn watch_issue(&mut self, session: &mut dyn Session, issue: i64, user: i64) -> Result<()> {
        self.insert_row(session, Ask::InsertWatcher, &[Null, ISSUE, Int(issue), Int(user)])?;
        Ok(())
    }

    fn update_issue(
        &mut self,
        session: &mut dyn Session,
        issue: &Issue,
        change: IssueChange,
        status: i64,
        now: i64,
    ) -> Result<bool> {
        let (id, lock) = (Int(issue.id), Int(issue.lock_version));
        let next = Int(issue.lock_version + 1);
        let changed = match change {
            IssueChange::Start => self.run_statement(
                session,
                Ask::StartIssue,
                &[Int(now), next, Int(status), id, lock],
            )?,
            IssueChange::Resolve => {
                let row = [Int(now), next, Int(status), Int(issue.author), id, lock];
                self.run_statement(session, Ask::ResolveIssue, &row)?
            }
        };
        Ok(changed == 1)
    }

    fn add_journal(
        &mut self,
        session: &mut dyn Session,
        issue: i64,
        user: i64,
        notes: &str,
        now: i64,
    ) -> Result<i64> {
        let time = Int(now);
        let row = [Null, Int(issue), ISSUE, Int(user), Words(notes), time, Int(0), time, Null];
        self.insert_row(session, Ask::InsertJournal, &row)
    }

    fn add_details(
        &mut self,
        session: &mut dyn Session,
        journal: i64,
        issue: &Issue,
        change: IssueChange,
        status: i64,
    ) -> Result<()> {
        let numbers = self.numbers;
        let text = |number: i64| {
            let text = usize::try_from(number).ok().and_then(|number| numbers.get(number));
            text.map_or(Null, |text| Words(text))
        };
        let mut detail = |key, old, new| {
            let row = [Null, Int(journal), Words("attr"), Words(key), text(old), text(new)];
            self.insert_row(session, Ask::InsertDetail, &row)
        };
        detail("status_id", issue.status, status)?;
        if change == IssueChange::Resolve {
            detail("assigned_to_id", issue.assignee, issue.author)?;
        }
        Ok(())
    }
}

fn until_saved(
    session: &mut dyn Session,
    tally: &mut OperationTally,
    mut save: impl FnMut(&mut dyn Session, &mut OperationTally) -> Result<bool>,
) -> Result<()> {
    for tries in 1..=MOST_TRIES {
        if save(session, tally)? {
            return Ok(());
        }
        tally.retries += 1;
        wait_before_retry(tries);
    }
    Err(Error::Conflict(format!("an issue was saved by others {MOST_TRIES} times in a row")))
}
