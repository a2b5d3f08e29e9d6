//! Folders that other users may enter, such as a server's user, and programs in them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// A temporary folder that every user may enter, with a short path, as a socket's address needs.
pub fn folder_for_all() -> TempDir {
    let folder = tempfile::Builder::new().prefix("bakeoff-").tempdir_in("/tmp");
    let folder = folder.expect("a temporary folder");
    open_to_all(folder.path());
    folder
}

/// Lets every user enter a folder and read its files.
pub fn open_to_all(folder: &Path) {
    fs::set_permissions(folder, Permissions::from_mode(0o755)).expect("a folder of ours");
}

/// Writes a program that every user can run: a script for `sh`.
pub fn write_script(path: &Path, text: &str) {
    let script = path.with_extension("script");
    fs::write(&script, format!("#!/bin/sh\n{text}\n")).expect("room");
    // By another process: a file that is open for writing here, or in a child that another test is
    // starting, could not be run.
    let mut install = Command::new("install");
    install.args(["-m", "755"]).arg(&script).arg(path);
    assert!(install.status().expect("it is on every system").success());
    fs::remove_file(script).expect("it was written");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AS_NOBODY, is_root};

    #[test]
    fn every_user_can_run_a_script_in_such_a_folder() {
        let folder = folder_for_all();
        let program = folder.path().join("program");
        write_script(&program, "echo \"said $1\"");
        let mut command = match AS_NOBODY {
            [setpriv, options @ ..] if is_root() => {
                let mut command = Command::new(setpriv);
                command.args(options).arg(&program);
                command
            }
            _ => Command::new(&program),
        };
        let done = command.arg("so").output().unwrap();
        assert_eq!(String::from_utf8(done.stdout).unwrap(), "said so\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left there");
    }
}
