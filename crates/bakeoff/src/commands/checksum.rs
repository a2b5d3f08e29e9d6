//! The SHA-256 of bakeoff's program, which tells one build from another.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::exit::{CommandFailure, Exit};

/// The running program, even if its path leads to another file by now.
const RUNNING: &str = "/proc/self/exe";

const CHUNK: usize = 64 * 1024;

pub fn of_file(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let (mut hash, mut chunk) = (Sha256::new(), vec![0; CHUNK]);
    loop {
        let length = file.read(&mut chunk)?;
        if length == 0 {
            break;
        }
        hash.update(&chunk[..length]);
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

pub fn of_running_program() -> Result<String, CommandFailure> {
    of_file(Path::new(RUNNING)).map_err(|error| {
        let why = format!(
            "bakeoff can't read its own program, whose SHA-256 tells shards of one bakeoff from those of \
             another: {error}; make the file readable"
        );
        CommandFailure::new(Exit::Failed, why)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_sha256sum_however_long_the_file_is() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        for length in [0, 3, CHUNK, 3 * CHUNK + 1] {
            std::fs::write(&path, vec![b'x'; length]).unwrap();
            let told = std::process::Command::new("sha256sum").arg(&path).output().unwrap();
            let told = String::from_utf8(told.stdout).unwrap();
            assert_eq!(Some(&*of_file(&path).unwrap()), told.split(' ').next(), "{length}");
        }
    }

    #[test]
    fn the_running_program_is_the_file_that_was_started() {
        let started = of_file(&std::env::current_exe().unwrap()).unwrap();
        assert_eq!(of_running_program().unwrap(), started);
    }
}
