mod all;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use bakeoff_load::{self as load, ClientShare, Driver};
use bakeoff_results::{AuditResult, TrialMeasurements};
use bakeoff_workloads::Claims;

use super::claims::{self, ClaimFile};
use super::corrupt_image;
use super::turning::TurnoverWatch;
use crate::TrialError;
use crate::monotonic::now_ns;
use crate::place::TargetPlace;
use crate::procedures::ChildContext;
use crate::procedures::drive::{drive_error, observe_driver};
use crate::process::MessageOutput;
use crate::process::job::{CutTask, Message};
use crate::targets::{Audit, PreparedTarget, RunningTarget};

pub(super) use all::PendingImage;

/// The longest work of clients that nobody stops: the power goes much earlier.
const LONGEST: Duration = Duration::from_secs(60);
/// For clients that condition the target first.
const LONGEST_STEADY: Duration = Duration::from_secs(2 * 60 * 60);
/// In characters.
const KEPT: usize = 4000;

pub fn perform_task(
    part: &CutTask,
    within: &mut ChildContext<'_, '_>,
) -> Result<Option<TrialMeasurements>, TrialError> {
    let (subject, place, output) = (within.prepare()?, within.place, within.output);
    match part {
        CutTask::Claim { clients, claims, steady } => {
            let running = subject.open(place)?;
            let go = &mut || within.await_start();
            match steady {
                false => drive_with_claims(
                    (&*running, *clients, LONGEST),
                    claims,
                    output,
                    &mut StartGate(go),
                )?,
                true => {
                    let gate = &mut TurnoverWatch::new(&*running, output, go);
                    drive_with_claims((&*running, *clients, LONGEST_STEADY), claims, output, gate)?;
                }
            }
        }
        CutTask::Audit { claims, off_at_ns } => {
            let claims = claims::read_claims(claims)?;
            within.await_start()?;
            // Sent before closing, which nobody needs to wait for.
            audit_and_send(&*subject, place, &claims, *off_at_ns, output);
        }
        CutTask::AuditAll { claims } => {
            let claims = claims::read_claims(claims)?;
            all::audit_all(&*subject, &claims, within)?;
        }
        CutTask::Recover => {
            within.await_start()?;
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

/// Drives clients that write claims, after the gate has opened. When one fails, it reports when and
/// why, and stops.
fn drive_with_claims(
    (running, clients, longest): (&dyn RunningTarget, usize, Duration),
    folder: &Path,
    output: &MessageOutput<'_>,
    gate: &mut impl load::Observer<TrialError>,
) -> Result<(), TrialError> {
    let plan = load::DrivePlan::closed_loop(clients, running.operations().len(), longest);
    let connect = |share: &ClientShare| -> Result<Box<dyn Driver + '_>, TrialError> {
        let file = ClaimFile::create(folder, share.clients.start, output)
            .map_err(|error| TrialError::place_error("the claims can't be written", error))?;
        let claims: Box<dyn Claims> = Box::new(file);
        let driver = running.make_driver(share, Some(claims))?;
        // Reported at once: others may wait for what never comes.
        Ok(observe_driver(driver, |operation| match &operation.done.error {
            None => true,
            Some(reason) => {
                output.send(&Message::Stopped { at_ns: now_ns(), reason: reason.clone() });
                false
            }
        }))
    };
    match load::drive(&plan, connect, &AtomicBool::new(false), gate) {
        Err(load::DriveError::GaveUp { .. }) | Ok(_) => Ok(()),
        Err(error) => Err(drive_error(running.operations())(error)),
    }
}

struct StartGate<'a>(&'a mut dyn FnMut() -> Result<(), TrialError>);

impl load::Observer<TrialError> for StartGate<'_> {
    fn start_ready(&mut self) -> Result<(), TrialError> {
        (self.0)()
    }
}

fn audit_and_send(
    subject: &dyn PreparedTarget,
    place: &TargetPlace,
    claims: &[Vec<u8>],
    off_at_ns: u64,
    output: &MessageOutput<'_>,
) {
    let (message, _open) = open_and_audit(subject, place, claims, off_at_ns);
    output.send(&message);
}

fn open_and_audit<'a>(
    subject: &'a dyn PreparedTarget,
    place: &TargetPlace,
    claims: &[Vec<u8>],
    off_at_ns: u64,
) -> (Message, Option<Box<dyn RunningTarget + 'a>>) {
    let acknowledged = subject.count_acknowledged(claims, off_at_ns);
    let start = Instant::now();
    let opened = subject.open(place);
    let recovery = start.elapsed();
    let verdict = match &opened {
        Err(reason) => corrupt_image(shorten_text(&reason.to_string())),
        Ok(running) => match running.audit(claims, off_at_ns) {
            Ok(audit) => audit_result(audit, recovery, off_at_ns),
            Err(reason) => return (Message::Failed(reason), None),
        },
    };
    (Message::Audited { acknowledged, verdict }, opened.ok())
}

/// The loss is given the age of the oldest lost operation. Opening took `recovery`.
fn audit_result(audit: Audit, recovery: Duration, off_at_ns: u64) -> AuditResult {
    let Audit { faults, findings } = audit;
    let age = |at: u64| off_at_ns.saturating_sub(at) as f64 / 1e9;
    AuditResult {
        lost: findings.lost,
        oldest_lost_s: findings.oldest_lost_at_ns.map(age),
        phantom: findings.phantom,
        torn: findings.torn,
        hole: findings.hole,
        index_broken: findings.index_broken,
        corrupt: (!faults.is_empty()).then(|| shorten_text(&faults.join("; "))),
        recovery_s: Some(recovery.as_secs_f64()),
        examples: findings.examples,
    }
}

fn shorten_text(text: &str) -> String {
    match text.char_indices().nth(KEPT) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.into(),
    }
}
