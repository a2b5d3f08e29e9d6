//! A run whose disks promise, by when files are synced.

use bakeoff_analysis::Document;
use bakeoff_report::verdict;
use bakeoff_results::PromiseFactors;

use super::{text, words};
use crate::sample::{broken::broken, files::files};

const DISK: &str = "hdd-7200";
const SYNC: &str = "fdatasync:1";

/// The run of files, and a cut of one of its disks that found less than was synced.
fn of_disks() -> Document {
    let mut document = files();
    let Document { run, cuts, promises, .. } = broken("torn", "block 3 of file 0 is torn");
    let own = &mut document.run.run;
    own.factors.push(("sync".into(), vec![SYNC.into()]));
    own.cuts = run.run.cuts;
    let plan = own.cuts.as_mut().expect("it was cut");
    plan.promise = PromiseFactors { who: "disk".into(), what: "sync".into() };
    plan.command = "bakeoff run fileio --seed 1".into();
    (document.cuts, document.promises) = (cuts, promises);
    for cut in &mut document.cuts {
        (cut.engine, cut.durability) = (DISK.into(), SYNC.into());
    }
    for promise in &mut document.promises {
        (promise.engine, promise.durability) = (DISK.into(), SYNC.into());
    }
    let cells = document.cells.iter_mut().map(|cell| &mut cell.levels);
    let trials = document.trials.iter_mut().map(|trial| &mut trial.levels);
    for levels in cells.chain(trials) {
        levels.insert("sync".into(), SYNC.into());
    }
    document
}

/// The part of a Markdown report that says what the cuts left.
fn section(document: &Document) -> String {
    let report = text(document, "md");
    let section = report.split("## What power cuts left of each promise\n").nth(1);
    section.and_then(|rest| rest.split("\n## ").next()).expect("a section").to_owned()
}

#[test]
fn a_broken_promise_of_a_disk_is_told_with_its_sync_and_the_command_that_repeats_it() {
    let document = of_disks();
    let command = "bakeoff run fileio --seed 1 --disk hdd-7200 --factor sync=fdatasync:1 --keep torn \
                   --cut-number 3";
    for format in ["html", "md", "term"] {
        let text = words::read(&document, format);
        for said in ["promise broken", "block 3 of file 0 is torn", command, "0 of 1"] {
            assert!(text.contains(said), "{said} is not in {format:?}:\n{text}");
        }
    }
    let first = "hdd-7200 broke its promise at fdatasync:1 in 1 of 1 power cut. ";
    assert!(verdict(&document).contains(first), "{}", verdict(&document));
    let marked = text(&document, "md");
    let mut marked = marked.lines().filter(|line| line.contains("(promise broken)")).peekable();
    assert!(marked.peek().is_some());
    assert!(marked.all(|row| row.contains(DISK)), "other cells are marked");
}

#[test]
fn power_cuts_of_files_speak_of_disks_and_syncs_alone() {
    let section = section(&of_disks());
    assert!(section.contains("| disk | sync | promise |"), "{section}");
    assert!(section.contains("1 cut made of 1 planned, with 4 clients at work."), "{section}");
    for odd in ["commit", "engine", "durability", "on the disk", "acknowledged"] {
        assert!(!section.contains(odd), "{odd} is in\n{section}");
    }
}

#[test]
fn what_a_disk_lost_is_counted_in_blocks() {
    let mut document = of_disks();
    for judged in &mut document.cuts[0].judged {
        judged.verdict.torn = 0;
    }
    let page = words::read(&document, "html");
    let lost = "up to 2 synced blocks were lost (hdd-7200, at 18.0 a second)";
    assert!(page.contains("Sync fdatasync:1") && page.contains(lost), "{page}");
    let promise = &mut document.promises[0];
    (promise.kept, promise.broken) = (Some(true), 0);
    promise.rules.iter_mut().for_each(|rule| rule.broken = 0);
    let section = section(&document);
    assert!(section.contains("all that was synced was there and whole"), "{section}");
    assert!(!words::read(&document, "md").contains("promise broken"));
}
