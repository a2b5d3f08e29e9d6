//! Cuts the power while a process works.

use std::time::{Duration, Instant};

use bakeoff_devices::trigger::Awaited;
use bakeoff_disk::control::Control;

use super::Bench;
use super::inside::now_ns;
use crate::TrialError;
use crate::process::job::Message;
use crate::process::{Process, Received};

/// How often it is looked whether the power has gone.
const LOOK: Duration = Duration::from_millis(1);
/// How often it is looked whether a process has sent something.
const LISTEN: Duration = Duration::from_millis(20);

/// How the power went.
pub(super) struct Off {
    /// When the process was told to go on, in nanoseconds of `CLOCK_MONOTONIC`.
    pub start_ns: u64,
    /// When the moments came that were waited for, or the power went before.
    pub moments_ns: Vec<u64>,
    /// Whether it went by itself, at the moment that was armed.
    pub met: bool,
    /// How the process ended if it did so before.
    pub early: Option<String>,
    /// What the process sent.
    pub received: Vec<Message>,
}

impl Bench<'_, '_> {
    /// Lets a process go on, waits until the last of the moments has come, the limit is over or it
    /// says that it is `over`, and kills it without power.
    pub(super) fn power_down(
        &self,
        process: Process,
        control: &Control,
        (moments, limit): (&[Awaited], Duration),
        over: impl Fn(&Message) -> bool,
    ) -> Result<Off, TrialError> {
        let failed = |error| TrialError::place("its disk does not work", error);
        control.await_moments(moments).map_err(failed)?;
        let (began, start_ns) = (Instant::now(), now_ns());
        let process = process.go()?;
        let (mut received, mut ended) = (Vec::new(), false);
        let is_on = || control.stat().map(|stat| stat.off_at_ns.is_none()).map_err(failed);
        while is_on()? && began.elapsed() < limit && !self.stage.stopped() {
            match process.receive(LOOK) {
                Received::Message(message) => {
                    received.push(message);
                    if over(&received[received.len() - 1]) {
                        break;
                    }
                }
                Received::Nothing => {}
                Received::End => {
                    ended = true;
                    break;
                }
            }
        }
        let met = !is_on()?;
        control.power_off().map_err(failed)?;
        let moments_ns: Option<Vec<u64>> =
            control.stat().map_err(failed)?.moments_ns.into_iter().collect();
        let moments_ns =
            moments_ns.ok_or_else(|| TrialError::place("its disk", "the power stays on"))?;
        // It may have ended because the power has gone.
        let early = if ended && !met {
            Some(process.exit_report())
        } else {
            received.extend(process.end());
            None
        };
        Ok(Off { start_ns, moments_ns, met, early, received })
    }

    /// Waits until a process can go on.
    pub(super) fn ready(&self, process: Process) -> Result<Process, TrialError> {
        match self.first_message(&process)? {
            Some(Message::Ready) => Ok(process),
            Some(Message::Failed(reason)) => Err(reason),
            Some(other) => Err(TrialError::process(format!(
                "its process sent an unexpected message: {other:?}"
            ))),
            None => Err(TrialError::process(process.exit_report())),
        }
    }

    /// The first message of a process; `None` when it has ended.
    pub(super) fn first_message(&self, process: &Process) -> Result<Option<Message>, TrialError> {
        let start = Instant::now();
        while start.elapsed() < self.terms.patience {
            match process.receive(LISTEN) {
                Received::Message(message) => return Ok(Some(message)),
                Received::End => return Ok(None),
                Received::Nothing => self.stage.go_on()?,
            }
        }
        let seconds = self.terms.patience.as_secs();
        Err(TrialError::process(format!("it was not ready after {seconds} s")))
    }
}
