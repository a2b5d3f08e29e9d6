//! What the rows take on disk.

use bakeoff_results::measure::{LOADED, SPACE};
use bakeoff_results::{Scope, TrialSummary};
use bakeoff_stats::quantile::median;
use serde::{Deserialize, Serialize};

/// The size on disk after the drain, beside that of the rows that were loaded. What clients added or
/// removed is in the first alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpaceView {
    /// Bytes of the rows that were loaded, the same for every engine: their columns, an integer being 8
    /// bytes, a text its own and a null none.
    pub loaded_bytes: u64,
    /// Space amplification: bytes on disk for each of these; the median of the trials.
    pub amplification: f64,
}

impl SpaceView {
    /// Of those trials that know both; `None` where none does: of a server elsewhere, and in records of an
    /// older bakeoff.
    pub fn from_trials(trials: &[&TrialSummary]) -> Option<Self> {
        let both = |trial: &&TrialSummary| {
            let of = |measure| trial.measures.get(measure, &Scope::Trial);
            let loaded = of(&LOADED).filter(|bytes| *bytes > 0.0)?;
            Some((loaded, of(&SPACE)? / loaded))
        };
        let (loaded, shares): (Vec<f64>, Vec<f64>) = trials.iter().filter_map(both).unzip();
        Some(Self { loaded_bytes: *loaded.first()? as u64, amplification: median(&shares)? })
    }
}
