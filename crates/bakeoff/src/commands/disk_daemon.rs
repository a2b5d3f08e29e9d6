//! `bakeoff disk-daemon`: a mounted disk's own process, told on standard input what to mount by whoever
//! starts it, and answering on standard output.

use std::io;

use bakeoff_disk::daemon;
use bakeoff_disk::mount::Launcher;
use bakeoff_disk::registry;

use crate::Lab;
use crate::exit::{CommandFailure, Exit};
use crate::output::say;

/// Mounts what standard input says, and serves it until it is unmounted.
pub fn run(lab: &Lab) -> Result<Exit, CommandFailure> {
    sweep()?;
    daemon::launched(lab.registry.models(), &mut io::stdin().lock(), &mut io::stdout())?;
    Ok(Exit::Done)
}

/// This program as such a process.
pub fn launcher() -> Result<Launcher, CommandFailure> {
    let program = std::env::current_exe().map_err(|error| {
        CommandFailure::new(
            Exit::Failed,
            format!("bakeoff can't find its own program file: {error}"),
        )
    })?;
    Ok(Launcher { program, arguments: vec!["disk-daemon".into()] })
}

/// Removes what killed daemons left.
pub fn sweep() -> Result<(), CommandFailure> {
    let swept = registry::sweep().map_err(|error| {
        CommandFailure::new(Exit::Failed, format!("the notes of mounts can't be read: {error}"))
    })?;
    for mountpoint in swept {
        say(format_args!("{}: unmounted, since its daemon was gone", mountpoint.display()));
    }
    Ok(())
}
