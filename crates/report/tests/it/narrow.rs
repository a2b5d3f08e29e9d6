//! The table of promises in a terminal, where names are long and columns few.

use bakeoff_analysis::{Document, OtherCuts, PromiseView, RuleView};
use bakeoff_report::{Options, render};
use serde_json::json;

use crate::sample::broken::broken;
use crate::sample::{read, with};

const ENGINES: [&str; 4] =
    ["sqlite", "mariadb:innodb", "mariadb:rocksdb", "postgres://somebody@a-host.example/bench"];
const LEVELS: [&str; 3] = ["strict", "relaxed", "none"];
const RULES: [&str; 4] = ["drop-all", "prefix", "subset", "torn"];
const WIDTHS: [usize; 4] = [60, 80, 100, 132];

/// Every engine at every level, each after another number of cuts, so that rows can be told apart by a cell; what is
/// relaxed is broken.
fn many() -> Document {
    let mut document = broken("torn", "x");
    let places = ENGINES.iter().flat_map(|engine| LEVELS.map(|level| (engine, level)));
    let promise = |(number, (engine, level)): (u32, (&&str, &str))| {
        let (cuts, broken) = (101 + number, u32::from(level == "relaxed"));
        let (promised, kept) = match level {
            "none" => ("nothing", None),
            level => ("everything", Some(level == "strict")),
        };
        let counts = RuleView { cuts, intact: cuts - broken, broken, ..RuleView::default() };
        let rule = |keep: &str| RuleView { keep: keep.into(), ..counts.clone() };
        read(json!({
            "engine": engine, "durability": level, "file_system": "ext4", "promised": promised, "kept": kept,
            "cuts": cuts, "broken": broken, "failed": 0, "rules": RULES.map(rule),
        }))
    };
    document.cuts.clear();
    document.promises = (0..).zip(places).map(promise).collect();
    document
}

/// The lines of the table, without those that follow it.
fn table(document: &Document, width: usize, color: bool) -> Vec<String> {
    let options = Options { color, width, ..Options::default() };
    let report = render(document, "term", &options).expect("a report");
    let head = "What power cuts left of each promise";
    let lines = report.lines().skip_while(|line| !line.contains(head)).skip(1);
    lines.take_while(|line| !line.contains("strict: ")).map(str::to_owned).collect()
}

/// "101 of 101": what the row of a promise says of each rule.
fn cell(promise: &PromiseView) -> String {
    format!("{} of {}", promise.cuts - promise.broken, promise.cuts)
}

fn every_row_is_there(document: &Document, promises: &[&PromiseView]) {
    for width in WIDTHS {
        let lines = table(document, width, false);
        let text = lines.join("\n");
        for promise in promises {
            let cell = cell(promise);
            assert_eq!(text.matches(&cell).count(), RULES.len(), "{width}: {cell}\n{text}");
            let row = lines.iter().find(|line| line.contains(&cell)).expect("a row");
            assert!(row.contains(&promise.durability), "{width}: {row}\n{text}");
            // A name is broken only where the line has no room for it.
            if promise.engine.len() < 16 {
                assert!(row.trim_start().starts_with(&promise.engine), "{width}: {row}\n{text}");
            }
        }
        for line in &lines {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn every_promise_has_its_row_however_narrow_the_terminal() {
    let document = many();
    every_row_is_there(&document, &document.promises.iter().collect::<Vec<_>>());
}

#[test]
fn so_has_every_promise_that_another_run_was_held_against() {
    let mut document = many();
    let other = |promise| OtherCuts {
        folder: "runs/power-cuts-of-the-last-week-of-july".into(),
        plan: None,
        promise,
        cuts: Vec::new(),
        differences: Vec::new(),
    };
    document.other_cuts = std::mem::take(&mut document.promises).into_iter().map(other).collect();
    let promises: Vec<_> = document.other_cuts.iter().map(|other| &other.promise).collect();
    every_row_is_there(&document, &promises);
}

/// No rule has judged anything, and nothing was timed.
#[test]
fn so_has_every_promise_that_could_not_be_tried() {
    let document = with(
        many(),
        json!({
            "cells": [], "promises/*/kept": null, "promises/*/cuts": 0, "promises/*/failed": 1, "promises/*/rules": [],
        }),
    );
    for width in WIDTHS {
        let lines = table(&document, width, false);
        let rows = lines.iter().filter(|line| line.contains("not tried")).count();
        assert_eq!(rows, document.promises.len(), "{width}: {lines:#?}");
    }
}

#[test]
fn of_the_table_only_the_broken_rows_are_red_and_whole() {
    let document = many();
    for width in WIDTHS {
        let lines = table(&document, width, true);
        let is_red = |line: &&String| line.starts_with("\x1b[31m") && line.ends_with("\x1b[0m");
        for promise in &document.promises {
            let cell = cell(promise);
            let rows = lines.iter().filter(|line| line.contains(&cell));
            let red = rows.filter(is_red).count();
            assert_eq!(red > 0, promise.kept == Some(false), "{width}: {cell}\n{lines:#?}");
        }
        // A long name's last line is of its row, too: one of three is broken.
        let rest = |line: &&String| line.contains("bench") && !line.contains("postgres:");
        let rests = lines.iter().filter(rest).count();
        assert_eq!(lines.iter().filter(rest).filter(is_red).count() * 3, rests, "{lines:#?}");
    }
}
