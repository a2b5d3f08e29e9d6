//! All sections and all formats.

use bakeoff_analysis::Document;

use crate::exporter::Exporter;
use crate::section::Section;
use crate::{Error, Options, Result, csv, html, json, markdown, sections, term};

/// The sections that reports have, and the formats that they are written in.
pub struct Reports {
    /// In the order of a page; the first is the first screen.
    sections: Vec<Box<dyn Section>>,
    /// In the order in which they are listed.
    exporters: Vec<Box<dyn Exporter>>,
}

impl Reports {
    /// Everything that is built in.
    pub fn standard() -> Self {
        let exporters: Vec<Box<dyn Exporter>> = vec![
            Box::new(html::Html),
            Box::new(json::Json),
            Box::new(csv::Csv),
            Box::new(markdown::Markdown),
            Box::new(term::Terminal),
            Box::new(term::TerminalText),
        ];
        Self { sections: sections::all(), exporters }
    }

    /// Adds a section: the last of those that every format shows, or the last of all where it is
    /// background.
    ///
    /// # Errors
    /// [`Error::Taken`] where there is a section of that name.
    pub fn section(&mut self, section: Box<dyn Section>) -> Result<()> {
        free("section", section.name(), self.sections.iter().map(|it| it.name()))?;
        let background = self.sections.iter().position(|it| it.is_background());
        let place = background.filter(|_| !section.is_background());
        self.sections.insert(place.unwrap_or(self.sections.len()), section);
        Ok(())
    }

    /// Adds a format.
    ///
    /// # Errors
    /// [`Error::Taken`] where there is a format of that name.
    pub fn exporter(&mut self, exporter: Box<dyn Exporter>) -> Result<()> {
        free("format", exporter.name(), self.formats())?;
        self.exporters.push(exporter);
        Ok(())
    }

    /// All formats.
    pub fn exporters(&self) -> impl Iterator<Item = &dyn Exporter> {
        self.exporters.iter().map(AsRef::as_ref)
    }

    /// The names of all formats.
    pub fn formats(&self) -> impl Iterator<Item = &'static str> {
        self.exporters.iter().map(|exporter| exporter.name())
    }

    /// The endings of files that say their format.
    pub fn endings(&self) -> impl Iterator<Item = &'static str> {
        self.exporters.iter().flat_map(|exporter| exporter.endings().iter().copied())
    }

    /// The name of the format of files with such an ending, in whatever case.
    pub fn format_of(&self, ending: &str) -> Option<&'static str> {
        let has = |known: &&str| known.eq_ignore_ascii_case(ending);
        let of = self.exporters.iter().find(|exporter| exporter.endings().iter().any(has));
        of.map(|exporter| exporter.name())
    }

    /// Writes the run in the format of that name; the text ends in a line break.
    ///
    /// # Errors
    /// [`Error::UnknownFormat`], and what the exporter says.
    pub fn render(&self, document: &Document, format: &str, options: &Options) -> Result<String> {
        let exporter = self.exporters.iter().find(|exporter| exporter.name() == format);
        let exporter = exporter.ok_or_else(|| Error::UnknownFormat {
            format: format.to_owned(),
            known: self.formats().collect::<Vec<_>>().join(", "),
        })?;
        exporter.write(document, &self.sections, options)
    }
}

/// Refuses a name that is there already.
fn free<'a>(
    what: &'static str,
    name: &str,
    mut known: impl Iterator<Item = &'a str>,
) -> Result<()> {
    match known.any(|known| known == name) {
        true => Err(Error::Taken { what, name: name.to_owned() }),
        false => Ok(()),
    }
}
