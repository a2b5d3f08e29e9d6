//! What Redmine sends for each save (an issue created, a comment added, a status changed) and for
//! a list: the look-ups before the transaction, the transaction, and all of it again when somebody
//! else has saved the issue in between.

use bakeoff_engines::Value::{Int, Null, Text as Words};
use bakeoff_engines::{Error, Result, Rows, Session, Value};

use super::configuration::{IN_PROGRESS, RESOLVED};
use super::people::{MEMBERS, ProjectMember};
use super::rows::ISSUE;
use super::schema::columns::{self, issues};
use super::statements::{Ask, FIELDS, LISTED, OPEN_STATUSES, TRACKERS};
use super::{END, SECOND};
use crate::{MOST_TRIES, OperationTally, TransactionEnd, back_off, transaction};

/// How far the clock of the application goes on with each save, in microseconds: about what a
/// save takes in Rails. Clients keep this time instead of the machine's, so that what they send
/// does not depend on how fast the engine is.
const A_SAVE: i64 = SECOND / 10;

/// One process of the application, with its own clock.
pub struct ApplicationProcess<'a> {
    /// Every user's number as text, for the details of journals.
    numbers: &'a [String],
    clock: i64,
    rows: Rows,
}

/// An issue to create.
pub struct Draft<'a> {
    pub author: ProjectMember,
    pub assignee: i64,
    pub subject: &'a str,
    pub description: &'a str,
}

/// An issue in a list.
#[derive(Clone, Copy, Default)]
pub struct ListedIssue {
    pub issue: i64,
    pub project: i64,
}

/// What is changed of an issue.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum IssueChange {
    /// The status becomes *In Progress*.
    Start,
    /// The status becomes *Resolved*, and the issue is assigned to its author.
    Resolve,
}

/// What a save has to know of the issue that it changes.
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
    /// An application that has just started.
    pub fn new(numbers: &'a [String]) -> Self {
        Self { numbers, clock: END, rows: Rows::new() }
    }

    /// Creates an issue and returns its number.
    pub fn create(
        &mut self,
        session: &mut dyn Session,
        tally: &mut OperationTally,
        draft: &Draft<'_>,
    ) -> Result<i64> {
        let now = self.now();
        let tracker = self.first_tracker(session, draft.author.project)?;
        self.ask(session, Ask::DefaultPriority, &[Words("IssuePriority"), Int(1)])?;
        let priority = self.found(columns::ID, "default priority")?;
        self.ask(session, Ask::FirstStatus, &[])?;
        let status = self.found(columns::ID, "first status")?;
        self.ask(session, Ask::Status, &[Int(status)])?;
        transaction(session, tally, |session| {
            let Draft { author, assignee, subject, description } = *draft;
            // A new issue has no status before its first: 0.
            self.permissions(session, author, tracker, 0)?;
            self.permissions(session, author, tracker, status)?;
            self.common_fields(session, author.project, tracker)?;
            self.ask(session, Ask::HasTracker, &[Int(author.project), Int(tracker)])?;
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
            let id = self.insert(session, Ask::InsertIssue, &row)?;
            let place = [Int(id), Int(1), Int(2), Int(1), Int(id)];
            self.ask(session, Ask::PlaceIssue, &place)?;
            self.ask(session, Ask::CustomValues, &[ISSUE, Int(id)])?;
            Ok(TransactionEnd::Commit(id))
        })
    }

    /// Adds a comment to an issue.
    pub fn comment(
        &mut self,
        session: &mut dyn Session,
        tally: &mut OperationTally,
        id: i64,
        member: ProjectMember,
        notes: &str,
    ) -> Result<()> {
        let now = self.now();
        until_saved(session, tally, |session, tally| {
            let issue = self.issue(session, id)?;
            transaction(session, tally, |session| {
                self.permissions(session, member, issue.tracker, issue.status)?;
                self.ask(session, Ask::CustomValues, &[ISSUE, Int(id)])?;
                self.ask(session, Ask::Modules, &[Int(issue.project)])?;
                if self.ask(session, Ask::Watching, &[Int(id), ISSUE, Int(member.user)])? == 0 {
                    self.watch(session, id, member.user)?;
                }
                if issue.updated_on != now {
                    let lock = issue.lock_version;
                    let touch = [Int(now), Int(lock + 1), Int(id), Int(lock)];
                    if self.ask(session, Ask::TouchIssue, &touch)? == 0 {
                        return Ok(TransactionEnd::Rollback(false));
                    }
                }
                self.journal(session, id, member.user, notes, now)?;
                Ok(TransactionEnd::Commit(true))
            })
        })
    }

    /// Changes an issue on behalf of the member to whom it is assigned.
    pub fn change(
        &mut self,
        session: &mut dyn Session,
        tally: &mut OperationTally,
        id: i64,
        member: ProjectMember,
        change: IssueChange,
    ) -> Result<()> {
        let now = self.now();
        until_saved(session, tally, |session, tally| {
            if change == IssueChange::Resolve {
                self.assignable_users(session, member.project)?;
            }
            let issue = self.issue(session, id)?;
            let status = if change == IssueChange::Start { IN_PROGRESS } else { RESOLVED };
            self.ask(session, Ask::Status, &[Int(status)])?;
            if change == IssueChange::Resolve {
                self.ask(session, Ask::User, &[Int(issue.author)])?;
                self.ask(session, Ask::User, &[Int(issue.assignee)])?;
            }
            transaction(session, tally, |session| {
                self.permissions(session, member, issue.tracker, issue.status)?;
                if !self.update(session, &issue, change, status, now)? {
                    return Ok(TransactionEnd::Rollback(false));
                }
                self.ask(session, Ask::CustomValues, &[ISSUE, Int(id)])?;
                self.ask(session, Ask::Modules, &[Int(issue.project)])?;
                let watching =
                    self.ask(session, Ask::Watching, &[Int(id), ISSUE, Int(member.user)])?;
                self.ask(session, Ask::Watchers, &[Int(id), ISSUE])?;
                if watching == 0 {
                    self.watch(session, id, member.user)?;
                }
                let journal = self.journal(session, id, member.user, "", now)?;
                self.details(session, journal, &issue, change, status)?;
                Ok(TransactionEnd::Commit(true))
            })
        })
    }

    /// Deletes an issue with its journals, their details, and those who watch it.
    pub fn delete_issue(
        &mut self,
        session: &mut dyn Session,
        tally: &mut OperationTally,
        id: i64,
    ) -> Result<()> {
        transaction(session, tally, |session| {
            self.ask(session, Ask::Watchers, &[Int(id), ISSUE])?;
            for watcher in self.column(columns::ID) {
                self.ask(session, Ask::DeleteWatcher, &[Int(watcher)])?;
            }
            self.delete_journals(session, id, |_| true)?;
            self.ask(session, Ask::DeleteIssue, &[Int(id)])?;
            Ok(TransactionEnd::Commit(()))
        })
    }

    /// Deletes what an issue's journals say of its changes, and leaves the comments.
    pub fn delete_changes(
        &mut self,
        session: &mut dyn Session,
        tally: &mut OperationTally,
        id: i64,
    ) -> Result<()> {
        transaction(session, tally, |session| {
            self.delete_journals(session, id, str::is_empty)?;
            Ok(TransactionEnd::Commit(()))
        })
    }

    /// Deletes the journals of an issue whose notes are such, with their details.
    fn delete_journals(
        &mut self,
        session: &mut dyn Session,
        issue: i64,
        such: impl Fn(&str) -> bool,
    ) -> Result<()> {
        self.ask(session, Ask::Journals, &[Int(issue), ISSUE])?;
        let notes = |row: &usize| match self.rows.get(*row, columns::journals::NOTES) {
            Words(notes) => notes,
            Null | Int(_) => "",
        };
        let rows = (0..self.rows.len()).filter(|row| such(notes(row)));
        let journals: Vec<i64> = rows.filter_map(|row| self.rows.int(row, columns::ID)).collect();
        for journal in journals {
            self.ask(session, Ask::Details, &[Int(journal)])?;
            for detail in self.column(0) {
                self.ask(session, Ask::DeleteDetail, &[Int(detail)])?;
            }
            self.ask(session, Ask::DeleteJournal, &[Int(journal)])?;
        }
        Ok(())
    }

    /// Adds the newest open issues assigned to a user to a list that is still short, and returns
    /// how many are in it then.
    pub fn list(
        &mut self,
        session: &mut dyn Session,
        user: i64,
        list: &mut [ListedIssue; LISTED],
        mut count: usize,
    ) -> Result<usize> {
        self.ask(session, Ask::OpenStatuses, &[Int(0)])?;
        let statuses = self.keys::<OPEN_STATUSES>(columns::ID);
        let mut parameters = [Int(user); 1 + OPEN_STATUSES];
        parameters[1..].copy_from_slice(&statuses);
        self.ask(session, Ask::AssignedIssues, &parameters)?;
        for row in 0..self.rows.len().min(LISTED - count) {
            let cell = |column| self.rows.int(row, column).unwrap_or_default();
            list[count] = ListedIssue { issue: cell(columns::ID), project: cell(issues::PROJECT) };
            count += 1;
        }
        Ok(count)
    }

    /// The time of a new save; columns hold whole seconds.
    fn now(&mut self) -> i64 {
        self.clock += A_SAVE;
        self.clock / SECOND * SECOND
    }

    fn ask(
        &mut self,
        session: &mut dyn Session,
        ask: Ask,
        parameters: &[Value<'_>],
    ) -> Result<u64> {
        session.run(ask as usize, parameters, &mut self.rows)
    }

    /// An integer in the first row of the last answer.
    fn found(&self, column: usize, what: &str) -> Result<i64> {
        let missing = || Error::engine(format!("the database holds no {what}: was it loaded?"));
        self.rows.int(0, column).ok_or_else(missing)
    }

    /// The numbers in a column of the last answer.
    fn column(&self, column: usize) -> Vec<i64> {
        (0..self.rows.len()).filter_map(|row| self.rows.int(row, column)).collect()
    }

    /// A column of the last answer as a list of keys: the first is repeated to fill it up.
    fn keys<const N: usize>(&self, column: usize) -> [Value<'static>; N] {
        let first = self.rows.int(0, column).unwrap_or_default();
        std::array::from_fn(|row| Int(self.rows.int(row, column).unwrap_or(first)))
    }

    fn insert(&mut self, session: &mut dyn Session, ask: Ask, row: &[Value<'_>]) -> Result<i64> {
        self.ask(session, ask, row)?;
        self.found(0, "key of the row just inserted")
    }

    fn first_tracker(&mut self, session: &mut dyn Session, project: i64) -> Result<i64> {
        self.ask(session, Ask::ProjectTrackers, &[Int(project)])?;
        let keys = self.keys::<TRACKERS>(0);
        self.ask(session, Ask::TrackersAmong, &keys)?;
        let rows = &self.rows;
        (0..rows.len())
            .min_by_key(|row| rows.int(*row, columns::trackers::POSITION))
            .and_then(|row| rows.int(row, columns::ID))
            .ok_or_else(|| Error::engine(format!("project {project} has no tracker")))
    }

    /// Loads an issue and what belongs to it.
    fn issue(&mut self, session: &mut dyn Session, id: i64) -> Result<Issue> {
        self.ask(session, Ask::Issue, &[Int(id)])?;
        let cell = |column| self.found(column, "such issue");
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
        self.ask(session, Ask::Tracker, &[Int(issue.tracker)])?;
        self.ask(session, Ask::Project, &[Int(issue.project)])?;
        self.fields(session, Ask::ProjectFields, issue.project)?;
        self.fields(session, Ask::TrackerFields, issue.tracker)?;
        Ok(issue)
    }

    fn fields(&mut self, session: &mut dyn Session, of: Ask, owner: i64) -> Result<()> {
        self.ask(session, of, &[Int(owner)])?;
        let keys = self.keys::<FIELDS>(0);
        self.ask(session, Ask::FieldsAmong, &keys)?;
        Ok(())
    }

    /// The custom fields that a project and a tracker have in common.
    fn common_fields(
        &mut self,
        session: &mut dyn Session,
        project: i64,
        tracker: i64,
    ) -> Result<()> {
        self.ask(session, Ask::ProjectFields, &[Int(project)])?;
        let mut parameters = [Int(tracker); 1 + FIELDS];
        parameters[1..].copy_from_slice(&self.keys::<FIELDS>(0));
        self.ask(session, Ask::CommonFields, &parameters)?;
        let keys = self.keys::<FIELDS>(0);
        self.ask(session, Ask::FieldsAmong, &keys)?;
        Ok(())
    }

    /// The users of a project to whom an issue can be assigned, by way of their roles in it.
    fn assignable_users(&mut self, session: &mut dyn Session, project: i64) -> Result<()> {
        const EACH: usize = MEMBERS as usize;
        self.ask(session, Ask::Members, &[Int(project)])?;
        let (members, users) = (self.keys::<EACH>(0), self.keys::<EACH>(1));
        self.ask(session, Ask::MemberRoles, &members)?;
        let roles = self.keys::<EACH>(0);
        let and_one = |keys: [Value<'static>; EACH]| -> [Value<'static>; EACH + 1] {
            std::array::from_fn(|at| keys.get(at).copied().unwrap_or(Int(1)))
        };
        self.ask(session, Ask::AssignableRoles, &and_one(roles))?;
        self.ask(session, Ask::ActiveUsers, &and_one(users))?;
        Ok(())
    }

    fn permissions(
        &mut self,
        session: &mut dyn Session,
        member: ProjectMember,
        tracker: i64,
        old_status: i64,
    ) -> Result<()> {
        let rule = [Int(member.role()), Int(tracker), Int(old_status), Words("WorkflowPermission")];
        self.ask(session, Ask::Permissions, &rule)?;
        Ok(())
    }

    fn watch(&mut self, session: &mut dyn Session, issue: i64, user: i64) -> Result<()> {
        self.insert(session, Ask::InsertWatcher, &[Null, ISSUE, Int(issue), Int(user)])?;
        Ok(())
    }

    /// Updates an issue that nobody else has saved since it was loaded; `false` if somebody has.
    fn update(
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
            IssueChange::Start => {
                self.ask(session, Ask::StartIssue, &[Int(now), next, Int(status), id, lock])?
            }
            IssueChange::Resolve => {
                let row = [Int(now), next, Int(status), Int(issue.author), id, lock];
                self.ask(session, Ask::ResolveIssue, &row)?
            }
        };
        Ok(changed == 1)
    }

    fn journal(
        &mut self,
        session: &mut dyn Session,
        issue: i64,
        user: i64,
        notes: &str,
        now: i64,
    ) -> Result<i64> {
        let time = Int(now);
        let row = [Null, Int(issue), ISSUE, Int(user), Words(notes), time, Int(0), time, Null];
        self.insert(session, Ask::InsertJournal, &row)
    }

    /// Adds a detail to a journal for each column that has changed.
    fn details(
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
            self.insert(session, Ask::InsertDetail, &row)
        };
        detail("status_id", issue.status, status)?;
        if change == IssueChange::Resolve {
            detail("assigned_to_id", issue.assignee, issue.author)?;
        }
        Ok(())
    }
}

/// Saves, from the first look-up on, until it is not the older version of an issue that is saved.
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
        back_off(tries);
    }
    Err(Error::Conflict(format!("an issue was saved by others {MOST_TRIES} times in a row")))
}
