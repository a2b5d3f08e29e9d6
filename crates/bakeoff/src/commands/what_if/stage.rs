//! One run of `bakeoff whatif`: its experiment, as a file that anybody can run again.

use std::path::{Path, PathBuf};

use bakeoff_analysis::Document;
use toml::{Table, Value};

use super::twin::ServerTwin;
use crate::Lab;
use crate::cli;
use crate::commands::report::read_document;
use crate::exit::{CommandFailure, Exit};
use crate::output::{program_name, write_here};

pub struct Stage {
    pub name: &'static str,
    title: &'static str,
    repetitions: [u32; 2],
}

pub const SCREEN: Stage = Stage {
    name: "screen",
    title: "What does each change of the settings buy?",
    repetitions: [5, 3],
};

pub const CONFIRM: Stage = Stage {
    name: "confirm",
    title: "Do the best changes buy it again, and together?",
    repetitions: [8, 6],
};

pub struct StageRun {
    pub ended: Exit,
    pub document: Document,
}

/// Seconds of a trial's clients.
fn choose_seconds(arguments: &cli::WhatIf) -> f64 {
    arguments.seconds.unwrap_or(if arguments.quick { 1.0 } else { 3.0 })
}

/// What all trials have in common, for people.
pub fn describe_terms(arguments: &cli::WhatIf) -> String {
    let memory = arguments.memory.as_ref().map_or(String::new(), |it| format!(", memory {it}"));
    let [screen, confirm] = [SCREEN, CONFIRM].map(|stage| stage.count_repetitions(arguments));
    format!(
        "clients {}, disk {}{memory}; {screen} trials of {} s each, then {confirm} of the best",
        arguments.clients,
        arguments.disk,
        choose_seconds(arguments)
    )
}

impl Stage {
    fn count_repetitions(&self, arguments: &cli::WhatIf) -> u32 {
        self.repetitions[usize::from(arguments.quick)]
    }

    pub fn file(&self) -> String {
        format!("{}.toml", self.name)
    }

    /// Writes the experiment into `dir`, and runs it into a folder there. The present settings are the
    /// first level.
    pub fn run(
        &self,
        lab: &Lab,
        arguments: &cli::WhatIf,
        twin: &ServerTwin,
        levels: &[String],
        dir: &Path,
    ) -> Result<StageRun, CommandFailure> {
        let file = dir.join(self.file());
        write_here(&file, &self.write_experiment(arguments, twin, levels)?)?;
        let out = dir.join(self.name);
        let mut words = vec![program_name(), "run".into(), file.to_string_lossy().into_owned()];
        let mut add = |flag: &str, value: &str| words.extend([flag.to_owned(), value.to_owned()]);
        add("--out", &out.to_string_lossy());
        if let Some(from) = &arguments.rows_from {
            add("--rows-from", from);
        }
        if let Some(path) = &arguments.path {
            add("--path", &path.to_string_lossy());
        }
        // Its settings are those of the user's own server.
        words.push("--trust-experiment".into());
        let ended = lab.run_stage(&words)?;
        Ok(StageRun { ended, document: read_document(&out)? })
    }

    fn write_experiment(
        &self,
        arguments: &cli::WhatIf,
        twin: &ServerTwin,
        levels: &[String],
    ) -> Result<String, CommandFailure> {
        let base = twin.level().to_owned();
        let engines: Vec<String> = std::iter::once(base.clone()).chain(levels.to_vec()).collect();
        let mut table = Table::new();
        table.insert("name".into(), format!("whatif-{}", self.name).into());
        table.insert("title".into(), self.title.into());
        table.insert("workload".into(), find_workload(&arguments.workload)?.into());
        table.insert("engine".into(), engines.into());
        table.insert("durability".into(), twin.promise.name().into());
        table.insert("clients".into(), i64::from(arguments.clients).into());
        table.insert("disk".into(), arguments.disk.clone().into());
        table.insert("seconds".into(), choose_seconds(arguments).into());
        let repetitions = self.count_repetitions(arguments);
        table.insert("repetitions".into(), i64::from(repetitions).into());
        for (name, level) in [("scale", &arguments.scale), ("memory", &arguments.memory)] {
            table.extend(level.clone().map(|level| (name.to_owned(), level.into())));
        }
        let own: Table = twin
            .settings
            .iter()
            .map(|(name, value)| (name.clone(), Value::from(value.clone())))
            .collect();
        table.insert("settings".into(), Table::from_iter([(base, own.into())]).into());
        Ok(table.to_string())
    }
}

/// A folder by its whole path: the experiment is elsewhere.
fn find_workload(named: &str) -> Result<String, CommandFailure> {
    let path = PathBuf::from(named);
    if !path.is_dir() {
        return Ok(named.to_owned());
    }
    let whole = path.canonicalize().map_err(|error| CommandFailure::new(Exit::Folder, error))?;
    Ok(whole.to_string_lossy().into_owned())
}
