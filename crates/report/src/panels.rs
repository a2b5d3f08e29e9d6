//! Which cells are in one chart.

use crate::layout::{ConditionLevels, DocumentLayout};
use crate::words;

/// The factors that are load: a chart has a group of bars for each combination of their
/// levels.
pub const LOAD: [&str; 4] = ["clients", "neighbours", "rate", "depth"];

/// The conditions that share all levels but the load's: what one chart shows.
pub struct ConditionPanel<'a> {
    /// The levels that they share, of the factors that [`factors`] names.
    pub levels: Vec<&'a str>,
    /// The conditions, in order.
    pub conditions: Vec<ConditionLevels<'a>>,
}

/// The factors that vary and are no load: there is a chart for each combination of their levels.
pub fn factors<'a>(layout: &DocumentLayout<'a>) -> Vec<&'a str> {
    layout.varying.iter().copied().filter(|factor| !LOAD.contains(factor)).collect()
}

/// The conditions, chart by chart.
pub fn panels<'a>(layout: &DocumentLayout<'a>) -> Vec<ConditionPanel<'a>> {
    let mut panels: Vec<ConditionPanel> = Vec::new();
    for condition in &layout.conditions {
        let levels: Vec<&str> = layout
            .varying
            .iter()
            .zip(condition)
            .filter(|(factor, _)| !LOAD.contains(factor))
            .map(|(_, level)| *level)
            .collect();
        match panels.iter_mut().find(|panel| panel.levels == levels) {
            Some(panel) => panel.conditions.push(condition.clone()),
            None => panels.push(ConditionPanel { levels, conditions: vec![condition.clone()] }),
        }
    }
    panels
}

/// "strict durability, scale large": what a chart's cells share.
pub fn caption(layout: &DocumentLayout<'_>, panel: &ConditionPanel<'_>) -> String {
    let factors = factors(layout);
    let words: Vec<String> =
        factors.iter().zip(&panel.levels).map(|(f, l)| words::level(f, l)).collect();
    words.join(", ")
}
