//! Lines over a numeric factor, of synthetic runs: what stands together, and what is said of it.

use bakeoff_analysis::{CellView, Document, RatioIs};
use bakeoff_report::{Options, verdict};
use bakeoff_results::{FigureOfMerit, Levels};

use crate::sample::{Sample, rate, render, sweep};

fn text(document: &Document, format: &str) -> String {
    render(document, format, &Options::default()).expect("a report")
}

/// The section of the lines on a page.
fn section(document: &Document) -> String {
    let page = text(document, "html");
    let start = page.find("<h2>Over ").expect("the section");
    page[start..start + page[start..].find("</section>").expect("its end")].to_owned()
}

#[test]
fn the_sentence_says_who_is_fastest_at_each_end_and_where_that_turns() {
    let document = sweep::crossing();
    let said = verdict(&document);
    assert!(
        said.starts_with("It depends on clients: sqlite is fastest with 1 client, in both "),
        "{said}"
    );
    assert!(said.contains("; lmdb is fastest from 2 clients to 8 clients, in "), "{said}");
    let page = section(&document);
    let told = "sqlite is fastest with 1 client, lmdb from 2 clients on.";
    assert!(page.contains(&format!("create_issue: <em>{told}</em>")), "{page}");
    assert!(
        page.contains(" With 1 client lmdb takes 2.00 times as long as sqlite (1.92 to 2.08);"),
        "{page}"
    );
    for format in ["md", "term"] {
        let text = text(&document, format).replace('\n', " ").replace('\\', "");
        assert!(text.contains("sqlite is fastest with 1 client"), "{format}: {text}");
    }
}

#[test]
fn every_line_stands_against_the_fastest_at_both_ends() {
    let page = section(&sweep::crossing());
    for cell in [
        "<td>fastest</td>",
        "2.00× as long <span class=\"by\">(1.92–2.08)</span>",
        ">with 1 client<",
        ">with 8 clients<",
    ] {
        assert!(page.contains(cell), "{cell}: {page}");
    }
    let term = text(&sweep::crossing(), "term");
    assert!(term.lines().all(|line| line.chars().count() <= 80), "{term}");
    let row = term.lines().find(|line| line.contains("*10.6")).expect("sqlite’s line");
    assert!(row.trim_start().starts_with("sqlite") && row.contains("as long"), "{row}");
}

#[test]
fn gaps_bounds_and_what_was_set_aside_are_shown_and_explained() {
    let page = section(&sweep::eventful());
    for part in [
        "not run",
        "set aside: the disk was slow",
        "&gt; ",
        ">?<",
        "class=\"course across",
        "A dash at the foot: not run.",
        "Pale and crossed, or ×: set aside.",
        "An arrow up: at least.",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let plain = section(&sweep::crossing());
    for part in ["A dash at the foot", "Pale and crossed", "An arrow up", "?: it can"] {
        assert!(!plain.contains(part), "{part} does not occur: {plain}");
    }
}

/// A figure of memory stands on a line like any other: so it is named beside it, and in each table of cells.
#[test]
fn points_that_the_page_cache_gave_are_named_by_their_lines_and_marked_in_tables() {
    let is_cached = |levels: &Levels| levels["engine"] == "lmdb" && levels["clients"] != "4";
    let cached = |of: fn(&mut CellView) -> &mut Option<f64>| {
        let mut document = sweep::crossing();
        for cell in &mut document.cells {
            *of(cell) = Some(if is_cached(&cell.levels) { 0.49 } else { 0.5 });
        }
        document
    };
    let document = cached(|cell| &mut cell.from_disk);
    let words = |format: &str, document: &Document| {
        let text = text(document, format).replace('\\', "");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let told = "Points of the page cache and not of a disk, over clients: lmdb at 1, 2 and 8.";
    for format in ["html", "md", "term"] {
        let said = words(format, &document);
        assert!(said.contains(told), "{format}: {said}");
        let none = words(format, &sweep::crossing());
        assert!(!none.contains("Points of the page cache"), "{format}: {none}");
    }
    let markdown = words("md", &document);
    assert!(markdown.contains("lmdb (cache)") && !markdown.contains("fjall (cache)"), "{markdown}");
    let page = text(&document, "html");
    assert!(page.contains("<a class=\"broken\" href=\"#mislead\">✗ cache</a>"));
    // Writes that it kept are no less its own.
    let written = cached(|cell| &mut cell.to_disk);
    assert_eq!(words("md", &written), words("md", &document));
}

/// A bound is told by its interval's end: an estimate bounds nothing.
#[test]
fn how_many_clients_are_enough_is_told_of_each_line() {
    let mut document = sweep::crossing();
    let knees = &mut document.sweep.as_mut().expect("clients are numeric").knees;
    let told: Vec<(&str, RatioIs)> =
        knees.iter().map(|it| (it.levels["engine"].as_str(), it.clients_is)).collect();
    let wanted =
        [("sqlite", RatioIs::AtMost), ("lmdb", RatioIs::AtLeast), ("fjall", RatioIs::AtLeast)];
    assert_eq!(told, wanted);
    (knees[1].clients, knees[1].low) = (9.1, Some(8.2));
    (knees[2].clients, knees[2].clients_is) = (3.5, RatioIs::Exact);
    (knees[2].low, knees[2].high) = (Some(3.1), Some(3.9));
    for format in ["html", "md", "term"] {
        let text = text(&document, format).replace('\\', "");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let start = text.find("More than N* clients bring no more").expect("a caption");
        let below = &text[start..];
        let end = below.find("highest with the fewest clients.").expect("what a bound means");
        let below = &below[..end];
        for part in ["≤ 1.00", "≥ 8.20", "3.50 (3.10–3.90)", " ≥: ", " ≤: "] {
            assert!(below.contains(part), "{part}, {format}: {below}");
        }
        assert!(!below.contains("9.10"), "{format}: {below}");
    }
    document.sweep.as_mut().unwrap().knees.clear();
    assert!(!text(&document, "html").contains("More than N*"));
}

#[test]
fn a_second_numeric_factor_is_lines_of_one_hue() {
    let factors =
        vec![("clients", vec!["1", "2", "4"]), ("neighbours", vec!["0", "25%", "x1", "x4"])];
    let page = section(&Sample { factors, ..Sample::default() }.document());
    // Two operations and two engines.
    assert_eq!(page.matches("<figure>").count(), 4, "{page}");
    for shade in ["course c0 shade0", "course c0 shade1", "course c0 shade2", "course c1 shade2"] {
        assert_eq!(page.matches(&format!("\"{shade}\"")).count(), 2, "{shade}: one an operation");
    }
    // By the sample's formula lmdb is fastest everywhere: that is said once, and in its panels alone.
    assert_eq!(page.matches("is fastest").count(), 1, "{page}");
    assert!(page.contains("In all 6 cases: <em>lmdb is fastest at every level"), "{page}");
    assert_eq!(page.matches("fastest, 4 clients").count(), 2, "{page}");
    assert!(!page.contains("shade3") && page.contains("fastest, 4 clients"), "{page}");
}

#[test]
fn of_more_than_seven_engines_each_has_a_panel_before_the_others() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let mean =
        |_: &str, levels: &Levels| f64::from(levels["engine"].as_bytes()[0] - b'a' + 1) * 0.01;
    let of = |number: usize| Sample {
        engines: names[..number].to_vec(),
        factors: vec![("clients", vec!["1", "2", "4"])],
        operations: vec!["create_issue"],
        mean,
        ..Sample::default()
    };
    let seven = section(&of(7).document());
    assert_eq!((seven.matches("<figure>").count(), seven.matches(" pale\"").count()), (1, 0));
    let eight = section(&of(8).document());
    assert_eq!(eight.matches("<figure>").count(), 8, "{eight}");
    assert_eq!(eight.matches(" pale\"").count(), 8 * 7, "the others stand behind each");
    let md = text(&of(8).document(), "md");
    let tables = &md[md.find("## Over clients").expect("the section")..];
    let tables = &tables[..tables.find("More than N").expect("what follows the lines")];
    assert_eq!(tables.matches("\n| a ").count(), 1, "a table of its own has its own row: {tables}");
}

#[test]
fn a_rate_has_one_panel_and_higher_is_faster() {
    let mut document = rate::rate(sweep::crossing(), FigureOfMerit::Rows);
    document.sweep = bakeoff_analysis::sweep(&document);
    let page = section(&document);
    assert_eq!(page.matches("<figure>").count(), 1, "all operations together: {page}");
    for part in [
        "rows a second, up is faster",
        "all operations: <em>sqlite is fastest with 1 client",
        "sqlite serves 2.00 times as many rows a second as lmdb",
        "0.50× as fast",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("as long") && !page.contains("slanted"), "{page}");
}

/// Who is fastest is told by the rate alone; how long each operation takes stands beside it.
#[test]
fn beside_the_lines_of_a_rate_are_those_of_the_mean_times() {
    const TITLE: &str = "Mean times over clients";
    let mut document = rate::rate(sweep::crossing(), FigureOfMerit::Rows);
    document.sweep = bakeoff_analysis::sweep(&document);
    let page = text(&document, "html");
    let start = page.find(&format!("<h2>{TITLE}")).expect("the section");
    let times = &page[start..start + page[start..].find("</section>").expect("its end")];
    assert_eq!(times.matches("<figure>").count(), 2, "one an operation: {times}");
    assert!(times.contains("mean time, down is faster"), "{times}");
    assert!(times.contains("Along a faint slanted line more clients add nothing."), "{times}");
    assert!(!times.contains("rows a second") && !times.contains("fastest"), "{times}");
    let ids = page.matches("<title id=\"times0-t\">").count();
    assert_eq!(ids, 1, "a panel has a name of its own");
    for format in ["md", "term"] {
        assert!(text(&document, format).contains(TITLE), "{format}");
    }
    // Where the levels are compared by times, the lines are these.
    assert!(!text(&sweep::crossing(), "html").contains("Mean times over"));
}

#[test]
fn two_levels_or_a_word_among_them_are_no_lines() {
    for levels in [vec!["1", "4"], vec!["1", "2", "many"]] {
        let document =
            Sample { factors: vec![("clients", levels)], ..Sample::default() }.document();
        assert!(!text(&document, "html").contains("<h2>Over "));
        assert!(!text(&document, "json").contains("\"sweep\""));
    }
    assert!(text(&sweep::crossing(), "json").contains("\"sweep\""));
}
