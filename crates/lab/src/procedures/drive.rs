//! The procedure `drive`: the clients work for a while, then the target does its deferred work.
//!
//! The lab restores the data, mounts the disk, warms the page cache and limits memory. A process
//! opens the target. The disk takes its time and neighbours work while the clients work and while
//! the target drains, so that deferred work costs what it costs then.
//!
//! Trials that differ only in neighbours may follow one conditioning: the target stays open, and
//! the disk keeps taking its time. Only the last one drains, since a drain would undo the
//! conditioning.

mod conditioning;
mod debts;
mod drain;
mod first_operations;
mod inside;
mod limit;
mod measure;
mod observed;
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

pub(crate) use self::inside::perform_trials;
use super::{PATIENCE, ProcedureContext, not_loaded};
pub(super) use measure::drive_error;
pub(super) use observed::observe_driver;

use crate::TrialError;
use crate::driving::Drive;
use crate::error::with_context;
use crate::machine::accounts;
use crate::place::disk::{TrialDisk, TrialDiskOptions};
use crate::place::images::LoadedImage;
use crate::place::limits::LimitedGroups;
use crate::place::{self, RESERVE, Staged, TargetPlace, ensure_room};
use crate::process::job::{Message, ProcedureTask, Task};
use crate::process::{ChildProcess, ReceiveOutcome};
use crate::spec::{self, DiskSpec, TrialSpec};

pub fn drive_task(drives: &[&Drive]) -> Task {
    Task::Procedure(ProcedureTask::Drive(drives.iter().map(|drive| (*drive).clone()).collect()))
}

#[derive(Clone, Debug)]
pub struct TrialTurn {
    /// The first trial's conditioning serves all.
    pub drive: Drive,
    pub neighbours: NeighbourLevel,
}

/// Gets the measurements of each trial that others follow, at its end. An error ends the others.
pub type TrialEndCallback<'a> =
    dyn FnMut(&mut ProcedureContext<'_>, TrialMeasurements) -> Result<(), TrialError> + 'a;

/// Drives trials one after the other in one place, on one opening of the target; `trial` is the
/// first. Returns the measurements of the last; `ended` gets the others. If one fails, or its
/// clients hang, those after it don't run.
pub fn in_turn(
    stage: &mut ProcedureContext<'_>,
    trial: &TrialSpec,
    turns: &[TrialTurn],
    ended: &mut TrialEndCallback<'_>,
) -> Result<TrialMeasurements, TrialError> {
    let turns = Turns { trial, turns };
    match trial.setup.is_elsewhere() {
        true => turns.run_on_external(stage, ended),
        false => turns.run_on_image(stage, ended),
    }
}

struct Turns<'a> {
    trial: &'a TrialSpec,
    turns: &'a [TrialTurn],
}

impl Turns<'_> {
    /// An external server has no image to restore: its database is emptied and loaded anew.
    fn run_on_external(
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
            .and_then(|()| stage.load_data(setup, place.clone()))
            .map_err(not_loaded)?;
        let place = TargetPlace { reuse: true, ..place };
        let mut disk = TrialDisk::host(trial.seed);
        turns::run(self, stage, &place, (&mut disk, &LimitedGroups::default()), ended)
    }

    fn run_on_image(
        &self,
        stage: &mut ProcedureContext<'_>,
        ended: &mut TrialEndCallback<'_>,
    ) -> Result<TrialMeasurements, TrialError> {
        let trial = self.trial;
        let image = stage.loaded_image(&trial.setup)?;
        let loaded = image.loaded_bytes;
        let wanted =
            trial.limits.iter().map(|(name, limit)| (*name, limit.resolve_for_data(loaded)));
        let shared = trial.setup.shared.iter().map(|it| it.resolve_for_data(loaded));
        let limits = LimitedGroups::create(&wanted.collect(), &shared.collect::<Vec<_>>())?;
        // Computed for all trials beforehand: between them the disk goes on.
        let of_devices = self.turns.iter().map(|turn| limit::compute_rate(trial, turn));
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
        let in_place = stage.device.is_some() || spec::is_in_place(trial);
        let measured = match in_place {
            true => self.on_files(stage, &image.folder, limits, ended),
            false => self.on_copy(stage, &image, limits, ended),
        };
        measured.map(|mut measured| {
            put(&mut measured);
            measured
        })
    }

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
        // While the trial's files are still there: a full disk is no fault of the target.
        let left = ensure_room(stage.work, RESERVE);
        with_context("removing the trial's folder", place::remove_folder(&files))?;
        match (measured, left) {
            (Err(_), Err(full)) if !stage.stopped() => Err(full.into()),
            (measured, _) => measured,
        }
    }

    fn is_cold(&self) -> bool {
        self.turns[0].drive.state == EngineState::Cold
    }

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
                    write_back: true,
                };
                TrialDisk::mount(stage.launcher, options, files, &mountpoint)?
            }
        };
        let is_virtual = disk.is_virtual();
        let wanted = |at: &Path| stage.make_place(&trial.setup, at);
        let mut staged = Staged::new(wanted, disk, files, limits)?;
        let measured = self.in_place(stage, &mut staged, ended);
        let mut measured = staged.limits.judge_trial(measured);
        if let Ok(measured) = &mut measured {
            // Its processes have ended: who is still there has escaped from them.
            measured.warnings.extend(staged.limits.left_behind());
        }
        let closed = staged.close();
        if is_virtual {
            with_context("removing the mountpoint", fs::remove_dir(&mountpoint))?;
        }
        let mut measured = measured.and_then(|measured| closed.map(|()| measured))?;
        if is_virtual {
            // The backing files' size, now that everything has reached them.
            let space = accounts::allocated_bytes(files)
                .map_err(|e| TrialError::place_error("no sizes", e))?;
            measured.measures.set(&measures::SPACE, Scope::Trial, space as f64);
        }
        Ok(measured)
    }

    fn in_place(
        &self,
        stage: &mut ProcedureContext<'_>,
        staged: &mut Staged,
        ended: &mut TrialEndCallback<'_>,
    ) -> Result<TrialMeasurements, TrialError> {
        let trial = self.trial;
        let place = staged.place.clone();
        // Files just restored to the machine's own disk are in the page cache, unless they were
        // dropped from it.
        if !self.is_cold() && (!staged.limits.leave_memory() || staged.disk.is_virtual()) {
            for (group, _) in place.cache_readers() {
                let task = Task::Read { group: group.map(Into::into) };
                let process = stage.start_process(&trial.setup, place.clone(), task)?;
                await_end(stage, process)
                    .map_err(|e| e.map_text(|why| format!("its data can't be read: {why}")))?;
            }
        }
        stage.note_settings(trial, &place);
        turns::run(self, stage, &place, (&mut staged.disk, &staged.limits), ended)
    }
}

fn await_end(stage: &ProcedureContext<'_>, process: ChildProcess) -> Result<(), TrialError> {
    loop {
        stage.go_on()?;
        match process.receive(PATIENCE) {
            ReceiveOutcome::Message(Message::Done(_)) => return Ok(()),
            ReceiveOutcome::Message(Message::Failed(reason)) => return Err(reason),
            ReceiveOutcome::Message(_) | ReceiveOutcome::Nothing => {}
            ReceiveOutcome::End => return Err(TrialError::process_error(process.exit_report())),
        }
    }
}
