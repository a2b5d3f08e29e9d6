//! What the lab and a trial's process say to each other: one line of JSON a message.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use bakeoff_load::{Pace, Plan};
use bakeoff_results::{AuditResult, Measured};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::place::Place;
use crate::{Registry, TrialError};

/// The share of its seconds that a window leaves out at the start.
const WARM_UP: f64 = 0.1;
/// How many operations of each kind a window waits for.
const LEAST: u64 = 10;

/// What a process is to do: the first line that it reads. Its `Debug` leaves the subject out, which
/// may have a password.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The target's name.
    pub target: String,
    /// What the target made of the trial's levels: its own.
    pub subject: Value,
    /// Where it has its files and processes.
    pub place: Place,
    /// What is to be done with it.
    pub task: Task,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("task", &self.task).finish_non_exhaustive()
    }
}

/// What is to be done with a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Task {
    /// Load its data into an empty folder, and drain.
    Load,
    /// Join the groups of processes and read every file, so that the page cache holds what it has
    /// room for.
    Read,
    /// Open it, say [`Message::Ready`], wait for [`GO`], drive it and drain it.
    Drive(Drive),
    /// Open it, say [`Message::Ready`], wait for [`GO`], and drive it until its power goes.
    Claim {
        /// How many clients are at work.
        clients: usize,
        /// The empty folder for what they claim, off the disk that loses its power.
        claims: PathBuf,
    },
    /// Say [`Message::Ready`], wait for [`GO`], open what a power cut has left and hold it against
    /// the claims.
    Audit {
        /// What the clients claimed.
        claims: PathBuf,
        /// When the power went, in nanoseconds of `CLOCK_MONOTONIC`.
        off_at_ns: u64,
    },
}

/// How the clients of a trial are driven.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drive {
    /// How many there are.
    pub clients: usize,
    /// When the window ends at the earliest, in seconds.
    pub seconds: f64,
    /// When their operations start.
    pub pacing: Pacing,
    /// Seeds what they do: the same for all trials of a block, so that its levels serve the same
    /// work, and another one for the next.
    pub seed: u64,
}

/// When the operations of a trial start, on its way to another process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Pacing {
    /// In a closed loop.
    Closed,
    /// In an open loop.
    Open {
        /// How many are due a second.
        per_second: f64,
        /// The name of their arrival process.
        arrivals: String,
        /// Seeds it.
        seed: u64,
    },
}

impl Pacing {
    /// The pace, with the arrival process of that name.
    ///
    /// # Errors
    /// When none is registered by it.
    pub fn pace(&self, registry: &Registry) -> Result<Pace, TrialError> {
        let Self::Open { per_second, arrivals, seed } = self else { return Ok(Pace::Closed) };
        let known = registry.arrivals().iter().find(|known| known.name == arrivals);
        let unknown = || TrialError::process(format!("there is no arrival process {arrivals}"));
        let arrivals = known.ok_or_else(unknown)?;
        Ok(Pace::Open { per_second: *per_second, arrivals, seed: *seed })
    }
}

impl Drive {
    /// How its drivers are driven, at a pace.
    pub fn plan(&self, drivers: usize, kinds: usize, pace: Pace) -> Plan {
        let duration = Duration::from_secs_f64(self.seconds);
        let plan = Plan::closed(self.clients, kinds, duration);
        let (warm_up, least) = (duration.mul_f64(WARM_UP), LEAST);
        Plan { drivers, warm_up, least, pace, seed: self.seed, ..plan }
    }

    /// How long its clients run at most.
    pub fn cap(&self) -> Duration {
        let plan = self.plan(1, 1, Pace::Closed);
        plan.cap + plan.patience
    }
}

/// The second line that a process reads, unless it loads or reads.
pub const GO: &str = "go";

/// What a process says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message {
    /// So many rows are loaded; said now and then, and of all of them.
    Loaded {
        /// Rows so far.
        rows: u64,
        /// Bytes of them: a text's own, eight of a number, none of a null.
        bytes: u64,
    },
    /// The target is open and its clients can start; or, before an audit, it can be opened.
    Ready,
    /// The clients are at work.
    Progress {
        /// Operations a second, lately.
        per_second: f64,
        /// Mean latency in seconds, lately.
        mean_s: f64,
    },
    /// The clients have stopped; draining comes next. What was measured so far: all there is, if the
    /// drain takes too long.
    Driven(Option<Box<Measured>>),
    /// A client that makes claims has stopped.
    Stopped {
        /// When, in nanoseconds of `CLOCK_MONOTONIC`.
        at_ns: u64,
        /// Why.
        reason: String,
    },
    /// What a crash image held.
    Audited {
        /// How many commits had been acknowledged.
        acknowledged: u64,
        /// What was found.
        verdict: AuditResult,
    },
    /// The job is done; what was measured, if that was asked for.
    Done(Option<Box<Measured>>),
    /// The job can't be done.
    Failed(TrialError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pacing_survives_the_journey_and_its_arrivals_are_looked_up() {
        let open = |arrivals: &str| Pacing::Open {
            per_second: 0.5,
            arrivals: arrivals.into(),
            seed: u64::MAX,
        };
        for pacing in [Pacing::Closed, open("poisson"), open("unheard-of")] {
            let drive = Drive { clients: 1, seconds: 1.5, pacing, seed: u64::MAX };
            let json = serde_json::to_string(&drive).unwrap();
            assert_eq!(serde_json::from_str::<Drive>(&json).unwrap(), drive);
        }
        let registry = Registry::standard();
        let arrivals = &bakeoff_load::Arrivals::POISSON;
        let pace = Pace::Open { per_second: 0.5, arrivals, seed: u64::MAX };
        assert_eq!(open("poisson").pace(&registry).ok(), Some(pace));
        let unknown = open("unheard-of").pace(&registry).unwrap_err().to_string();
        assert!(unknown.contains("there is no arrival process unheard-of"), "{unknown}");
    }
}
