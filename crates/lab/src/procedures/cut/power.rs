use std::time::{Duration, Instant};

use bakeoff_devices::trigger::{CallSignature, SignatureCall, TimedTrigger};
use bakeoff_disk::control::{DiskControl, Stat};

use super::{Bench, disk_error, unexpected_message};
use crate::TrialError;
use crate::monotonic::now_ns;
use crate::process::job::Message;
use crate::process::{ChildProcess, ReceiveOutcome};

const LOOK: Duration = Duration::from_millis(1);
pub(super) const LISTEN: Duration = Duration::from_millis(20);

/// Bytes that a disk may remember, before any moment has come and after. It never remembers more
/// than 1 GiB.
const MANY: u64 = 256 << 20;
const MOST: u64 = 800 << 20;

pub(super) struct Off {
    /// When the process was told to go on, in nanoseconds of `CLOCK_MONOTONIC`.
    pub start_ns: u64,
    /// When each awaited moment came, or the power went.
    pub moments_ns: Vec<u64>,
    pub by_itself: Vec<bool>,
    pub met: bool,
    /// How the process ended if it ended first.
    pub early: Option<String>,
    pub received: Vec<Message>,
}

impl Bench<'_, '_> {
    /// Lets a process work until the last moment, the limit, or until it says that it is `over`;
    /// then kills it without power.
    pub(super) fn power_down(
        &self,
        mut process: ChildProcess,
        control: &DiskControl,
        (moments, limit): (&[TimedTrigger], Duration),
        over: impl Fn(&Message) -> bool,
    ) -> Result<Off, TrialError> {
        control
            .await_moments(moments, &call_signatures(self.terms.signatures))
            .map_err(disk_error)?;
        let (began, start_ns) = (Instant::now(), now_ns());
        // Clients that are at work already may have met the last moment by now, and an engine that
        // maps its files ends with it.
        if !process.send_go()? && control.stat().map_err(disk_error)?.off_at_ns.is_none() {
            return Err(TrialError::process_error(process.exit_report()));
        }
        let (mut received, mut ended) = (Vec::new(), false);
        let is_on = || -> Result<bool, TrialError> {
            let stat = control.stat().map_err(disk_error)?;
            let has_room = with_room(control, &stat)?;
            Ok(stat.off_at_ns.is_none() && has_room)
        };
        while is_on()? && began.elapsed() < limit && !self.stage.stopped() {
            match process.receive(LOOK) {
                ReceiveOutcome::Message(message) => {
                    received.push(message);
                    if over(&received[received.len() - 1]) {
                        break;
                    }
                }
                ReceiveOutcome::Nothing => {}
                ReceiveOutcome::End => {
                    ended = true;
                    break;
                }
            }
        }
        let met = control.stat().map_err(disk_error)?.off_at_ns.is_some();
        control.power_off().map_err(disk_error)?;
        let Stat { moments_ns, by_itself, .. } = control.stat().map_err(disk_error)?;
        let moments_ns: Option<Vec<u64>> = moments_ns.into_iter().collect();
        let moments_ns =
            moments_ns.ok_or_else(|| TrialError::place_error("its disk", "the power stays on"))?;
        // It may have ended because the power has gone.
        let early = if ended && !met {
            Some(process.exit_report())
        } else {
            received.extend(process.end());
            None
        };
        Ok(Off { start_ns, moments_ns, by_itself, met, early, received })
    }

    pub(super) fn await_ready(&self, process: ChildProcess) -> Result<ChildProcess, TrialError> {
        match self.first_message(&process)? {
            Some(Message::Ready) => Ok(process),
            Some(Message::Failed(reason)) => Err(reason),
            Some(other) => Err(unexpected_message(&other)),
            None => Err(TrialError::process_error(process.exit_report())),
        }
    }

    pub(super) fn first_message(
        &self,
        process: &ChildProcess,
    ) -> Result<Option<Message>, TrialError> {
        let start = Instant::now();
        while start.elapsed() < self.terms.patience {
            match process.receive(LISTEN) {
                ReceiveOutcome::Message(message) => return Ok(Some(message)),
                ReceiveOutcome::End => return Ok(None),
                ReceiveOutcome::Nothing => self.stage.go_on()?,
            }
        }
        let seconds = self.terms.patience.as_secs();
        Err(TrialError::process_error(format!("it was not ready after {seconds} s")))
    }
}

/// Bounds what a disk remembers, however long a payment takes. While no moment has come, the disk
/// makes all durable and begins anew, as a system that writes back now and then. Returns whether it
/// can go on.
fn with_room(control: &DiskControl, stat: &Stat) -> Result<bool, TrialError> {
    let none = stat.moments_ns.iter().all(Option::is_none);
    if none && stat.off_at_ns.is_none() && stat.recorded_bytes > MANY {
        control.record_anew().map_err(disk_error)?;
    }
    Ok(none || stat.recorded_bytes < MOST)
}

fn call_signatures(of: &[bakeoff_engines::PaymentSignature]) -> Vec<CallSignature> {
    let call = |call| match call {
        bakeoff_engines::PaymentCall::Write => SignatureCall::Write,
        bakeoff_engines::PaymentCall::WriteBelow(end) => SignatureCall::WriteBelow(end),
        bakeoff_engines::PaymentCall::Sync => SignatureCall::Sync,
    };
    let files = |files: &[&str]| files.iter().map(|file| (*file).to_owned()).collect();
    of.iter().map(|it| CallSignature { call: call(it.call), files: files(it.files) }).collect()
}
