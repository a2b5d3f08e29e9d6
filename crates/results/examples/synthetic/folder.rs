//! A run folder of synthetic test data, of any size.

use std::path::Path;

use bakeoff_results::{Canary, Result, Run, RunFolder, Status};

use crate::data::{self, Trials};

/// The levels of two factors: a repetition has a block for each combination.
pub const CLIENTS: [&str; 5] = ["1", "2", "4", "8", "16"];
pub const NEIGHBOURS: [&str; 5] = ["0", "25%", "x1", "x2", "x4"];

/// Writes a finished run of `trials` trials into `dir`.
pub fn write(dir: &Path, trials: u32) -> Result<()> {
    write_part(dir, &data::run(&CLIENTS, &NEIGHBOURS, trials), 0, trials)
}

/// Writes `trials` trials of a run into `dir`, from the block `first` on.
pub fn write_part(dir: &Path, run: &Run, first: u32, trials: u32) -> Result<()> {
    let mut folder = RunFolder::create(dir, run, "# synthetic test data\n")?;
    let mut generator = Trials::new(u64::from(first) + 1, 40);
    let (mut written, mut block) = (0, first);
    while written < trials {
        let combination = block as usize % (CLIENTS.len() * NEIGHBOURS.len());
        let cell =
            [CLIENTS[combination / NEIGHBOURS.len()], NEIGHBOURS[combination % NEIGHBOURS.len()]];
        let at_s = run.started_s + f64::from(block);
        folder.commit_canary(&Canary {
            at_s,
            cpu_s: 0.1,
            memory_s: 0.05,
            sync_s: 0.001,
            read_s: None,
            off: None,
        })?;
        let repetition = block / (CLIENTS.len() * NEIGHBOURS.len()) as u32;
        for trial in
            generator.block(repetition, block, cell).iter().take((trials - written) as usize)
        {
            folder.commit_trial(trial)?;
            written += 1;
        }
        block += 1;
    }
    folder.set_status(Status::Finished, Some(run.started_s + f64::from(block)))
}
