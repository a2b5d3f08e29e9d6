//! Decides which cells share a chart.

use bakeoff_analysis::layout::{ConditionLevels, DocumentLayout};
use bakeoff_results::OwnFactor;

use crate::words;

/// Factors of load: each combination of their levels is a group of bars.
pub const LOAD: [&str; 4] = [
    OwnFactor::Clients.as_str(),
    OwnFactor::Neighbours.as_str(),
    OwnFactor::Rate.as_str(),
    "depth",
];

pub struct ConditionPanel<'a> {
    pub levels: Vec<&'a str>,
    pub conditions: Vec<ConditionLevels<'a>>,
}

/// Each combination of their levels has a chart.
pub fn list_factors<'a>(layout: &DocumentLayout<'a>) -> Vec<&'a str> {
    layout.varying.iter().copied().filter(|factor| !LOAD.contains(factor)).collect()
}

pub fn group_panels<'a>(layout: &DocumentLayout<'a>) -> Vec<ConditionPanel<'a>> {
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

/// "strict durability, scale large".
pub fn build_caption(layout: &DocumentLayout<'_>, panel: &ConditionPanel<'_>) -> String {
    let factors = list_factors(layout);
    let words: Vec<String> =
        factors.iter().zip(&panel.levels).map(|(f, l)| words::phrase_level(f, l)).collect();
    words.join(", ")
}
