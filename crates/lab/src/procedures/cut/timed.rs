//! What users wait for after a power cut: recovery of a crash image on the experiment's disk, which
//! takes its time, from cold caches. One cut of each engine, level and file system is enough of it.

use std::time::{Duration, Instant};

use bakeoff_devices::plug::Keep;
use bakeoff_disk::control::DiskControl;
use bakeoff_results::{Cut, TimedRecovery};

use super::inside::CutTask;
use super::power::LISTEN;
use super::source::ImageSource;
use super::{Bench, Gone, NAME, powerless, tidy};
use crate::TrialError;
use crate::process::job::{Message, Task};
use crate::process::{ChildProcess, Received};
use crate::spec::DiskSpec;

/// How long it may take.
const LONGEST: Duration = Duration::from_secs(10 * 60);

impl Bench<'_, '_> {
    /// Times the recovery of what a cut has left, by the rule `prefix` if it is judged by that, or else by
    /// the first. `None` where the disk takes no time at all.
    pub(super) fn time_recovery(
        &self,
        gone: &Gone<'_>,
        cut: &Cut,
    ) -> Result<Option<TimedRecovery>, TrialError> {
        let DiskSpec::Virtual(spec) = &self.trial.disk else { return Ok(None) };
        let prefix = self.terms.keep.iter().find(|keep| **keep == Keep::Prefix);
        let Some(keep) = prefix.or(self.terms.keep.first()).copied().filter(|_| !spec.is_null())
        else {
            return Ok(None);
        };
        let image = self.work.join("timed");
        ImageSource { control: gone.control, keep, seed: cut.seed, of: Some(gone.of) }
            .image(&image)?;
        // A new mount: nothing of it is in any cache.
        let staged = self.place(&image, &self.work.join("timed-mount"), cut.seed)?;
        let control = staged.disk.control().ok_or_else(powerless)?;
        let mut timed = TimedRecovery {
            keep: keep.to_string(),
            disk: self.trial.levels.get("disk").cloned().unwrap_or_default(),
            ..TimedRecovery::default()
        };
        let task = Task::inside(NAME, &CutTask::Recover);
        let process = self.stage.start(&self.trial.setup, staged.place().clone(), task)?;
        match self.ready(process).and_then(|process| self.recover(process, control)) {
            Ok(done) => {
                let RecoveryTimes { open_s, answer_s, device_s } = done;
                timed.open_s = Some(open_s);
                timed.answer_s = Some(answer_s);
                timed.device_s = Some(device_s);
            }
            Err(reason) if reason.stops_the_run() => return Err(reason),
            Err(reason) => timed.failed = Some(reason.to_string()),
        }
        let quick = control.set_timing(false);
        quick.map_err(|error| TrialError::place("its disk does not work", error))?;
        staged.close()?;
        tidy(&image)?;
        Ok(Some(timed))
    }

    /// Lets the disk take its time, and a target that is ready recover on it.
    fn recover(
        &self,
        process: ChildProcess,
        control: &DiskControl,
    ) -> Result<RecoveryTimes, TrialError> {
        let failed = |error| TrialError::place("its disk does not work", error);
        control.set_timing(true).map_err(failed)?;
        let before = control.stat().map_err(failed)?.device;
        let began = Instant::now();
        let process = process.go()?;
        let answer = loop {
            self.stage.go_on()?;
            match process.receive(LISTEN) {
                Received::Nothing if began.elapsed() < LONGEST => {}
                Received::Nothing => {
                    let seconds = LONGEST.as_secs();
                    break Err(TrialError::process(format!("no answer after {seconds} s")));
                }
                Received::Message(Message::Recovered { open_s, answer_s }) => {
                    break Ok((open_s, answer_s));
                }
                Received::Message(Message::Failed(reason)) => break Err(reason),
                Received::Message(other) => {
                    let what = "its process sent an unexpected message";
                    break Err(TrialError::process(format!("{what}: {other:?}")));
                }
                Received::End => return Err(TrialError::process(process.exit_report())),
            }
        };
        let device = control.stat().map_err(failed)?.device.since(&before);
        process.end();
        let (open_s, answer_s) = answer?;
        Ok(RecoveryTimes { open_s, answer_s, device_s: device.busy_ns as f64 / 1e9 })
    }
}

/// How long a recovery took, in seconds.
struct RecoveryTimes {
    open_s: f64,
    answer_s: f64,
    device_s: f64,
}
