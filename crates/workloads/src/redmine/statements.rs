//! The statements: each is a look-up or a write that Redmine sends, or a part of a join.
//!
//! Rails selects all columns of what it loads; the first halves of joins find keys only. No read is
//! `for_update`: Rails relies on `lock_version`, which the updates check.

use bakeoff_engines::Schema;
use bakeoff_engines::statement::ReadOrder;

use super::people::MEMBERS;
use crate::declare::asks;
use crate::{Updates, on_table};

pub const TRACKERS: usize = 3;
pub const FIELDS: usize = 3;
pub const OPEN_STATUSES: usize = 4;
const EVERYONE: usize = MEMBERS as usize;
pub const LISTED: usize = 10;

asks! {
    Ask(schema: &Schema):

    // Look-ups for a tracker.
    ProjectTrackers, "trackers of project: keys" =>
        on_table(schema, "projects_trackers").read_by_key(1).columns(&["tracker_id"]);
    TrackersAmong, "trackers of project: rows" => on_table(schema, "trackers").read_by_key(0).among(TRACKERS);
    Tracker, "tracker by id" => on_table(schema, "trackers").read_one();
    HasTracker, "does the project have the tracker?" =>
        on_table(schema, "projects_trackers").read_by_key(2).columns(&["tracker_id"]);
    DefaultPriority, "default priority" =>
        on_table(schema, "enumerations").read_by_key(0).filter(&["type", "is_default"]).limit(1);
    FirstStatus, "first status" =>
        on_table(schema, "issue_statuses").read_by_index(&["position"], 0).order(ReadOrder::Ascending).limit(1);
    Status, "status by id" => on_table(schema, "issue_statuses").read_one();
    OpenStatuses, "open statuses" => on_table(schema, "issue_statuses").read_by_index(&["is_closed"], 1);
    Permissions, "workflow permissions" =>
        on_table(schema, "workflows").read_by_index(&["role_id", "tracker_id", "old_status_id"], 3).filter(&["type"]);

    // Custom fields.
    ProjectFields, "fields of project: keys" =>
        on_table(schema, "custom_fields_projects").read_by_key(1).columns(&["custom_field_id"]);
    TrackerFields, "fields of tracker: keys" =>
        on_table(schema, "custom_fields_trackers").read_by_key(1).columns(&["custom_field_id"]);
    CommonFields, "fields of tracker among those of project" =>
        on_table(schema, "custom_fields_trackers")
            .read_by_key(1)
            .any_of("custom_field_id", FIELDS)
            .columns(&["custom_field_id"]);
    FieldsAmong, "fields: rows" => on_table(schema, "custom_fields").read_by_key(0).among(FIELDS);
    CustomValues, "custom values of issue" =>
        on_table(schema, "custom_values").read_by_index(&["customized_type", "customized_id"], 2);

    Project, "project by id" => on_table(schema, "projects").read_one();
    Modules, "modules of project" => on_table(schema, "enabled_modules").read_by_index(&["project_id"], 1);
    User, "user by id" => on_table(schema, "users").read_one();
    Members, "assignable users: members" =>
        on_table(schema, "members").read_by_index(&["project_id"], 1).columns(&["id", "user_id"]);
    MemberRoles, "assignable users: member roles" =>
        on_table(schema, "member_roles").read_by_index(&["member_id"], 0).among(EVERYONE).columns(&["role_id"]);
    AssignableRoles, "assignable users: roles" =>
        on_table(schema, "roles").read_by_key(0).among(EVERYONE).filter(&["assignable"]).columns(&["id"]);
    ActiveUsers, "assignable users: rows" =>
        on_table(schema, "users").read_by_key(0).among(EVERYONE).filter(&["status"]);

    // Lists have the newest first, as in Redmine.
    Issue, "issue by id" => on_table(schema, "issues").read_one();
    AssignedIssues, "open issues assigned to user" =>
        on_table(schema, "issues")
            .read_by_index(&["assigned_to_id"], 1)
            .any_of("status_id", OPEN_STATUSES)
            .order(ReadOrder::Descending)
            .limit(LISTED as u32);
    InsertIssue, "insert issue" => on_table(schema, "issues").insert();
    PlaceIssue, "update issue: place in tree" =>
        on_table(schema, "issues").update(&["root_id", "lft", "rgt"]).plus("lock_version");
    TouchIssue, "update issue: time" => save_issue(schema, &["updated_on", "lock_version"]);
    StartIssue, "update issue: status" =>
        save_issue(schema, &["updated_on", "lock_version", "status_id"]);
    ResolveIssue, "update issue: status and assignee" =>
        save_issue(schema, &["updated_on", "lock_version", "status_id", "assigned_to_id"]);

    // Additions to an issue.
    Watching, "does the user watch the issue?" =>
        on_table(schema, "watchers")
            .read_by_index(&["watchable_id", "watchable_type"], 2)
            .filter(&["user_id"])
            .limit(1)
            .columns(&["id"]);
    Watchers, "watchers of issue" =>
        on_table(schema, "watchers").read_by_index(&["watchable_id", "watchable_type"], 2);
    InsertWatcher, "insert watcher" => on_table(schema, "watchers").insert();
    InsertJournal, "insert journal" => on_table(schema, "journals").insert();
    InsertDetail, "insert journal detail" => on_table(schema, "journal_details").insert();

    // Deletes an issue with all its additions.
    Journals, "journals of issue" =>
        on_table(schema, "journals").read_by_index(&["journalized_id", "journalized_type"], 2);
    Details, "details of journal: keys" =>
        on_table(schema, "journal_details").read_by_index(&["journal_id"], 1).columns(&["id"]);
    DeleteIssue, "delete issue" => on_table(schema, "issues").delete();
    DeleteWatcher, "delete watcher" => on_table(schema, "watchers").delete();
    DeleteJournal, "delete journal" => on_table(schema, "journals").delete();
    DeleteDetail, "delete journal detail" => on_table(schema, "journal_details").delete();
}

/// Fails if another user has saved the issue since it was loaded.
fn save_issue<'a>(schema: &'a Schema, columns: &[&str]) -> Updates<'a> {
    on_table(schema, "issues").update(columns).only_if(&["lock_version"])
}
