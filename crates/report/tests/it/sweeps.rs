//! Lines over a numeric factor: what stands together.

use bakeoff_results::Levels;

use crate::reading::{between, text};
use crate::sample::Sample;

/// The panels of a page, those of its first screen and the others.
fn panels(page: &str) -> String {
    let parts = page.split("<div class=\"charts sweeps\">").skip(1);
    parts.filter_map(|part| part.split("</div>").next()).collect()
}

#[test]
fn a_second_numeric_factor_is_lines_of_one_hue() {
    let factors =
        vec![("clients", vec!["1", "2", "4"]), ("neighbours", vec!["0", "25%", "x1", "x4"])];
    let page = text(&Sample { factors, ..Sample::default() }.document(), "html");
    let said = between(&page, "<h2>Over ", "</section>");
    let page = panels(&page);
    // Two operations and two engines.
    assert_eq!(page.matches("<figure>").count(), 4, "{page}");
    for shade in ["course c0 shade0", "course c0 shade1", "course c0 shade2", "course c1 shade2"] {
        assert_eq!(page.matches(&format!("\"{shade}\"")).count(), 2, "{shade}: one an operation");
    }
    // By the sample's formula lmdb is fastest everywhere: that is said once, and in its panels alone.
    assert_eq!(said.matches("is fastest").count(), 1, "{said}");
    assert!(said.contains("In all 6 cases: <em>lmdb is fastest at every level"), "{said}");
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
    let seven = panels(&text(&of(7).document(), "html"));
    assert_eq!((seven.matches("<figure>").count(), seven.matches(" pale\"").count()), (1, 0));
    let eight = panels(&text(&of(8).document(), "html"));
    assert_eq!(eight.matches("<figure>").count(), 8, "{eight}");
    assert_eq!(eight.matches(" pale\"").count(), 8 * 7, "the others stand behind each");
    let md = text(&of(8).document(), "md");
    let tables = &md[..md.find("More than N").expect("what follows the lines")];
    assert_eq!(tables.matches("\n| a ").count(), 1, "a table of its own has its own row: {tables}");
}
