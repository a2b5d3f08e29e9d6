//! How noisy the trials of a run were: what plans of later runs go by.

use bakeoff_results::RunFolder;

use crate::compare::Groups;
use crate::{Result, bounds, cells};

/// The standard deviation of a trial's logarithm that all comparisons of a run share. `None` with
/// fewer than four comparisons of two blocks or more, where no trial differs from another, and for
/// a folder that holds more than any run.
///
/// # Errors
///
/// If the folder can't be read.
pub fn estimate_trial_noise(folder: &RunFolder) -> Result<Option<f64>> {
    let _snapshot = folder.begin_snapshot()?;
    let run = folder.run()?;
    let trials = folder.read_trials()?;
    if bounds::find_exceeded_bound(&run, &trials, &[]).is_some() {
        return Ok(None);
    }
    let counted = cells::select_counted(&trials);
    Ok(Groups::from_trials(&run, &trials, &counted).estimate_noise(&run))
}
