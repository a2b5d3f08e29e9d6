//! Files and folders that an experiment and its flags name: whether the machines of a job have them.

use std::path::Path;

use bakeoff_experiment::{Experiment, RowsFrom};
use bakeoff_lab::Registry;

use super::{text, usage};
use crate::cli::RunArguments;
use crate::exit::CommandFailure;

/// What the machines of a job have of this one's files.
#[derive(Clone, Copy)]
pub enum Brought {
    /// All: they share its folders.
    All,
    /// The experiment's own file alone.
    Experiment,
}

/// What is asked of the machines of a job.
pub struct MachineDemands<'a> {
    /// What they run.
    pub experiment: &'a Experiment,
    /// Where relative paths of the experiment's file start; `None` of a preset.
    pub home: Option<&'a Path>,
    /// The flags of their runs.
    pub flags: &'a RunArguments,
}

impl MachineDemands<'_> {
    /// Refuses what each of the machines would refuse at once.
    ///
    /// # Errors
    /// A file that can't be used, or that the machines do not have, and a relative path of the data.
    pub fn check(&self, registry: &Registry, brought: Brought) -> Result<(), CommandFailure> {
        if let Some(path) = self.flags.path.as_deref().filter(|path| path.is_relative()) {
            return Err(usage(format!(
                "--path {} is relative, and no path of other machines: name it from the root, as \
                 --path /var/tmp",
                path.display()
            )));
        }
        let rows = match &self.experiment.rows_from {
            Some(RowsFrom::File(path)) => Some(path),
            _ => None,
        };
        let keys = &self.flags.keys;
        let named = [
            ("text", &keys.text, self.experiment.text.as_ref()),
            ("rows_from", &keys.rows_from, rows),
        ];
        for (key, flag, path) in named {
            let Some(path) = path else { continue };
            match brought {
                Brought::All => drop(text(registry, self.experiment)?),
                Brought::Experiment if self.is_here(flag.as_deref(), path) => {
                    return Err(usage(format!(
                        "`{key}` names {}, a path of this machine: the job brings nothing but the experiment's \
                         own file to others. Take bakeoff cluster slurm where they share a folder; or put the \
                         file onto each of them, and name it by a path that this machine does not have",
                        path.display()
                    )));
                }
                Brought::Experiment => {}
            }
        }
        Ok(())
    }

    /// Whether a path is one of this machine: the flag or the experiment's file names it from where it is
    /// here, or there is something.
    fn is_here(&self, flag: Option<&Path>, path: &Path) -> bool {
        let is_relative = match flag {
            Some(flag) => flag.is_relative(),
            // All paths begin with the root.
            None => self.home.is_some_and(|home| home.parent().is_some() && path.starts_with(home)),
        };
        is_relative || path.exists()
    }
}
