//! What is shown of trials over time.

use bakeoff_analysis::{CellView, Document, OperationSeries, SlotView, TrialSeries};
use bakeoff_report::{CsvRows, Options, render};
use serde_json::{Value, json};

use crate::reading::{between, text};
use crate::sample::over_time::{RAN_S, over_time};
use crate::sample::{Sample, changed, plausible, read, single, with};
use crate::snapshots::Piece;

const TITLE: &str = "Over time";
const HOSTILE: &str = "<script>\"'&";

/// The page's section, and the charts in it.
fn section(document: &Document) -> String {
    between(&text(document, "html"), "<section id=\"over-time\">", "</section>").to_owned()
}

fn charts(section: &str) -> Vec<&str> {
    section.split("<svg role=\"img\"").skip(1).filter_map(|it| it.split("</svg>").next()).collect()
}

fn terminal(document: &Document, width: usize, unicode: bool) -> String {
    let options = Options { color: false, width, unicode, ..Options::default() };
    let text = render(document, "term", &options).expect("a report");
    let (_, rest) = text.split_once("Over time\n").expect("a section");
    rest.split("\n\nThe slowest operations").next().expect("its end").to_owned()
}

/// A trial of each cell, and three seconds of which one had no operation, among many: neither the mean nor the line
/// shows it.
pub fn pieces() -> Vec<Piece> {
    let course = changed(over_time(20), |it| {
        it.cells.retain(|cell| cell.levels["neighbours"] == "x4");
    });
    let quiet = with(course.clone(), json!({ "cells/*/over_time/per_second/*/least": 40.0 }));
    let second = with(quiet.clone(), json!({ "cells/1/over_time/per_second/13/least": 0.0 }));
    let mut pieces: Vec<Piece> = Piece::both("", TITLE, &course).into();
    let idle = with(course.clone(), json!({ "idle": stood_still() }));
    for format in ["term", "md", "html"] {
        pieces.push(Piece::change("levels that stood still", TITLE, format, &course, &idle));
    }
    for format in ["term", "html"] {
        pieces.push(Piece::change("no such second", TITLE, format, &course, &quiet));
        pieces.push(Piece::change("one such second", TITLE, format, &quiet, &second));
    }
    pieces
}

/// Much longer than each of two, which is clear; a third of a second, which is not; and beside shorter trials.
fn stood_still() -> Value {
    let pair = |level: &str, [baseline, own]: [[f64; 2]; 2], more: f64, clear: bool| {
        let time = |[idle_s, whole_s]: [f64; 2]| json!({ "idle_s": idle_s, "whole_s": whole_s, "trials": 3 });
        json!({
            "factor": "engine", "levels": { "neighbours": "x4" }, "baseline": "sqlite", "level": level,
            "blocks": 3, "baseline_idle": time(baseline), "level_idle": time(own),
            "more_s_a_minute": more, "low": more - 2.0, "high": more + 2.0, "p_adjusted": 0.04,
            "adjusted_by": "holm", "clear": clear,
        })
    };
    let sqlite = [410.333, 486.0];
    json!([
        pair("lmdb", [sqlite, [0.0, 486.0]], -50.7, true),
        pair("fjall", [sqlite, [37.4, 485.7]], -46.0, true),
        pair("null", [[0.0, 60.0], [0.333, 60.0]], 0.333, false),
        pair("other", [[4.0, 60.0], [2.5, 35.0]], 0.286, false),
    ])
}

#[test]
fn a_terminal_that_has_only_ascii_is_shown_no_blocks() {
    let document = over_time(270);
    let plain = terminal(&document, 80, false);
    let blocks = |text: &str| text.chars().any(|sign| ('\u{2580}'..='\u{259f}').contains(&sign));
    assert!(!blocks(&plain) && plain.contains('#'), "{plain}");
    let full = terminal(&document, 80, true);
    assert!(blocks(&full));
    assert_eq!(plain.lines().count(), full.lines().count());
    // The one is near its limit, the other is not.
    assert!(full.contains(" 98 % full\n") && full.contains(" 54.9 MB\n"), "{full}");
    for (width, unicode) in [(40, true), (60, false), (200, true)] {
        let text = terminal(&document, width, unicode);
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(width), "{width}: {widest:?}\n{text}");
    }
}

/// The four settings that went least evenly are shown, in their order; a page has the others when they
/// are opened, and a table of all.
#[test]
fn many_settings_are_folded() {
    let neighbours = ["0", "25%", "x1", "x2", "x4", "x8"];
    let course = over_time(30).cells[0].over_time.clone();
    let factors = vec![("neighbours", neighbours.to_vec())];
    let mut document = Sample { factors, ..plausible() }.document();
    document.cells.iter_mut().for_each(|cell| cell.over_time = course.clone());
    let even = |cell: &&mut CellView| ["0", "x1"].contains(&cell.levels["neighbours"].as_str());
    for cell in document.cells.iter_mut().filter(even) {
        cell.over_time.as_mut().unwrap().thirds_per_second = [50.0, 40.0, 45.0];
    }
    let page = section(&document);
    let (shown, folded) = page.split_once("<details class=\"long\">").expect("details");
    let (folded, table) = folded.split_once("</details>").expect("its end");
    // A chart of all engines, and one of what each of three owed.
    assert_eq!((charts(shown).len(), charts(folded).len(), charts(table).len()), (16, 8, 0));
    assert!(folded.contains("2 settings over time, more even than those above"));
    let captions: Vec<&str> = page.split("<figcaption>").skip(1).collect();
    let captions: Vec<&str> = captions.iter().filter_map(|it| it.split('<').next()).collect();
    let settings: Vec<&str> = captions.into_iter().filter(|it| !it.starts_with("What")).collect();
    let order = ["Neighbours at 25 %", "2 neighbours", "4 neighbours", "8 neighbours"];
    assert_eq!(settings, [&order[..], &["No neighbours", "1 neighbour"]].concat());
    assert_eq!(table.matches("<th scope=\"row\">").count(), 6 * 3);
    let plots = terminal(&document, 80, true);
    assert_eq!(plots.matches("operations a second").count(), 4);
    let ids: Vec<&str> = page.split("aria-labelledby=\"").skip(1).collect();
    let ids: std::collections::BTreeSet<&str> =
        ids.iter().filter_map(|it| it.split('"').next()).collect();
    assert_eq!(ids.len(), 24, "every chart has a name of its own");
}

/// The trials that are in no figure are in the series, too; a trial that failed has no row.
pub fn rows() -> String {
    let slot =
        |start_s, count, latency_s| SlotView { start_s, end_s: start_s + 1.0, count, latency_s };
    let name = "create_issue".to_owned();
    // In the last second nothing ended.
    let slots = vec![slot(0.0, 1, Some([0.25, 0.5, 2.0])), slot(1.0, 0, None)];
    let debts = read(json!({
        "owed": [{
            "name": "log since the checkpoint", "unit": "bytes", "limit": 84_000_000,
            "points": [[0.5, 18], [1.5, 36]],
        }],
        "payments": [{ "name": "checkpoint", "ended": [[1.5, 3]] }],
    }));
    let series = TrialSeries { operations: vec![OperationSeries { name, slots }], debts };
    let document = changed(single().document(), |it| it.trials.truncate(4));
    let mut document = with(
        document,
        json!({
            "trials/1/valid": false, "trials/1/attempt": 7, "trials/2/operations": [],
        }),
    );
    document.series = vec![series; 4];
    document.series[2] = TrialSeries::default();
    let options = Options { rows: Some(CsvRows::Series), ..Options::default() };
    render(&document, "csv", &options).expect("a table")
}

/// A debt of nothing with a limit of nothing, a trial without an operation.
#[test]
fn nothing_is_no_reason_for_nonsense() {
    let zero = json!({ "start_s": 0.0, "end_s": 27.0, "mean": 0.0, "least": 0.0, "most": 0.0 });
    let document = with(
        over_time(20),
        json!({
            "cells/0/over_time/owed/0/limit": 0, "cells/0/over_time/owed/0/pieces/*": zero,
            "cells/0/over_time/per_second/*": zero, "cells/0/over_time/latency_s": [],
            "cells/0/over_time/thirds_per_second": [0.0, 0.0, 0.0],
        }),
    );
    for text in [section(&document), terminal(&document, 80, true), text(&document, "md")] {
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}

#[test]
fn names_of_others_are_escaped_in_charts() {
    let document = with(
        over_time(30),
        json!({
            "cells/0/over_time/owed/0/name": HOSTILE, "cells/0/over_time/payments/0/name": HOSTILE,
            "cells/0/over_time/ran_s": RAN_S * 1e300,
        }),
    );
    let section = section(&document);
    assert!(!section.contains(HOSTILE) && section.contains("&lt;script&gt;&quot;&#x27;&amp;"));
    assert!(!section.contains("NaN") && !section.contains("inf"), "{section}");
}
