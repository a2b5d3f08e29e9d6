//! What could mislead, in full.

use crate::block::ReportBlock;
use crate::layout::DocumentLayout;
use crate::misleads;
use crate::section::Section;

/// All warnings of a run, the worst first.
pub struct Mislead;

impl Section for Mislead {
    fn name(&self) -> &str {
        misleads::SECTION
    }

    fn title(&self) -> &str {
        "What could mislead"
    }

    fn blocks(&self, layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
        let warnings = &layout.document.warnings;
        if warnings.is_empty() {
            return Vec::new();
        }
        vec![ReportBlock::Warnings(warnings.clone())]
    }
}
