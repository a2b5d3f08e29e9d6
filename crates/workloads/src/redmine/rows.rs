//! The rows of the big tables: issues with ten comments each and who watches them, as if the
//! operation that creates an issue had made them one after the other.
//!
//! # Sizes
//! Subjects have 20 to 80 bytes. Descriptions have 100 to 2,000 and comments 20 to 1,920, most of
//! them short: means of about 720 and 400. At scale giant that is 0.47 GB of text, and 0.74 GB in
//! SQLite's file with all indexes; the article of 2017 measured 0.60 GB for MyRocks, which
//! compresses, and 0.91 GB for InnoDB.

use bakeoff_engines::Value::{Int, Null, Text as Words};
use bakeoff_engines::{Result, Value};
use rand::RngExt;

use super::configuration::{self, NEW, NORMAL};
use super::people::RedmineSize;
use super::{BEGINNING, END, Put, SECOND};
use crate::{TextSource, WorkloadRandom};

const HOUR: i64 = 3600 * SECOND;
/// Comments of each issue.
pub const COMMENTS: i64 = 10;

/// The type of what is watched, commented on and customised.
pub const ISSUE: Value<'static> = Words("Issue");

/// A subject.
pub fn subject<'a>(text: &'a TextSource, random: &mut WorkloadRandom) -> &'a str {
    let longest = random.random_range(20..=80);
    text.cut_line(random, longest)
}

/// A description: with u even between 0 and 1, of 100 + 1900 u² bytes.
pub fn description<'a>(text: &'a TextSource, random: &mut WorkloadRandom) -> &'a str {
    let longest = 100 + ((square(random.random()) * 1900) >> 32);
    text.cut(random, longest as usize)
}

/// The notes of a comment: with u even between 0 and 1, of 20 + 1900 u⁴ bytes.
pub fn notes<'a>(text: &'a TextSource, random: &mut WorkloadRandom) -> &'a str {
    let fourth_power = square(square(random.random()) as u32);
    text.cut(random, 20 + ((fourth_power * 1900) >> 32) as usize)
}

/// The square of a fraction of 2³².
fn square(fraction: u32) -> u64 {
    (u64::from(fraction) * u64::from(fraction)) >> 32
}

/// When an issue was created.
fn created_on(size: &RedmineSize, issue: i64) -> i64 {
    // The last ones leave time for their comments.
    let step = (END - BEGINNING - 100 * 24 * HOUR) / size.issues;
    (BEGINNING + (issue - 1) * step) / SECOND * SECOND
}

/// When comment `number` of an issue was written: hours after the one before it.
fn commented_on(size: &RedmineSize, issue: i64, number: i64) -> i64 {
    created_on(size, issue) + (number + 1) * (5 + issue % 19) * HOUR
}

/// Gives the rows of a table of that name.
pub fn rows(
    table: &str,
    size: &RedmineSize,
    text: &TextSource,
    mut random: WorkloadRandom,
    row: Put<'_>,
) -> Result<()> {
    if configuration::rows(table, size, text, &mut random, row)? {
        return Ok(());
    }
    match table {
        "issues" => issues(size, text, &mut random, row),
        "journals" => journals(size, text, &mut random, row),
        "watchers" => watchers(size, row),
        // Nobody has changed an issue's status yet.
        "journal_details" => Ok(()),
        _ => unreachable!("rows for table {table}"),
    }
}

fn issues(
    size: &RedmineSize,
    text: &TextSource,
    random: &mut WorkloadRandom,
    row: Put<'_>,
) -> Result<()> {
    (1..=size.issues).try_for_each(|id| {
        let roots = size.roots(id);
        let project = roots.author.project;
        let created = created_on(size, id);
        row(&[
            Int(id),
            Int(configuration::trackers(project)[0]),
            Int(project),
            Words(subject(text, random)),
            Words(description(text, random)),
            Null,
            Null,
            Int(NEW),
            Int(roots.assignee.user),
            Int(NORMAL),
            Null,
            Int(roots.author.user),
            // One for its place in the tree, and one for each comment.
            Int(1 + COMMENTS),
            Int(created),
            Int(commented_on(size, id, COMMENTS - 1)),
            Int(created),
            Int(0),
            Null,
            Null,
            Int(id),
            Int(1),
            Int(2),
            Int(0),
            Null,
        ])
    })
}

fn journals(
    size: &RedmineSize,
    text: &TextSource,
    random: &mut WorkloadRandom,
    row: Put<'_>,
) -> Result<()> {
    (0..size.issues * COMMENTS).try_for_each(|at| {
        let (issue, number) = (at / COMMENTS + 1, at % COMMENTS);
        row(&[
            Int(at + 1),
            Int(issue),
            ISSUE,
            Int(size.roots(issue).author.commentator(size, number).user),
            Words(notes(text, random)),
            Int(commented_on(size, issue, number)),
            Int(0),
            Int(commented_on(size, issue, number)),
            Null,
        ])
    })
}

/// Whoever has commented on an issue watches it.
fn watchers(size: &RedmineSize, row: Put<'_>) -> Result<()> {
    let each = super::people::MEMBERS - 1;
    (0..size.issues * each).try_for_each(|at| {
        let (issue, number) = (at / each + 1, at % each);
        let user = size.roots(issue).author.commentator(size, number).user;
        row(&[Int(at + 1), ISSUE, Int(issue), Int(user)])
    })
}
