//! `bakeoff trial`: a trial's own process, spoken to by the lab over standard input and output.

use std::io;

use bakeoff_lab::Program;

use crate::Lab;
use crate::exit::{Exit, Failure};

/// Does the job that comes on standard input.
pub fn run(lab: &Lab) -> Result<Exit, Failure> {
    bakeoff_lab::child(&lab.registry, &mut io::stdin().lock(), &mut io::stdout());
    Ok(Exit::Done)
}

/// This program as such a process.
pub fn program() -> Result<Program, Failure> {
    let path = std::env::current_exe().map_err(|error| {
        Failure::new(Exit::Failed, format!("bakeoff can't find its own program file: {error}"))
    })?;
    Ok(Program { path, arguments: vec!["trial".into()] })
}
