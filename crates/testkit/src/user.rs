//! Root, and the ordinary user that root can be.

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
///
/// # Panics
/// In CI, if it is not.
#[track_caller]
pub fn needs_root(to: &str) -> bool {
    let root = is_root();
    if !root {
        crate::skip(format_args!("only root can {to}"));
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

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
