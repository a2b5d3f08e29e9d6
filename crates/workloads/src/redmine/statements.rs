//! The statements, each a look-up or a write that Redmine sends, or a part of a join.
//!
//! Rails selects all columns of what it loads, and so do these reads, but for the first halves of
//! joins, which only find the keys of the second. No read is `for_update`: Rails locks no rows
//! here and relies on `lock_version`, which the updates check.

use bakeoff_engines::Schema;
use bakeoff_engines::statement::ReadOrder;

use super::people::MEMBERS;
use crate::declare::asks;
use crate::{Updates, on};

/// The most trackers, and the number of custom fields, of a project; lists of so many keys.
pub const TRACKERS: usize = 3;
/// Custom fields of a project or a tracker.
pub const FIELDS: usize = 3;
/// Statuses that are not closed.
pub const OPEN_STATUSES: usize = 4;
/// The members of a project, as a list of keys.
const EVERYONE: usize = MEMBERS as usize;
/// Issues in a list.
pub const LISTED: usize = 10;

asks! {
    /// A statement's number.
    Ask(schema: &Schema):

    // What a tracker asks for.
    ProjectTrackers, "trackers of project: keys" =>
        on(schema, "projects_trackers").key(1).columns(&["tracker_id"]);
    TrackersAmong, "trackers of project: rows" => on(schema, "trackers").key(0).among(TRACKERS);
    Tracker, "tracker by id" => on(schema, "trackers").one();
    HasTracker, "does the project have the tracker?" =>
        on(schema, "projects_trackers").key(2).columns(&["tracker_id"]);
    DefaultPriority, "default priority" =>
        on(schema, "enumerations").key(0).filter(&["type", "is_default"]).limit(1);
    FirstStatus, "first status" =>
        on(schema, "issue_statuses").index(&["position"], 0).order(ReadOrder::Ascending).limit(1);
    Status, "status by id" => on(schema, "issue_statuses").one();
    OpenStatuses, "open statuses" => on(schema, "issue_statuses").index(&["is_closed"], 1);
    Permissions, "workflow permissions" =>
        on(schema, "workflows").index(&["role_id", "tracker_id", "old_status_id"], 3).filter(&["type"]);

    // Custom fields.
    ProjectFields, "fields of project: keys" =>
        on(schema, "custom_fields_projects").key(1).columns(&["custom_field_id"]);
    TrackerFields, "fields of tracker: keys" =>
        on(schema, "custom_fields_trackers").key(1).columns(&["custom_field_id"]);
    CommonFields, "fields of tracker among those of project" =>
        on(schema, "custom_fields_trackers")
            .key(1)
            .any_of("custom_field_id", FIELDS)
            .columns(&["custom_field_id"]);
    FieldsAmong, "fields: rows" => on(schema, "custom_fields").key(0).among(FIELDS);
    CustomValues, "custom values of issue" =>
        on(schema, "custom_values").index(&["customized_type", "customized_id"], 2);

    // Projects and their members.
    Project, "project by id" => on(schema, "projects").one();
    Modules, "modules of project" => on(schema, "enabled_modules").index(&["project_id"], 1);
    User, "user by id" => on(schema, "users").one();
    Members, "assignable users: members" =>
        on(schema, "members").index(&["project_id"], 1).columns(&["id", "user_id"]);
    MemberRoles, "assignable users: member roles" =>
        on(schema, "member_roles").index(&["member_id"], 0).among(EVERYONE).columns(&["role_id"]);
    AssignableRoles, "assignable users: roles" =>
        on(schema, "roles").key(0).among(EVERYONE).filter(&["assignable"]).columns(&["id"]);
    ActiveUsers, "assignable users: rows" =>
        on(schema, "users").key(0).among(EVERYONE).filter(&["status"]);

    // Issues. A list has the newest first, as Redmine's lists of issues have.
    Issue, "issue by id" => on(schema, "issues").one();
    AssignedIssues, "open issues assigned to user" =>
        on(schema, "issues")
            .index(&["assigned_to_id"], 1)
            .any_of("status_id", OPEN_STATUSES)
            .order(ReadOrder::Descending)
            .limit(LISTED as u32);
    InsertIssue, "insert issue" => on(schema, "issues").insert();
    PlaceIssue, "update issue: place in tree" =>
        on(schema, "issues").update(&["root_id", "lft", "rgt"]).plus("lock_version");
    TouchIssue, "update issue: time" => save(schema, &["updated_on", "lock_version"]);
    StartIssue, "update issue: status" =>
        save(schema, &["updated_on", "lock_version", "status_id"]);
    ResolveIssue, "update issue: status and assignee" =>
        save(schema, &["updated_on", "lock_version", "status_id", "assigned_to_id"]);

    // What is added to an issue.
    Watching, "does the user watch the issue?" =>
        on(schema, "watchers")
            .index(&["watchable_id", "watchable_type"], 2)
            .filter(&["user_id"])
            .limit(1)
            .columns(&["id"]);
    Watchers, "watchers of issue" =>
        on(schema, "watchers").index(&["watchable_id", "watchable_type"], 2);
    InsertWatcher, "insert watcher" => on(schema, "watchers").insert();
    InsertJournal, "insert journal" => on(schema, "journals").insert();
    InsertDetail, "insert journal detail" => on(schema, "journal_details").insert();

    // What deletes an issue with all that was added to it.
    Journals, "journals of issue" =>
        on(schema, "journals").index(&["journalized_id", "journalized_type"], 2);
    Details, "details of journal: keys" =>
        on(schema, "journal_details").index(&["journal_id"], 1).columns(&["id"]);
    DeleteIssue, "delete issue" => on(schema, "issues").delete();
    DeleteWatcher, "delete watcher" => on(schema, "watchers").delete();
    DeleteJournal, "delete journal" => on(schema, "journals").delete();
    DeleteDetail, "delete journal detail" => on(schema, "journal_details").delete();
}

/// Saves an issue that nobody else has saved since it was loaded.
fn save<'a>(schema: &'a Schema, columns: &[&str]) -> Updates<'a> {
    on(schema, "issues").update(columns).only_if(&["lock_version"])
}
