//! `bakeoff trial`: a trial's own process, spoken to by the lab over standard input and output.

use std::io;

use crate::exit::{Exit, Failure};

/// Does the job that comes on standard input.
pub fn run() -> Result<Exit, Failure> {
    bakeoff_lab::child(&mut io::stdin().lock(), &mut io::stdout());
    Ok(Exit::Done)
}
