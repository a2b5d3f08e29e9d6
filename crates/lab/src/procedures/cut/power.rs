//! Cuts the power while a process works.

use std::time::{Duration, Instant};

use bakeoff_devices::trigger::{Awaited, CallSignature, SignatureCall};
use bakeoff_disk::control::{DiskControl, Stat};

use super::Bench;
use crate::TrialError;
use crate::monotonic::now_ns;
use crate::process::job::Message;
use crate::process::{ChildProcess, Received};

/// How often it is looked whether the power has gone.
const LOOK: Duration = Duration::from_millis(1);
/// How often it is looked whether a process has sent something.
pub(super) const LISTEN: Duration = Duration::from_millis(20);

/// Bytes that a disk may remember before any moment has come, and after one has: it remembers no more
/// than 1 GiB.
const MANY: u64 = 256 << 20;
const MOST: u64 = 800 << 20;

/// How the power went.
pub(super) struct Off {
    /// When the process was told to go on, in nanoseconds of `CLOCK_MONOTONIC`.
    pub start_ns: u64,
    /// When the moments came that were waited for, or the power went before.
    pub moments_ns: Vec<u64>,
    /// Of each of them, whether it came by itself.
    pub by_itself: Vec<bool>,
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
        process: ChildProcess,
        control: &DiskControl,
        (moments, limit): (&[Awaited], Duration),
        over: impl Fn(&Message) -> bool,
    ) -> Result<Off, TrialError> {
        let failed = |error| TrialError::place("its disk does not work", error);
        control.await_signatures(moments, &signatures(self.terms.signatures)).map_err(failed)?;
        let (began, start_ns) = (Instant::now(), now_ns());
        let process = process.go()?;
        let (mut received, mut ended) = (Vec::new(), false);
        let is_on = || -> Result<bool, TrialError> {
            let stat = control.stat().map_err(failed)?;
            let has_room = with_room(control, &stat)?;
            Ok(stat.off_at_ns.is_none() && has_room)
        };
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
        let met = control.stat().map_err(failed)?.off_at_ns.is_some();
        control.power_off().map_err(failed)?;
        let Stat { moments_ns, by_itself, .. } = control.stat().map_err(failed)?;
        let moments_ns: Option<Vec<u64>> = moments_ns.into_iter().collect();
        let moments_ns =
            moments_ns.ok_or_else(|| TrialError::place("its disk", "the power stays on"))?;
        // It may have ended because the power has gone.
        let early = if ended && !met {
            Some(process.exit_report())
        } else {
            received.extend(process.end());
            None
        };
        Ok(Off { start_ns, moments_ns, by_itself, met, early, received })
    }

    /// Waits until a process can go on.
    pub(super) fn ready(&self, process: ChildProcess) -> Result<ChildProcess, TrialError> {
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
    pub(super) fn first_message(
        &self,
        process: &ChildProcess,
    ) -> Result<Option<Message>, TrialError> {
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

/// Keeps what a disk remembers within bounds, however long a payment is waited for: while no moment has come, the disk makes all durable
/// and begins anew, as a system does that writes back now and then. Whether it can go on with what it
/// remembers.
fn with_room(control: &DiskControl, stat: &Stat) -> Result<bool, TrialError> {
    let none = stat.moments_ns.iter().all(Option::is_none);
    if none && stat.off_at_ns.is_none() && stat.recorded_bytes > MANY {
        let anew = control.record_anew();
        anew.map_err(|error| TrialError::place("its disk does not work", error))?;
    }
    Ok(none || stat.recorded_bytes < MOST)
}

/// As the disk looks for them.
fn signatures(of: &[bakeoff_engines::PaymentSignature]) -> Vec<CallSignature> {
    let call = |call| match call {
        bakeoff_engines::PaymentCall::Write => SignatureCall::Write,
        bakeoff_engines::PaymentCall::WriteBelow(end) => SignatureCall::WriteBelow(end),
        bakeoff_engines::PaymentCall::Sync => SignatureCall::Sync,
    };
    let files = |files: &[&str]| files.iter().map(|file| (*file).to_owned()).collect();
    of.iter().map(|it| CallSignature { call: call(it.call), files: files(it.files) }).collect()
}
