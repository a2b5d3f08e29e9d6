//! Trials that were cut off.

use bakeoff_analysis::document::Verdict;
use bakeoff_analysis::{Document, RatioIs};

/// Lets two operations of each kind still run when an engine's trials are cut off.
pub fn cut_off(document: &mut Document, engine: &str) {
    let trials = document.trials.iter_mut().map(|it| (&it.levels, &mut it.operations));
    let cells = document.cells.iter_mut().map(|it| (&it.levels, &mut it.operations));
    for (_, operations) in trials.chain(cells).filter(|(levels, _)| levels["engine"] == engine) {
        operations.iter_mut().for_each(|operation| operation.unfinished = 2);
    }
    for comparison in document.comparisons.iter_mut().chain(&mut document.between) {
        let (bound, end) = match () {
            () if comparison.level == engine => (RatioIs::AtLeast, &mut comparison.high),
            () if comparison.baseline == engine => (RatioIs::AtMost, &mut comparison.low),
            () => continue,
        };
        *end = None;
        // The other one was cut off before.
        if comparison.ratio_is.is_some_and(|is| is != RatioIs::Exact) {
            (comparison.ratio, comparison.ratio_is) = (None, None);
            (comparison.low, comparison.high) = (None, None);
            comparison.verdict = Verdict::Undecided;
            continue;
        }
        comparison.ratio_is = Some(bound);
        comparison.verdict = match (bound, comparison.verdict) {
            (RatioIs::AtLeast, Verdict::Faster) | (RatioIs::AtMost, Verdict::Slower) => {
                Verdict::Undecided
            }
            (_, Verdict::Same) => Verdict::Undecided,
            (_, verdict) => verdict,
        };
    }
}
