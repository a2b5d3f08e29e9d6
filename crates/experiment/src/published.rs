//! Published figures in an experiment.

use bakeoff_results::published::Publication;

#[derive(Clone, Debug, PartialEq)]
pub struct PublishedArticle {
    pub published: Publication,
    /// The table `[published]`, with the texts of its files inside.
    pub(crate) toml: toml::Table,
}
