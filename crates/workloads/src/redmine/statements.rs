//! The statements, each a look-up or a write that Redmine sends, or a part of a join.
//!
//! Rails selects all columns of what it loads, and so do these reads, but for the first halves of
//! joins, which only find the keys of the second. No read is `for_update`: Rails locks no rows
//! here and relies on `lock_version`, which the updates check.

use bakeoff_engines::schema::Table;
use bakeoff_engines::statement::{Filter, Order, Path, Read, Scope, Set, Yield};
use bakeoff_engines::{Action, Schema, Statement};

use super::people::MEMBERS;

/// The most trackers, and the number of custom fields, of a project; lists of so many keys.
pub const TRACKERS: usize = 3;
/// Custom fields of a project or a tracker.
pub const FIELDS: usize = 3;
/// Statuses that are not closed.
pub const OPEN_STATUSES: usize = 4;
/// Issues in a list.
pub const LISTED: usize = 10;

/// A statement's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Ask {
    ProjectTrackers,
    TrackersAmong,
    Tracker,
    HasTracker,
    DefaultPriority,
    FirstStatus,
    Status,
    OpenStatuses,
    Permissions,
    ProjectFields,
    TrackerFields,
    CommonFields,
    FieldsAmong,
    CustomValues,
    Project,
    Modules,
    User,
    Members,
    MemberRoles,
    AssignableRoles,
    ActiveUsers,
    Issue,
    AssignedIssues,
    InsertIssue,
    PlaceIssue,
    TouchIssue,
    StartIssue,
    ResolveIssue,
    Watching,
    Watchers,
    InsertWatcher,
    InsertJournal,
    InsertDetail,
    Journals,
    Details,
    DeleteIssue,
    DeleteWatcher,
    DeleteJournal,
    DeleteDetail,
}

type Declared = (Ask, &'static str, Action);

/// All statements, by their number.
pub fn statements(schema: &Schema) -> Vec<Statement> {
    let mut declared = Vec::new();
    declared.extend(tracker_rules(schema));
    declared.extend(custom_fields(schema));
    declared.extend(people(schema));
    declared.extend(issues(schema));
    declared.extend(history(schema));
    declared.extend(deletions(schema));
    for (number, (ask, ..)) in declared.iter().enumerate() {
        assert_eq!(*ask as usize, number, "{ask:?} is declared out of order");
    }
    let statement = |(_, name, action): Declared| Statement { name: name.into(), action };
    declared.into_iter().map(statement).collect()
}

fn tracker_rules(schema: &Schema) -> [Declared; 9] {
    let joined = Reads::of(schema, "projects_trackers");
    let trackers = Reads::of(schema, "trackers");
    let priorities = Reads::of(schema, "enumerations");
    let statuses = Reads::of(schema, "issue_statuses");
    let workflows = Reads::of(schema, "workflows");

    let default_priority = Read {
        filters: priorities.equal(&["type", "is_default"]),
        limit: Some(1),
        ..priorities.all()
    };
    let first_status =
        Read { order: Order::Ascending, limit: Some(1), ..statuses.by_index(&["position"], 0) };
    let permissions = Read {
        filters: workflows.equal(&["type"]),
        ..workflows.by_index(&["role_id", "tracker_id", "old_status_id"], 3)
    };
    [
        (Ask::ProjectTrackers, "trackers of project: keys", joined.keys(1, "tracker_id")),
        (Ask::TrackersAmong, "trackers of project: rows", trackers.among(TRACKERS)),
        (Ask::Tracker, "tracker by id", trackers.one()),
        (Ask::HasTracker, "does the project have the tracker?", joined.keys(2, "tracker_id")),
        (Ask::DefaultPriority, "default priority", Action::Read(default_priority)),
        (Ask::FirstStatus, "first status", Action::Read(first_status)),
        (Ask::Status, "status by id", statuses.one()),
        (Ask::OpenStatuses, "open statuses", Action::Read(statuses.by_index(&["is_closed"], 1))),
        (Ask::Permissions, "workflow permissions", Action::Read(permissions)),
    ]
}

fn custom_fields(schema: &Schema) -> [Declared; 5] {
    let of_projects = Reads::of(schema, "custom_fields_projects");
    let of_trackers = Reads::of(schema, "custom_fields_trackers");
    let fields = Reads::of(schema, "custom_fields");
    let values = Reads::of(schema, "custom_values");

    let field = of_trackers.table.column_number("custom_field_id");
    let common = Read {
        filters: vec![Filter { column: field, any_of: FIELDS }],
        ..Read::range(of_trackers.number, Path::Key, 1, &[field])
    };
    let of_customized = values.by_index(&["customized_type", "customized_id"], 2);
    [
        (Ask::ProjectFields, "fields of project: keys", of_projects.keys(1, "custom_field_id")),
        (Ask::TrackerFields, "fields of tracker: keys", of_trackers.keys(1, "custom_field_id")),
        (Ask::CommonFields, "fields of tracker among those of project", Action::Read(common)),
        (Ask::FieldsAmong, "fields: rows", fields.among(FIELDS)),
        (Ask::CustomValues, "custom values of issue", Action::Read(of_customized)),
    ]
}

fn people(schema: &Schema) -> [Declared; 7] {
    let projects = Reads::of(schema, "projects");
    let modules = Reads::of(schema, "enabled_modules");
    let users = Reads::of(schema, "users");
    let members = Reads::of(schema, "members");
    let member_roles = Reads::of(schema, "member_roles");
    let roles = Reads::of(schema, "roles");

    let among = |count| Scope::Among(count);
    let everyone = among(MEMBERS as usize);
    let of_project = Read {
        yields: members.columns(&["id", "user_id"]),
        ..members.by_index(&["project_id"], 1)
    };
    let of_members = Read {
        scope: everyone,
        yields: member_roles.columns(&["role_id"]),
        ..member_roles.by_index(&["member_id"], 0)
    };
    let assignable = Read {
        scope: everyone,
        filters: roles.equal(&["assignable"]),
        yields: roles.columns(&["id"]),
        ..roles.all()
    };
    let active = Read { scope: everyone, filters: users.equal(&["status"]), ..users.all() };
    [
        (Ask::Project, "project by id", projects.one()),
        (Ask::Modules, "modules of project", Action::Read(modules.by_index(&["project_id"], 1))),
        (Ask::User, "user by id", users.one()),
        (Ask::Members, "assignable users: members", Action::Read(of_project)),
        (Ask::MemberRoles, "assignable users: member roles", Action::Read(of_members)),
        (Ask::AssignableRoles, "assignable users: roles", Action::Read(assignable)),
        (Ask::ActiveUsers, "assignable users: rows", Action::Read(active)),
    ]
}

fn issues(schema: &Schema) -> [Declared; 7] {
    let issues = Reads::of(schema, "issues");
    let status = issues.table.column_number("status_id");
    // The newest first, as Redmine's lists of issues are.
    let assigned = Read {
        filters: vec![Filter { column: status, any_of: OPEN_STATUSES }],
        order: Order::Descending,
        limit: Some(LISTED as u32),
        ..issues.by_index(&["assigned_to_id"], 1)
    };
    let to = |column| Set::To(issues.table.column_number(column));
    let place = Action::Update {
        table: issues.number,
        set: vec![
            to("root_id"),
            to("lft"),
            to("rgt"),
            Set::Add(issues.table.column_number("lock_version")),
        ],
        only_if: Vec::new(),
    };
    let save = |columns: &[&'static str]| Action::Update {
        table: issues.number,
        set: columns.iter().map(|column| to(column)).collect(),
        only_if: issues.equal(&["lock_version"]),
    };
    [
        (Ask::Issue, "issue by id", issues.one()),
        (Ask::AssignedIssues, "open issues assigned to user", Action::Read(assigned)),
        (Ask::InsertIssue, "insert issue", issues.insert()),
        (Ask::PlaceIssue, "update issue: place in tree", place),
        (Ask::TouchIssue, "update issue: time", save(&["updated_on", "lock_version"])),
        (
            Ask::StartIssue,
            "update issue: status",
            save(&["updated_on", "lock_version", "status_id"]),
        ),
        (
            Ask::ResolveIssue,
            "update issue: status and assignee",
            save(&["updated_on", "lock_version", "status_id", "assigned_to_id"]),
        ),
    ]
}

fn history(schema: &Schema) -> [Declared; 5] {
    let watchers = Reads::of(schema, "watchers");
    let journals = Reads::of(schema, "journals");
    let details = Reads::of(schema, "journal_details");
    let of_issue = watchers.by_index(&["watchable_id", "watchable_type"], 2);
    let watching = Read {
        filters: watchers.equal(&["user_id"]),
        limit: Some(1),
        yields: watchers.columns(&["id"]),
        ..of_issue.clone()
    };
    [
        (Ask::Watching, "does the user watch the issue?", Action::Read(watching)),
        (Ask::Watchers, "watchers of issue", Action::Read(of_issue)),
        (Ask::InsertWatcher, "insert watcher", watchers.insert()),
        (Ask::InsertJournal, "insert journal", journals.insert()),
        (Ask::InsertDetail, "insert journal detail", details.insert()),
    ]
}

/// Those that delete an issue, with what is its own.
fn deletions(schema: &Schema) -> [Declared; 6] {
    let watchers = Reads::of(schema, "watchers");
    let journals = Reads::of(schema, "journals");
    let details = Reads::of(schema, "journal_details");
    let of_issue = journals.by_index(&["journalized_id", "journalized_type"], 2);
    let of_journal =
        Read { yields: details.columns(&["id"]), ..details.by_index(&["journal_id"], 1) };
    [
        (Ask::Journals, "journals of issue", Action::Read(of_issue)),
        (Ask::Details, "details of journal: keys", Action::Read(of_journal)),
        (Ask::DeleteIssue, "delete issue", Reads::of(schema, "issues").delete()),
        (Ask::DeleteWatcher, "delete watcher", watchers.delete()),
        (Ask::DeleteJournal, "delete journal", journals.delete()),
        (Ask::DeleteDetail, "delete journal detail", details.delete()),
    ]
}

/// Statements on one table, by the names of its columns.
struct Reads<'a> {
    number: usize,
    table: &'a Table,
}

impl<'a> Reads<'a> {
    fn of(schema: &'a Schema, table: &str) -> Self {
        let number = schema.table_number(table);
        Self { number, table: &schema.tables[number] }
    }

    /// All columns of a range of the key.
    fn range(&self, path: Path, equal: usize) -> Read {
        let columns: Vec<usize> = (0..self.table.columns.len()).collect();
        Read::range(self.number, path, equal, &columns)
    }

    fn all(&self) -> Read {
        self.range(Path::Key, 0)
    }

    fn by_index(&self, index: &[&str], equal: usize) -> Read {
        self.range(Path::Index(self.table.index_number(index)), equal)
    }

    fn one(&self) -> Action {
        Action::Read(self.range(Path::Key, self.table.key.len()))
    }

    fn among(&self, count: usize) -> Action {
        Action::Read(Read { scope: Scope::Among(count), ..self.all() })
    }

    /// One column of the rows that begin with so many columns of the key.
    fn keys(&self, equal: usize, column: &str) -> Action {
        Action::Read(Read { yields: self.columns(&[column]), ..self.range(Path::Key, equal) })
    }

    fn columns(&self, names: &[&str]) -> Yield {
        Yield::Columns(names.iter().map(|name| self.table.column_number(name)).collect())
    }

    fn equal(&self, names: &[&str]) -> Vec<Filter> {
        let filter = |name: &&str| Filter { column: self.table.column_number(name), any_of: 1 };
        names.iter().map(filter).collect()
    }

    fn insert(&self) -> Action {
        Action::Insert { table: self.number }
    }

    fn delete(&self) -> Action {
        Action::Delete { table: self.number }
    }
}
