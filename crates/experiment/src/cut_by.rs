//! Whose promises power cuts try, and under which clients.

use crate::factor::Factor;

/// Under which clients the power is cut, and whose promises these hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutBy {
    /// The workload whose clients are at work.
    pub workload: String,
    /// The factor whose levels make a promise, and the one whose levels say which.
    pub promise: [Factor; 2],
    /// Levels at which the clients would be promised nothing, each with another one in its place.
    pub instead: Vec<LevelSubstitute>,
}

/// A level that power cuts have in the place of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelSubstitute {
    /// The factor.
    pub factor: Factor,
    /// The level that an experiment may name.
    pub level: &'static str,
    /// The one in its place.
    pub cut: &'static str,
}

impl CutBy {
    /// Engines promise, by levels of durability.
    pub const OF_ENGINES: [Factor; 2] = [Factor::ENGINE, Factor::DURABILITY];

    /// Under the clients of a workload on engines.
    pub fn engines(workload: impl Into<String>) -> Self {
        Self { workload: workload.into(), promise: Self::OF_ENGINES, instead: Vec::new() }
    }

    /// The level of a factor that cuts have where an experiment names this one.
    pub fn level<'a>(&'a self, factor: Factor, level: &'a str) -> &'a str {
        let found = self.instead.iter().find(|it| it.factor == factor && it.level == level);
        found.map_or(level, |instead| instead.cut)
    }
}
