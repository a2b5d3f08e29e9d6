//! The tables of Redmine 5.0 that the operations touch, with every column and index. Times are
//! microseconds since 1970, hours are minutes, booleans 0 and 1.
//!
//! Join tables have no id in Redmine; here their two columns are the key.

use bakeoff_engines::Schema;
use bakeoff_engines::schema::Table;
use bakeoff_engines::schema::Type::{self, Int, MediumText};

const STRING: Type = Type::STRING;

pub mod columns {
    pub const ID: usize = 0;
    pub mod issues {
        pub const TRACKER: usize = 1;
        pub const PROJECT: usize = 2;
        pub const SUBJECT: usize = 3;
        pub const DESCRIPTION: usize = 4;
        pub const STATUS: usize = 7;
        pub const ASSIGNEE: usize = 8;
        pub const PRIORITY: usize = 9;
        pub const AUTHOR: usize = 11;
        pub const LOCK_VERSION: usize = 12;
        pub const CREATED_ON: usize = 13;
        pub const UPDATED_ON: usize = 14;
        pub const START_DATE: usize = 15;
        pub const DONE_RATIO: usize = 16;
        pub const IS_PRIVATE: usize = 22;
    }
    pub mod journals {
        pub const NOTES: usize = 4;
    }
    pub mod trackers {
        pub const POSITION: usize = 3;
    }
}

/// Tables that others refer to come first.
pub fn declare_schema() -> Schema {
    let mut tables = vec![declare_users()];
    tables.extend(declare_projects());
    tables.extend(declare_memberships());
    tables.extend(declare_rules());
    tables.extend(declare_fields());
    tables.extend([declare_issues(), declare_journals(), journal_details(), declare_watchers()]);
    Schema { tables }
}

fn declare_users() -> Table {
    Table::new("users")
        .generated_key("id")
        .column("login", STRING)
        .column("hashed_password", STRING)
        .column("firstname", STRING)
        .column("lastname", STRING)
        .column("admin", Int)
        .column("status", Int)
        .nullable("last_login_on", Int)
        .nullable("language", STRING)
        .nullable("auth_source_id", Int)
        .nullable("created_on", Int)
        .nullable("updated_on", Int)
        .nullable("type", STRING)
        .column("mail_notification", STRING)
        .nullable("salt", STRING)
        .column("must_change_passwd", Int)
        .nullable("passwd_changed_on", Int)
        .nullable("twofa_scheme", STRING)
        .index(&["id", "type"])
        .index(&["auth_source_id"])
        .index(&["type"])
}

fn declare_projects() -> [Table; 2] {
    let projects = Table::new("projects")
        .generated_key("id")
        .column("name", STRING)
        .nullable("description", MediumText)
        .nullable("homepage", STRING)
        .column("is_public", Int)
        .nullable("parent_id", Int)
        .nullable("created_on", Int)
        .nullable("updated_on", Int)
        .nullable("identifier", STRING)
        .column("status", Int)
        .nullable("lft", Int)
        .nullable("rgt", Int)
        .column("inherit_members", Int)
        .nullable("default_version_id", Int)
        .nullable("default_assigned_to_id", Int)
        .index(&["lft"])
        .index(&["rgt"]);
    let enabled_modules = Table::new("enabled_modules")
        .generated_key("id")
        .nullable("project_id", Int)
        .column("name", STRING)
        .index(&["project_id"]);
    [projects, enabled_modules]
}

fn declare_memberships() -> [Table; 3] {
    let roles = Table::new("roles")
        .generated_key("id")
        .column("name", STRING)
        .nullable("position", Int)
        .column("assignable", Int)
        .column("builtin", Int)
        .nullable("permissions", MediumText)
        .column("issues_visibility", STRING)
        .column("users_visibility", STRING)
        .column("time_entries_visibility", STRING)
        .column("all_roles_managed", Int)
        .nullable("settings", MediumText);
    let members = Table::new("members")
        .generated_key("id")
        .column("user_id", Int)
        .column("project_id", Int)
        .nullable("created_on", Int)
        .column("mail_notification", Int)
        .index(&["user_id"])
        .index(&["project_id"])
        .unique(&["user_id", "project_id"]);
    let member_roles = Table::new("member_roles")
        .generated_key("id")
        .column("member_id", Int)
        .column("role_id", Int)
        .nullable("inherited_from", Int)
        .index(&["member_id"])
        .index(&["role_id"])
        .index(&["inherited_from"]);
    [roles, members, member_roles]
}

fn declare_rules() -> [Table; 5] {
    let trackers = Table::new("trackers")
        .generated_key("id")
        .column("name", STRING)
        .nullable("description", STRING)
        .nullable("position", Int)
        .column("is_in_roadmap", Int)
        .nullable("fields_bits", Int)
        .nullable("default_status_id", Int);
    let projects_trackers = Table::new("projects_trackers")
        .key_column("project_id", Int)
        .key_column("tracker_id", Int)
        .index(&["project_id"]);
    let issue_statuses = Table::new("issue_statuses")
        .generated_key("id")
        .column("name", STRING)
        .column("is_closed", Int)
        .nullable("position", Int)
        .nullable("default_done_ratio", Int)
        .index(&["position"])
        .index(&["is_closed"]);
    let enumerations = Table::new("enumerations")
        .generated_key("id")
        .column("name", STRING)
        .nullable("position", Int)
        .column("is_default", Int)
        .nullable("type", STRING)
        .column("active", Int)
        .nullable("project_id", Int)
        .nullable("parent_id", Int)
        .nullable("position_name", STRING)
        .index(&["project_id"])
        .index(&["id", "type"]);
    let workflows = Table::new("workflows")
        .generated_key("id")
        .column("tracker_id", Int)
        .column("old_status_id", Int)
        .column("new_status_id", Int)
        .column("role_id", Int)
        .column("assignee", Int)
        .column("author", Int)
        .nullable("type", STRING)
        .nullable("field_name", STRING)
        .nullable("rule", STRING)
        .index(&["role_id", "tracker_id", "old_status_id"])
        .index(&["old_status_id"])
        .index(&["role_id"])
        .index(&["new_status_id"])
        .index(&["tracker_id"]);
    [trackers, projects_trackers, issue_statuses, enumerations, workflows]
}

fn declare_fields() -> [Table; 4] {
    let custom_fields = Table::new("custom_fields")
        .generated_key("id")
        .column("type", STRING)
        .column("name", STRING)
        .column("field_format", STRING)
        .nullable("possible_values", MediumText)
        .nullable("regexp", STRING)
        .nullable("min_length", Int)
        .nullable("max_length", Int)
        .column("is_required", Int)
        .column("is_for_all", Int)
        .column("is_filter", Int)
        .nullable("position", Int)
        .nullable("searchable", Int)
        .nullable("default_value", MediumText)
        .nullable("editable", Int)
        .column("visible", Int)
        .nullable("multiple", Int)
        .nullable("format_store", MediumText)
        .nullable("description", MediumText)
        .index(&["id", "type"]);
    let custom_fields_projects = Table::new("custom_fields_projects")
        .key_column("project_id", Int)
        .key_column("custom_field_id", Int);
    let custom_fields_trackers = Table::new("custom_fields_trackers")
        .key_column("tracker_id", Int)
        .key_column("custom_field_id", Int);
    let custom_values = Table::new("custom_values")
        .generated_key("id")
        .column("customized_type", STRING)
        .column("customized_id", Int)
        .column("custom_field_id", Int)
        .nullable("value", MediumText)
        .index(&["customized_type", "customized_id"])
        .index(&["custom_field_id"]);
    [custom_fields, custom_fields_projects, custom_fields_trackers, custom_values]
}

fn declare_issues() -> Table {
    Table::new("issues")
        .generated_key("id")
        .column("tracker_id", Int)
        .column("project_id", Int)
        .column("subject", STRING)
        .nullable("description", MediumText)
        .nullable("due_date", Int)
        .nullable("category_id", Int)
        .column("status_id", Int)
        .nullable("assigned_to_id", Int)
        .column("priority_id", Int)
        .nullable("fixed_version_id", Int)
        .column("author_id", Int)
        .column("lock_version", Int)
        .nullable("created_on", Int)
        .nullable("updated_on", Int)
        .nullable("start_date", Int)
        .column("done_ratio", Int)
        .nullable("estimated_hours", Int)
        .nullable("parent_id", Int)
        .nullable("root_id", Int)
        .nullable("lft", Int)
        .nullable("rgt", Int)
        .column("is_private", Int)
        .nullable("closed_on", Int)
        .index(&["project_id"])
        .index(&["status_id"])
        .index(&["category_id"])
        .index(&["assigned_to_id"])
        .index(&["fixed_version_id"])
        .index(&["tracker_id"])
        .index(&["priority_id"])
        .index(&["author_id"])
        .index(&["created_on"])
        .index(&["root_id", "lft", "rgt"])
        .index(&["parent_id"])
}

fn declare_journals() -> Table {
    Table::new("journals")
        .generated_key("id")
        .column("journalized_id", Int)
        .column("journalized_type", STRING)
        .column("user_id", Int)
        .nullable("notes", MediumText)
        .column("created_on", Int)
        .column("private_notes", Int)
        .nullable("updated_on", Int)
        .nullable("updated_by_id", Int)
        .index(&["journalized_id", "journalized_type"])
        .index(&["user_id"])
        .index(&["journalized_id"])
        .index(&["created_on"])
}

fn journal_details() -> Table {
    Table::new("journal_details")
        .generated_key("id")
        .column("journal_id", Int)
        .column("property", STRING)
        .column("prop_key", STRING)
        .nullable("old_value", MediumText)
        .nullable("value", MediumText)
        .index(&["journal_id"])
}

fn declare_watchers() -> Table {
    Table::new("watchers")
        .generated_key("id")
        .column("watchable_type", STRING)
        .column("watchable_id", Int)
        .nullable("user_id", Int)
        .index(&["user_id", "watchable_type"])
        .index(&["user_id"])
        .index(&["watchable_id", "watchable_type"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_valid_and_its_columns_are_where_clients_look() {
        let schema = declare_schema();
        schema.validate().unwrap();
        let issues = schema.table("issues");
        assert_eq!(issues.columns.len(), 24);
        for (name, number) in [
            ("id", columns::ID),
            ("tracker_id", columns::issues::TRACKER),
            ("project_id", columns::issues::PROJECT),
            ("subject", columns::issues::SUBJECT),
            ("description", columns::issues::DESCRIPTION),
            ("status_id", columns::issues::STATUS),
            ("assigned_to_id", columns::issues::ASSIGNEE),
            ("priority_id", columns::issues::PRIORITY),
            ("author_id", columns::issues::AUTHOR),
            ("lock_version", columns::issues::LOCK_VERSION),
            ("created_on", columns::issues::CREATED_ON),
            ("updated_on", columns::issues::UPDATED_ON),
            ("start_date", columns::issues::START_DATE),
            ("done_ratio", columns::issues::DONE_RATIO),
            ("is_private", columns::issues::IS_PRIVATE),
        ] {
            assert_eq!(issues.column_number(name), number, "{name}");
        }
        let journals = schema.table("journals");
        assert_eq!(journals.column_number("notes"), columns::journals::NOTES);
        let trackers = schema.table("trackers");
        assert_eq!(trackers.column_number("position"), columns::trackers::POSITION);
    }
}
