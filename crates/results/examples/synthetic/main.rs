//! Writes a run folder of synthetic test data, to time and try reports with, or those of its shards:
//! `cargo run --release -p bakeoff-results --example synthetic -- DIR [TRIALS [SHARDS]]`.

mod data;
mod folder;
mod shards;

use std::num::NonZeroU32;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().ok_or("usage: synthetic DIR [TRIALS [SHARDS]]")?;
    let trials = arguments.next().map_or(Ok(10_000), |number| number.parse())?;
    let shards = arguments.next().map(|number| number.parse::<NonZeroU32>()).transpose()?;
    match shards {
        None => folder::write(Path::new(&dir), trials)?,
        Some(shards) => shards::write(Path::new(&dir), trials, shards)?,
    }
    println!("wrote synthetic test data, {trials} trials, to {dir}");
    Ok(())
}
