//! What the lab and a trial's process say to each other: one line of JSON a message.

use std::fmt;

use bakeoff_results::{AuditResult, Conditioned, TrialMeasurements};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::TrialError;
use crate::answers::ImageAnswers;
use crate::place::TargetPlace;

/// What a process is to do: the first line that it reads. Its `Debug` leaves the subject out, which
/// may have a password.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessJob {
    /// The target's name.
    pub target: String,
    /// What the target made of the trial's levels: its own.
    pub subject: Value,
    /// Where it has its files and processes.
    pub place: TargetPlace,
    /// What is to be done with it.
    pub task: Task,
}

impl fmt::Debug for ProcessJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("task", &self.task).finish_non_exhaustive()
    }
}

/// What is to be done with a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Task {
    /// Load its data into an empty folder, and drain.
    Load,
    /// Ask it what a client asks, and say what it answered.
    Ask {
        /// Seeds what the client does.
        seed: u64,
    },
    /// Read every file of a group of processes, as one of the group alone, so that the page cache
    /// holds what the group has room for; without a group, all that are in the place.
    Read {
        /// The group's name.
        group: Option<String>,
    },
    /// Serve its pages, for another process that asks and is answered in lines.
    Serve,
    /// Do what is inside of a procedure.
    Inside {
        /// The procedure's name.
        procedure: String,
        /// What it told its own half: its own.
        data: Value,
    },
}

impl Task {
    /// The half of a procedure that is done inside, told this.
    pub fn inside(procedure: &str, data: &impl Serialize) -> Self {
        let data = serde_json::to_value(data).expect("it is plain data");
        Self::Inside { procedure: procedure.to_owned(), data }
    }
}

/// The line that a process reads where it waits for the lab.
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
    /// What it answered when it was asked.
    Answered(ImageAnswers),
    /// What a process that serves answers to who has started it: the target's own.
    Served(Value),
    /// So many operations have conditioned it.
    Conditioning {
        /// So many so far.
        done: u64,
        /// Of how many; `None` where that is to be learnt.
        of: Option<u64>,
    },
    /// What comes now is to be traced, once the lab says go.
    Tracing,
    /// What was to be traced is done.
    Traced,
    /// The clients' work has turned its debts over, and they go on.
    Conditioned(Conditioned),
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
    Driven(Option<Box<TrialMeasurements>>),
    /// The target is drained; what it left is checked once the lab says go. What was measured, if that is never
    /// done.
    Drained(Box<TrialMeasurements>),
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
    /// What a power cut has left was opened, and an operation has ended; both in seconds from the start.
    Recovered {
        /// Until it was open.
        open_s: f64,
        /// Until that operation had ended.
        answer_s: f64,
    },
    /// The job is done; what was measured, if that was asked for.
    Done(Option<Box<TrialMeasurements>>),
    /// The job can't be done.
    Failed(TrialError),
}
