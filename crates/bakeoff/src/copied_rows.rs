//! `--rows-from` for an application: its rows are copied into a rows file before anything is planned.

use std::path::PathBuf;

use bakeoff_application::{ApplicationFiles, CopyRequest};

use crate::application::refuse;
use crate::cli;
use crate::exit::CommandFailure;
use crate::output::say;

/// The files of an application with the rows that the flag names, if it does.
pub fn copy_rows(
    mut files: ApplicationFiles,
    arguments: &cli::RunArguments,
) -> Result<ApplicationFiles, CommandFailure> {
    let Some(source) = &arguments.keys.rows_from else { return Ok(files) };
    let Some(source) = source.to_str() else {
        return Err(refuse("--rows-from names a file whose name is not UTF-8: rename it"));
    };
    let request = CopyRequest::from_files(&files).map_err(refuse)?;
    let mut tell = |what: &str| {
        if !arguments.quiet {
            say(what);
        }
    };
    let folder = find_folder();
    bakeoff_folders::trust::make(&folder).map_err(|error| refuse(error.to_string()))?;
    let known: Vec<PathBuf> =
        std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|it| it.path()).collect();
    let mut copied = request.copy_rows(source, &folder, &mut tell).map_err(refuse)?;
    copied.is_new = !known.contains(&copied.path);
    if !arguments.dry_run {
        say(format_args!(
            "copied; delete the rows when you need them no longer: rm '{}'",
            copied.path.display()
        ));
    }
    files.copied = Some(copied);
    Ok(files)
}

/// The user's cache: trials read it, and a run that goes on.
fn find_folder() -> PathBuf {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let cache = named("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || named("HOME").map(|home| PathBuf::from(home).join(".cache"));
    cache.or_else(home).unwrap_or_else(std::env::temp_dir).join("bakeoff")
}
