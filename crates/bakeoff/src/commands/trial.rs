//! `bakeoff trial`: a trial's own process, spoken to by the lab over standard input and output.

use std::io;

use bakeoff_lab::ChildProgram;

use crate::Lab;
use crate::exit::{CommandFailure, Exit};

/// Does the job that comes on standard input.
pub fn run(lab: &Lab) -> Result<Exit, CommandFailure> {
    bakeoff_lab::child(&lab.registry, &mut io::stdin().lock(), &mut io::stdout());
    Ok(Exit::Done)
}

/// This program as such a process.
pub fn program() -> Result<ChildProgram, CommandFailure> {
    let path = std::env::current_exe().map_err(|error| {
        CommandFailure::new(
            Exit::Failed,
            format!("bakeoff can't find its own program file: {error}"),
        )
    })?;
    Ok(ChildProgram { path, arguments: vec!["trial".into()] })
}
