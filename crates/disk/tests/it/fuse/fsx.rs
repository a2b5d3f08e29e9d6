//! fsx, the file system exerciser (`fsx` on crates.io), on a mount.
//!
//! It is looked for in `target/fsx/bin` and in the `PATH`, and installed into the first of them where
//! it is not there, which takes a minute or two.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::disk::Disk;

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

/// Operations: half a minute's; `BAKEOFF_FSX_OPERATIONS` sets another number.
fn operations() -> String {
    std::env::var("BAKEOFF_FSX_OPERATIONS").unwrap_or_else(|_| "100000".to_owned())
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

fn install() -> PathBuf {
    let what = ["install", "fsx", "--version", "0.3.2", "--locked", "--root"];
    let installed = Command::new(env!("CARGO")).args(what).arg(root()).status().unwrap();
    assert!(installed.success(), "cargo can't install fsx: {installed}");
    program().expect("it was installed")
}

#[test]
#[ignore = "soak: about 3 min"]
fn fsx_finds_no_difference_soak() {
    let fsx = program().unwrap_or_else(install);
    for write_back in [false, true] {
        let Some(disk) = Disk::mount_with("null", write_back) else { return };
        exercise(&fsx, &disk);
    }
}

fn exercise(fsx: &Path, disk: &Disk) {
    let config = disk.folders.path().join("fsx.toml");
    fs::write(&config, CONFIG).unwrap();
    let mut fsx = Command::new(fsx);
    fsx.args(["-N", &operations(), "-S", "1", "-f"]).arg(&config);
    let run = fsx.arg(disk.path("file")).current_dir(disk.folders.path()).output().unwrap();
    let told = [run.stdout, run.stderr].concat();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&told));
}
