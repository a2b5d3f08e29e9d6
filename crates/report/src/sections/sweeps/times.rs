//! How long operations take over a numeric factor, where the levels are compared by a rate.

use crate::block::sweep::LinePanel;
use crate::block::{ReportBlock, Sweeps};
use crate::layout::DocumentLayout;
use crate::section::Section;

use super::{explained, panels};

/// The mean times beside the lines of a rate.
pub struct SweepTimesSection;

impl Section for SweepTimesSection {
    fn name(&self) -> &str {
        "times"
    }

    fn blocks(&self, layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
        let Some(sweep) = bakeoff_analysis::times(layout.document) else { return Vec::new() };
        let panels: Vec<LinePanel> =
            panels::panels(layout, &sweep).into_iter().enumerate().map(by_itself).collect();
        if panels.is_empty() {
            return Vec::new();
        }
        let lines = Sweeps::from_panels(explained(layout, &sweep), panels, None);
        vec![
            ReportBlock::Heading(format!("Mean times over {}", sweep.factor)),
            ReportBlock::Sweeps(lines),
        ]
    }
}

/// A panel in which nothing stands against the fastest: that goes by the rate.
fn by_itself((number, panel): (usize, LinePanel)) -> LinePanel {
    LinePanel { id: format!("times{number}"), against: String::new(), fastest: Vec::new(), ..panel }
}
