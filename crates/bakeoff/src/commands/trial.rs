//! `bakeoff trial`: a trial's process; the lab talks to it over standard input and output.

use std::io;

use bakeoff_lab::ChildProgram;

use crate::Lab;
use crate::exit::{CommandFailure, Exit};

pub fn run(lab: &Lab) -> Result<Exit, CommandFailure> {
    bakeoff_lab::run_child(&lab.registry, &mut io::stdin().lock(), &mut io::stdout());
    Ok(Exit::Done)
}

pub fn own_program() -> Result<ChildProgram, CommandFailure> {
    let path = std::env::current_exe().map_err(|error| {
        CommandFailure::new(
            Exit::Failed,
            format!("bakeoff can't find its own program file: {error}"),
        )
    })?;
    Ok(ChildProgram { path, arguments: vec!["trial".into()] })
}
