//! docs/findings/images.md: how far images of the same data differ, beside the trials of an image.

use bakeoff_analysis::{Document, select_counted};
use bakeoff_results::measure::IMAGE;
use bakeoff_results::{Scope, TrialSummary};
use bakeoff_stats::images::{ImageVariance, are_images_alike, estimate_image_spread};

use crate::kept::{self, levels_of};
use crate::page::{check_page, table};

/// The run folders, and the factor whose levels are separate lines of the page.
const RUNS: [(&str, &str, Option<&str>); 2] =
    [("images-redmine", "`redmine`", None), ("images-text", "`text-oltp`", Some("test"))];

const ENGINES: [&str; 6] =
    ["sqlite", "lmdb", "fjall", "mariadb:innodb", "mariadb:rocksdb", "postgres"];

/// The logarithm of an operation's mean time in each trial, with the trial's image.
fn logs(trials: &[&TrialSummary], operation: &str) -> Vec<(u32, f64)> {
    let log = |trial: &&TrialSummary| {
        let own = trial.operations.iter().find(|it| it.name == operation)?;
        let image = trial.measures.get(&IMAGE, &Scope::Trial)?;
        Some((image as u32, own.mean_s?.ln()))
    };
    trials.iter().filter_map(log).collect()
}

fn percent(log: f64) -> String {
    format!("{:.1}", log.exp_m1() * 100.0)
}

/// Between images, and between trials; bold where images differ.
fn spread(trials: &[&TrialSummary]) -> String {
    let operations = trials.first().map_or(&[][..], |trial| &trial.operations[..]);
    let variance = |name: &str| ImageVariance::from_logs(&logs(trials, name));
    let all: Vec<ImageVariance> =
        operations.iter().filter_map(|operation| variance(&operation.name)).collect();
    let spread = estimate_image_spread(&all).expect("several images");
    let [between, within] = [spread.between, spread.within].map(percent);
    assert_eq!(trials.len(), 16, "the page says so");
    if are_images_alike(&all) {
        format!("{between}, {within}")
    } else {
        format!("**{between}**, {within}")
    }
}

/// A row for each test, with a cell for each engine.
fn rows((folder, workload, factor): (&str, &str, Option<&str>)) -> Vec<String> {
    let document: Document = kept::read(&format!("findings/{folder}"));
    let counted = select_counted(&document.trials);
    let tests = factor.map_or_else(|| vec![String::new()], |it| levels_of(&document, it).to_vec());
    let engines = levels_of(&document, "engine");
    assert_eq!(engines, ENGINES, "the columns");
    let of = |test: &str, engine: &String| {
        let is_own = |trial: &&&TrialSummary| {
            let level = |factor: &str| trial.levels.get(factor).map(String::as_str);
            level("engine") == Some(engine) && factor.is_none_or(|it| level(it) == Some(test))
        };
        spread(&counted.iter().filter(is_own).copied().collect::<Vec<_>>())
    };
    let row = |test: &String| {
        let cells: Vec<String> = engines.iter().map(|engine| of(test, engine)).collect();
        let subject = if test.is_empty() { workload.to_owned() } else { format!("`{test}`") };
        format!("{subject} | {}", cells.join(" | "))
    };
    tests.iter().map(row).collect()
}

#[test]
fn the_page_has_the_spread_of_images() {
    let columns = format!("% | {}", ENGINES.map(|it| format!("`{it}`")).join(" | "));
    check_page("docs/findings/images.md", &[("spread", table(&columns, RUNS.map(rows).concat()))]);
}
