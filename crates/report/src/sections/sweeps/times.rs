//! Shows the times of operations over a numeric factor if levels are compared by a rate.

use bakeoff_analysis::layout::DocumentLayout;

use super::{explain_lines, panels};
use crate::block::sweep::LinePanel;
use crate::block::{ReportBlock, Sweeps};

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let Some(sweep) = bakeoff_analysis::build_time_sweep(layout.document) else {
        return Vec::new();
    };
    let panels: Vec<LinePanel> =
        panels::build_panels(layout, &sweep).into_iter().enumerate().map(by_itself).collect();
    if panels.is_empty() {
        return Vec::new();
    }
    let lines = Sweeps::from_panels(explain_lines(layout, &sweep), panels, None);
    vec![
        ReportBlock::Heading(format!("Mean times over {}", sweep.factor)),
        ReportBlock::Sweeps(lines),
    ]
}

/// Removes the comparison with the fastest: that goes by the rate.
fn by_itself((number, panel): (usize, LinePanel)) -> LinePanel {
    LinePanel { id: format!("times{number}"), against: String::new(), fastest: Vec::new(), ..panel }
}
