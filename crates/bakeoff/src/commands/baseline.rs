//! Baselines: finished runs kept by name, for later runs to be held against.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use bakeoff_results::{DATABASE, EXPERIMENT, RunFolder};

use crate::exit::{CommandFailure, Exit};

/// The folder of all baselines; the variable may name another one.
const FOLDER: &str = "bakeoff-baselines";
const VARIABLE: &str = "BAKEOFF_BASELINES";
const LONGEST: usize = 100;
const RUN_FILES: [&str; 2] = [DATABASE, EXPERIMENT];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaselineName(String);

impl BaselineName {
    pub fn parse(text: &str) -> Result<Self, String> {
        let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
        let fits = (1..=LONGEST).contains(&text.len()) && !text.starts_with('.');
        match fits && text.chars().all(is_plain) {
            true => Ok(Self(text.to_owned())),
            false => Err(format!(
                "a baseline's name has letters, digits, `-`, `_` and `.`, {LONGEST} at most, and does not \
                 begin with a point"
            )),
        }
    }

    pub fn folder(&self) -> PathBuf {
        let all = std::env::var_os(VARIABLE).filter(|it| !it.is_empty());
        PathBuf::from(all.unwrap_or_else(|| FOLDER.into())).join(&self.0)
    }

    /// Fails if no run has this name.
    pub fn find_folder(&self) -> Result<PathBuf, CommandFailure> {
        let folder = self.folder();
        match folder.is_dir() {
            true => Ok(folder),
            false => Err(CommandFailure::new(
                Exit::Usage,
                format!(
                    "there is no baseline `{}` in {}; keep a run as one: bakeoff run … --save-baseline {}",
                    self.0,
                    folder.parent().unwrap_or(Path::new(".")).display(),
                    self.0
                ),
            )),
        }
    }

    /// Copies a finished run, and only then takes the place of an earlier one of this name.
    pub fn save(&self, run: &Path) -> Result<PathBuf, CommandFailure> {
        let folder = self.folder();
        self.replace_by(run, &folder).map_err(|error| {
            let exit =
                if error.kind() == ErrorKind::StorageFull { Exit::Full } else { Exit::Failed };
            let path = folder.display();
            CommandFailure::new(exit, format!("the baseline {path} can't be written: {error}"))
        })?;
        Ok(folder)
    }

    fn replace_by(&self, run: &Path, folder: &Path) -> io::Result<()> {
        let beside = |end: &str| folder.with_file_name(format!(".{}.{end}", self.0));
        let (new, old) = (beside("new"), beside("old"));
        [&new, &old].into_iter().try_for_each(|it| remove_baseline(it))?;
        fs::create_dir_all(&new)?;
        for name in RUN_FILES {
            fs::copy(run.join(name), new.join(name))?;
            fs::File::open(new.join(name))?.sync_all()?;
        }
        // What stands there is kept until the new one has its name.
        if folder.exists() {
            RunFolder::open(folder).map_err(|error| io::Error::other(error.to_string()))?;
            fs::rename(folder, &old)?;
        }
        fs::rename(&new, folder)?;
        remove_baseline(&old)
    }
}

/// Only the files of a run, and the folder if nothing else is in it.
fn remove_baseline(folder: &Path) -> io::Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    for name in RUN_FILES {
        match fs::remove_file(folder.join(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    fs::remove_dir(folder)
}
