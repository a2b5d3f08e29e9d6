//! What trials had behind them.

use bakeoff_analysis::{RestartView, SteadyView, Verdict};
use bakeoff_results::Levels;

use crate::formats::text;
use crate::sample::Sample;

#[test]
fn restarts_and_rounds_stand_in_every_format() {
    let mut document = Sample::default().document();
    document.cells[0].restart = Some(RestartView {
        opening_s: 12.5,
        first_10_s: Some(0.75),
        first_100_s: Some(0.25),
        first_1000_s: None,
    });
    document.cells[1].steady = Some(SteadyView {
        conditioned: 51_234.0,
        not_turned_over: 1,
        followed_others: 1,
        space_at_start_bytes: Some(3e8),
        steady: 2,
        never_steady: 1,
        largest_range: Some(0.345),
    });
    for format in ["html", "term", "md"] {
        let shown = text(&document, format);
        for figure in ["12.5 s", "750 ms", "250 ms", "51234", "300 MB", "2 of 5", "2 cannot tell"] {
            assert!(shown.contains(figure), "{format}: {figure}\n{shown}");
        }
    }
    let shared = "(the factor neighbours) followed one preconditioning";
    let words =
        |document: &_| text(document, "html").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&document).contains(shared));
    document.cells[1].steady.as_mut().unwrap().followed_others = 0;
    assert!(!words(&document).contains(shared));
    let plain = text(&Sample::default().document(), "term");
    assert!(!plain.contains("After a restart") && !plain.contains("Steady"), "{plain}");
}

#[test]
fn what_was_never_steady_has_no_winner() {
    let slower = |_: &str, levels: &Levels| if levels["engine"] == "lmdb" { 0.02 } else { 0.01 };
    let mut document = Sample { mean: slower, half_width: 0.01, ..Sample::default() }.document();
    let won = text(&document, "term");
    assert!(won.contains("sqlite is fastest"), "{won}");
    document.comparisons.iter_mut().for_each(|it| it.verdict = Verdict::NeverSteady);
    let open = text(&document, "term");
    assert!(!open.contains("is fastest"), "{open}");
    let flat = open.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("each holds a trial that was to be steady and was not"), "{flat}");
    document.comparisons[0].verdict = Verdict::Slower;
    let some = text(&document, "term").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(some.contains("were never steady"), "{some}");
}
