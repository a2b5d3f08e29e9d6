//! docs/findings/break-tarantool.md: what power cuts leave of it, and what its log costs.

use std::collections::BTreeMap;

use bakeoff_results::{AuditResult, Cut};

use crate::kept::{self, cell, compared, operation};
use crate::page::{check_page, table};

fn run(name: &str) -> String {
    format!("findings/break-tarantool/{name}")
}

/// What was left of each engine at a level on a file system, of this number of images of a run.
fn images(name: &str, number: usize) -> String {
    let cuts = kept::open(&run(name), |folder| folder.read_cuts().expect("cuts"));
    let mut all: BTreeMap<[&str; 3], Vec<&AuditResult>> = BTreeMap::new();
    for cut in &cuts {
        let Cut { engine, durability, file_system, judged, .. } = cut;
        let images = all.entry([engine, durability, file_system.name()]).or_default();
        images.extend(judged.iter().map(|it| &it.verdict));
    }
    let row = |([engine, level, file_system], images): ([&str; 3], Vec<&AuditResult>)| {
        let starts: Vec<u64> =
            images.iter().filter(|it| it.corrupt.is_none()).map(|it| it.lost).collect();
        let whole = starts.iter().filter(|lost| **lost == 0).count();
        let (all, lost) = (images.len(), starts.len() - whole);
        let most = starts.iter().max().filter(|most| **most > 0);
        let most = most.map_or("–".to_owned(), u64::to_string);
        let dead = all - starts.len();
        assert_eq!(all, number, "the page says so");
        format!("`{engine}` {level} {file_system} | {whole} | {lost} | {dead} | {most}")
    };
    let columns = "engine, level, file system | kept all | lost some | does not start | most lost";
    table(columns, all.into_iter().map(row))
}

/// Times with the log synced and without one, and the ratio.
fn log() -> String {
    let document = kept::read(&run("log-synced"));
    let engine = "tarantool:memtx/snapshot_at_start=yes";
    let row = |name| {
        let milliseconds = |level| {
            let its = cell(&document, &[("durability", level)]).expect("a cell");
            format!("{:.1} ms", operation(&its.operations, name).mean_s.expect("a mean") * 1e3)
        };
        let it = compared(&document, ["strict", "none"], Some(name), &[]).expect("it is compared");
        let [ratio, low, high] = [it.ratio, it.low, it.high].map(|it| it.expect("it has it"));
        // Outwards.
        let (low, high) = ((low * 100.0).floor() / 100.0, (high * 100.0).ceil() / 100.0);
        let [none, strict] = ["none", "strict"].map(milliseconds);
        format!(
            "`{engine}` | {name} | {none} | {strict} | {ratio:.2} times as long ({low:.2} to {high:.2})"
        )
    };
    let columns = "engine | operation | `none` | `strict` | `strict` takes";
    table(columns, ["create_issue", "process_issues"].map(row))
}

#[test]
fn the_page_is_of_the_runs() {
    let blocks =
        [("restart", images("restart", 24)), ("turns", images("turns", 200)), ("log", log())];
    check_page("docs/findings/break-tarantool.md", &blocks);
}
