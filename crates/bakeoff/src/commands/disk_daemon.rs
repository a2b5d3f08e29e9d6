//! `bakeoff disk-daemon`: the process of a mounted disk. It reads its settings from standard input.

use std::io;

use bakeoff_disk::daemon;
use bakeoff_disk::mount::Launcher;
use bakeoff_disk::registry;

use crate::Lab;
use crate::exit::{CommandFailure, Exit};
use crate::output::say;

pub fn run(lab: &Lab) -> Result<Exit, CommandFailure> {
    sweep_mounts()?;
    daemon::run_launched(lab.registry.models(), &mut io::stdin().lock(), &mut io::stdout())?;
    Ok(Exit::Done)
}

pub fn own_launcher() -> Result<Launcher, CommandFailure> {
    let program = std::env::current_exe().map_err(|error| {
        CommandFailure::new(
            Exit::Failed,
            format!("bakeoff can't find its own program file: {error}"),
        )
    })?;
    Ok(Launcher { program, arguments: vec!["disk-daemon".into()] })
}

pub fn sweep_mounts() -> Result<(), CommandFailure> {
    let swept = registry::sweep().map_err(|error| {
        CommandFailure::new(Exit::Failed, format!("the notes of mounts can't be read: {error}"))
    })?;
    for mountpoint in swept {
        say(format_args!("{}: unmounted, since its daemon was gone", mountpoint.display()));
    }
    Ok(())
}
