//! What a trial's modelled device serves by its model alone of what the clients ask for.

use std::time::Duration;

use bakeoff_devices::limit::rate;

use super::TrialTurn;
use crate::Registry;
use crate::driving::Pacing;
use crate::spec::{DiskSpec, TrialSpec};

/// So much of the device's time is simulated at least: a hard disk serves several hundred requests in it.
const LEAST: Duration = Duration::from_secs(10);

/// Requests a second, over as much of the device's time as the clients have; `None` on the machine's own disk,
/// in an open loop, and of clients that don't ask files themselves.
pub fn compute_rate(registry: &Registry, trial: &TrialSpec, turn: &TrialTurn) -> Option<f64> {
    let DiskSpec::Virtual(spec) = &trial.disk else { return None };
    let Pacing::Closed = turn.drive.pacing else { return None };
    let target = registry.target(trial.setup.target)?;
    let load = target.device_load(&trial.setup.subject, turn.drive.clients)?;
    let time = Duration::from_secs_f64(turn.drive.seconds).max(LEAST);
    rate(spec, trial.seed, turn.neighbours, &load, time.as_nanos() as u64)
}
