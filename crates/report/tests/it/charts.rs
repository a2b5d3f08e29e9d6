//! What the page draws.

use crate::formats::{text, three};

/// The texts of a chart that a condition holds for, each with where it is.
fn texts(chart: &str, wanted: impl Fn(&str) -> bool) -> Vec<(f64, String)> {
    let texts = chart.split("<text ").skip(1).filter_map(|text| {
        let (attributes, words) = text.split_once('>')?;
        let x = attributes.split(" x=\"").nth(1)?.split('"').next()?.parse().ok()?;
        Some((x, words.split('<').next()?.to_owned()))
    });
    texts.filter(|(_, words)| wanted(words)).collect()
}

/// Where the leftmost bar of a chart begins.
fn first_bar(chart: &str) -> f64 {
    let bars = chart.split("<rect class=\"bar").skip(1);
    let left = bars.filter_map(|bar| bar.split(" x=\"").nth(1)?.split('"').next()?.parse().ok());
    left.reduce(f64::min).expect("a bar")
}

/// A chart that is wider than the screen is seen from its left: the sizes are there.
#[test]
fn what_a_narrow_screen_must_show_is_left_of_the_bars() {
    let page = text(&three().document(), "html");
    let charts = page.split("<svg role=\"img\"").skip(1);
    let charts: Vec<&str> = charts.filter_map(|chart| chart.split("</svg>").next()).collect();
    let space = charts.iter().find(|chart| chart.contains("Space on disk")).expect("a chart");
    let sizes = texts(space, |words| words.ends_with(" MB"));
    assert_eq!(sizes.len(), 3, "{sizes:?}");
    assert!(sizes.iter().all(|(x, _)| *x < first_bar(space)), "{sizes:?}");
}
