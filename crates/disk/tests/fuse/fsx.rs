//! fsx, the file system exerciser (`fsx` on crates.io), on a mount.
//!
//! It is looked for in `target/fsx/bin` and in the `PATH`. In CI it is installed where it is not
//! there, which takes a minute or two; elsewhere the test is skipped then.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bakeoff_testkit::{in_ci, skip};

use crate::common::Disk;

/// All that it can do to a file. Its sizes are no multiples of anything.
const CONFIG: &str = "
flen = 1000000
[weights]
close_open = 1
invalidate = 1
mapread = 2
mapwrite = 2
read = 4
write = 4
truncate = 1
fsync = 0.3
fdatasync = 0.3
posix_fallocate = 1
punch_hole = 1
sendfile = 1
posix_fadvise = 1
copy_file_range = 1
";

/// Operations: 100,000 in CI, which take half a minute; `BAKEOFF_FSX_OPERATIONS` sets another
/// number.
fn operations() -> String {
    let usual = if in_ci() { "100000" } else { "10000" };
    std::env::var("BAKEOFF_FSX_OPERATIONS").unwrap_or_else(|_| usual.to_owned())
}

/// Where `cargo install` puts it.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/fsx")
}

fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::iter::once(root().join("bin")).chain(std::env::split_paths(&path));
    folders.find_map(|folder| Some(folder.join("fsx")).filter(|program| program.exists()))
}

fn install() -> Option<PathBuf> {
    let what = ["install", "fsx", "--version", "0.3.2", "--locked", "--root"];
    if !in_ci() {
        skip(format_args!("no fsx; cargo {} target/fsx", what.join(" ")));
        return None;
    }
    let installed = Command::new(env!("CARGO")).args(what).arg(root()).status().unwrap();
    assert!(installed.success(), "CI must have fsx, and cargo can't install it: {installed}");
    program()
}

#[test]
#[ignore = "slow: make test-all"]
fn fsx_finds_no_difference() {
    let Some(fsx) = program().or_else(install) else { return };
    let Some(disk) = Disk::mount("null") else { return };
    let config = disk.folders.path().join("fsx.toml");
    fs::write(&config, CONFIG).unwrap();
    let mut fsx = Command::new(fsx);
    fsx.args(["-N", &operations(), "-S", "1", "-f"]).arg(&config);
    let run = fsx.arg(disk.path("file")).current_dir(disk.folders.path()).output().unwrap();
    let told = [run.stdout, run.stderr].concat();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&told));
}
