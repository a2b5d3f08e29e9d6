//! Times the users' wait after a power cut: recovery of a crash image on the experiment's disk,
//! which takes its time, with cold caches. One cut per engine, level and file system is enough.

use std::time::{Duration, Instant};

use bakeoff_devices::plug::Keep;
use bakeoff_disk::control::DiskControl;
use bakeoff_results::{Cut, TimedRecovery};

use super::power::LISTEN;
use super::source::ImageSource;
use super::{Bench, Gone, disk_error, no_power_error, tidy_folder, unexpected_message};
use crate::TrialError;
use crate::process::job::{CutTask, Message, Task};
use crate::process::{ChildProcess, ReceiveOutcome};
use crate::spec::DiskSpec;

const LONGEST: Duration = Duration::from_secs(10 * 60);

impl Bench<'_, '_> {
    /// Uses the rule `prefix` if the cut is judged by it, else the first. `None` if the disk takes
    /// no time.
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
        // A new mount: nothing of it is cached.
        let staged = self.place(&image, &self.work.join("timed-mount"), cut.seed)?;
        let control = staged.disk.control().ok_or_else(no_power_error)?;
        let mut timed = TimedRecovery {
            keep: keep.to_string(),
            disk: self.trial.levels.get("disk").cloned().unwrap_or_default(),
            ..TimedRecovery::default()
        };
        let task = Task::from(CutTask::Recover);
        let process = self.stage.start_process(&self.trial.setup, staged.place.clone(), task)?;
        match self.await_ready(process).and_then(|process| self.time_on_disk(process, control)) {
            Ok(done) => {
                let RecoveryTimes { open_s, answer_s, device_s } = done;
                timed.open_s = Some(open_s);
                timed.answer_s = Some(answer_s);
                timed.device_s = Some(device_s);
            }
            Err(reason) if reason.stops_the_run() => return Err(reason),
            Err(reason) => timed.failed = Some(reason.to_string()),
        }
        control.set_timing(false).map_err(disk_error)?;
        staged.close()?;
        tidy_folder(&image)?;
        Ok(Some(timed))
    }

    fn time_on_disk(
        &self,
        process: ChildProcess,
        control: &DiskControl,
    ) -> Result<RecoveryTimes, TrialError> {
        control.set_timing(true).map_err(disk_error)?;
        let before = control.stat().map_err(disk_error)?.device;
        let began = Instant::now();
        let process = process.tell_to_go()?;
        let answer = loop {
            self.stage.go_on()?;
            match process.receive(LISTEN) {
                ReceiveOutcome::Nothing if began.elapsed() < LONGEST => {}
                ReceiveOutcome::Nothing => {
                    let seconds = LONGEST.as_secs();
                    break Err(TrialError::process_error(format!("no answer after {seconds} s")));
                }
                ReceiveOutcome::Message(Message::Recovered { open_s, answer_s }) => {
                    break Ok((open_s, answer_s));
                }
                ReceiveOutcome::Message(Message::Failed(reason)) => break Err(reason),
                ReceiveOutcome::Message(other) => break Err(unexpected_message(&other)),
                ReceiveOutcome::End => {
                    return Err(TrialError::process_error(process.exit_report()));
                }
            }
        };
        let device = control.stat().map_err(disk_error)?.device.since(&before);
        process.end();
        let (open_s, answer_s) = answer?;
        Ok(RecoveryTimes { open_s, answer_s, device_s: device.busy_ns as f64 / 1e9 })
    }
}

struct RecoveryTimes {
    open_s: f64,
    answer_s: f64,
    device_s: f64,
}
