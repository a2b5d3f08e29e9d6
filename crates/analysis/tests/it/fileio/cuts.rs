//! What mount options buy, and what power cuts leave of what was synced.

use std::sync::LazyLock;

use bakeoff_analysis::{Comparison, Document, FoundInCuts, PromiseView, RuleView, Verdict};
use bakeoff_results::Promised;

use super::{NONE, assert_page, assert_says, cell, levels_of, or_none, per_second, table, times};
use crate::kept::digits;

/// The run of docs/findings/fileio-cuts.toml.
pub static CUTS: LazyLock<Document> = LazyLock::new(|| super::read("cuts"));

/// The rules for what a cut leaves, in the order of the page's columns.
const RULES: [&str; 4] = ["drop-all", "prefix", "subset", "torn"];

/// The mount options of a disk, as the head of the table names them.
fn options(disk: &str, base: &str) -> String {
    let options = disk.strip_prefix(base).and_then(|it| it.strip_prefix('/'));
    let options = options.expect("the same disk with options").split('/');
    options.map(|option| format!("`{option}`")).collect::<Vec<_>>().join(", ")
}

#[test]
fn what_mount_options_buy_is_what_the_run_compared() {
    let (base, others) = levels_of(&CUTS, "disk").split_first().expect("disks");
    let names: Vec<String> = others.iter().map(|disk| options(disk, base)).collect();
    let row = |sync: &String| {
        let at = [("sync", sync.as_str())];
        let rate = cell(&CUTS, base, &at).and_then(per_second);
        let mut row = vec![format!("`{sync}`"), or_none(rate)];
        row.extend(others.iter().map(|disk| times(&CUTS, [disk, base], None, &at)));
        row
    };
    let rows: Vec<Vec<String>> = levels_of(&CUTS, "sync").iter().map(row).collect();
    assert_page(&table(&format!("sync | {base} | {}", names.join(" | ")), &rows));
}

/// The most blocks that a cut left otherwise, of each kind that was found.
fn at_most(promise: &PromiseView) -> String {
    let most = |found: fn(&RuleView) -> FoundInCuts| {
        promise.rules.iter().map(|rule| found(rule).most).max().unwrap_or_default()
    };
    let all = [
        ("lost", most(|rule| rule.lost)),
        ("torn", most(|rule| rule.torn)),
        ("phantom", most(|rule| rule.phantom)),
    ];
    let found = all.iter().filter(|(_, most)| *most > 0);
    let found: Vec<String> = found.map(|(kind, most)| format!("{most} {kind}")).collect();
    if found.is_empty() { NONE.into() } else { found.join(", ") }
}

#[test]
fn what_cuts_kept_is_what_the_run_found() {
    let row = |promise: &PromiseView| {
        let rules: Vec<&str> = promise.rules.iter().map(|it| it.keep.as_str()).collect();
        assert_eq!(rules, RULES, "{} at {}", promise.engine, promise.durability);
        let promised = match promise.promised {
            Promised::Nothing => "nothing",
            Promised::Whole { .. } => "whole",
            Promised::Everything => "everything",
        };
        let stood = |rule: &RuleView| format!("{} of {}", rule.cuts - rule.broken, rule.cuts);
        let mut row = vec![
            format!("`{}`", promise.engine),
            format!("`{}`", promise.durability),
            promised.into(),
        ];
        row.extend(promise.rules.iter().map(stood));
        row.push(at_most(promise));
        row
    };
    let rows: Vec<Vec<String>> = CUTS.promises.iter().map(row).collect();
    let columns = format!("disk | sync | promised | {} | at most", RULES.join(" | "));
    assert_page(&table(&columns, &rows));
}

/// Whether a disk is without barriers.
fn has_no_barriers(disk: &str) -> bool {
    disk.split('/').any(|option| option == "barrier=0")
}

/// After how many cuts something was lost without barriers, the fewest and the most, and how many cuts there were.
pub fn broken_without_barriers() -> (String, u32) {
    let all: Vec<_> = CUTS.promises.iter().filter(|it| has_no_barriers(&it.engine)).collect();
    let broken = || all.iter().map(|it| it.broken);
    let (fewest, most) = (broken().min().expect("one"), broken().max().expect("one"));
    assert!(all.iter().all(|it| it.cuts == all[0].cuts));
    (format!("{fewest} to {most}"), all[0].cuts)
}

/// How many times as many synced writes there were without barriers, the least and the most. It is no verdict,
/// since the promise was broken.
pub fn faster_without_barriers() -> String {
    let base = &levels_of(&CUTS, "disk")[0];
    let is_it = |it: &&Comparison| it.baseline == *base && has_no_barriers(&it.level);
    let all: Vec<&Comparison> = CUTS.comparisons.iter().filter(is_it).collect();
    assert!(all.iter().all(|it| it.verdict == Verdict::Void));
    let ratios = || all.iter().map(|it| 1.0 / it.ratio.expect("a ratio"));
    let (least, most) = (ratios().reduce(f64::min), ratios().reduce(f64::max));
    format!("{} to {} times", digits(least.expect("some")), digits(most.expect("some")))
}

#[test]
fn what_cuts_broke_is_named() {
    let broken = CUTS.promises.iter().filter(|it| it.broken > 0);
    let each = broken.map(|PromiseView { engine, durability, broken, cuts, .. }| {
        format!("`{engine}` at `{durability}` after {broken} of {cuts}")
    });
    let all = each.collect::<Vec<_>>().join(", ");
    let all: &str = if all.is_empty() { "none" } else { &all };
    assert_says(&format!("Broken: {all}."));
}
