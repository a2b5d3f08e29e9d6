//! Goes into each crate: says which mutant is on, and notes each that is reached.

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the mutant is on, by `MUTANT`; notes its first call in the file that `MUTANT_REACHED` names.
pub fn on(id: u32) -> bool {
    static REACHED: OnceLock<Option<std::ffi::OsString>> = OnceLock::new();
    static NOTED: [AtomicBool; 4096] = [const { AtomicBool::new(false) }; 4096];
    static CHOSEN: OnceLock<Option<u32>> = OnceLock::new();
    if let Some(path) = REACHED.get_or_init(|| std::env::var_os("MUTANT_REACHED"))
        && !NOTED[id as usize].swap(true, Ordering::Relaxed)
        && let Ok(mut file) = OpenOptions::new().append(true).create(true).open(path)
    {
        // One call, so that processes do not write into each other's lines.
        let _ = file.write_all(format!("{id}\n").as_bytes());
    }
    let chosen = || std::env::var("MUTANT").ok().and_then(|text| text.parse().ok());
    *CHOSEN.get_or_init(chosen) == Some(id)
}
