//! What a section of a report is.

use serde::Serialize;

use crate::block::ReportBlock;
use crate::layout::DocumentLayout;

/// A section of a report.
pub trait Section: Send + Sync {
    /// Its name, in lower case and without spaces: what a link to it says.
    fn name(&self) -> &str;

    /// The heading over its blocks; nothing for a section that has none, or several as its blocks.
    fn title(&self) -> &str {
        ""
    }

    /// What links to it say: its heading, or a shorter name.
    fn link(&self) -> &str {
        self.title()
    }

    /// What it says of a run; nothing where it has nothing to say.
    fn blocks(&self, layout: &DocumentLayout<'_>) -> Vec<ReportBlock>;

    /// Whether it is for a reader who looks something up: a terminal has no room for it.
    fn is_background(&self) -> bool {
        false
    }

    /// Whether it has figures of each cell by itself. Where the cells are the rates that a search tried, a terminal
    /// has no room for it.
    fn is_of_cells(&self) -> bool {
        false
    }
}

/// Blocks under one heading.
#[derive(Serialize)]
pub struct SectionPart<'a> {
    /// The section's name where the heading is its title.
    pub name: Option<&'a str>,
    /// What links to it say.
    pub link: &'a str,
    /// The heading; nothing where there is none.
    pub title: String,
    /// What stands under it.
    pub blocks: Vec<ReportBlock>,
}

/// A section's blocks under their headings; where it has no title, its own headings stand in for it.
pub fn parts<'a>(section: &'a dyn Section, layout: &DocumentLayout<'_>) -> Vec<SectionPart<'a>> {
    let named = Some(section.name()).filter(|_| !section.title().is_empty());
    let (link, title) = (section.link(), section.title().to_owned());
    let mut parts = vec![SectionPart { name: named, link, title, blocks: Vec::new() }];
    for block in section.blocks(layout) {
        match (block, named) {
            (ReportBlock::Heading(title), None) => {
                parts.push(SectionPart { name: None, link: "", title, blocks: Vec::new() });
            }
            (block, _) => parts.last_mut().expect("there is a first").blocks.push(block),
        }
    }
    parts.retain(|part| !part.blocks.is_empty());
    parts
}
