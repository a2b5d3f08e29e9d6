//! A trial for the tests of several modules.

use bakeoff_results::{Measures, TrialSummary};

/// At these levels, with these measures; it ran for ten seconds, of which the last nine count.
pub fn trial_at(levels: &[(&str, &str)], measures: Measures) -> TrialSummary {
    let levels = levels.iter().map(|(factor, level)| ((*factor).into(), (*level).into()));
    TrialSummary {
        repetition: 0,
        block: 0,
        attempt: 0,
        order: 0,
        levels: levels.collect(),
        started_s: 0.0,
        ran_s: Some(10.0),
        window_s: Some((1.0, 10.0)),
        operations: Vec::new(),
        measures,
        warnings: Vec::new(),
        valid: true,
        reason: None,
    }
}
