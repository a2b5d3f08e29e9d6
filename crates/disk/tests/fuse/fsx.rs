//! fsx, the file system exerciser (`fsx` on crates.io), on a mount.
//!
//! It is looked for in `target/fsx/bin` and in the `PATH`; in CI it must be there:
//! `cargo install fsx --version 0.3.2 --locked --root target/fsx`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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
    let usual = if std::env::var_os("CI").is_some() { "100000" } else { "10000" };
    std::env::var("BAKEOFF_FSX_OPERATIONS").unwrap_or_else(|_| usual.to_owned())
}

fn program() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/fsx/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::iter::once(own).chain(std::env::split_paths(&path));
    folders.find_map(|folder| Some(folder.join("fsx")).filter(|program| program.exists()))
}

#[test]
fn fsx_finds_no_difference() {
    let Some(fsx) = program() else {
        let install = "cargo install fsx --version 0.3.2 --locked --root target/fsx";
        assert!(std::env::var_os("CI").is_none(), "CI must have fsx: {install}");
        return eprintln!("skipped: no fsx; get it with {install}");
    };
    let Some(disk) = Disk::mount("null") else { return };
    let config = disk.folders.path().join("fsx.toml");
    fs::write(&config, CONFIG).unwrap();
    let mut fsx = Command::new(fsx);
    fsx.args(["-N", &operations(), "-S", "1", "-f"]).arg(&config);
    let run = fsx.arg(disk.path("file")).current_dir(disk.folders.path()).output().unwrap();
    let told = [run.stdout, run.stderr].concat();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&told));
}
