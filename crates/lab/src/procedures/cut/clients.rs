//! The clients at work until the power goes, and the moments of cuts among their work.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bakeoff_devices::plug::Metadata;
use bakeoff_devices::trigger::TimedTrigger;
use bakeoff_results::{Conditioned, PaymentCut};

use super::moment::CutMoment;
use super::power::{LISTEN, Off};
use super::{
    Bench, CutTerms, Gone, disk_error, in_work_folder, no_power_error, unexpected_message,
};
use crate::TrialError;
use crate::error::with_context;
use crate::place::disk::TrialDisk;
use crate::place::{Staged, remove_folder};
use crate::procedures::ProcedureContext;
use crate::process::job::{CutTask, Message, Task};
use crate::process::{ChildProcess, ReceiveOutcome};
use crate::spec::TrialSpec;
use crate::watch::RunEvent;

/// How much later than its moments a disk may go off.
const LATE: Duration = Duration::from_secs(1);

/// The shortest wait for a payment; longer if the debts took long to turn over.
const SHORTEST: Duration = Duration::from_secs(20);
const TURNS: u32 = 4;

/// A finished run of the clients, with the disk that gives the images.
pub struct ClientRun {
    pub(super) terms: CutTerms,
    pub(super) work: PathBuf,
    /// Each cut's index among the disk's moments.
    numbers: BTreeMap<u32, usize>,
    left: Result<ClientRunOutcome, TrialError>,
}

struct ClientRunOutcome {
    disk: TrialDisk,
    off: Off,
    claims: PathBuf,
    conditioned: Option<Conditioned>,
    failed: Option<(u64, String)>,
}

impl ClientRun {
    /// Runs the clients until all these moments have come. If they could not, each cut's record
    /// says why.
    pub fn make(
        terms: CutTerms,
        numbers: &[u32],
        stage: &mut ProcedureContext<'_>,
        trial: &TrialSpec,
    ) -> Result<Self, TrialError> {
        let run = |stage: &mut ProcedureContext<'_>, work: &Path, files: &Path| {
            let seeds: Vec<u64> = numbers.iter().map(|it| terms.cut_seed(trial, *it)).collect();
            let metadata = Metadata::Ordered;
            let bench = Bench { terms: &terms, metadata, stage, trial, work };
            let mut started = bench.start_clients(files, seeds[0], terms.steady)?;
            if terms.steady {
                started = started.await_conditioning(stage, terms.patience)?;
            }
            let numbered: Vec<(u32, u64)> = numbers.iter().copied().zip(seeds).collect();
            Bench { terms: &terms, metadata, stage, trial, work }.cut_power(started, &numbered)
        };
        let (work, left) = in_work_folder(("cut", "cut's"), stage, trial, run)?;
        let numbers = numbers.iter().enumerate().map(|(place, number)| (*number, place)).collect();
        Ok(Self { terms, work, numbers, left })
    }

    pub(super) fn conditioning_record(&self) -> Option<&Conditioned> {
        self.left.as_ref().ok()?.conditioned.as_ref()
    }

    pub(super) fn payment_cut(&self, number: u32, moment: &CutMoment) -> Option<PaymentCut> {
        let payment = moment.paid_debt(self.terms.signatures)?.into();
        let left = self.left.as_ref().ok()?;
        let came = *left.off.by_itself.get(*self.numbers.get(&number)?)?;
        Some(PaymentCut { payment, came })
    }

    pub(super) fn power_loss(
        &self,
        number: u32,
        metadata: Metadata,
    ) -> Result<Gone<'_>, TrialError> {
        let left = self.left.as_ref().map_err(Clone::clone)?;
        let Some(place) = self.numbers.get(&number) else {
            return Err(TrialError::process_error(format!("its clients had no cut {number}")));
        };
        let off_at_ns = left.off.moments_ns[*place];
        check_failure(left.failed.as_ref(), off_at_ns)?;
        Ok(Gone {
            control: left.disk.control().ok_or_else(no_power_error)?,
            of: (*place, metadata),
            off_at_ns,
            ran_s: off_at_ns.saturating_sub(left.off.start_ns) as f64 / 1e9,
            claims: &left.claims,
        })
    }

    pub fn end(self) -> Result<(), TrialError> {
        let unmounted = match self.left {
            Ok(left) => left.disk.unmount(),
            Err(_) => Ok(()),
        };
        with_context("removing the cut's folder", remove_folder(&self.work))?;
        unmounted
    }
}

pub(super) struct StartedClients {
    pub staged: Staged,
    pub process: ChildProcess,
    pub claims: PathBuf,
    conditioned: Option<Conditioned>,
}

impl StartedClients {
    /// A process that is silent for as long as `patience` has failed.
    fn await_conditioning(
        self,
        stage: &mut ProcedureContext<'_>,
        patience: Duration,
    ) -> Result<Self, TrialError> {
        let (mut said, mut conditioned) = (Instant::now(), None);
        loop {
            stage.go_on()?;
            match self.process.receive(LISTEN) {
                ReceiveOutcome::Nothing if said.elapsed() < patience => continue,
                ReceiveOutcome::Nothing => {
                    let seconds = patience.as_secs();
                    let why = format!("nothing was heard of what it owes for {seconds} s");
                    return Err(TrialError::process_error(why));
                }
                ReceiveOutcome::End => {
                    return Err(TrialError::process_error(self.process.exit_report()));
                }
                ReceiveOutcome::Message(Message::Conditioning { done, of }) => {
                    stage.watch.on_event(RunEvent::Conditioning { done, of });
                }
                ReceiveOutcome::Message(Message::Conditioned(what)) => conditioned = Some(what),
                ReceiveOutcome::Message(Message::Ready) => return Ok(Self { conditioned, ..self }),
                ReceiveOutcome::Message(Message::Failed(reason)) => return Err(reason),
                ReceiveOutcome::Message(Message::Stopped { reason, .. }) => {
                    let what = "a client failed while the engine was preconditioned";
                    return Err(TrialError::Engine(format!("{what}: {reason}")));
                }
                ReceiveOutcome::Message(other) => return Err(unexpected_message(&other)),
            }
            said = Instant::now();
        }
    }
}

impl Bench<'_, '_> {
    pub(super) fn start_clients(
        &self,
        files: &Path,
        seed: u64,
        steady: bool,
    ) -> Result<StartedClients, TrialError> {
        let claims = self.work.join("claims");
        with_context("the folder of claims", fs::create_dir(&claims))?;
        let staged = self.place(files, &self.work.join("mount"), seed)?;
        let clients = self.terms.clients;
        if !steady {
            staged.disk.control().ok_or_else(no_power_error)?.record().map_err(disk_error)?;
        }
        let part = CutTask::Claim { clients, claims: claims.clone(), steady };
        let task = Task::from(part);
        let process = self.stage.start_process(&self.trial.setup, staged.place.clone(), task)?;
        let process = if steady { process } else { self.await_ready(process)? };
        Ok(StartedClients { staged, process, claims, conditioned: None })
    }

    fn cut_power(
        &self,
        started: StartedClients,
        cuts: &[(u32, u64)],
    ) -> Result<ClientRunOutcome, TrialError> {
        let StartedClients { staged, process, claims, conditioned } = started;
        let control = staged.disk.control().ok_or_else(no_power_error)?;
        let mut patience = SHORTEST;
        if let Some(conditioned) = &conditioned {
            control.record_anew().map_err(disk_error)?;
            patience = patience.max(Duration::from_secs_f64(conditioned.seconds) * TURNS);
        }
        let draw = |(number, seed): &(u32, u64)| {
            self.terms.draw_moment(*seed, *number, patience).to_awaited()
        };
        let moments: Vec<TimedTrigger> = cuts.iter().map(draw).collect();
        let limit = moments.iter().filter_map(|it| it.within).max().unwrap_or_default() + LATE;
        let mut off = self.power_down(process, control, (&moments, limit), |_| false)?;
        let failed = first_failure(&mut off)?;
        Ok(ClientRunOutcome { disk: staged.into_disk()?, off, claims, conditioned, failed })
    }
}

/// The first client that failed by itself: when, and why.
pub(super) fn first_failure(off: &mut Off) -> Result<Option<(u64, String)>, TrialError> {
    if let Some(how) = off.early.take() {
        return Err(TrialError::process_error(how));
    }
    let mut failures = Vec::new();
    for message in off.received.drain(..) {
        match message {
            Message::Failed(reason) => return Err(reason),
            Message::Stopped { at_ns, reason } => failures.push((at_ns, reason)),
            _ => {}
        }
    }
    Ok(failures.into_iter().min_by_key(|(at_ns, _)| *at_ns))
}

pub(super) fn check_failure(
    first: Option<&(u64, String)>,
    off_at_ns: u64,
) -> Result<(), TrialError> {
    match first {
        Some((at_ns, reason)) if *at_ns < off_at_ns => {
            Err(TrialError::Engine(format!("a client failed before the power was cut: {reason}")))
        }
        _ => Ok(()),
    }
}
