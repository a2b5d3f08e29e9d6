//! Writes a run folder of synthetic test data, to time and try reports with, or the folders of a plan's shards,
//! to time merging with: `cargo run --release -p bakeoff-testkit --example synthetic -- DIR [TRIALS [SHARDS]]`.

use std::path::Path;

use bakeoff_testkit::synthetic::{BLOCK_TRIALS, write_folder, write_shards};

const USAGE: &str = "usage: synthetic DIR [TRIALS [SHARDS]]";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().ok_or(USAGE)?;
    let trials: u32 = arguments.next().map_or(Ok(10_000), |number| number.parse())?;
    let Some(count) = arguments.next() else {
        write_folder(Path::new(&dir), trials)?;
        println!("wrote synthetic test data, {trials} trials, to {dir}");
        return Ok(());
    };
    let count: u32 = count.parse()?;
    let least = count.checked_mul(BLOCK_TRIALS).filter(|least| *least > 0).ok_or(USAGE)?;
    if !trials.is_multiple_of(least) {
        return Err(format!("{count} shards have whole blocks: give a multiple of {least}").into());
    }
    write_shards(Path::new(&dir), trials, count)?;
    println!("wrote synthetic test data, {trials} trials in {count} shards, to {dir}");
    Ok(())
}
