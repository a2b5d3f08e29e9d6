use bakeoff_analysis::layout::DocumentLayout;

use crate::block::ReportBlock;

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let warnings = &layout.document.warnings;
    if warnings.is_empty() {
        return Vec::new();
    }
    vec![ReportBlock::Warnings(warnings.clone())]
}
