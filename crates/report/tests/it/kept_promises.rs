//! A level that broke its promise is fastest at nothing there, in every format.

use bakeoff_analysis::{BrokenPromise, Document, FlushTurn, Verdict};
use bakeoff_report::{Options, verdict};
use bakeoff_results::{Canary, DiskFact, Levels};

use crate::sample::{
    Sample,
    broken::{broken, broken_among},
    render,
};

/// The sample with the promise of this engine broken at strict in the place of sqlite's.
fn broken_of(engine: &str) -> Document {
    let engines = vec!["sqlite", "lmdb", "fjall"];
    let sample = Sample { engines, ..Sample::default() };
    let mut document = broken_among(sample, "torn", "client 1: 3 is torn");
    document.promises[0].engine = engine.into();
    document.cuts[0].engine = engine.into();
    document.judge_promises();
    document
}

/// lmdb takes half of the others' time everywhere. Its promise is broken at strict alone.
#[test]
fn who_broke_the_promise_is_not_fastest_at_that_level() {
    let whole = verdict(&broken("torn", "x"));
    assert!(whole.contains("With every commit kept, lmdb is fastest"), "{whole}");
    let document = broken_of("lmdb");
    let said = verdict(&document);
    assert!(said.contains("With every commit kept, of those that kept it, "), "{said}");
    assert!(!said.contains("kept it, lmdb"), "{said}");
    assert!(said.contains("If anything may be lost, lmdb was fastest"), "{said}");
    for it in document.comparisons.iter().chain(&document.between) {
        let has_lmdb = [&it.level, &it.baseline].iter().any(|level| *level == "lmdb");
        let is_void = it.verdict == Verdict::Void;
        assert_eq!(is_void, has_lmdb && it.levels["durability"] == "strict", "{it:?}");
    }
    let text = render(&document, "text", &Options::default()).unwrap();
    assert!(text.contains("Low confidence"), "{text}");
    assert!(text.contains("The promise of engine lmdb, durability strict was broken"), "{text}");
}

#[test]
fn where_one_alone_kept_it_nothing_is_compared() {
    let mut document = broken_of("lmdb");
    let others = document.cells.iter_mut().filter(|it| it.levels["durability"] == "strict");
    let others = others.filter(|it| it.levels["engine"] != "sqlite");
    others.for_each(|cell| cell.broken_promise = Some(BrokenPromise::NotSynced));
    document.judge_promises();
    let said = verdict(&document);
    let told = "With every commit kept, nothing is compared: lmdb and fjall broke that promise.";
    assert!(said.contains(told), "{said}");
}

/// A document whose one simulated disk and turn are as given.
fn on_a_disk() -> Document {
    let factors = vec![("disk", vec!["ssd-sata"]), ("clients", vec!["1"])];
    let mut document = Sample { factors, ..Sample::default() }.document();
    document.run.run.disks = vec![DiskFact {
        level: "ssd-sata".into(),
        simulates: "SATA SSD".into(),
        flush_s: Some(0.001),
    }];
    let canary =
        |sync_s| Canary { at_s: 0.0, cpu_s: 0.01, memory_s: 0.01, sync_s, read_s: None, off: None };
    document.canaries = [0.000_09, 0.004, 0.000_08].map(canary).into();
    document.flush_turns = vec![FlushTurn {
        levels: Levels::from([("disk".into(), "ssd-sata".into()), ("clients".into(), "1".into())]),
        ahead: "lmdb".into(),
        instead: "fjall".into(),
        flush_s: 0.001,
        turn_s: 0.000_456,
    }];
    document
}

#[test]
fn a_simulated_disk_is_named_first_with_the_machines_own_beside_it() {
    let document = on_a_disk();
    let on = "On a simulated SATA SSD (ssd-sata), 1.00 ms a flush; a small synced write takes 80.0 µs on \
              this machine’s own disk.";
    assert!(verdict(&document).starts_with(on), "{}", verdict(&document));
    let options = Options { width: 200, ..Options::default() };
    let markdown = render(&document, "md", &options).unwrap();
    assert_eq!(markdown.lines().nth(2), Some(on), "{markdown}");
    let text = render(&document, "text", &options).unwrap();
    let start: Vec<&str> = text.lines().skip(1).take(2).collect();
    assert_eq!(start.join(" "), on, "{text}");
    let page = render(&document, "html", &options).unwrap();
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
    assert!(place(on) > place("</h1>") && place(on) < place("class=\"verdict"));
    let json = render(&document, "json", &options).unwrap();
    assert!(json.contains(&format!("\"on\": \"{on}\"")), "{json}");
    // A record of an older bakeoff knows the name alone; the machine's own disk is no simulation.
    let mut older = on_a_disk();
    older.run.run.disks.clear();
    older.canaries.clear();
    assert!(verdict(&older).starts_with("On a simulated disk (ssd-sata). "), "{}", verdict(&older));
    let own = Sample { factors: vec![("disk", vec!["host"])], ..Sample::default() }.document();
    assert!(!verdict(&own).contains("On "), "{}", verdict(&own));
}

#[test]
fn where_the_order_turns_stands_beside_the_answer() {
    let said = verdict(&on_a_disk());
    let told = "fjall would be ahead of lmdb below about 460 µs a flush (to first order: the one client \
                waits for each flush, and nothing else changes).";
    assert!(said.to_lowercase().contains(told), "{said}");
}
