//! Trials on servers that somebody else runs: there is no image of theirs to restore, so each trial
//! empties its database and loads it anew.

use bakeoff_devices::neighbour::Level;
use bakeoff_engines::Home;
use bakeoff_experiment::{Cell, Factor, HOST};
use bakeoff_results::Measured;

use super::{Lab, LabError, Stage, remove, wanting};
use crate::disk::Disk;
use crate::job::{Job, Staging};

/// Whether the engine is a server that somebody else runs.
pub(super) fn is_elsewhere(engine: &str) -> bool {
    bakeoff_engines::find(engine).is_some_and(|found| found.home() == Home::Elsewhere)
}

/// Why a cell can't be run on a server that somebody else runs, if that is what its engine is.
pub(super) fn refusal(cell: &Cell) -> Option<String> {
    let only = [(Factor::Memory, "unlimited"), (Factor::Disk, HOST), (Factor::Neighbours, "0")];
    let mut other = only.into_iter().filter(|(factor, only)| cell.base(*factor) != *only);
    let (factor, only) = other.next().filter(|_| is_elsewhere(cell.base(Factor::Engine)))?;
    Some(format!(
        "{factor} {} can't be had: the server is not bakeoff's to limit, to put on another disk or \
         to give neighbours; write {factor} = \"{only}\"",
        cell.base(factor)
    ))
}

impl Lab<'_> {
    /// Loads the database and runs the trial on it. The inner error is the trial's.
    pub(super) fn trial_elsewhere(
        &mut self,
        stage: &mut Stage,
        cell: &Cell,
    ) -> Result<Result<Measured, String>, LabError> {
        // Nothing is ever put there: it is where others have their data.
        let directory = stage.work.path().join("trial");
        wanting("the trial's folder", std::fs::create_dir(&directory))?;
        let engine = cell.base(Factor::Engine);
        let url = bakeoff_engines::elsewhere::url(engine).map(Into::into);
        let mut staging = Staging { directory: directory.clone(), url, ..Staging::default() };
        self.note_applied(cell, &staging)?;
        let reuse = ("reuse".to_owned(), "yes".to_owned());
        if self.reuse || stage.filled.contains(engine) {
            staging.settings.push(reuse.clone());
        }
        let (data, durability) = (self.data(cell), cell.base(Factor::Durability).to_owned());
        let load = Job::Load {
            data: data.clone(),
            staging: staging.clone(),
            durability: durability.clone(),
        };
        let answer = match self.load(&load, &data)? {
            Err(reason) => Err(format!("its data can't be loaded: {reason}")),
            Ok(_) => {
                // From here on the tables are this run's own.
                if stage.filled.insert(engine.into()) && !self.reuse {
                    staging.settings.push(reuse);
                }
                let job = Job::Trial {
                    data,
                    staging,
                    durability,
                    clients: cell.clients(),
                    seconds: self.experiment.seconds,
                };
                let mut disk = Disk::host(None, Level::None, self.experiment.seed);
                self.drive(&job, &mut disk, None)?
            }
        };
        wanting("removing the trial's folder", remove(&directory))?;
        Ok(answer)
    }
}
