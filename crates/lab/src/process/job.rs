//! The messages between the lab and a trial's process: one line of JSON each.

use std::fmt;
use std::path::PathBuf;

use bakeoff_results::{AuditResult, Conditioned, TrialMeasurements};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::TrialError;
use crate::answers::ImageAnswers;
use crate::driving::Drive;
use crate::place::TargetPlace;

/// The first line that a process reads. It has no derived `Debug`: the subject may hold a password.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessJob {
    pub target: String,
    pub subject: Value,
    pub place: TargetPlace,
    pub task: Task,
}

impl fmt::Debug for ProcessJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("task", &self.task).finish_non_exhaustive()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Task {
    Load,
    /// Ask the target a client's questions, and report the answers.
    Ask {
        seed: u64,
    },
    /// Read every file of a group as a member of that group, so that the page cache holds as much
    /// as the group has room for; without a group, read all.
    Read {
        group: Option<String>,
    },
    /// Serve the target's pages; another process asks, and lines answer it.
    Serve,
    #[serde(rename = "Inside")]
    Procedure(ProcedureTask),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "procedure", content = "data", rename_all = "lowercase")]
pub enum ProcedureTask {
    Drive(Vec<Drive>),
    Cut(CutTask),
}

/// A part of a power cut; each runs in a new process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CutTask {
    /// Open the target, report ready, and drive it until its power goes.
    Claim {
        clients: usize,
        /// The empty folder for the claims, off the disk that loses its power.
        claims: PathBuf,
        /// Whether clients first work until the debts have turned over; then it reports ready, and
        /// they go on meanwhile.
        steady: bool,
    },
    /// Report ready, open what a power cut has left and compare it with the claims.
    Audit {
        claims: PathBuf,
        /// When the power went, in nanoseconds of `CLOCK_MONOTONIC`.
        off_at_ns: u64,
    },
    /// As [`CutTask::Audit`], for one image after the other; a message says where each is.
    AuditAll { claims: PathBuf },
    /// Report ready, open what a power cut has left, and do one operation.
    Recover,
}

impl From<CutTask> for Task {
    fn from(part: CutTask) -> Self {
        Self::Procedure(ProcedureTask::Cut(part))
    }
}

/// The line for which a waiting process waits.
pub const GO: &str = "go";

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message {
    /// The number of rows loaded so far, sent now and then, and at the end.
    Loaded {
        rows: u64,
        /// Bytes of the rows: a text's own, eight for a number, none for a null.
        bytes: u64,
    },
    Answered(ImageAnswers),
    /// The answer of a serving process to its starter, in the target's own form.
    Served(Value),
    Conditioning {
        done: u64,
        of: Option<u64>,
    },
    /// The next work is to be traced, once the lab says go.
    Tracing,
    Traced,
    /// The clients' work has turned the debts over, and they go on.
    Conditioned(Conditioned),
    /// The target is open and its clients can start; or, before an audit, it can be opened.
    Ready,
    Progress {
        per_second: f64,
        mean_s: f64,
    },
    /// The clients have stopped and draining begins. The measurements count if the drain takes too
    /// long.
    Driven(Option<Box<TrialMeasurements>>),
    /// The target is drained. The data are checked once the lab says go.
    Drained(Box<TrialMeasurements>),
    Stopped {
        /// When, in nanoseconds of `CLOCK_MONOTONIC`.
        at_ns: u64,
        reason: String,
    },
    Audited {
        acknowledged: u64,
        verdict: AuditResult,
    },
    /// Seconds from the start until a crash image was open, and until an operation had ended.
    Recovered {
        open_s: f64,
        answer_s: f64,
    },
    Done(Option<Box<TrialMeasurements>>),
    Failed(TrialError),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_line_of_a_procedure_names_it_beside_its_data() {
        let line = |task: Task| serde_json::to_value(task).unwrap();
        let cut = json!({"Inside": {"procedure": "cut", "data": "Recover"}});
        assert_eq!(line(Task::from(CutTask::Recover)), cut);
        let drive = json!({"Inside": {"procedure": "drive", "data": []}});
        assert_eq!(line(Task::Procedure(ProcedureTask::Drive(Vec::new()))), drive);
        assert_eq!(
            serde_json::from_value::<Task>(drive).unwrap(),
            Task::Procedure(ProcedureTask::Drive(Vec::new()))
        );
    }
}
