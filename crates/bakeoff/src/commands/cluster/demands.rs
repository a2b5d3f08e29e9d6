//! Finds the files and folders that an experiment and its flags name, and whether a job's machines
//! have them.

use std::path::Path;

use bakeoff_experiment::{Experiment, RowOrigin};
use bakeoff_lab::Registry;

use super::{describe_text, usage_failure};
use crate::cli::RunArguments;
use crate::exit::CommandFailure;

#[derive(Clone, Copy)]
pub enum StagingScope {
    /// All files: the machines share folders with this one.
    All,
    /// Only the experiment's own file.
    Experiment,
}

pub struct MachineDemands<'a> {
    pub experiment: &'a Experiment,
    /// Where relative paths of the experiment's file start; `None` for a preset.
    pub home: Option<&'a Path>,
    pub flags: &'a RunArguments,
}

impl MachineDemands<'_> {
    pub fn check_machines(
        &self,
        registry: &Registry,
        brought: StagingScope,
    ) -> Result<(), CommandFailure> {
        if let Some(path) = self.flags.path.as_deref().filter(|path| path.is_relative()) {
            return Err(usage_failure(format!(
                "--path {} is relative, and no path of other machines: name it from the root, as \
                 --path /var/tmp",
                path.display()
            )));
        }
        let rows = match &self.experiment.rows_from {
            Some(RowOrigin::File(path)) => Some(path),
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
                StagingScope::All => drop(describe_text(registry, self.experiment)?),
                StagingScope::Experiment if self.is_here(flag.as_deref(), path) => {
                    return Err(usage_failure(format!(
                        "`{key}` names {}, a path of this machine: the job brings nothing but the experiment's \
                         own file to others. Take bakeoff cluster slurm where they share a folder; or put the \
                         file onto each of them, and name it by a path that this machine does not have",
                        path.display()
                    )));
                }
                StagingScope::Experiment => {}
            }
        }
        Ok(())
    }

    /// Named relative to a local folder, or exists here.
    fn is_here(&self, flag: Option<&Path>, path: &Path) -> bool {
        let is_relative = match flag {
            Some(flag) => flag.is_relative(),
            // Every absolute path starts with the root, so the root says nothing.
            None => self.home.is_some_and(|home| home.parent().is_some() && path.starts_with(home)),
        };
        is_relative || path.exists()
    }
}
