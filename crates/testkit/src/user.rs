//! Root, and the ordinary user that root can be.

use std::process::Command;

use crate::folder_for_all;

/// An ordinary user and its group, on every system.
pub const NOBODY: u32 = 65534;

/// What stands before a command line that root has run by [`NOBODY`].
pub const AS_NOBODY: [&str; 5] =
    ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"];

/// Whether this is root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether this is root. A test that it is not for is skipped: only root can do what `to` says.
#[track_caller]
pub fn needs_root(to: &str) -> bool {
    let root = is_root();
    if !root {
        crate::skip(format_args!("only root can {to}"));
    }
    root
}

/// Runs a test of this program once more, by a root who is less: as a command makes it. Anybody else
/// has run it as it is.
#[track_caller]
pub fn run_test_again(less: &[&str], test: &str) {
    if !is_root() {
        return;
    }
    let place = folder_for_all();
    // Where this program is, nobody else may get to. Another process copies it: a child that some other test starts in
    // the meantime would inherit the open file, and a file that is open for writing can't be executed.
    let program = place.path().join("program");
    let own = std::env::current_exe().expect("a test program");
    assert!(Command::new("cp").arg(own).arg(&program).status().expect("cp").success());
    let mut child = Command::new(less[0]);
    child.args(&less[1..]).arg(program).args(["--exact", test, "--nocapture"]);
    let output = child.output().expect("it starts");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_nobody_a_command_has_that_user_and_no_other_group() {
        if !needs_root("be another user") {
            return;
        }
        let [setpriv, options @ ..] = AS_NOBODY;
        for asked in ["-u", "-G"] {
            let done = Command::new(setpriv).args(options).args(["id", asked]).output().unwrap();
            assert_eq!(String::from_utf8(done.stdout).unwrap().trim(), NOBODY.to_string());
        }
    }
}
