//! Finds the folder of a user's notes, which nobody else can write to or replace.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use bakeoff_folders::trust;

/// For root without a folder of its own. It is gone after a restart, as mounts are.
const ROOTS: &str = "/run";
const OTHERS_WRITE: u32 = 0o022;

/// The folder of this user's notes, made with mode 700 if missing: `bakeoff` in `$XDG_RUNTIME_DIR`
/// if that is the user's own; else `/run/bakeoff` for root, and `bakeoff-UID` in the temporary
/// folder for others. Fails if it belongs to somebody else, or others may use it.
pub fn find_notes_folder() -> io::Result<PathBuf> {
    let user = rustix::process::getuid().as_raw();
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let place = match runtime.filter(|runtime| is_own(runtime, user)) {
        Some(runtime) => runtime.join("bakeoff"),
        None if user == 0 => Path::new(ROOTS).join("bakeoff"),
        None => std::env::temp_dir().join(format!("bakeoff-{user}")),
    };
    make_private_folder(&place, user)?;
    Ok(place)
}

fn make_private_folder(place: &Path, user: u32) -> io::Result<()> {
    let at = place.display();
    match fs::DirBuilder::new().mode(0o700).create(place) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            let why =
                format!("{at} can't be made: {error}; set XDG_RUNTIME_DIR to a folder of your own");
            return Err(io::Error::new(error.kind(), why));
        }
        _ => {}
    }
    let there = fs::symlink_metadata(place)?;
    let another = "have it removed, or set XDG_RUNTIME_DIR to a folder of your own";
    let why = if !there.is_dir() {
        format!("{at} is not a folder: {another}")
    } else if there.uid() != user {
        format!("{at} belongs to user {}: {another}", there.uid())
    } else if there.mode() & 0o077 != 0 {
        format!("{at} is open to others: see that what is in it is yours, then chmod 700 {at}")
    } else {
        return Ok(());
    };
    Err(io::Error::new(ErrorKind::PermissionDenied, why))
}

/// Whether a folder is this user's own and closed to writing by others. For root, the whole way
/// must be closed to others: a user who can write a folder above can replace it.
fn is_own(folder: &Path, user: u32) -> bool {
    let own = fs::symlink_metadata(folder).is_ok_and(|there| {
        there.is_dir() && there.uid() == user && there.mode() & OTHERS_WRITE == 0
    });
    folder.is_absolute() && own && (user != 0 || trust::folder(folder).is_ok())
}
