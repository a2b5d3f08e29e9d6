//! Headings over rows of one condition, in charts that are sorted by promise.

use bakeoff_analysis::layout::{ConditionLevels, DocumentLayout};
use bakeoff_results::OwnFactor;

use crate::durability;
use crate::words;

/// `None` unless engines are compared under promises.
pub fn find_promise<'a>(
    layout: &DocumentLayout<'a>,
    condition: &ConditionLevels<'a>,
) -> Option<&'a str> {
    let told = layout.has_engines() && layout.compare != OwnFactor::Durability;
    layout.level_of(OwnFactor::Durability.as_str(), condition, "").filter(|_| told)
}

/// The strongest promise first, else in the plan's order.
pub fn by_promise<'b, 'a>(layout: &'b DocumentLayout<'a>) -> Vec<&'b ConditionLevels<'a>> {
    let mut conditions: Vec<&ConditionLevels> = layout.conditions.iter().collect();
    let rank =
        |it: &&ConditionLevels<'a>| find_promise(layout, it).map(bakeoff_analysis::rank_durability);
    conditions.sort_by_key(rank);
    conditions
}

/// "Every commit kept, 4 clients", and "strict".
pub fn build_title<'a>(
    layout: &DocumentLayout<'a>,
    condition: &ConditionLevels<'a>,
) -> (String, String) {
    let promise = find_promise(layout, condition);
    let pairs = layout.varying.iter().zip(condition);
    let others = pairs.filter(|(factor, _)| promise.is_none() || **factor != OwnFactor::Durability);
    let others = others.map(|(factor, level)| words::phrase_level(factor, level));
    let all: Vec<String> = promise.map(durability::title_level).into_iter().chain(others).collect();
    (words::capitalize(&all.join(", ")), promise.unwrap_or_default().to_owned())
}
