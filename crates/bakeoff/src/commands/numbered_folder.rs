//! The folder of a command that makes several runs.

use std::path::{Path, PathBuf};

use bakeoff_results::Error;

use crate::exit::{CommandFailure, Exit};

/// The folder that is named, if it is empty; else `bakeoff-NAME-1`, or the next number that is free.
/// `instead` says what else can be done with a folder `{}` that holds something.
pub fn make_numbered_folder(
    name: &str,
    out: Option<&Path>,
    instead: &str,
) -> Result<PathBuf, CommandFailure> {
    let make = |dir: &Path| -> Result<bool, Error> {
        let held = bakeoff_folders::trust::make(dir)?;
        Ok(held.was_made() || dir.read_dir().is_ok_and(|mut it| it.next().is_none()))
    };
    if let Some(dir) = out {
        if make(dir).map_err(CommandFailure::from_folder_error)? {
            return Ok(dir.to_owned());
        }
        let shown = dir.display().to_string();
        let text = format!(
            "{shown} exists and is not empty; name another folder with --out{}{}",
            if instead.is_empty() { "" } else { ", " },
            instead.replace("{}", &shown)
        );
        return Err(CommandFailure::new(Exit::Folder, text));
    }
    for number in 1.. {
        let dir = PathBuf::from(format!("bakeoff-{name}-{number}"));
        if make(&dir).map_err(CommandFailure::from_folder_error)? {
            return Ok(dir);
        }
    }
    unreachable!("numbers do not run out")
}
