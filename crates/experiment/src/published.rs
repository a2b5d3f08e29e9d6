//! What somebody else measured, as an experiment has it.

use bakeoff_factor::published::Publication;

/// Figures that were published, and how the experiment's file gave them.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedArticle {
    /// The figures.
    pub published: Publication,
    /// The file's table `[published]`, with the text of each table of figures inside it.
    pub(crate) toml: toml::Table,
}
