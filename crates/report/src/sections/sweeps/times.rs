//! How long operations take over a numeric factor, where the levels are compared by a rate.

use crate::block::sweep::Panel;
use crate::block::{Block, Sweeps};
use crate::layout::Layout;
use crate::section::Section;

use super::{explained, panels};

/// The mean times beside the lines of a rate.
pub struct Times;

impl Section for Times {
    fn name(&self) -> &str {
        "times"
    }

    fn blocks(&self, layout: &Layout<'_>) -> Vec<Block> {
        let Some(sweep) = bakeoff_analysis::times(layout.document) else { return Vec::new() };
        let panels: Vec<Panel> =
            panels::panels(layout, &sweep).into_iter().enumerate().map(by_itself).collect();
        if panels.is_empty() {
            return Vec::new();
        }
        let lines = Sweeps::of(explained(layout, &sweep), panels, None);
        vec![Block::Heading(format!("Mean times over {}", sweep.factor)), Block::Sweeps(lines)]
    }
}

/// A panel in which nothing stands against the fastest: that goes by the rate.
fn by_itself((number, panel): (usize, Panel)) -> Panel {
    Panel { id: format!("times{number}"), against: String::new(), fastest: Vec::new(), ..panel }
}
