//! Where a user's notes are: a folder that nobody else can write to or replace.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::own::OTHERS_WRITE;

/// In which folder root's is where none of its own is named: it is gone after a restart, as mounts
/// are.
const ROOTS: &str = "/run";
/// The bit of a shared folder in which nobody can rename or remove what is another user's.
const STICKY: u32 = 0o1000;

/// The place of this user's notes, made with mode 700 if it is not there: `bakeoff` in
/// `$XDG_RUNTIME_DIR` where that is a folder of the user's own; else `/run/bakeoff` for root, and
/// `bakeoff-UID` in the temporary folder for others.
///
/// # Errors
/// It can't be made, belongs to somebody else, or others may use it.
pub fn place() -> io::Result<PathBuf> {
    let user = rustix::process::getuid().as_raw();
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let place = match runtime.filter(|runtime| is_own(runtime, user)) {
        Some(runtime) => runtime.join("bakeoff"),
        None if user == 0 => Path::new(ROOTS).join("bakeoff"),
        None => std::env::temp_dir().join(format!("bakeoff-{user}")),
    };
    make(&place, user)?;
    Ok(place)
}

/// Makes a folder that is this user's alone, or sees that it is.
fn make(place: &Path, user: u32) -> io::Result<()> {
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

/// Whether a folder is this user's own and others can't write it. Root's must be out of others'
/// reach on the whole way: who can write a folder above it can put another one in its place.
fn is_own(folder: &Path, user: u32) -> bool {
    let own = |there: &Metadata| {
        there.is_dir() && there.uid() == user && there.mode() & OTHERS_WRITE == 0
    };
    if !folder.is_absolute() || !fs::symlink_metadata(folder).is_ok_and(|there| own(&there)) {
        return false;
    }
    let safe = |there: &Metadata| own(there) || there.uid() == 0 && there.mode() & STICKY != 0;
    let above = || {
        folder.canonicalize().into_iter().flat_map(|folder| {
            folder.ancestors().skip(1).map(Path::to_path_buf).collect::<Vec<_>>()
        })
    };
    user != 0 || above().all(|folder| fs::metadata(folder).is_ok_and(|there| safe(&there)))
}
