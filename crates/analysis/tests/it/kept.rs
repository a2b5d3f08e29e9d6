//! The run folders that are kept beside the findings, with their databases packed, and how pages write figures.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use bakeoff_results::RunFolder;
use flate2::read::GzDecoder;

/// Where a file or a folder of docs/findings is.
pub fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../docs/findings", name].iter().collect()
}

/// What is taken out of a run folder of docs/findings. Its database is unpacked into a temporary folder, which is
/// removed afterwards.
pub fn read<T>(name: &str, take: impl FnOnce(&RunFolder) -> T) -> T {
    let place = crate::place();
    let path = path(name).join("run.sqlite.gz");
    let packed = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut database = File::create(place.path().join("run.sqlite")).unwrap();
    io::copy(&mut GzDecoder::new(packed), &mut database).unwrap();
    drop(database);
    take(&RunFolder::open(place.path()).unwrap())
}

/// Three significant digits.
pub fn digits(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let whole = value.abs().log10().floor().max(-4.0) as i32;
    let step = 10_f64.powi(whole - 2);
    format!("{:.*}", (2 - whole).max(0) as usize, (value / step).round() * step)
}
