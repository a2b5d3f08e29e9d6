use std::path::{Path, PathBuf};
use std::time::Duration;

use bakeoff_devices::plug::Recorded;
use bakeoff_devices::trigger::{TimedTrigger, Trigger};

use super::super::clients::{StartedClients, check_failure, first_failure};
use super::super::{Bench, disk_error, no_power_error};
use crate::TrialError;
use crate::error::with_context;

/// The longest work of the clients: an engine may write seldom.
const LONGEST: Duration = Duration::from_secs(5);
/// How much later the power may go.
const LATE: Duration = Duration::from_secs(1);

pub struct Recording {
    pub history: Recorded,
    pub claims: PathBuf,
    start_ns: u64,
}

impl Recording {
    pub fn seconds(&self) -> f64 {
        let end = self.history.moment_end(self.history.event_count());
        end.saturating_sub(self.start_ns) as f64 / 1e9
    }
}

impl Bench<'_, '_> {
    pub(super) fn record_history(
        &self,
        files: &Path,
        writes: u64,
    ) -> Result<Recording, TrialError> {
        let started = self.start_clients(files, self.trial.seed, false)?;
        let StartedClients { staged, process, claims, .. } = started;
        let control = staged.disk.control().ok_or_else(no_power_error)?;
        let moment = TimedTrigger { trigger: Trigger::Writes(writes), within: Some(LONGEST) };
        let mut off = self.power_down(process, control, (&[moment], LONGEST + LATE), |_| false)?;
        check_failure(first_failure(&mut off)?.as_ref(), off.moments_ns[0])?;
        let folder = self.work.join("history");
        control.save_history(&folder).map_err(disk_error)?;
        let history = bakeoff_disk::history::read(&folder);
        let history = with_context("the recorded history", history)?;
        staged.into_disk()?.unmount()?;
        Ok(Recording { history, claims, start_ns: off.start_ns })
    }
}
