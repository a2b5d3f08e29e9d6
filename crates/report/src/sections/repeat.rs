//! The command that repeats a run.

use crate::block::{ReportBlock, StyledText};
use crate::layout::DocumentLayout;
use crate::section::Section;

/// The command, and what it takes for the same run.
pub struct Repeat;

impl Section for Repeat {
    fn name(&self) -> &str {
        "repeat"
    }

    fn title(&self) -> &str {
        "Run it again"
    }

    fn blocks(&self, layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
        let run = &layout.document.run.run;
        let lead = StyledText::default()
            .plain("With bakeoff ")
            .plain(&run.version)
            .plain(" this does the same in the same order: the seed is ")
            .plain(run.seed.to_string())
            .plain(". Figures are those of the machine that it runs on.");
        vec![ReportBlock::Lead(lead), ReportBlock::Command(run.command.clone())]
    }

    fn is_background(&self) -> bool {
        true
    }
}
