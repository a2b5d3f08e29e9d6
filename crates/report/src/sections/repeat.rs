use bakeoff_analysis::layout::DocumentLayout;

use crate::block::{ReportBlock, StyledText};

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let run = &layout.document.run.run;
    let lead = StyledText::default()
        .plain("With bakeoff ")
        .plain(&run.version)
        .plain(" this does the same in the same order: the seed is ")
        .plain(run.seed.to_string())
        .plain(". Figures are those of the machine that it runs on.");
    vec![ReportBlock::Lead(lead), ReportBlock::Command(run.command.clone())]
}
