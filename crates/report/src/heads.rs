//! What stands over rows of one condition, in charts that go from the promise that says most to the one
//! that says least.

use crate::durability;
use crate::layout::{ConditionLevels, DocumentLayout};
use crate::words;

/// The level of durability of a condition, where engines are compared under promises.
pub fn promise<'a>(
    layout: &DocumentLayout<'a>,
    condition: &ConditionLevels<'a>,
) -> Option<&'a str> {
    let told = layout.has_engines() && layout.compare != durability::FACTOR;
    layout.level_of(durability::FACTOR, condition, "").filter(|_| told)
}

/// The conditions of a run, the one that promises most first, and else in the plan's order.
pub fn by_promise<'b, 'a>(layout: &'b DocumentLayout<'a>) -> Vec<&'b ConditionLevels<'a>> {
    let mut conditions: Vec<&ConditionLevels> = layout.conditions.iter().collect();
    let rank = |it: &&ConditionLevels<'a>| promise(layout, it).map(durability::rank);
    conditions.sort_by_key(rank);
    conditions
}

/// "Every commit kept, 4 clients", and "strict".
pub fn title<'a>(layout: &DocumentLayout<'a>, condition: &ConditionLevels<'a>) -> (String, String) {
    let promise = promise(layout, condition);
    let pairs = layout.varying.iter().zip(condition);
    let others = pairs.filter(|(factor, _)| promise.is_none() || **factor != durability::FACTOR);
    let others = others.map(|(factor, level)| words::level(factor, level));
    let all: Vec<String> = promise.map(durability::title).into_iter().chain(others).collect();
    (words::capital(&all.join(", ")), promise.unwrap_or_default().to_owned())
}
