//! The power going while a process is at work.

use std::time::{Duration, Instant};

use bakeoff_disk::control::Control;

use super::Subject;
use super::log::now_ns;
use super::moment::Moment;
use crate::job::Message;
use crate::process::{Heard, Process};

/// How often it is looked whether the power has gone.
const LOOK: Duration = Duration::from_millis(1);
/// How often it is looked whether a process has said something.
const LISTEN: Duration = Duration::from_millis(20);

/// How the power went.
pub(super) struct Off {
    /// When the process was told to go on, in nanoseconds of `CLOCK_MONOTONIC`.
    pub start_ns: u64,
    /// When the power went.
    pub at_ns: u64,
    /// Whether it went by itself, at the moment that was armed.
    pub met: bool,
    /// How the process ended if it did so before.
    pub early: Option<String>,
    /// What the process said.
    pub said: Vec<Message>,
}

impl Subject<'_> {
    /// Lets a process go on, waits until the moment has come or it says that it is `over`, and kills
    /// it without power.
    pub(super) fn power_down(
        &self,
        mut process: Process,
        control: &Control,
        moment: &Moment,
        over: impl Fn(&Message) -> bool,
    ) -> Result<Off, String> {
        let failed = |error| format!("its disk does not work: {error}");
        control.arm(moment.trigger).map_err(failed)?;
        let (began, start_ns) = (Instant::now(), now_ns());
        process.go().map_err(|error| format!("its process is gone: {error}"))?;
        let (mut said, mut ended) = (Vec::new(), false);
        let is_on = || control.stat().map(|stat| stat.off_at_ns.is_none()).map_err(failed);
        while is_on()? && began.elapsed() < moment.limit && !self.stopped() {
            match process.hear(LOOK) {
                Heard::Message(message) => {
                    said.push(message);
                    if over(&said[said.len() - 1]) {
                        break;
                    }
                }
                Heard::Silence => {}
                Heard::End => {
                    ended = true;
                    break;
                }
            }
        }
        let met = !is_on()?;
        control.power_off().map_err(failed)?;
        let at_ns = control.stat().map_err(failed)?.off_at_ns.ok_or("the power stays on")?;
        // It may have ended because the power has gone.
        let early = if ended && !met {
            Some(process.autopsy())
        } else {
            said.extend(process.end());
            None
        };
        Ok(Off { start_ns, at_ns, met, early, said })
    }

    /// Waits until a process can go on.
    pub(super) fn ready(&self, process: Process) -> Result<Process, String> {
        match self.listen(&process)? {
            Some(Message::Ready) => Ok(process),
            Some(Message::Failed(reason)) => Err(reason),
            Some(other) => Err(format!("its process said {other:?}")),
            None => Err(process.autopsy()),
        }
    }

    /// The first word of a process; `None` when it has ended.
    pub(super) fn listen(&self, process: &Process) -> Result<Option<Message>, String> {
        let start = Instant::now();
        while start.elapsed() < self.patience {
            match process.hear(LISTEN) {
                Heard::Message(message) => return Ok(Some(message)),
                Heard::End => return Ok(None),
                Heard::Silence if self.stopped() => return Err("it was interrupted".into()),
                Heard::Silence => {}
            }
        }
        Err(format!("it was not ready after {} s", self.patience.as_secs()))
    }
}
