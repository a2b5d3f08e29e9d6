use bakeoff_results::FigureOfMerit;

use super::build_lines;
use crate::document::Document;
use crate::open_loop::is_open;
use crate::sweep::{FastestVerdict, Sweep, SweepFastest};

/// The mean time of each operation over the factor of `sweep`, if levels are compared by a rate. No
/// level is called fastest, since the rate decides that. `None` if `sweep` has the times already.
pub fn build_time_sweep(document: &Document) -> Option<Sweep> {
    let is_rate = document.run.run.figure_of_merit.is_rate();
    if !is_rate || document.trials.iter().any(is_open) {
        return None;
    }
    let mut sweep = build_lines(document, FigureOfMerit::Time)?;
    for panel in &mut sweep.panels {
        panel.turns.clear();
        for fastest in &mut panel.fastest {
            *fastest = SweepFastest { told: FastestVerdict::Alone, levels: Vec::new() };
        }
        for point in panel.series.iter_mut().flat_map(|it| &mut it.points) {
            point.against = None;
        }
    }
    Some(sweep)
}
