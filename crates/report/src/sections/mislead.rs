//! What could mislead, in full.

use crate::block::Block;
use crate::layout::Layout;
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

    fn blocks(&self, layout: &Layout<'_>) -> Vec<Block> {
        let warnings = &layout.document.warnings;
        if warnings.is_empty() {
            return Vec::new();
        }
        vec![Block::Warnings(warnings.clone())]
    }
}
