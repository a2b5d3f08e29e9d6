//! Computes the rate that a trial's modelled device can serve by its model alone.

use std::time::Duration;

use bakeoff_devices::limit::simulate_rate;

use super::TrialTurn;
use crate::driving::Pacing;
use crate::spec::{DiskSpec, TrialSpec};

/// The least device time to simulate: a hard disk serves several hundred requests in it.
const LEAST: Duration = Duration::from_secs(10);

/// Requests a second. `None` on the machine's own disk, in an open loop, and if clients don't
/// request files themselves.
pub fn compute_rate(trial: &TrialSpec, turn: &TrialTurn) -> Option<f64> {
    let DiskSpec::Virtual(spec) = &trial.disk else { return None };
    let Pacing::Closed = turn.drive.pacing else { return None };
    let load = trial.setup.subject.device_load(turn.drive.clients)?;
    let time = Duration::from_secs_f64(turn.drive.seconds).max(LEAST);
    simulate_rate(spec, trial.seed, turn.neighbours, &load, time.as_nanos() as u64)
}
