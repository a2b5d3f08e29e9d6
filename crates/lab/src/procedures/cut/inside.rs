//! A power cut from the inside: the clients until the target fails, and the audit of what is left.

mod all;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use bakeoff_load::{
    self as load, ClientShare, ClockNanos, Driver, DriverClock, EndedOperation, OperationSink,
    Pacer,
};
use bakeoff_results::{AuditResult, TrialMeasurements};
use bakeoff_workloads::Claims;
use serde::{Deserialize, Serialize};

use super::claims::{self, ClaimFile};
use super::turning::Turning;
use crate::TrialError;
use crate::monotonic::now_ns;
use crate::place::TargetPlace;
use crate::procedures::Within;
use crate::process::MessageOutput;
use crate::process::job::Message;
use crate::targets::{Audit, PreparedTarget, RunningTarget};

pub(super) use all::PendingImage;

/// How long clients work at most that nobody stops: the power goes much earlier.
const LONGEST: Duration = Duration::from_secs(60);
/// The same of clients that condition the target first.
const LONGEST_STEADY: Duration = Duration::from_secs(2 * 60 * 60);
/// How much of what a target says of its damage is kept, in characters.
const KEPT: usize = 4000;

/// What is done inside of a cut, each in a process of its own.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum CutTask {
    /// Open the target, say that it is ready, and drive it until its power goes.
    Claim {
        /// How many clients are at work.
        clients: usize,
        /// The empty folder for what they claim, off the disk that loses its power.
        claims: PathBuf,
        /// Whether they work until its debts have turned over before it says that it is ready, and go
        /// on meanwhile.
        steady: bool,
    },
    /// Say that it is ready, open what a power cut has left and hold it against the claims.
    Audit {
        /// What the clients claimed.
        claims: PathBuf,
        /// When the power went, in nanoseconds of `CLOCK_MONOTONIC`.
        off_at_ns: u64,
    },
    /// As [`Part::Audit`], of one image after the other, as it is told where each is.
    AuditAll {
        /// What the clients claimed.
        claims: PathBuf,
    },
    /// Say that it is ready, open what a power cut has left, and do one operation.
    Recover,
}

/// Does a part of a cut.
///
/// # Errors
/// What keeps it from being done.
pub(super) fn perform(
    part: &CutTask,
    within: &mut Within<'_, '_>,
) -> Result<Option<TrialMeasurements>, TrialError> {
    let (subject, place, output) = (within.prepare()?, within.place, within.output);
    match part {
        CutTask::Claim { clients, claims, steady } => {
            let running = subject.open(place)?;
            let go = &mut || within.ready();
            match steady {
                false => claim((&*running, *clients, LONGEST), claims, output, &mut StartGate(go))?,
                true => {
                    let gate = &mut Turning::new(&*running, output, go);
                    claim((&*running, *clients, LONGEST_STEADY), claims, output, gate)?;
                }
            }
        }
        CutTask::Audit { claims, off_at_ns } => {
            let claims = claims::read(claims)?;
            within.ready()?;
            // Sent before it is closed, which the lab does not wait for: nobody needs it any more.
            audit(&*subject, place, &claims, *off_at_ns, output);
        }
        CutTask::AuditAll { claims } => {
            let claims = claims::read(claims)?;
            all::audit_all(&*subject, &claims, within)?;
        }
        CutTask::Recover => {
            within.ready()?;
            let start = Instant::now();
            let running = subject.open(place)?;
            let open_s = start.elapsed().as_secs_f64();
            let mut operate = running.conditioner(0, 1, 0)?;
            operate()?;
            let answer_s = start.elapsed().as_secs_f64();
            output.send(&Message::Recovered { open_s, answer_s });
        }
    }
    Ok(None)
}

/// Drives clients that claim what they are promised, once the gate has said so; when one fails, it
/// says when and why, and stops.
///
/// # Errors
/// A client that can't be made, or what keeps the gate shut.
fn claim(
    (running, clients, longest): (&dyn RunningTarget, usize, Duration),
    folder: &Path,
    output: &MessageOutput<'_>,
    gate: &mut impl load::Observer<TrialError>,
) -> Result<(), TrialError> {
    let plan = load::DrivePlan::closed(clients, running.operations().len(), longest);
    let connect = |share: &ClientShare| -> Result<Box<dyn Driver + '_>, TrialError> {
        let file = ClaimFile::create(folder, share.clients.start, output)
            .map_err(|error| TrialError::place("the claims can't be written", error))?;
        let claims: Box<dyn Claims> = Box::new(file);
        let driver = running.driver(share, Some(claims))?;
        Ok(Box::new(UntilFailure { driver, output }))
    };
    match load::drive(&plan, connect, &AtomicBool::new(false), gate) {
        Err(load::DriveError::Refused(reason)) => Err(reason),
        Err(load::DriveError::Connect { client, cause }) => {
            Err(cause.because(|why| format!("client {client} could not connect: {why}")))
        }
        Err(error @ load::DriveError::Thread { .. }) => Err(TrialError::process(error.to_string())),
        Err(load::DriveError::GaveUp { .. }) | Ok(_) => Ok(()),
    }
}

/// Lets the drivers start when the lab says so.
struct StartGate<'a>(&'a mut dyn FnMut() -> Result<(), TrialError>);

impl load::Observer<TrialError> for StartGate<'_> {
    fn ready(&mut self) -> Result<(), TrialError> {
        (self.0)()
    }
}

/// A driver that stops at its first failure, and says so at once: others may still wait for what
/// never comes.
struct UntilFailure<'a, 'b> {
    driver: Box<dyn Driver + 'a>,
    output: &'a MessageOutput<'b>,
}

impl Driver for UntilFailure<'_, '_> {
    fn run(&mut self, pacer: &mut dyn Pacer, record: &mut dyn OperationSink) {
        let output = self.output;
        self.driver.run(pacer, &mut Telling { record, output });
    }

    fn lanes(&self) -> usize {
        self.driver.lanes()
    }
}

struct Telling<'a, 'b> {
    record: &'a mut dyn OperationSink,
    output: &'a MessageOutput<'b>,
}

impl OperationSink for Telling<'_, '_> {
    fn clock(&self) -> DriverClock {
        self.record.clock()
    }

    fn begin(&mut self, lane: usize, kind: usize, intended: ClockNanos) {
        self.record.begin(lane, kind, intended);
    }

    fn record(&mut self, operation: EndedOperation) -> Option<ClockNanos> {
        let Some(reason) = &operation.done.error else { return self.record.record(operation) };
        self.output.send(&Message::Stopped { at_ns: now_ns(), reason: reason.clone() });
        None
    }
}

/// Opens what a power cut has left, has it checked and audited, and sends what was found before it
/// is closed, which nobody waits for.
fn audit(
    subject: &dyn PreparedTarget,
    place: &TargetPlace,
    claims: &[Vec<u8>],
    off_at_ns: u64,
    output: &MessageOutput<'_>,
) {
    let (message, _open) = examine(subject, place, claims, off_at_ns);
    output.send(&message);
}

/// Opens what a power cut has left, and has it checked and audited; what was found, and what is still
/// open.
fn examine<'a>(
    subject: &'a dyn PreparedTarget,
    place: &TargetPlace,
    claims: &[Vec<u8>],
    off_at_ns: u64,
) -> (Message, Option<Box<dyn RunningTarget + 'a>>) {
    let acknowledged = subject.acknowledged(claims, off_at_ns);
    let start = Instant::now();
    let opened = subject.open(place);
    let recovery = start.elapsed();
    let verdict = match &opened {
        Err(reason) => corrupt(&reason.to_string()),
        Ok(running) => match running.audit(claims, off_at_ns) {
            Ok(audit) => audited(audit, recovery, off_at_ns),
            Err(reason) => return (Message::Failed(reason), None),
        },
    };
    (Message::Audited { acknowledged, verdict }, opened.ok())
}

/// Of an image that can't be opened.
fn corrupt(reason: &str) -> AuditResult {
    AuditResult { corrupt: Some(shortened(reason)), ..AuditResult::default() }
}

/// What an audit found, with the age of the oldest loss; it took `recovery` to open the image.
fn audited(audit: Audit, recovery: Duration, off_at_ns: u64) -> AuditResult {
    let Audit { faults, findings } = audit;
    let age = |at: u64| off_at_ns.saturating_sub(at) as f64 / 1e9;
    AuditResult {
        lost: findings.lost,
        oldest_lost_s: findings.oldest_lost_at_ns.map(age),
        phantom: findings.phantom,
        torn: findings.torn,
        hole: findings.hole,
        index_broken: findings.index_broken,
        corrupt: (!faults.is_empty()).then(|| shortened(&faults.join("; "))),
        recovery_s: Some(recovery.as_secs_f64()),
        examples: findings.examples,
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(KEPT) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.into(),
    }
}
