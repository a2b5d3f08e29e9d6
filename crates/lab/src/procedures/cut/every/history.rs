//! The clients at work on a disk that remembers all of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bakeoff_devices::plug::Recorded;
use bakeoff_devices::trigger::{Awaited, Trigger};

use super::super::inside::CutTask;
use super::super::{Bench, NAME, powerless};
use crate::TrialError;
use crate::error::wanting;
use crate::process::job::{Message, Task};

/// How long the clients work at most: an engine may write seldom.
const LONGEST: Duration = Duration::from_secs(5);
/// How much later the power may go.
const LATE: Duration = Duration::from_secs(1);

/// What a run of the clients left.
pub struct Recording {
    pub history: Recorded,
    pub claims: PathBuf,
    /// When the clients began, in nanoseconds of `CLOCK_MONOTONIC`.
    start_ns: u64,
}

impl Recording {
    /// How long the clients were at work.
    pub fn seconds(&self) -> f64 {
        let end = self.history.time(self.history.events());
        end.saturating_sub(self.start_ns) as f64 / 1e9
    }
}

impl Bench<'_, '_> {
    /// Puts the clients to work on a disk over `files`, until it has had so many writes.
    pub(super) fn record(&self, files: &Path, writes: u64) -> Result<Recording, TrialError> {
        let failed = |error| TrialError::place("its disk does not work", error);
        let claims = self.work.join("claims");
        wanting("the folder of claims", fs::create_dir(&claims))?;
        let staged = self.place(files, &self.work.join("mount"), self.trial.seed)?;
        let control = staged.disk.control().ok_or_else(powerless)?;
        control.record().map_err(failed)?;
        let part =
            CutTask::Claim { clients: self.terms.clients, claims: claims.clone(), steady: false };
        let task = Task::inside(NAME, &part);
        let process = self.stage.start(&self.trial.setup, staged.place().clone(), task)?;
        let process = self.ready(process)?;
        let moment = Awaited { trigger: Trigger::Writes(writes), within: Some(LONGEST) };
        let mut off = self.power_down(process, control, (&[moment], LONGEST + LATE), |_| false)?;
        if let Some(how) = off.early.take() {
            return Err(TrialError::process(how));
        }
        let off_at_ns = off.moments_ns[0];
        for message in off.received {
            match message {
                Message::Failed(reason) => return Err(reason),
                Message::Stopped { at_ns, reason } if at_ns < off_at_ns => {
                    let what = "a client failed before the power was cut";
                    return Err(TrialError::Engine(format!("{what}: {reason}")));
                }
                _ => {}
            }
        }
        let folder = self.work.join("history");
        control.recorded(&folder).map_err(failed)?;
        let history = bakeoff_disk::history::read(&folder);
        let history = wanting("the recorded history", history)?;
        staged.into_disk()?.unmount()?;
        Ok(Recording { history, claims, start_ns: off.start_ns })
    }
}
