//! The clients at work on a disk whose power goes, and the moments of cuts among what they do.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bakeoff_devices::plug::Metadata;
use bakeoff_devices::trigger::Awaited;
use bakeoff_results::{Conditioned, PaymentCut};

use super::inside::CutTask;
use super::moment::CutMoment;
use super::power::{LISTEN, Off};
use super::{Bench, CutTerms, Gone, NAME, powerless};
use crate::TrialError;
use crate::error::wanting;
use crate::place::disk::TrialDisk;
use crate::place::{self, RESERVE, Staged, TargetPlace, remove, room};
use crate::procedures::ProcedureContext;
use crate::process::job::{Message, Task};
use crate::process::{ChildProcess, Received};
use crate::spec::TrialSpec;
use crate::watch::RunEvent;

/// How much longer than its moments a disk may take to go off.
const LATE: Duration = Duration::from_secs(1);

/// How long a payment is waited for at least; and for how many times as long as the debts took to turn
/// over, if that is more.
const SHORTEST: Duration = Duration::from_secs(20);
const TURNS: u32 = 4;

/// A run of the clients, over, with the disk of which images are to be had.
pub struct ClientRun {
    pub(super) terms: CutTerms,
    /// Its own folder.
    pub(super) work: PathBuf,
    /// The cuts, each with its place among the disk's moments.
    numbers: BTreeMap<u32, usize>,
    left: Result<ClientRunOutcome, TrialError>,
}

/// What a run of the clients left.
struct ClientRunOutcome {
    /// The disk without its power.
    disk: TrialDisk,
    off: Off,
    claims: PathBuf,
    conditioned: Option<Conditioned>,
    /// When the first client failed by itself, and why.
    failed: Option<(u64, String)>,
}

impl ClientRun {
    /// Puts the clients to work until the moments of all these cuts have come. Why they could not is
    /// in the record of each cut.
    ///
    /// # Errors
    /// What keeps every other run from being made, too.
    pub fn make(
        terms: CutTerms,
        numbers: &[u32],
        stage: &mut ProcedureContext<'_>,
        trial: &TrialSpec,
    ) -> Result<Self, TrialError> {
        room(stage.work, RESERVE)?;
        let work = stage.work.join("cut");
        stage.note_settings(trial, &TargetPlace::default());
        let left = stage.image(&trial.setup).and_then(|image| {
            wanting("the cut's folder", fs::create_dir(&work))?;
            let files = work.join("data");
            image.copy(&files, place::SyncCopy::No, stage.stop)?;
            let seeds: Vec<u64> = numbers.iter().map(|it| terms.seed(trial, *it)).collect();
            let metadata = Metadata::Ordered;
            let bench = Bench { terms: &terms, metadata, stage, trial, work: &work };
            let mut started = bench.start(&files, seeds[0])?;
            if terms.steady {
                started = started.conditioned(stage, terms.patience)?;
            }
            let numbered: Vec<(u32, u64)> = numbers.iter().copied().zip(seeds).collect();
            Bench { terms: &terms, metadata, stage, trial, work: &work }.pull(started, &numbered)
        });
        let left = stage.unless_full(left);
        let numbers = numbers.iter().enumerate().map(|(place, number)| (*number, place)).collect();
        let run = Self { terms, work, numbers, left };
        match &run.left {
            Err(error) if error.stops_the_run() => {
                let error = error.clone();
                run.end()?;
                Err(error)
            }
            _ => Ok(run),
        }
    }

    /// What its clients did before any moment was waited for.
    pub(super) fn conditioned(&self) -> Option<&Conditioned> {
        self.left.as_ref().ok()?.conditioned.as_ref()
    }

    /// What a cut was placed in, and whether that came.
    pub(super) fn placed(&self, number: u32, moment: &CutMoment) -> Option<PaymentCut> {
        let payment = moment.payment(self.terms.signatures)?.into();
        let left = self.left.as_ref().ok()?;
        let came = *left.off.by_itself.get(*self.numbers.get(&number)?)?;
        Some(PaymentCut { payment, came })
    }

    /// The moment of a cut.
    pub(super) fn gone(&self, number: u32, metadata: Metadata) -> Result<Gone<'_>, TrialError> {
        let left = self.left.as_ref().map_err(Clone::clone)?;
        let Some(place) = self.numbers.get(&number) else {
            return Err(TrialError::process(format!("its clients had no cut {number}")));
        };
        let off_at_ns = left.off.moments_ns[*place];
        if let Some((at_ns, reason)) = &left.failed
            && *at_ns < off_at_ns
        {
            let what = "a client failed before the power was cut";
            return Err(TrialError::Engine(format!("{what}: {reason}")));
        }
        Ok(Gone {
            control: left.disk.control().ok_or_else(powerless)?,
            of: (*place, metadata),
            off_at_ns,
            ran_s: off_at_ns.saturating_sub(left.off.start_ns) as f64 / 1e9,
            claims: &left.claims,
        })
    }

    /// Removes what it left.
    ///
    /// # Errors
    /// What can't be removed.
    pub fn end(self) -> Result<(), TrialError> {
        let unmounted = match self.left {
            Ok(left) => left.disk.unmount(),
            Err(_) => Ok(()),
        };
        wanting("removing the cut's folder", remove(&self.work))?;
        unmounted
    }
}

/// Clients that are there, in a process of their own, with the disk under them.
struct StartedClients {
    staged: Staged,
    process: ChildProcess,
    claims: PathBuf,
    conditioned: Option<Conditioned>,
}

impl StartedClients {
    /// Waits until the clients have turned the target's debts over. A process that says nothing for
    /// as long as `patience` has failed.
    fn conditioned(
        self,
        stage: &mut ProcedureContext<'_>,
        patience: Duration,
    ) -> Result<Self, TrialError> {
        let (mut said, mut conditioned) = (Instant::now(), None);
        loop {
            stage.go_on()?;
            match self.process.receive(LISTEN) {
                Received::Nothing if said.elapsed() < patience => continue,
                Received::Nothing => {
                    let seconds = patience.as_secs();
                    let why = format!("nothing was heard of what it owes for {seconds} s");
                    return Err(TrialError::process(why));
                }
                Received::End => return Err(TrialError::process(self.process.exit_report())),
                Received::Message(Message::Conditioning { done, of }) => {
                    stage.watch.event(RunEvent::Conditioning { done, of });
                }
                Received::Message(Message::Conditioned(what)) => conditioned = Some(what),
                Received::Message(Message::Ready) => return Ok(Self { conditioned, ..self }),
                Received::Message(Message::Failed(reason)) => return Err(reason),
                Received::Message(Message::Stopped { reason, .. }) => {
                    let what = "a client failed while the engine was preconditioned";
                    return Err(TrialError::Engine(format!("{what}: {reason}")));
                }
                Received::Message(other) => {
                    let what = "its process sent an unexpected message";
                    return Err(TrialError::process(format!("{what}: {other:?}")));
                }
            }
            said = Instant::now();
        }
    }
}

impl Bench<'_, '_> {
    /// Gets the clients ready on a disk over `files`.
    fn start(&self, files: &Path, seed: u64) -> Result<StartedClients, TrialError> {
        let claims = self.work.join("claims");
        wanting("the folder of claims", fs::create_dir(&claims))?;
        let staged = self.place(files, &self.work.join("mount"), seed)?;
        let (clients, steady) = (self.terms.clients, self.terms.steady);
        if !steady {
            staged.disk.control().ok_or_else(powerless)?.record().map_err(no_disk)?;
        }
        let part = CutTask::Claim { clients, claims: claims.clone(), steady };
        let task = Task::inside(NAME, &part);
        let process = self.stage.start(&self.trial.setup, staged.place().clone(), task)?;
        let process = if steady { process } else { self.ready(process)? };
        Ok(StartedClients { staged, process, claims, conditioned: None })
    }

    /// Lets the power of clients at work go with the last of the moments.
    fn pull(
        &self,
        started: StartedClients,
        cuts: &[(u32, u64)],
    ) -> Result<ClientRunOutcome, TrialError> {
        let StartedClients { staged, process, claims, conditioned } = started;
        let control = staged.disk.control().ok_or_else(powerless)?;
        let mut patience = SHORTEST;
        if let Some(conditioned) = &conditioned {
            control.record_anew().map_err(no_disk)?;
            patience = patience.max(Duration::from_secs_f64(conditioned.seconds) * TURNS);
        }
        let draw =
            |(number, seed): &(u32, u64)| self.terms.moment(*seed, *number, patience).awaited();
        let moments: Vec<Awaited> = cuts.iter().map(draw).collect();
        let limit = moments.iter().filter_map(|it| it.within).max().unwrap_or_default() + LATE;
        let mut off = self.power_down(process, control, (&moments, limit), |_| false)?;
        if let Some(how) = off.early.take() {
            return Err(TrialError::process(how));
        }
        let mut failed = None;
        for message in off.received.drain(..) {
            match message {
                Message::Failed(reason) => return Err(reason),
                Message::Stopped { at_ns, reason } => {
                    let first = failed.get_or_insert((at_ns, reason.clone()));
                    if at_ns < first.0 {
                        *first = (at_ns, reason);
                    }
                }
                _ => {}
            }
        }
        Ok(ClientRunOutcome { disk: staged.into_disk()?, off, claims, conditioned, failed })
    }
}

fn no_disk(error: impl Display) -> TrialError {
    TrialError::place("its disk does not work", error)
}
