//! Whose promises power cuts test, and with which clients.

use crate::factor::Factor;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutBy {
    pub workload: String,
    /// The factor whose levels make a promise, and the factor whose levels name it.
    pub promise: [Factor; 2],
    /// Levels that promise the clients nothing, and the levels that power cuts use instead.
    pub instead: Vec<LevelSubstitute>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelSubstitute {
    pub factor: Factor,
    pub level: &'static str,
    pub cut: &'static str,
}

impl CutBy {
    pub const OF_ENGINES: [Factor; 2] = [Factor::ENGINE, Factor::DURABILITY];

    pub fn under_engines(workload: impl Into<String>) -> Self {
        Self { workload: workload.into(), promise: Self::OF_ENGINES, instead: Vec::new() }
    }

    /// The level that power cuts use instead of this one.
    pub fn level_in_cuts<'a>(&'a self, factor: Factor, level: &'a str) -> &'a str {
        let found = self.instead.iter().find(|it| it.factor == factor && it.level == level);
        found.map_or(level, |instead| instead.cut)
    }
}
