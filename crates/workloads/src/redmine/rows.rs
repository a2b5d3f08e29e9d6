//! Issues with ten comments each and their watchers, as if the operation that creates an issue had
//! made them.
//!
//! Subjects have 20 to 80 bytes, descriptions 100 to 2,000 and comments 20 to 1,920, with means of
//! about 720 and 400. At scale giant that is 0.47 GB of text, and 0.74 GB in SQLite's file with all
//! indexes; the article of 2017 measured 0.60 GB for MyRocks, which compresses, and 0.91 GB for
//! InnoDB.

use bakeoff_engines::Value::{Int, Null, Text as Words};
use bakeoff_engines::{Result, Value};
use rand::RngExt;

use super::configuration::{self, NEW, NORMAL};
use super::people::RedmineSize;
use super::{BEGINNING, END, Put, SECOND};
use crate::{TextSource, WorkloadRandom};

const HOUR: i64 = 3600 * SECOND;
pub const COMMENTS: i64 = 10;

pub const ISSUE: Value<'static> = Words("Issue");

pub fn draw_subject<'a>(text: &'a TextSource, random: &mut WorkloadRandom) -> &'a str {
    let longest = random.random_range(20..=80);
    text.cut_line(random, longest)
}

/// 100 + 1900 u² bytes, with u uniform from 0 to 1.
pub fn draw_description<'a>(text: &'a TextSource, random: &mut WorkloadRandom) -> &'a str {
    let longest = 100 + ((square_fraction(random.random()) * 1900) >> 32);
    text.cut(random, longest as usize)
}

/// 20 + 1900 u⁴ bytes, with u uniform from 0 to 1.
pub fn draw_notes<'a>(text: &'a TextSource, random: &mut WorkloadRandom) -> &'a str {
    let fourth_power = square_fraction(square_fraction(random.random()) as u32);
    text.cut(random, 20 + ((fourth_power * 1900) >> 32) as usize)
}

fn square_fraction(fraction: u32) -> u64 {
    (u64::from(fraction) * u64::from(fraction)) >> 32
}

fn created_on(size: &RedmineSize, issue: i64) -> i64 {
    // Leaves time for the comments of the last issues.
    let step = (END - BEGINNING - 100 * 24 * HOUR) / size.issues;
    (BEGINNING + (issue - 1) * step) / SECOND * SECOND
}

fn commented_on(size: &RedmineSize, issue: i64, number: i64) -> i64 {
    created_on(size, issue) + (number + 1) * (5 + issue % 19) * HOUR
}

pub fn write_rows(
    table: &str,
    size: &RedmineSize,
    text: &TextSource,
    mut random: WorkloadRandom,
    row: Put<'_>,
) -> Result<()> {
    if configuration::write_rows(table, size, text, &mut random, row)? {
        return Ok(());
    }
    match table {
        "issues" => write_issues(size, text, &mut random, row),
        "journals" => write_journals(size, text, &mut random, row),
        "watchers" => write_watchers(size, row),
        // No issue has changed its status yet.
        "journal_details" => Ok(()),
        _ => unreachable!("rows for table {table}"),
    }
}

fn write_issues(
    size: &RedmineSize,
    text: &TextSource,
    random: &mut WorkloadRandom,
    row: Put<'_>,
) -> Result<()> {
    (1..=size.issues).try_for_each(|id| {
        let roots = size.find_roots(id);
        let project = roots.author.project;
        let created = created_on(size, id);
        row(&[
            Int(id),
            Int(configuration::list_trackers(project)[0]),
            Int(project),
            Words(draw_subject(text, random)),
            Words(draw_description(text, random)),
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

fn write_journals(
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
            Int(size.find_roots(issue).author.choose_commentator(size, number).user),
            Words(draw_notes(text, random)),
            Int(commented_on(size, issue, number)),
            Int(0),
            Int(commented_on(size, issue, number)),
            Null,
        ])
    })
}

fn write_watchers(size: &RedmineSize, row: Put<'_>) -> Result<()> {
    let each = super::people::MEMBERS - 1;
    (0..size.issues * each).try_for_each(|at| {
        let (issue, number) = (at / each + 1, at % each);
        let user = size.find_roots(issue).author.choose_commentator(size, number).user;
        row(&[Int(at + 1), ISSUE, Int(issue), Int(user)])
    })
}
