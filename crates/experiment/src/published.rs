//! What somebody else measured, as an experiment has it.

use bakeoff_factor::published::Published;

use crate::Experiment;

/// Figures that were published, and how the experiment's file gave them.
#[derive(Clone, Debug, PartialEq)]
pub struct Article {
    /// The figures.
    pub published: Published,
    /// The file's table `[published]`, with the text of each table of figures inside it.
    pub(crate) toml: toml::Table,
}

impl Experiment {
    /// How many figures were published, and how many of these are of levels that are run; `None` where
    /// the experiment has none.
    pub fn published_figures(&self) -> Option<(usize, usize)> {
        let tables = &self.published.as_ref()?.published.tables;
        let figures = || tables.iter().flat_map(|table| &table.figures);
        let runs = |factor: &str, level: &String| {
            let found = self.factors.iter().find(|(known, _)| known.name() == factor);
            found.is_some_and(|(_, levels)| levels.contains(level))
        };
        let is_run = |levels: &std::collections::BTreeMap<String, String>| {
            levels.iter().all(|(factor, level)| runs(factor, level))
        };
        let run = figures().filter(|figure| is_run(&figure.levels)).count();
        Some((figures().count(), run))
    }
}
