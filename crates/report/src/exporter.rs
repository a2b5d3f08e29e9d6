//! Exporters: each writes reports in one format.

use bakeoff_analysis::Document;

use crate::section::Section;
use crate::{Options, Result};

/// Writes reports in one format.
pub trait Exporter: Send + Sync {
    /// The format's name in flags.
    fn name(&self) -> &'static str;

    /// What it is, for somebody who chooses one.
    fn about(&self) -> &'static str;

    /// How the names of files end that are of this format, without the dot.
    fn endings(&self) -> &[&'static str];

    /// The run as text that ends in a line break. Formats for people show the sections, in their
    /// order; others may pass over them.
    ///
    /// # Errors
    /// What can't be written in this format; nothing that a document says is a reason.
    fn write(
        &self,
        document: &Document,
        sections: &[Box<dyn Section>],
        options: &Options,
    ) -> Result<String>;
}
