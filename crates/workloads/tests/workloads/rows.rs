//! The rows to load: as many as promised, always the same, and pointing at each other.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use bakeoff_engines::Value;
use bakeoff_workloads::{PreparedWorkload, WorkloadParameters};

use crate::{each_row, prepare, text};

/// Workloads whose every row is looked at.
const LOOKED_AT: [(&str, &str); 4] =
    [("redmine", "small"), ("text-oltp", "small"), ("vote", "small"), ("oltp", "10k")];

/// The integers of some columns of every row of a table; nulls are left out as -1.
fn integers(prepared: &dyn PreparedWorkload, table: &str, columns: &[&str]) -> Vec<Vec<i64>> {
    let number = prepared.schema().table_number(table);
    let columns: Vec<usize> =
        columns.iter().map(|name| prepared.schema().table(table).column_number(name)).collect();
    let mut found = Vec::new();
    each_row(prepared, number, |row| {
        found.push(columns.iter().map(|column| integer(&row[*column])).collect());
    });
    found
}

fn integer(value: &Value<'_>) -> i64 {
    match value {
        Value::Int(integer) => *integer,
        _ => -1,
    }
}

fn count(prepared: &dyn PreparedWorkload, table: &str) -> usize {
    let mut count = 0;
    each_row(prepared, prepared.schema().table_number(table), |_| count += 1);
    count
}

#[test]
fn scales_hold_what_they_say() {
    for (scale, users, projects, issues) in
        [("small", 30, 13, 1_000), ("large", 1_000, 120, 10_000), ("giant", 10_000, 1_200, 100_000)]
    {
        let redmine = prepare("redmine", scale);
        let all = [
            ("users", users),
            ("projects", projects),
            ("members", 10 * projects),
            ("issues", issues),
            ("member_roles", 10 * projects),
            ("journals", 10 * issues),
            ("journal_details", 0),
            ("watchers", 9 * issues),
        ];
        // The texts of a million comments would take a minute.
        let looked_at = if scale == "giant" { &all[..4] } else { &all };
        for (table, rows) in looked_at {
            assert_eq!(count(&*redmine, table), *rows, "{table} at {scale}");
        }
    }
    for (workload, scale, table, rows) in [
        ("text-oltp", "small", "articles", 10_000),
        ("oltp", "100k", "sbtest1", 100_000),
        ("vote", "small", "entries", 16_000),
        ("vote", "small", "sessions", 0),
    ] {
        assert_eq!(count(&*prepare(workload, scale), table), rows, "{table} of {workload}");
    }
}

#[test]
fn rows_keep_the_schema_and_come_in_the_order_of_their_keys() {
    for (name, scale) in LOOKED_AT {
        let prepared = prepare(name, scale);
        for (number, table) in prepared.schema().tables.iter().enumerate() {
            let mut last = None;
            each_row(&*prepared, number, |row| {
                assert_eq!(row.len(), table.columns.len(), "{}", table.name);
                for (value, column) in row.iter().zip(&table.columns) {
                    let fits = column.fits(*value).is_ok();
                    assert!(fits, "{}.{}: {value:?}", table.name, column.name);
                }
                let key: Vec<i64> = table.key.iter().map(|column| integer(&row[*column])).collect();
                assert!(last.as_ref().is_none_or(|last| *last < key), "{}", table.name);
                last = Some(key);
            });
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_rows_and_another_gives_others() {
    let digest = |prepared: &dyn PreparedWorkload| {
        let mut hasher = DefaultHasher::new();
        let tables = 0..prepared.schema().tables.len();
        tables.for_each(|table| each_row(prepared, table, |row| row.hash(&mut hasher)));
        hasher.finish()
    };
    for (name, scale) in LOOKED_AT {
        let workload = bakeoff_workloads::find_workload(name).unwrap();
        let of_seed =
            |seed| digest(&*workload.prepare(&WorkloadParameters::new(scale, seed, text())));
        assert_eq!(of_seed(1), of_seed(1), "{name}");
        assert_ne!(of_seed(1), of_seed(2), "{name}");
    }
}

#[test]
fn what_rows_point_at_is_there() {
    let redmine = prepare("redmine", "small");
    let ids = |table| -> HashSet<i64> {
        integers(&*redmine, table, &["id"]).into_iter().map(|row| row[0]).collect()
    };
    for (table, column, target) in [
        ("enabled_modules", "project_id", "projects"),
        ("members", "user_id", "users"),
        ("members", "project_id", "projects"),
        ("member_roles", "member_id", "members"),
        ("member_roles", "role_id", "roles"),
        ("projects_trackers", "project_id", "projects"),
        ("projects_trackers", "tracker_id", "trackers"),
        ("custom_fields_projects", "project_id", "projects"),
        ("custom_fields_projects", "custom_field_id", "custom_fields"),
        ("custom_fields_trackers", "tracker_id", "trackers"),
        ("custom_fields_trackers", "custom_field_id", "custom_fields"),
        ("custom_values", "custom_field_id", "custom_fields"),
        ("workflows", "tracker_id", "trackers"),
        ("workflows", "role_id", "roles"),
        ("issues", "tracker_id", "trackers"),
        ("issues", "project_id", "projects"),
        ("issues", "status_id", "issue_statuses"),
        ("issues", "assigned_to_id", "users"),
        ("issues", "priority_id", "enumerations"),
        ("issues", "author_id", "users"),
        ("issues", "root_id", "issues"),
        ("journals", "journalized_id", "issues"),
        ("journals", "user_id", "users"),
        ("watchers", "watchable_id", "issues"),
        ("watchers", "user_id", "users"),
    ] {
        let known = ids(target);
        let rows = integers(&*redmine, table, &[column]);
        assert!(!rows.is_empty() && rows.iter().all(|row| known.contains(&row[0])), "{table}");
    }
}

#[test]
fn people_work_on_the_issues_of_their_projects_only() {
    for scale in ["small", "large"] {
        let redmine = prepare("redmine", scale);
        let members = integers(&*redmine, "members", &["project_id", "user_id"]);
        let members: HashSet<_> = members.iter().map(|row| (row[0], row[1])).collect();
        let mut sizes: HashMap<i64, usize> = HashMap::new();
        members.iter().for_each(|(project, _)| *sizes.entry(*project).or_default() += 1);
        assert!(sizes.values().all(|size| *size == 10), "{sizes:?}");

        let mut assigned: HashMap<i64, i64> = HashMap::new();
        let mut issues = HashMap::new();
        let columns = ["id", "project_id", "author_id", "assigned_to_id", "updated_on"];
        for row in integers(&*redmine, "issues", &columns) {
            let [id, project, author, assignee, updated] = row.try_into().unwrap();
            assert!(members.contains(&(project, author)) && members.contains(&(project, assignee)));
            assert_ne!(author, assignee);
            *assigned.entry(assignee).or_default() += 1;
            issues.insert(id, (project, author, updated));
        }
        assert!(assigned.values().all(|count| *count >= 10), "everybody has ten issues");

        let mut last: HashMap<i64, i64> = HashMap::new();
        for row in integers(&*redmine, "journals", &["journalized_id", "user_id", "created_on"]) {
            let (project, author, _) = issues[&row[0]];
            assert!(members.contains(&(project, row[1])) && row[1] != author);
            last.insert(row[0], row[2]);
        }
        assert!(issues.iter().all(|(id, (.., updated))| last[id] == *updated));
    }
}

/// Room and loading time are estimated by it before a run.
#[test]
fn scales_have_the_bytes_and_entries_that_they_say() {
    for workload in bakeoff_workloads::WORKLOADS {
        // The largest would take minutes here; it is ten times the one before it.
        for scale in workload.scales().iter().filter(|scale| scale.bytes < 300_000_000) {
            let prepared = prepare(workload.name(), &scale.name);
            let (mut bytes, mut entries) = (0, 0);
            for (table, about) in prepared.schema().tables.iter().enumerate() {
                each_row(&*prepared, table, |row| {
                    bytes += row.iter().map(size).sum::<u64>();
                    entries += 1 + about.indexes.len() as u64;
                });
            }
            let share = bytes as f64 / scale.bytes as f64;
            let name = workload.name();
            assert!((0.75..1.25).contains(&share), "{name} {}: {bytes}", scale.name);
            let share = entries as f64 / workload.estimate_entries(&scale.name) as f64;
            assert!((0.95..1.05).contains(&share), "{name} {}: {entries} entries", scale.name);
        }
    }
}

fn size(value: &Value<'_>) -> u64 {
    match value {
        Value::Null => 0,
        Value::Int(_) | Value::Real(_) => 8,
        Value::Text(text) => text.len() as u64,
        Value::Bytes(bytes) => bytes.len() as u64,
    }
}
