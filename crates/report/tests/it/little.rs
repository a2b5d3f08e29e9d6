//! What is said of a run that measured little, or compares something else than engines.

use bakeoff_analysis::Document;
use bakeoff_report::{Options, verdict};

use crate::sample::{self, Sample, render};
use crate::verdict::{single, twice};

fn text(document: &Document, format: &str, width: usize) -> String {
    render(document, format, &Options { color: false, width, ..Options::default() })
        .expect("a report")
}

/// A cell whose operations were too long for its trials has no figure, and no word that needs one.
#[test]
fn a_cell_without_a_figure_is_neither_baseline_nor_undecided() {
    let mut document = single(twice, 0.1).document();
    for cell in &mut document.cells {
        for operation in &mut cell.operations {
            (operation.count, operation.mean_s, operation.p50_s) = (0, None, None);
            (operation.p95_s, operation.p99_s, operation.max_s) = (None, None, None);
            operation.per_second = 0.0;
        }
    }
    for comparison in &mut document.comparisons {
        (comparison.ratio, comparison.low, comparison.high) = (None, None, None);
        comparison.verdict = bakeoff_analysis::document::Verdict::Undecided;
    }
    for format in ["md", "term"] {
        let text = text(&document, format, 80).replace('\\', "");
        let table = text.split("create_issue").nth(1).expect("a table");
        let table = table.split("ost").next().expect("its end");
        assert_eq!(table.matches("no operation").count(), 2, "{text}");
        assert!(!table.contains("undecided") && !table.contains("baseline "), "{text}");
    }
    assert!(text(&document, "html", 80).contains("class=\"v no-operation\""));
}

/// Clients of a cell that never do an operation are neither a trial that is missing nor a figure of 0.
#[test]
fn what_a_cell_does_not_do_is_a_gap_with_a_word() {
    let mut document = single(twice, 0.1).document();
    let name = document.run.run.operations[0].clone();
    document.cells.iter_mut().for_each(|cell| cell.operations.retain(|it| it.name != name));
    document.trials.iter_mut().for_each(|it| it.operations.retain(|it| it.name != name));
    document.comparisons.retain(|it| it.operation != name);
    document.between.retain(|it| it.operation != name);
    for format in ["md", "term", "html"] {
        let text = text(&document, format, 80).replace('\\', "");
        assert_eq!(text.matches("not done here").count(), document.cells.len(), "{text}");
        assert!(!text.contains("no trial<") && !text.contains("| no trial |"), "{text}");
    }
}

#[test]
fn levels_that_do_nothing_alike_are_not_compared() {
    let sample =
        Sample { operations: vec!["read", "write"], factors: vec![], ..single(twice, 0.1) };
    let mut document = sample.document();
    for cell in &mut document.cells {
        let own = if cell.levels["engine"] == "lmdb" { "read" } else { "write" };
        cell.operations.retain(|it| it.name == own);
    }
    document.comparisons.clear();
    document.between.clear();
    let wanted = "Nothing is compared: no two levels have an operation in common";
    assert!(verdict(&document).starts_with(wanted), "{}", verdict(&document));
}

/// A figure that has nothing beside it is not undecided: no more repetitions would decide it.
#[test]
fn a_figure_without_a_pair_says_so() {
    let mut document = single(twice, 0.1).document();
    sample::fail(&mut document, "sqlite", "it crashed");
    let word = |format| match format {
        "html" => ">no pair</td>",
        "md" => "| no pair |",
        _ => "no pair",
    };
    for format in ["md", "term", "html"] {
        let text = text(&document, format, 80);
        assert_eq!(text.matches(word(format)).count(), 1, "{text}");
        assert!(!text.contains(" undecided "), "{text}");
    }
}

/// The levels that do not vary are nowhere in the tables, and matter as much.
#[test]
fn every_report_names_the_levels_that_are_fixed() {
    let factors = vec![
        ("durability", vec!["strict"]),
        ("clients", vec!["2"]),
        ("neighbours", vec!["0"]),
        ("disk", vec!["hdd-7200"]),
        ("rate", vec!["closed"]),
        ("scale", vec!["small", "large"]),
    ];
    let document = Sample { factors, ..Sample::default() }.document();
    let fixed = "strict durability, 2 clients, no neighbours, disk hdd-7200, each client waits for its \
                 answer";
    for (format, line) in [
        ("term", format!("\nall else equal: {fixed}\n")),
        ("md", format!("\n- all else equal: {fixed}\n")),
        ("html", format!("<dt>all else equal</dt><dd>{fixed}</dd>")),
    ] {
        let text = text(&document, format, 120);
        assert!(text.contains(&line), "{line} is not in {text}");
    }
    let varied = Sample { factors: vec![("scale", vec!["small", "large"])], ..Sample::default() };
    assert!(!text(&varied.document(), "term", 120).contains("all else equal"));
}

/// The compared factor is no fixed level, whatever it is; an engine that is alone is one then.
#[test]
fn an_engine_is_named_where_something_else_is_compared() {
    let mut sample = single(twice, 0.1);
    sample.factors = vec![("disk", vec!["host", "hdd-7200"])];
    sample.engines = vec!["sqlite"];
    let mut document = sample.document();
    document.run.run.compare = "disk".into();
    document.run.run.baseline = "host".into();
    let text = text(&document, "term", 120);
    assert!(text.contains("\nall else equal: sqlite\n"), "{text}");
}

#[test]
fn a_verdict_starts_with_a_capital_unless_it_starts_with_an_engine() {
    let mut document = single(twice, 0.1).document();
    assert!(verdict(&document).starts_with("lmdb is fastest: "), "{}", verdict(&document));
    document.run.run.compare = "disk".into();
    document.run.run.baseline = "host".into();
    document.run.run.factors[0] = ("disk".into(), vec!["host".into(), "hdd-7200".into()]);
    let levels = document.trials.iter_mut().map(|trial| &mut trial.levels);
    for levels in levels.chain(document.cells.iter_mut().map(|cell| &mut cell.levels)) {
        let disk =
            if levels.remove("engine").as_deref() == Some("lmdb") { "host" } else { "hdd-7200" };
        levels.insert("disk".into(), disk.into());
    }
    let comparison = &mut document.comparisons[0];
    comparison.factor = "disk".into();
    (comparison.baseline, comparison.level) = ("hdd-7200".into(), "host".into());
    let said = verdict(&document);
    let on = "On a simulated disk (hdd-7200), and on this machine’s own disk. ";
    assert!(said.starts_with(&format!("{on}Disk host is fastest: ")), "{said}");
}
