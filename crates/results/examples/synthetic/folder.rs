//! A run folder of synthetic test data, of any size.

use std::path::Path;

use bakeoff_results::{Canary, Result, Run, RunFolder, Status, Trial};

use crate::data::{self, TrialGenerator};

/// What its experiment says.
pub const EXPERIMENT: &str = "# synthetic test data\n";

const CLIENTS: [&str; 5] = ["1", "2", "4", "8", "16"];
const NEIGHBOURS: [&str; 5] = ["0", "25%", "x1", "x2", "x4"];
const COMBINATIONS: u32 = (CLIENTS.len() * NEIGHBOURS.len()) as u32;

/// A run of so many trials, over all combinations.
pub fn run(trials: u32) -> Run {
    data::run(&CLIENTS, &NEIGHBOURS, trials)
}

/// What makes its trials, the same for the same seed.
pub fn generator(seed: u64) -> TrialGenerator {
    TrialGenerator::new(seed, 40)
}

/// The trials of a block of that run.
pub fn block(generator: &mut TrialGenerator, number: u32) -> Vec<Trial> {
    let combination = (number % COMBINATIONS) as usize;
    let cell =
        [CLIENTS[combination / NEIGHBOURS.len()], NEIGHBOURS[combination % NEIGHBOURS.len()]];
    generator.block(number / COMBINATIONS, number, cell)
}

/// A look at the machine alone, in seconds since 1970.
pub fn canary(at_s: f64) -> Canary {
    Canary { at_s, cpu_s: 0.1, memory_s: 0.05, sync_s: 0.001, read_s: None, off: None }
}

/// Writes a finished run of `trials` trials into `dir`.
pub fn write(dir: &Path, trials: u32) -> Result<()> {
    let run = run(trials);
    let mut folder = RunFolder::create(dir, &run, EXPERIMENT)?;
    let mut generator = generator(1);
    let (mut written, mut number) = (0, 0);
    while written < trials {
        folder.commit_canary(&canary(run.started_s + f64::from(number)))?;
        for trial in block(&mut generator, number).iter().take((trials - written) as usize) {
            folder.commit_trial(trial)?;
            written += 1;
        }
        number += 1;
    }
    folder.set_status(Status::Finished, Some(run.started_s + f64::from(number)))
}
