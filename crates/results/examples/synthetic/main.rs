//! Writes a run folder of synthetic test data, to time and try reports with:
//! `cargo run --release -p bakeoff-results --example synthetic -- DIR [TRIALS]`.

mod data;
mod folder;

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().ok_or("usage: synthetic DIR [TRIALS]")?;
    let trials = arguments.next().map_or(Ok(10_000), |number| number.parse())?;
    folder::write(Path::new(&dir), trials)?;
    println!("wrote synthetic test data, {trials} trials, to {dir}");
    Ok(())
}
