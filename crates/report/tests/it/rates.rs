//! What is said of a run whose levels are compared by a rate.

use bakeoff_analysis::Document;
use bakeoff_report::verdict;
use bakeoff_results::FigureOfMerit;

use crate::formats::{parse_csv, text, three};
use crate::sample::Sample;
use crate::sample::cut_off;
use crate::sample::rate::rate;

/// sqlite does 100 operations a second, lmdb 200 and fjall 83.3, each of 40 rows.
fn one_condition() -> Sample {
    Sample { factors: vec![("clients", vec!["1"])], ..three() }
}

/// Cuts the trials of an engine off.
fn cut_rates_off(document: &mut Document, engine: &str) {
    cut_off::cut_off(document, engine);
    for cell in document.cells.iter_mut().filter(|cell| cell.levels["engine"] == engine) {
        let total = cell.total.as_mut().expect("a total");
        total.typical.at_most = true;
        total.each.iter_mut().for_each(|total| total.at_most = true);
    }
}

fn words(text: &str) -> String {
    text.replace('\\', "").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_slower_engine_is_told_slower_by_every_format_alike() {
    let document = rate(one_condition().document(), FigureOfMerit::Rows);
    let sentence = verdict(&document);
    assert_eq!(
        sentence,
        "lmdb serves 2.0 times as many rows a second as sqlite (1.8–2.2); fjall is slower, too."
    );
    let json: serde_json::Value = serde_json::from_str(&text(&document, "json")).unwrap();
    let fjall = json["comparisons"].as_array().unwrap().iter().find(|it| it["level"] == "fjall");
    let fjall = fjall.expect("a comparison");
    assert_eq!(
        (&fjall["metric"], &fjall["verdict"]),
        (&"rows_per_second".into(), &"slower".into())
    );
    // As the tables have it below.
    for (key, value) in [("ratio", 0.833), ("low", 0.757), ("high", 0.917)] {
        assert!((fjall[key].as_f64().unwrap() - value).abs() < 1e-3, "{key}: {fjall}");
    }
    let markdown = words(&text(&document, "md"));
    let row = "| lmdb | 8000 | 2.00 | 1.82 to 2.20 | faster |";
    assert!(markdown.contains(row), "{markdown}");
    let row = "| fjall | 3330 | 0.83 | 0.76 to 0.92 | slower |";
    assert!(markdown.contains(row), "{markdown}");
    assert!(markdown.contains("| sqlite | 4000 |"), "{markdown}");
    let terminal = words(&text(&document, "term"));
    assert!(terminal.contains("rows a second, and their ratio to sqlite’s"), "{terminal}");
    for part in ["4000 rows/s", "8000 rows/s faster", "3330 rows/s slower", "0.83 (0.76–0.92)"] {
        assert!(terminal.contains(part), "{part}: {terminal}");
    }
    let page = text(&document, "html");
    for part in [
        "rows a second, right is faster",
        ">3330 rows/s</text>",
        "0.42× as much (",
        "above 1 is faster",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let csv = parse_csv(&text(&document, "csv"));
    let column = csv[0].iter().position(|name| name == "rows_per_second").unwrap();
    let lmdb = csv.iter().find(|row| row.iter().any(|field| field == "lmdb")).unwrap();
    assert!(lmdb[column].parse::<f64>().unwrap() > 5000.0, "{lmdb:?}");
}

/// Beside the rate of all operations stands how long each took: it is compared nowhere.
#[test]
fn the_times_of_each_kind_are_described_and_not_compared() {
    let document = rate(one_condition().document(), FigureOfMerit::Operations);
    let markdown = text(&document, "md");
    let headings: Vec<&str> =
        ["## all operations", "## create\\_issue", "## process\\_issues"].into();
    let at: Vec<usize> = headings.iter().filter_map(|it| markdown.find(it)).collect();
    assert!(at.len() == 3 && at.is_sorted(), "{at:?}\n{markdown}");
    let kinds = words(&markdown[at[1]..]);
    assert!(kinds.contains("10.0 ms"), "{kinds}");
    for word in ["faster |", "slower |", "no pair |"] {
        assert!(!kinds.contains(word), "{word}: {kinds}");
    }
    let page = text(&document, "html");
    assert_eq!(page.matches("operations a second, right is faster").count(), 1);
    assert!(!page.contains("left is faster"), "a rate is compared, and no time");
}

/// What was still running makes a rate an upper bound, and what it is compared by no more than that.
#[test]
fn a_rate_that_was_cut_off_is_an_upper_bound() {
    let mut document = rate(one_condition().document(), FigureOfMerit::Megabytes);
    cut_rates_off(&mut document, "fjall");
    let markdown = words(&text(&document, "md"));
    assert!(markdown.contains("| fjall | < 0.341 | ≤ 0.83 | up to 0.92 | slower |"), "{markdown}");
    let page = text(&document, "html");
    assert!(page.contains(">&lt; 0.341 MB/s ←</text>"));
}

/// Where operations are due at a rate, the rate is given: then it is their times.
#[test]
fn an_open_loop_is_compared_by_times_whatever_the_workload_speaks_of() {
    let mut document = one_condition().document();
    document.run.run.figure_of_merit = FigureOfMerit::Rows;
    crate::sample::open(&mut document, "fjall");
    let page = text(&document, "html");
    assert!(page.contains("mean response time, left is faster"));
    assert!(!page.contains("right is faster") && !page.contains("all operations</h"));
    assert!(verdict(&document).contains(" times as long"), "{}", verdict(&document));
}

/// A record without what a rate needs has no figure, and no word.
#[test]
fn a_rate_that_was_not_counted_is_none() {
    let mut document = rate(one_condition().document(), FigureOfMerit::Rows);
    for cell in &mut document.cells {
        let total = cell.total.as_mut().expect("a total");
        total.typical.rows_per_second = None;
    }
    document.comparisons.iter_mut().chain(&mut document.between).for_each(|it| {
        (it.ratio, it.ratio_is, it.low, it.high, it.blocks) = (None, None, None, None, 0);
        it.verdict = bakeoff_analysis::Verdict::Undecided;
    });
    let markdown = words(&text(&document, "md"));
    assert!(markdown.contains("not counted"), "{markdown}");
    assert!(
        verdict(&document).starts_with("Nothing is compared: rows were not counted"),
        "{}",
        verdict(&document)
    );
}
