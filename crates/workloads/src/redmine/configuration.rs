use bakeoff_engines::Result;
use bakeoff_engines::Value::{self, Int, Null, Text as Words};

use super::people::{MEMBERS, RedmineSize};
use super::statements::FIELDS;
use super::{BEGINNING, Put};
use crate::{TextSource, WorkloadRandom};

pub const STATUSES: [(&str, bool); 6] = [
    ("New", false),
    ("In Progress", false),
    ("Resolved", false),
    ("Feedback", false),
    ("Closed", true),
    ("Rejected", true),
];
pub const NEW: i64 = 1;
pub const IN_PROGRESS: i64 = 2;
pub const RESOLVED: i64 = 3;

pub const NORMAL: i64 = 2;

const ENUMERATIONS: [(&str, &str, i64, bool); 9] = [
    ("IssuePriority", "Low", 1, false),
    ("IssuePriority", "Normal", 2, true),
    ("IssuePriority", "High", 3, false),
    ("IssuePriority", "Urgent", 4, false),
    ("IssuePriority", "Immediate", 5, false),
    ("DocumentCategory", "User documentation", 1, false),
    ("DocumentCategory", "Technical documentation", 2, false),
    ("TimeEntryActivity", "Design", 1, false),
    ("TimeEntryActivity", "Development", 2, false),
];

const MODULES: [&str; 10] = [
    "issue_tracking",
    "time_tracking",
    "news",
    "documents",
    "files",
    "wiki",
    "repository",
    "boards",
    "calendar",
    "gantt",
];

const PERMISSIONS: &str = "---\n- :view_issues\n- :add_issues\n- :edit_issues\n- :copy_issues\n\
    - :manage_issue_relations\n- :manage_subtasks\n- :add_issue_notes\n- :edit_own_issue_notes\n\
    - :save_queries\n- :view_issue_watchers\n- :add_issue_watchers\n- :log_time\n\
    - :view_time_entries\n- :view_news\n- :comment_news\n- :view_documents\n- :view_files\n\
    - :view_wiki_pages\n- :edit_wiki_pages\n- :view_messages\n- :add_messages\n\
    - :view_calendar\n- :view_gantt\n- :browse_repository\n- :view_changesets\n";

pub fn list_trackers(project: i64) -> &'static [i64] {
    const ALL: [i64; 3] = [1, 2, 3];
    &ALL[project as usize % 3..]
}

/// Any project and tracker share some fields. No issue has a value in them: in the trace users
/// leave them empty.
fn custom_fields(owner: i64) -> impl Iterator<Item = i64> {
    (0..FIELDS as i64).map(move |number| 1 + owner % 2 + number)
}

fn encode_flag(on: bool) -> Value<'static> {
    Int(i64::from(on))
}

pub fn write_rows(
    table: &str,
    size: &RedmineSize,
    text: &TextSource,
    random: &mut WorkloadRandom,
    row: Put<'_>,
) -> Result<bool> {
    match table {
        "users" => write_users(size, row)?,
        "projects" => write_projects(size, text, random, row)?,
        "enabled_modules" => enabled_modules(size, row)?,
        "roles" => write_roles(row)?,
        "members" => write_members(size, row)?,
        "member_roles" => member_roles(size, row)?,
        "trackers" => named_trackers(row)?,
        "projects_trackers" => {
            write_pairs(size.projects, |owner| list_trackers(owner).iter().copied(), row)?
        }
        "issue_statuses" => issue_statuses(row)?,
        "enumerations" => write_enumerations(row)?,
        "workflows" => write_workflows(row)?,
        "custom_fields" => write_fields(row)?,
        "custom_fields_projects" => write_pairs(size.projects, custom_fields, row)?,
        "custom_fields_trackers" => write_pairs(3, custom_fields, row)?,
        "custom_values" => custom_values(size, row)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn write_pairs<I: Iterator<Item = i64>>(
    owners: i64,
    owned: impl Fn(i64) -> I,
    row: Put<'_>,
) -> Result<()> {
    (1..=owners).try_for_each(|owner| owned(owner).try_for_each(|id| row(&[Int(owner), Int(id)])))
}

fn write_users(size: &RedmineSize, row: Put<'_>) -> Result<()> {
    (1..=size.users).try_for_each(|id| {
        row(&[
            Int(id),
            Words(&format!("user{id}")),
            // As a SHA-1 looks; nobody logs in with it.
            Words(&format!("{:040x}", (id as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060))),
            Words(&format!("First{id}")),
            Words(&format!("Last{id}")),
            encode_flag(id == 1),
            Int(1),
            Null,
            Words("en"),
            Null,
            Int(BEGINNING),
            Int(BEGINNING),
            Words("User"),
            Words("only_my_events"),
            Words(&format!("{:032x}", (id as u128).wrapping_mul(0xda94_2042_e4dd_58b5))),
            Int(0),
            Int(BEGINNING),
            Null,
        ])
    })
}

fn write_projects(
    size: &RedmineSize,
    text: &TextSource,
    random: &mut WorkloadRandom,
    row: Put<'_>,
) -> Result<()> {
    (1..=size.projects).try_for_each(|id| {
        row(&[
            Int(id),
            Words(text.cut_line(random, 40)),
            Words(text.cut(random, 600)),
            Words(""),
            Int(1),
            Null,
            Int(BEGINNING),
            Int(BEGINNING),
            Words(&format!("project-{id}")),
            Int(1),
            Int(2 * id - 1),
            Int(2 * id),
            Int(0),
            Null,
            Null,
        ])
    })
}

fn enabled_modules(size: &RedmineSize, row: Put<'_>) -> Result<()> {
    let all = (1..=size.projects).flat_map(|project| MODULES.map(|module| (project, module)));
    (1..)
        .zip(all)
        .try_for_each(|(id, (project, module))| row(&[Int(id), Int(project), Words(module)]))
}

fn write_roles(row: Put<'_>) -> Result<()> {
    let roles = ["Non member", "Anonymous", "Manager", "Developer", "Reporter"];
    (1..).zip(roles).try_for_each(|(id, name)| {
        let built_in = id <= 2;
        row(&[
            Int(id),
            Words(name),
            Int(id),
            encode_flag(!built_in),
            Int(if built_in { id } else { 0 }),
            Words(PERMISSIONS),
            Words("default"),
            Words("all"),
            Words("all"),
            Int(1),
            Null,
        ])
    })
}

fn write_members(size: &RedmineSize, row: Put<'_>) -> Result<()> {
    every_member(size).try_for_each(|(id, member)| {
        row(&[Int(id), Int(member.user), Int(member.project), Int(BEGINNING), Int(0)])
    })
}

fn member_roles(size: &RedmineSize, row: Put<'_>) -> Result<()> {
    every_member(size)
        .try_for_each(|(id, member)| row(&[Int(id), Int(id), Int(member.role()), Null]))
}

fn every_member(size: &RedmineSize) -> impl Iterator<Item = (i64, super::people::ProjectMember)> {
    let places = (1..=size.projects).flat_map(|project| (0..MEMBERS).map(move |at| (project, at)));
    (1..).zip(places.map(|(project, place)| size.member_at(project, place)))
}

fn named_trackers(row: Put<'_>) -> Result<()> {
    (1..).zip(["Bug", "Feature", "Support"]).try_for_each(|(id, name)| {
        row(&[Int(id), Words(name), Words(""), Int(id), Int(1), Int(0), Int(NEW)])
    })
}

fn issue_statuses(row: Put<'_>) -> Result<()> {
    (1..).zip(STATUSES).try_for_each(|(id, (name, closed))| {
        row(&[Int(id), Words(name), encode_flag(closed), Int(id), Null])
    })
}

fn write_enumerations(row: Put<'_>) -> Result<()> {
    (1..).zip(ENUMERATIONS).try_for_each(|(id, (kind, name, position, default))| {
        row(&[
            Int(id),
            Words(name),
            Int(position),
            encode_flag(default),
            Words(kind),
            Int(1),
            Null,
            Null,
            Words("default"),
        ])
    })
}

/// Who may move an issue between which statuses (0: not yet created), and two fields that a role
/// must fill in or leave.
fn write_workflows(row: Put<'_>) -> Result<()> {
    let mut id = 0;
    let mut put = |tracker, old, new, role, kind, field, rule| {
        id += 1;
        let keys = [Int(id), Int(tracker), Int(old), Int(new), Int(role), Int(0), Int(0)];
        let [id, tracker, old, new, role, assignee, author] = keys;
        row(&[id, tracker, old, new, role, assignee, author, Words(kind), field, rule])
    };
    let statuses = STATUSES.len() as i64;
    for role in 3..=5 {
        for (tracker, old) in (1..=3).flat_map(|t| (0..=statuses).map(move |old| (t, old))) {
            for new in (1..=statuses).filter(|new| *new != old) {
                put(tracker, old, new, role, "WorkflowTransition", Null, Null)?;
            }
            for (field, rule) in [("due_date", "readonly"), ("description", "required")] {
                put(tracker, old, 0, role, "WorkflowPermission", Words(field), Words(rule))?;
            }
        }
    }
    Ok(())
}

fn write_fields(row: Put<'_>) -> Result<()> {
    let issue = ["Customer", "Platform", "Reproducible", "Component"];
    let kinds = issue.map(|name| (name, "IssueCustomField"));
    let all = kinds.into_iter().chain([("Cost centre", "ProjectCustomField")]);
    (1..).zip(all).try_for_each(|(id, (name, kind))| {
        row(&[
            Int(id),
            Words(kind),
            Words(name),
            Words("string"),
            Null,
            Words(""),
            Null,
            Null,
            Int(0),
            Int(0),
            Int(1),
            Int(id),
            Int(0),
            Words(""),
            Int(1),
            Int(1),
            Int(0),
            Words("---\ntext_formatting: ''\nurl_pattern: ''\n"),
            Words(""),
        ])
    })
}

fn custom_values(size: &RedmineSize, row: Put<'_>) -> Result<()> {
    (1..=size.projects).try_for_each(|project| {
        let value = format!("{}", 4000 + project % 97);
        row(&[Int(project), Words("Project"), Int(project), Int(5), Words(&value)])
    })
}
