use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{Comparison, OperationCase, Verdict};

use crate::worst_losses::Losses;

/// Only these intervals stand beside means that are compared.
const BRACKETS: &str = "In brackets: the 95 % interval of the ratio, from pairs of trials of the same block; the verdict \
     goes by it.";
const BRACKETS_OF_LOOKS: &str = "In brackets: the 95 % interval of the ratio, from pairs of trials of the same block, \
     wide enough for all comparisons together; the verdict goes by it.";
/// Why a pair with an interval may have no verdict.
const SHORT: &str = "Short of processors: clients or an engine waited for a processor so long that the verdict could be \
     another without.";
/// Each loss stands beside its clients' rate.
const LOST: &str = "Lost: in cuts whose clients commit at the rate below the number.";

pub fn explain_terms(
    layout: &DocumentLayout<'_>,
    cases: &[OperationCase<'_>],
    losses: &Losses<'_>,
) -> Vec<String> {
    let mut terms = Vec::new();
    if cases.iter().any(|case| case.contrast.ends != (None, None)) {
        let at_looks = layout.document.run.run.sequential.is_some();
        terms.push(if at_looks { BRACKETS_OF_LOOKS } else { BRACKETS }.to_owned());
    }
    terms.extend(explain_undecided(layout));
    if layout.contending_comparisons().any(|it| it.verdict == Verdict::ShortOfProcessors) {
        terms.push(SHORT.to_owned());
    }
    let mut all = losses.levels().into_iter().flat_map(|level| losses.of_level(level));
    if layout.has_engines() && all.any(|(_, loss)| loss.per_second().is_some()) {
        terms.push(LOST.to_owned());
    }
    terms
}

/// All reasons that some comparison has: a reader sees trials that lie apart.
fn explain_undecided(layout: &DocumentLayout<'_>) -> Option<String> {
    let all = || layout.contending_comparisons();
    let open = |it: &Comparison| it.verdict == Verdict::Undecided && it.low.or(it.high).is_some();
    let is_any_held_back = all().any(Comparison::is_held_back);
    let is_any_noise = all().any(|it| it.verdict == Verdict::WithinNoise);
    if !is_any_noise && !all().any(open) {
        return None;
    }
    let among = match is_any_held_back {
        true => ", or leaves 1 out by itself and not among all comparisons together",
        false => "",
    };
    let noise = if is_any_noise { ", or one level differs as much from itself" } else { "" };
    Some(format!(
        "Undecided: this interval reaches to within 5 % of 1{among}{noise}; trials may lie apart all the same, since of \
         few pairs it is wide."
    ))
}
