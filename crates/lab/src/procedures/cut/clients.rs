//! The clients at work on a disk whose power goes, and the moments of cuts among what they do.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bakeoff_devices::plug::Metadata;
use bakeoff_devices::trigger::Awaited;

use super::inside::Part;
use super::moment::Moment;
use super::power::Off;
use super::{Bench, CutProcedure, CutTerms, Gone, NAME, powerless};
use crate::TrialError;
use crate::error::wanting;
use crate::place::disk::Disk;
use crate::place::{self, Place, RESERVE, remove, room};
use crate::procedures::Stage;
use crate::process::job::{Message, Task};
use crate::spec::TrialSpec;

/// How much longer than its moments a disk may take to go off.
const LATE: Duration = Duration::from_secs(1);

/// A run of the clients, over, with the disk of which images are to be had.
pub struct ClientRun {
    pub(super) terms: CutTerms,
    /// Its own folder.
    pub(super) work: PathBuf,
    /// The cuts, each with its place among the disk's moments.
    numbers: BTreeMap<u32, usize>,
    left: Result<Left, TrialError>,
}

/// What a run of the clients left.
struct Left {
    /// The disk without its power.
    disk: Disk,
    off: Off,
    claims: PathBuf,
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
        stage: &mut Stage<'_>,
        trial: &TrialSpec,
    ) -> Result<Self, TrialError> {
        room(stage.work, RESERVE)?;
        let work = stage.work.join("cut");
        stage.note_settings(trial, &Place::default());
        let left = stage.image(&trial.setup).and_then(|image| {
            wanting("the cut's folder", fs::create_dir(&work))?;
            let files = work.join("data");
            image.copy(&files, place::Sync::No, stage.stop)?;
            let metadata = Metadata::Ordered;
            let bench = Bench { terms: &terms, metadata, stage, trial, work: &work };
            bench.pull(&files, numbers)
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

    /// One of its cuts, on a file system that makes names durable in this way.
    pub fn cut(&self, number: u32, metadata: Metadata) -> CutProcedure<'_> {
        CutProcedure { run: self, number, metadata }
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

impl Bench<'_, '_> {
    /// Puts the clients to work on a disk over `files`, and lets the power go with the last of the
    /// moments.
    fn pull(&self, files: &Path, numbers: &[u32]) -> Result<Left, TrialError> {
        let claims = self.work.join("claims");
        wanting("the folder of claims", fs::create_dir(&claims))?;
        let seeds: Vec<u64> = numbers.iter().map(|it| self.terms.seed(self.trial, *it)).collect();
        let staged = self.place(files, &self.work.join("mount"), seeds[0])?;
        let control = staged.disk.control().ok_or_else(powerless)?;
        control.record().map_err(|error| TrialError::place("its disk does not work", error))?;
        let part = Part::Claim { clients: self.terms.clients, claims: claims.clone() };
        let task = Task::inside(NAME, &part);
        let process = self.stage.start(&self.trial.setup, staged.place().clone(), task)?;
        let process = self.ready(process)?;
        let draw = |seed: &u64| Moment::draw(*seed, self.terms.durability).awaited();
        let moments: Vec<Awaited> = seeds.iter().map(draw).collect();
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
        Ok(Left { disk: staged.into_disk()?, off, claims, failed })
    }
}
