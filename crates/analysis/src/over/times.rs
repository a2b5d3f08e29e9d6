//! How long operations take over a numeric factor, where the levels are compared by a rate.

use bakeoff_results::FigureOfMerit;

use super::lines;
use crate::document::Document;
use crate::open_loop::is_open;
use crate::sweep::{FastestVerdict, Sweep, SweepFastest};

/// The mean time of each operation over the factor that [`sweep`](super::sweep) has its lines over; nothing is told
/// of who is fastest, since that goes by the rate. `None` where the levels are compared by times, which `sweep` has
/// then, where operations were due at a rate, and where no factor but the compared one is numeric.
pub fn times(document: &Document) -> Option<Sweep> {
    let is_rate = document.run.run.figure_of_merit.is_rate();
    if !is_rate || document.trials.iter().any(is_open) {
        return None;
    }
    let mut sweep = lines(document, FigureOfMerit::Time)?;
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
