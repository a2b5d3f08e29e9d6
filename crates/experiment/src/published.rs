//! What somebody else measured, as an experiment has it.

use bakeoff_factor::published::Published;

/// Figures that were published, and how the experiment's file gave them.
#[derive(Clone, Debug, PartialEq)]
pub struct Article {
    /// The figures.
    pub published: Published,
    /// The file's table `[published]`, with the text of each table of figures inside it.
    pub(crate) toml: toml::Table,
}
