use bakeoff_analysis::layout::DocumentLayout;
use serde::Serialize;

use crate::block::ReportBlock;

pub struct Section {
    name: &'static str,
    /// Empty where it has no heading, or several as its blocks.
    title: &'static str,
    link: &'static str,
    pub kind: SectionKind,
    pub place: PagePlace,
    /// Empty if it does not apply to a run.
    build_blocks: fn(&DocumentLayout<'_>) -> Vec<ReportBlock>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SectionKind {
    Shown,
    /// Figures of each cell. Where cells are the rates of a search, a terminal has no room for it.
    OfCells,
    /// For reference. A terminal leaves it out.
    Background,
}

/// Where a page has a section: below the first screen it is folded into three parts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PagePlace {
    First,
    Why,
    Misleading,
    Everything,
}

#[derive(Default, Serialize)]
pub struct SectionPart<'a> {
    pub name: Option<&'a str>,
    pub link: &'a str,
    pub title: String,
    pub blocks: Vec<ReportBlock>,
}

impl Section {
    pub const fn new(
        name: &'static str,
        title: &'static str,
        kind: SectionKind,
        build_blocks: fn(&DocumentLayout<'_>) -> Vec<ReportBlock>,
    ) -> Self {
        let place = PagePlace::Everything;
        Self { name, title, link: title, kind, place, build_blocks }
    }

    pub const fn with_link(self, link: &'static str) -> Self {
        Self { link, ..self }
    }

    pub const fn at(self, place: PagePlace) -> Self {
        Self { place, ..self }
    }

    /// Without a title, its own headings stand in for it.
    pub fn build_parts(&self, layout: &DocumentLayout<'_>) -> Vec<SectionPart<'static>> {
        let name = Some(self.name).filter(|_| !self.title.is_empty());
        let (link, title) = (self.link, self.title.to_owned());
        let mut parts = vec![SectionPart { name, link, title, blocks: Vec::new() }];
        for block in (self.build_blocks)(layout) {
            match (block, name) {
                (ReportBlock::Heading(title), None) => {
                    parts.push(SectionPart { title, ..SectionPart::default() });
                }
                (block, _) => parts.last_mut().expect("there is a first").blocks.push(block),
            }
        }
        parts.retain(|part| !part.blocks.is_empty());
        parts
    }
}
