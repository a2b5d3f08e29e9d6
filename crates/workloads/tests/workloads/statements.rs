//! What the operations of `redmine` send, held against what Redmine sends.

use bakeoff_workloads::{OperationTally, WorkloadClient};

use crate::recorder::Recorder;
use crate::{load, prepare};

/// Joins that Redmine sends as one statement and we as several look-ups.
const JOINS: [&[&str]; 5] = [
    &["trackers of project: keys", "trackers of project: rows"],
    &["fields of project: keys", "fields of tracker among those of project", "fields: rows"],
    &["fields of project: keys", "fields: rows"],
    &["fields of tracker: keys", "fields: rows"],
    &[
        "assignable users: members",
        "assignable users: member roles",
        "assignable users: roles",
        "assignable users: rows",
    ],
];

/// The same, with each join as the one statement that Redmine sends; it is named "join" and then
/// as its first look-up.
fn joined(sent: &[String]) -> Vec<String> {
    let mut rest = sent;
    let mut answer = Vec::new();
    while let Some(first) = rest.first() {
        let is = |join: &&&[&str]| {
            join.len() <= rest.len() && join.iter().zip(rest).all(|(name, sent)| sent == name)
        };
        let (length, one) = match JOINS.iter().find(is) {
            Some(join) => (join.len(), format!("join: {}", join[0])),
            None => (1, first.clone()),
        };
        answer.push(one);
        rest = &rest[length..];
    }
    answer
}

/// Splits what an operation sent after each commit.
fn saves(sent: &[String]) -> Vec<&[String]> {
    sent.split_inclusive(|sent| sent == "COMMIT").collect()
}

/// What was sent, one a line: the look-ups before the transaction, then the transaction.
fn trace(sent: &[String]) -> String {
    sent.iter().map(|sent| sent.replace("BEGIN Write", "BEGIN") + "\n").collect()
}

/// What an operation of so many transactions adds, with so many tries again.
fn tally_of(transactions: u64, retries: u64) -> OperationTally {
    OperationTally { transactions, retries, ..OperationTally::default() }
}

/// A loaded database's recorder, and a client that is alone.
fn with_redmine(test: impl FnOnce(&mut Recorder<'_>, &mut dyn WorkloadClient)) {
    let directory = tempfile::tempdir().unwrap();
    let redmine = prepare("redmine", "small");
    let database = load("sqlite", directory.path(), &*redmine, Vec::new());
    let mut recorder = Recorder::new(&*redmine, database.session().unwrap());
    test(&mut recorder, &mut *redmine.make_client(0, 1, 1));
}

const CREATE: &str = "\
join: trackers of project: keys
default priority
first status
status by id
BEGIN
workflow permissions
workflow permissions
join: fields of project: keys
does the project have the tracker?
insert issue
update issue: place in tree
custom values of issue
COMMIT
";

/// Without the two writes that only some comments need.
const COMMENT: &str = "\
issue by id
tracker by id
project by id
join: fields of project: keys
join: fields of tracker: keys
BEGIN
workflow permissions
custom values of issue
modules of project
does the user watch the issue?
insert journal
COMMIT
";

/// For somebody who watches the issue.
const START: &str = "\
issue by id
tracker by id
project by id
join: fields of project: keys
join: fields of tracker: keys
status by id
BEGIN
workflow permissions
update issue: status
custom values of issue
modules of project
does the user watch the issue?
watchers of issue
insert journal
insert journal detail
COMMIT
";

const RESOLVE: &str = "\
join: assignable users: members
issue by id
tracker by id
project by id
join: fields of project: keys
join: fields of tracker: keys
status by id
user by id
user by id
BEGIN
workflow permissions
update issue: status and assignee
custom values of issue
modules of project
does the user watch the issue?
watchers of issue
insert journal
insert journal detail
insert journal detail
COMMIT
";

/// Without these, each of which comes once at most.
fn without(trace: &str, names: &[&str]) -> String {
    assert!(names.iter().all(|name| trace.matches(name).count() < 2), "{trace}");
    trace.lines().filter(|line| !names.contains(line)).map(|line| format!("{line}\n")).collect()
}

#[test]
fn creating_an_issue_sends_what_redmine_sends() {
    with_redmine(|recorder, client| {
        for _ in 0..20 {
            let (sent, tally) = recorder.record(client, 0);
            assert_eq!(tally, tally_of(11, 0));
            let as_redmine = joined(&sent);
            let saves = saves(&as_redmine);
            assert_eq!(saves.len(), 11);
            assert_eq!(trace(saves[0]), CREATE);
            for (number, comment) in saves[1..].iter().enumerate() {
                let comment = trace(comment);
                let rare = ["insert watcher", "update issue: time"];
                assert_eq!(without(&comment, &rare), COMMENT);
                // Nine others comment, the first of them once more; the first time they watch.
                assert_eq!(comment.contains("insert watcher"), number < 9, "{number}");
                let order = comment.find("insert watcher") < comment.find("insert journal");
                assert!(order, "{comment}");
            }
        }
    });
}

#[test]
fn processing_issues_sends_what_redmine_sends() {
    with_redmine(|recorder, client| {
        for _ in 0..20 {
            let (sent, tally) = recorder.record(client, 1);
            assert_eq!(tally, tally_of(20, 0));
            let as_redmine = joined(&sent);
            let (list, rest) = as_redmine.split_at(2);
            assert_eq!(trace(list), "open statuses\nopen issues assigned to user\n");
            for (number, save) in saves(rest).into_iter().enumerate() {
                let expected = if number % 2 == 0 { START } else { RESOLVE };
                let rare: &[&str] = if number % 2 == 0 { &["insert watcher"] } else { &[] };
                assert_eq!(without(&trace(save), rare), expected);
            }
        }
    });
}

#[test]
fn a_conflict_repeats_the_transaction_only_and_counts() {
    with_redmine(|recorder, client| {
        recorder.conflicts = 2;
        let (sent, tally) = recorder.record(client, 0);
        assert_eq!(tally, tally_of(11, 2));
        let first = saves(&sent)[0];
        let count = |name: &str| first.iter().filter(|sent| *sent == name).count();
        assert_eq!(count("first status"), 1);
        assert_eq!(count("insert issue"), 3);
    });
}

#[test]
fn a_save_of_an_older_version_is_repeated_from_its_first_look_up_and_counts() {
    with_redmine(|recorder, client| {
        recorder.stale = 2;
        let (sent, tally) = recorder.record(client, 1);
        assert_eq!(tally, tally_of(20, 2));
        let as_redmine = joined(&sent);
        let start = as_redmine.iter().position(|sent| sent == "issue by id");
        let first = trace(saves(&as_redmine[start.unwrap()..])[0]);
        let given_up = START.split_inclusive("update issue: status\n").next().unwrap();
        let twice = format!("{given_up}ROLLBACK\n").repeat(2);
        assert_eq!(without(&first, &["insert watcher"]), format!("{twice}{START}"));
    });
}
