//! Trials that were cut off.

use bakeoff_analysis::document::Verdict;
use bakeoff_analysis::{Document, RatioBound};

/// Lets two operations of each kind still run when an engine's trials are cut off.
pub fn cut_off(document: &mut Document, engine: &str) {
    let trials = document.trials.iter_mut().map(|it| (&it.levels, &mut it.operations));
    let cells = document.cells.iter_mut().map(|it| (&it.levels, &mut it.operations));
    for (_, operations) in trials.chain(cells).filter(|(levels, _)| levels["engine"] == engine) {
        operations.iter_mut().for_each(|operation| operation.unfinished = 2);
    }
    for comparison in document.comparisons.iter_mut().chain(&mut document.between) {
        let (bound, end) = match () {
            () if comparison.level == engine => (RatioBound::AtLeast, &mut comparison.high),
            () if comparison.baseline == engine => (RatioBound::AtMost, &mut comparison.low),
            () => continue,
        };
        *end = None;
        // The other one was cut off before.
        if comparison.ratio_is.is_some_and(|is| is != RatioBound::Exact) {
            (comparison.ratio, comparison.ratio_is) = (None, None);
            (comparison.low, comparison.high) = (None, None);
            comparison.verdict = Verdict::Undecided;
            continue;
        }
        comparison.ratio_is = Some(bound);
        comparison.verdict = match (bound, comparison.verdict) {
            (RatioBound::AtLeast, Verdict::Faster) | (RatioBound::AtMost, Verdict::Slower) => {
                Verdict::Undecided
            }
            (_, Verdict::Same) => Verdict::Undecided,
            (_, verdict) => verdict,
        };
    }
}

/// The same of rates, which are upper bounds then.
pub fn cut_rates_off(mut document: Document, engine: &str) -> Document {
    cut_off(&mut document, engine);
    for cell in document.cells.iter_mut().filter(|cell| cell.levels["engine"] == engine) {
        let total = cell.total.as_mut().expect("a total");
        total.typical.at_most = true;
        total.each.iter_mut().for_each(|total| total.at_most = true);
    }
    document
}
