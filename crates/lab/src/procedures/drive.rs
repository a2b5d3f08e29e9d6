//! The procedure `drive`: the clients work for a while, then what was put off is done.
//!
//! The data are restored, the disk mounted, the page cache warmed and memory limited; a process of
//! its own opens the target, and while its clients are at work the disk takes its time and its
//! neighbours are there. So they are while the target drains: what it has put off costs what it costs
//! then.
//!
//! Trials that differ in their neighbours alone may follow one conditioning, one after the other: the
//! target stays open, and the disk goes on taking its time while its neighbours change. It drains after
//! the last of them alone, since a drain would undo what the conditioning has done.

mod conditioning;
mod debts;
mod drain;
mod first;
mod inside;
mod limit;
mod measure;
mod priced;
mod traced;
mod turns;
mod unsent;

use std::fs;
use std::path::Path;

use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_devices::plug::Metadata;
use bakeoff_experiment::EngineState;
use bakeoff_results::TrialMeasurements;
use bakeoff_results::measure::{self as measures, Scope};

use super::{Inside, PATIENCE, ProcedureContext, told};
use crate::TrialError;
use crate::driving::Drive;
use crate::error::wanting;
use crate::machine::accounts;
use crate::place::disk::{TrialDisk, TrialDiskOptions};
use crate::place::images::LoadedImage;
use crate::place::limits::LimitedGroups;
use crate::place::{self, RESERVE, Staged, TargetPlace, room};
use crate::process::job::{Message, Task};
use crate::process::{ChildProcess, Received};
use crate::spec::{self, DiskSpec, TrialSpec};

/// Its name.
const NAME: &str = "drive";

/// What of it is done inside.
pub(crate) static INSIDE: Inside =
    Inside { name: NAME, perform: |data, within| inside::perform(&told::<Vec<_>>(data)?, within) };

/// What a trial's process is told, to drive the clients of these trials one after the other.
pub fn task(drives: &[&Drive]) -> Task {
    Task::inside(NAME, &drives)
}

/// One of the trials that follow one conditioning.
#[derive(Clone, Debug)]
pub struct TrialTurn {
    /// How its clients are driven; the first one's conditioning serves all.
    pub drive: Drive,
    /// The other load on the disk meanwhile.
    pub neighbours: NeighbourLevel,
}

/// Is given what a trial has measured that others follow, as soon as it has ended. What it fails with
/// ends the others.
pub type TrialEndCallback<'a> =
    dyn FnMut(&mut ProcedureContext<'_>, TrialMeasurements) -> Result<(), TrialError> + 'a;

/// Drives one trial after the other, of which `trial` is the first, in one place and on one opening of
/// the target; what the last of them has measured, all before it having been given to `ended`. Where one
/// fails, or its clients do not come home, those after it are not run.
///
/// # Errors
/// Why nothing came of the one after those that were given to `ended`.
pub fn in_turn(
    stage: &mut ProcedureContext<'_>,
    trial: &TrialSpec,
    turns: &[TrialTurn],
    ended: &mut TrialEndCallback<'_>,
) -> Result<TrialMeasurements, TrialError> {
    let turns = Turns { trial, turns };
    match trial.setup.is_elsewhere() {
        true => turns.external(stage, ended),
        false => turns.here(stage, ended),
    }
}

/// What is driven, on its way through a place.
struct Turns<'a> {
    /// The first one.
    trial: &'a TrialSpec,
    /// All of them.
    turns: &'a [TrialTurn],
}

impl Turns<'_> {
    /// On a server that somebody else runs there is no image to restore: its database is emptied
    /// and loaded anew.
    fn external(
        &self,
        stage: &mut ProcedureContext<'_>,
        ended: &mut TrialEndCallback<'_>,
    ) -> Result<TrialMeasurements, TrialError> {
        let (trial, setup) = (self.trial, &self.trial.setup);
        let reuse = stage.reuse || stage.filled.contains(&setup.recipe.into);
        let place = TargetPlace { reuse, ..TargetPlace::default() };
        stage.note_settings(trial, &place);
        stage
            .claim(setup)
            .and_then(|()| stage.load(setup, place.clone()))
            .map_err(|e| e.because(|why| format!("its data can't be loaded: {why}")))?;
        // From here on the tables are this run's own.
        stage.filled.insert(setup.recipe.into.clone());
        let place = TargetPlace { reuse: true, ..place };
        let mut disk = TrialDisk::host(trial.seed);
        turns::run(self, stage, &place, (&mut disk, &LimitedGroups::default()), ended)
    }

    /// Runs the trials on the image, or on a copy of it.
    fn here(
        &self,
        stage: &mut ProcedureContext<'_>,
        ended: &mut TrialEndCallback<'_>,
    ) -> Result<TrialMeasurements, TrialError> {
        let trial = self.trial;
        let image = stage.image(&trial.setup)?;
        let loaded = image.loaded_bytes;
        let wanted =
            trial.limits.iter().map(|(name, limit)| (*name, limit.resolve_for_data(loaded)));
        let shared = trial.setup.shared.iter().map(|it| it.resolve_for_data(loaded));
        let limits = LimitedGroups::create(&wanted.collect(), &shared.collect::<Vec<_>>())?;
        let registry = stage.registry;
        // Of all trials beforehand: between them the disk goes on.
        let of_devices = self.turns.iter().map(|turn| limit::compute_rate(registry, trial, turn));
        let mut of_devices = of_devices.collect::<Vec<_>>().into_iter();
        let mut put = |measured: &mut TrialMeasurements| {
            let limit = of_devices.next().flatten();
            measured.measures.set(&measures::LOADED, Scope::Trial, loaded as f64);
            measured.measures.set_some(&measures::DEVICE_LIMIT, Scope::Disk, limit);
        };
        let ended: &mut TrialEndCallback<'_> =
            &mut |stage: &mut ProcedureContext<'_>, mut measured: TrialMeasurements| {
                put(&mut measured);
                ended(stage, measured)
            };
        // Of a raw device there is no copy.
        let in_place = stage.device.is_some() || spec::is_in_place(stage.registry, trial);
        let measured = match in_place {
            true => self.on_files(stage, &image.folder, limits, ended),
            false => self.on_copy(stage, &image, limits, ended),
        };
        measured.map(|mut measured| {
            put(&mut measured);
            measured
        })
    }

    /// Restores the image, runs the trials on it and removes it.
    fn on_copy(
        &self,
        stage: &mut ProcedureContext<'_>,
        image: &LoadedImage,
        limits: LimitedGroups,
        ended: &mut TrialEndCallback<'_>,
    ) -> Result<TrialMeasurements, TrialError> {
        let files = stage.work.join("trial");
        let measured = image
            .restore(&files, !limits.leave_memory() || self.is_cold(), stage.stop)
            .and_then(|()| self.on_files(stage, &files, limits, ended));
        // While the trial's files are still there: a disk that they have filled is no fault of the
        // target's.
        let left = room(stage.work, RESERVE);
        wanting("removing the trial's folder", place::remove(&files))?;
        match (measured, left) {
            (Err(_), Err(full)) if !stage.stopped() => Err(full.into()),
            (measured, _) => measured,
        }
    }

    /// Whether caches are to be empty.
    fn is_cold(&self) -> bool {
        self.turns[0].drive.state == EngineState::Cold
    }

    /// Puts the disk under the files, runs the trials, and takes the disk away.
    fn on_files(
        &self,
        stage: &mut ProcedureContext<'_>,
        files: &Path,
        limits: LimitedGroups,
        ended: &mut TrialEndCallback<'_>,
    ) -> Result<TrialMeasurements, TrialError> {
        let trial = self.trial;
        let mountpoint = stage.work.join("mount");
        let disk = match &trial.disk {
            DiskSpec::Host => TrialDisk::host(trial.seed),
            DiskSpec::Virtual(spec) => {
                let options = TrialDiskOptions {
                    spec,
                    seed: trial.seed,
                    uncached: !limits.leave_memory(),
                    metadata: Metadata::default(),
                };
                TrialDisk::mount(stage.launcher, options, files, &mountpoint)?
            }
        };
        let is_virtual = disk.is_virtual();
        let wanted = |at: &Path| stage.place(&trial.setup, at);
        let mut staged = Staged::new(wanted, disk, files, limits)?;
        let measured = self.in_place(stage, &mut staged, ended);
        let mut measured = staged.limits().judge(measured);
        if let Ok(measured) = &mut measured {
            // Its processes have ended: who is still there has run away from them.
            measured.warnings.extend(staged.limits().left_behind());
        }
        let closed = staged.close();
        if is_virtual {
            wanting("removing the mountpoint", fs::remove_dir(&mountpoint))?;
        }
        let mut measured = measured.and_then(|measured| closed.map(|()| measured))?;
        if is_virtual {
            // The backing files' own size, now that everything has reached them.
            let space = accounts::space(files).map_err(|e| TrialError::place("no sizes", e))?;
            measured.measures.set(&measures::SPACE, Scope::Trial, space as f64);
        }
        Ok(measured)
    }

    /// Warms the page cache up and runs the trials, within their limits.
    fn in_place(
        &self,
        stage: &mut ProcedureContext<'_>,
        staged: &mut Staged,
        ended: &mut TrialEndCallback<'_>,
    ) -> Result<TrialMeasurements, TrialError> {
        let trial = self.trial;
        let place = staged.place().clone();
        // Files that were just restored to the machine's own disk are in the page cache, unless
        // they were taken out of it.
        if !self.is_cold() && (!staged.limits().leave_memory() || staged.disk.is_virtual()) {
            for (group, _) in place.readers() {
                let task = Task::Read { group: group.map(Into::into) };
                let process = stage.start(&trial.setup, place.clone(), task)?;
                finished(stage, process)
                    .map_err(|e| e.because(|why| format!("its data can't be read: {why}")))?;
            }
        }
        stage.note_settings(trial, &place);
        turns::run(self, stage, &place, staged.disk_and_limits(), ended)
    }
}

/// Waits until a process has done a job that measures nothing.
fn finished(stage: &ProcedureContext<'_>, process: ChildProcess) -> Result<(), TrialError> {
    loop {
        stage.go_on()?;
        match process.receive(PATIENCE) {
            Received::Message(Message::Done(_)) => return Ok(()),
            Received::Message(Message::Failed(reason)) => return Err(reason),
            Received::Message(_) | Received::Nothing => {}
            Received::End => return Err(TrialError::process(process.exit_report())),
        }
    }
}
