//! What a commit costs by the model of the disk.

use bakeoff_analysis::{PriceRatio, PricedView};

use crate::formats::text;
use crate::sample::Sample;

const PRICE: PricedView = PricedView {
    time_s: 0.05,
    log_s: 0.02,
    reads_s: 0.01,
    put_off_s: 0.02,
    rate: Some(4.0),
    rate_most: Some(7.5),
    turns: Some(3.75),
    trace_bytes: 1e6,
    watched_rate: Some(31.0),
    watched_s: Some(0.032),
    paid: Some(true),
    ratio: None,
};

#[test]
fn prices_stand_beside_what_was_watched_in_every_format() {
    let mut document = Sample::default().document();
    document.cells[0].priced = Some(PRICE);
    let ratio = PriceRatio { ratio: 2.0, low: Some(1.9), high: Some(2.1), blocks: 3 };
    let beside = PricedView { watched_s: None, ratio: Some(ratio), ..PRICE };
    document.cells[1].priced = Some(beside);
    for format in ["html", "md"] {
        let shown = text(&document, format);
        for figure in
            ["Priced, not watched", "50.0 ms", "40 %", "20 %", "4.00 to 7.50", "32.0 ms", "1.56"]
        {
            assert!(shown.contains(figure), "{format}: {figure}\n{shown}");
        }
        assert!(shown.contains("2.00 (1.90 to 2.10)"), "{format}\n{shown}");
        assert!(shown.contains("price and window disagree"), "{format}\n{shown}");
    }
    assert!(text(&document, "term").contains("50.0 ms"));
    assert!(text(&document, "json").contains("\"put_off_s\": 0.02"));
}

#[test]
fn nothing_is_said_of_prices_that_agree_or_are_not_there() {
    let plain = Sample::default().document();
    assert!(!text(&plain, "html").contains("Priced, not watched"));
    assert!(!text(&plain, "json").contains("put_off_s"));
    let mut document = plain;
    // A window in which nothing was paid has no price to be held against.
    for (watched, paid) in [(0.049, Some(true)), (0.02, Some(false)), (0.049, None)] {
        let view = PricedView { watched_s: Some(watched), paid, ..PRICE };
        document.cells[0].priced = Some(view);
        assert!(!text(&document, "md").contains("price and window disagree"), "{watched} {paid:?}");
    }
}
