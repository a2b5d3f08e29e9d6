//! What a run with power cuts says: its section, and the rows of each cut.

use bakeoff_analysis::{CutFindings, Document, RuleView, Warning, WarningKind};
use bakeoff_report::{CsvRows, Options, render};
use bakeoff_results::{AuditResult, Cut, DurabilityPromise, PromiseFactors};
use serde_json::json;

use crate::reading::{SHOWN, parse_csv, text, words};
use crate::sample::broken::{broken, by_another, every, kept, on_both};
use crate::sample::{changed, files, with};
use crate::sections::change_all;
use crate::snapshots::Piece;

const TITLE: &str = "What power cuts left of each promise";

/// What a server says that does not start.
const SAID: &str = "mariadb can't be opened: MariaDB ended while it was starting (exit status: 1): \
                    wrong checksum in './a'; the last lines of its log:\n12:00 [ERROR] <checksum> of \
                    page 7\n12:01 [ERROR] Aborting";

/// A kept promise that allows so much, and one commit that was lost.
fn lost_one(window_s: Option<f64>, most_lost: Option<u64>) -> Document {
    with(
        kept(),
        json!({
            "promises/0/promised": { "whole": { "window_s": window_s, "most_lost": most_lost } },
            "promises/0/rules/0/lost": { "cuts": 1, "most": 1 },
            "promises/0/rules/0/oldest_lost_s": 0.004,
        }),
    )
}

/// Nothing was promised, and this is what each rule left: torn, corrupt.
fn unpromised(rules: &[(&str, u32, u32)]) -> Document {
    let document = changed(broken("torn", "x"), |it| {
        let rule = |(keep, torn, corrupt): &(&str, u32, u32)| RuleView {
            keep: (*keep).into(),
            cuts: 20,
            torn: CutFindings { cuts: *torn, most: 1 },
            corrupt: *corrupt,
            ..RuleView::default()
        };
        it.promises[0].rules = rules.iter().map(rule).collect();
    });
    with(
        document,
        json!({
            "promises/0/kept": null, "promises/0/broken": 0, "promises/0/promised": "nothing",
        }),
    )
}

/// The run of files, and a cut of one of its disks that found less than was synced.
pub fn of_disks() -> Document {
    const DISK: &str = "hdd-7200";
    const SYNC: &str = "fdatasync:1";
    let Document { run, cuts, promises, .. } = broken("torn", "block 3 of file 0 is torn");
    changed(files(), |it| {
        let own = &mut it.run.run;
        own.factors.push(("sync".into(), vec![SYNC.into()]));
        own.cuts = run.run.cuts;
        let plan = own.cuts.as_mut().expect("it was cut");
        plan.promise = PromiseFactors { who: "disk".into(), what: "sync".into() };
        plan.command = "bakeoff run fileio --seed 1".into();
        (it.cuts, it.promises) = (cuts, promises);
        let cuts = it.cuts.iter_mut().map(|it| (&mut it.engine, &mut it.durability));
        let promises = it.promises.iter_mut().map(|it| (&mut it.engine, &mut it.durability));
        for (who, what) in cuts.chain(promises) {
            (*who, *what) = (DISK.into(), SYNC.into());
        }
        let cells = it.cells.iter_mut().map(|cell| &mut cell.levels);
        for levels in cells.chain(it.trials.iter_mut().map(|trial| &mut trial.levels)) {
            levels.insert("sync".into(), SYNC.into());
        }
    })
}

pub fn pieces() -> Vec<Piece> {
    let base = broken("torn", "client 1: 3 is torn");
    let log = broken("torn", SAID);
    let torn = |changes| with(broken("torn", "x"), changes);
    let alike = with(by_another(), json!({ "other_cuts/0/differences": [] }));
    let not_tried = torn(json!({
        "promises/0/kept": null, "promises/0/cuts": 0, "promises/0/broken": 0, "promises/0/failed": 1,
        "promises/0/rules": [], "cuts/0/judged": [], "cuts/0/failed": SAID,
    }));
    let timed = |open_s: Option<f64>| {
        torn(json!({ "cuts/0/timed": {
            "keep": "torn", "disk": "hdd-7200", "open_s": open_s, "answer_s": 1.25, "device_s": null, "failed": null,
        } }))
    };
    // What is corrupt has no dot, unless it could be counted all the same.
    let corrupt = |oldest_lost_s: Option<f64>| {
        let gone = changed(broken("torn", "x"), |it| {
            let first = it.cuts[0].judged[0].clone();
            it.cuts[0].judged.push(first);
        });
        with(
            gone,
            json!({
                "cuts/0/judged/2/keep": "torn", "cuts/0/judged/2/verdict/corrupt": "it does not start",
                "cuts/0/judged/2/verdict/oldest_lost_s": oldest_lost_s,
            }),
        )
    };
    let kept_disk = with(
        of_disks(),
        json!({
            "promises/0/kept": true, "promises/0/broken": 0, "promises/0/rules/*/broken": 0,
        }),
    );
    let failed = torn(json!({ "promises/0/failed": 2, "run/cuts/planned": 3 }));
    let some = json!({ "cuts": 2, "most": 3 });
    let found_all = torn(json!({
        "promises/0/rules/1/phantom": some, "promises/0/rules/1/hole": some,
        "promises/0/rules/1/index_broken": some, "promises/0/rules/1/corrupt": 1, "promises/0/rules/1/cuts": 20,
    }));
    let mut pieces: Vec<Piece> = Piece::both("", TITLE, &base).into();
    pieces.push(Piece::section("", TITLE, "md", &base));
    let states = [
        ("its log is folded", "html", log),
        ("not tried, and its log", "html term", not_tried),
        ("by another run", "html term", by_another()),
        ("by another run that is alike", "term", alike),
        ("on both file systems", "term", on_both()),
        ("kept", "term", kept()),
        ("one lost of a time", "term", lost_one(Some(1.5), None)),
        ("one lost of one", "term", lost_one(None, Some(1))),
        ("one lost of both", "term", lost_one(Some(0.6), Some(3))),
        ("one lost without a limit", "term", lost_one(None, None)),
        (
            "nothing promised, one rule corrupt",
            "term",
            unpromised(&[("subset", 0, 3), ("torn", 2, 1)]),
        ),
        ("the first rule is the worst", "term", unpromised(&[("subset", 2, 1), ("torn", 1, 1)])),
        ("the last rule is the worst", "term", unpromised(&[("subset", 1, 1), ("torn", 2, 1)])),
        ("all images are corrupt", "term", unpromised(&[("torn", 0, 20)])),
        ("one image is corrupt", "term", unpromised(&[("torn", 0, 1)])),
        ("nothing is lost", "term", unpromised(&[("torn", 0, 0)])),
        ("findings of all kinds", "md", found_all),
        ("an image that has no dot", "html", corrupt(None)),
        ("a corrupt image with a dot", "html", corrupt(Some(0.01))),
        ("timed on a disk", "md", timed(Some(0.5))),
        ("a recovery that failed", "md", timed(None)),
        ("cuts that failed", "term", failed),
        ("of a disk", "md", of_disks()),
        ("a disk that kept it", "md", kept_disk),
    ];
    pieces.extend(change_all(TITLE, &base, &states));
    pieces
}

pub fn every_moment() -> Vec<Piece> {
    let title = "What a cut at every moment leaves";
    let base = every(broken("torn", "x"), 3);
    let all = with(
        every(broken("torn", "x"), 0),
        json!({
            "cuts/0/file_system": "posix", "cuts/0/every/judged": 31_234, "cuts/0/every/names": 2,
            "cuts/0/every/unconfirmed": 0,
        }),
    );
    let mut pieces: Vec<Piece> = Piece::both("", title, &base).into();
    pieces.push(Piece::change("all judged on posix", title, "term", &base, &all));
    pieces.push(Piece::section("the promise", TITLE, "term", &base));
    pieces
}

/// A row for each cut and rule, those of another run, and two cuts that failed.
pub fn rows() -> String {
    let document = changed(by_another(), |it| {
        let own = broken("torn", "x");
        (it.cuts, it.promises) = (vec![own.cuts[0].clone(); 3], own.promises);
    });
    let document = with(
        document,
        json!({
            "cuts/0/judged/1/verdict/corrupt": "page 3 is \"torn\",\nand page 4",
            "cuts/0/judged/1/image": "images/1",
            "cuts/0/timed": {
                "keep": "torn", "disk": "hdd-7200", "open_s": 0.5, "answer_s": 1.25, "device_s": null, "failed": null,
            },
            "cuts/1/judged": [], "cuts/1/failed": "no room", "cuts/1/number": 4,
            "cuts/1/promised": { "whole": { "window_s": 1.5, "most_lost": 1 } },
            "cuts/2/judged": [], "cuts/2/failed": "no room", "cuts/2/promised": "nothing",
        }),
    );
    csv(&document, Some(CsvRows::Cuts))
}

fn csv(document: &Document, rows: Option<CsvRows>) -> String {
    render(document, "csv", &Options { rows, ..Options::default() }).expect("a table")
}

#[test]
fn rows_are_of_trials_unless_there_is_none() {
    let mut document = broken("torn", "x");
    let trials = csv(&document, None);
    assert_eq!(trials, csv(&document, Some(CsvRows::Trials)));
    assert_eq!(parse_csv(&trials).len(), 1 + 2 * document.trials.len(), "two operations");
    document.trials.clear();
    assert_eq!(csv(&document, None), csv(&document, Some(CsvRows::Cuts)));
    assert_eq!(parse_csv(&csv(&document, Some(CsvRows::Trials))).len(), 1);
}

#[test]
fn only_the_cells_of_a_broken_promise_are_marked() {
    for document in [broken("torn", "x"), by_another(), of_disks()] {
        let page = text(&document, "md");
        let rows: Vec<&str> = page.lines().filter(|it| it.contains("(promise broken)")).collect();
        let promise = document.promises.first().unwrap_or_else(|| &document.other_cuts[0].promise);
        assert!(!rows.is_empty());
        assert!(rows.iter().all(|row| row.contains(&promise.engine)), "{rows:?}");
        assert!(rows.iter().all(|row| !row.contains("none")), "{rows:?}");
    }
    for format in SHOWN {
        assert!(!text(&kept(), format).contains("promise broken"), "{format}");
    }
}

#[test]
fn what_announces_nothing_is_left_whole() {
    for (said, told) in [
        ("a; b", "a; b."),
        ("it failed.", "it failed."),
        ("it failed:", "it failed."),
        ("it failed; it said:", "it failed."),
    ] {
        let text = words(&broken("torn", said), "term");
        assert!(text.contains(&format!("by the rule torn: {told} again: ")), "{said}: {text}");
    }
}

/// No flag or level in a command that a person copies is broken after its hyphens.
#[test]
fn flags_and_levels_are_whole_words_on_the_page() {
    let document = changed(broken("torn", "x"), |it| {
        it.run.run.command = "bakeoff run redmine --disk hdd-7200 --clients 4 --seed <1>".into();
        let said = "too short (a longer trial, --seconds, would do)";
        it.warnings.push(Warning::new(WarningKind::WarmUp, said));
    });
    let page = text(&document, "html");
    assert!(page.contains("<span class=\"whole\">--seconds,</span> would do)"), "{page}");
    for flag in ["hdd-7200", "--clients", "--seed", "--cut-number", "--durability"] {
        let whole = format!("<span class=\"whole\">{flag}</span> ");
        assert!(page.contains(&whole), "{flag}");
        assert_eq!(page.matches(flag).count(), page.matches(&whole).count(), "{flag}");
    }
    assert!(page.contains("--seed</span> &lt;1&gt;</code>"), "{page}");
}

#[test]
fn where_nothing_can_be_read_nobody_says_that_nothing_is_lost() {
    let document = changed(unpromised(&[("torn", 0, 20)]), |it| {
        let gone = AuditResult { corrupt: Some("gone".into()), ..AuditResult::default() };
        it.cuts[0].promised = DurabilityPromise::Nothing;
        it.cuts[0].judged.iter_mut().for_each(|judged| judged.verdict = gone.clone());
        // Another one, so that there is a picture.
        let mut other = broken("torn", "x");
        it.promises.append(&mut other.promises);
        it.promises[1].durability = "none".into();
        it.cuts.push(Cut { durability: "none".into(), ..other.cuts.remove(0) });
    });
    let page = text(&document, "html");
    assert!(page.contains("nothing could be counted"), "{page}");
    assert!(!page.contains("nothing lost") && !page.contains("lost nothing"), "{page}");
}

#[test]
fn power_cuts_of_files_speak_of_disks_and_syncs_alone() {
    let section = words(&of_disks(), "md");
    let (_, section) = section.split_once(&format!("## {TITLE}")).expect("the section");
    let section = section.split(" ## ").next().expect("its end");
    for odd in ["commit", "engine", "durability", "on the disk", "acknowledged"] {
        assert!(!section.contains(odd), "{odd} is in\n{section}");
    }
}
