//! The slowest operations: what of each cell is beyond its mean.

use bakeoff_analysis::Document;

use crate::formats::{text, three};
use crate::sample::Sample;

/// The section of a page, without its markup.
fn section(document: &Document) -> String {
    let page = text(document, "html");
    let (_, rest) = page.split_once("<section id=\"slowest\">").expect("a section");
    rest.split("</section>").next().expect("its end").to_owned()
}

#[test]
fn each_cell_has_its_p99_and_its_longest_on_one_scale() {
    let document = Sample { factors: vec![("clients", vec!["4"])], ..three() }.document();
    let section = section(&document);
    // lmdb takes 5 ms, a p99 four times as long, the longest 21 times.
    for part in
        ["p50 4.50 ms, p99 20.0 ms, longest 105 ms", "p99 40.0 ms, longest 210 ms", "log scale"]
    {
        assert!(section.contains(part), "{part}: {section}");
    }
    assert!(section.contains("lmdb: p50 4.50 ms, p99 20.0 ms, longest 105 ms\""), "{section}");
    // Of three engines and two operations a strip each, with p50, p99 and the longest.
    for (class, number) in [("class=\"mark\"", 6 + 1), ("class=\"hollow\"", 6 + 1)] {
        let shown = section.matches(&format!("<g {class}")).count();
        assert_eq!(shown, number, "{class}, the legend's among them: {section}");
    }
    for format in ["md", "term"] {
        let text = text(&document, format);
        assert!(text.contains("The slowest operations"), "{format}: {text}");
        assert!(text.contains("p50 4.50 ms, p99 20.0 ms, longest 105 ms"), "{format}: {text}");
    }
}

/// No quantile is made up where too few operations lie beyond it; a longest that was cut off is a bound.
#[test]
fn what_is_not_known_is_not_drawn() {
    let mut document = three().document();
    for operation in document.cells.iter_mut().flat_map(|cell| &mut cell.operations) {
        operation.p99_s = None;
    }
    let without = section(&document);
    let why = "A p99 stands where each trial of a cell has 1,000 such operations";
    let all = Sample { factors: vec![("clients", vec!["4"])], ..three() }.document();
    assert!(without.contains(why) && !section(&all).contains(why), "{without}");
    assert!(!without.contains("p99 20") && without.contains("longest 105 ms"), "{without}");
    for operation in document.cells.iter_mut().flat_map(|cell| &mut cell.operations) {
        operation.unfinished = 1;
    }
    assert!(section(&document).contains("longest &gt; 105 ms"));
    for operation in document.cells.iter_mut().flat_map(|cell| &mut cell.operations) {
        operation.max_s = None;
    }
    assert!(!text(&document, "html").contains("id=\"slowest\""));
}

#[test]
fn a_cell_without_a_figure_says_why() {
    let mut document = three().document();
    let of_lmdb = |document: &Document| {
        let place = document.cells.iter().position(|it| it.levels["engine"] == "lmdb");
        place.expect("a cell")
    };
    let place = of_lmdb(&document);
    document.cells[place].operations.retain(|it| it.name != "process_issues");
    let one = section(&document);
    assert!(one.contains("process_issues, lmdb: not done here\""), "{one}");
    assert!(one.contains("create_issue, lmdb: p50 4.50 ms"), "{one}");
    let mut document = three().document();
    let place = of_lmdb(&document);
    for operation in &mut document.cells[place].operations {
        operation.max_s = None;
    }
    let unknown = section(&document);
    assert!(unknown.contains("create_issue, lmdb: no figure\""), "{unknown}");
}

#[test]
fn the_command_that_repeats_it_is_the_last_of_the_page() {
    let page = text(&three().document(), "html");
    let (_, rest) = page.split_once("<section id=\"repeat\">").expect("a section");
    assert!(
        rest.contains("<pre><code>bakeoff run redmine") && !rest.contains("<section"),
        "{rest}"
    );
}
