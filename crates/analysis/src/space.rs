use bakeoff_results::measure::{LOADED, SPACE};
use bakeoff_results::{Scope, TrialSummary};
use bakeoff_stats::quantile::median;
use serde::{Deserialize, Serialize};

/// The size after the drain, beside that of the loaded rows. What clients added or removed is in
/// the first alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpaceView {
    /// The same for every engine: an integer has 8 bytes, a text its own and a null none.
    pub loaded_bytes: u64,
    /// Bytes on disk for each byte of the loaded rows; the median of the trials.
    pub amplification: f64,
}

impl SpaceView {
    /// `None` for a server elsewhere, and in records of an older bakeoff.
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
