//! What the page draws.

use crate::formats::{text, three};
use crate::sample::Sample;

#[test]
fn charts_draw_every_bar_and_ratio() {
    let page = text(&three().document(), "html");
    let chart = page.split("<svg role=\"img\"").nth(1).and_then(|c| c.split("</svg>").next());
    let chart = chart.expect("a chart");
    assert_eq!(chart.matches("<rect class=\"bar").count(), 12);
    assert_eq!(chart.matches("<g class=\"mark").count(), 8);
    // A line a level and number of clients: it doesn't run on from 1 client to 4.
    assert_eq!(chart.matches("<polyline").count(), 4);
    assert!(!chart.contains("NaN") && !chart.contains("inf"));

    let factors = vec![("durability", vec!["relaxed", "strict"]), ("clients", vec!["1", "4"])];
    let page = text(&Sample { factors, ..three() }.document(), "html");
    let captions = page.matches("<figcaption>strict durability</figcaption>").count();
    assert_eq!(captions, 3, "a chart an operation, and one of the space");
}

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

/// A chart that is wider than the screen is seen from its left: the scale and the sizes are there.
#[test]
fn what_a_narrow_screen_must_show_is_left_of_the_bars() {
    let page = text(&three().document(), "html");
    let charts = page.split("<svg role=\"img\"").skip(1);
    let charts: Vec<&str> = charts.filter_map(|chart| chart.split("</svg>").next()).collect();
    let scale = texts(charts[0], |words| words.starts_with('×'));
    assert!(scale.len() > 1 && scale.iter().any(|(_, words)| words == "×1"), "{scale:?}");
    assert!(scale.iter().all(|(x, _)| *x < first_bar(charts[0])), "{scale:?}");
    let title = texts(charts[0], |words| words.starts_with("time ÷ sqlite"));
    assert!(matches!(title[..], [(x, _)] if x <= first_bar(charts[0])), "{title:?}");

    let space = charts.iter().find(|chart| chart.contains("Space on disk")).expect("a chart");
    let sizes = texts(space, |words| words.ends_with(" MB"));
    assert_eq!(sizes.len(), 3, "{sizes:?}");
    assert!(sizes.iter().all(|(x, _)| *x < first_bar(space)), "{sizes:?}");
}
