//! Work folders that must not outlive their run, even a killed one.
//!
//! Each run notes its work folder in a file of a common place and locks that file. The lock goes
//! with the process, so a note that can be locked belongs to a run that is gone, and the next
//! bakeoff removes its folder. The note has device and inode: only that folder is removed, and
//! through no link.

mod remove;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub use bakeoff_disk::registry::find_notes_folder as registry;
use bakeoff_folders::trust::TrustedFolder;
use rustix::fs::{FlockOperation, Mode, OFlags};

use remove::{FolderIdentity, remove_work};

const MARKER: &str = ".bakeoff-work";

const UNNAMED: &str = ".new-";

const WRITING: std::time::Duration = std::time::Duration::from_secs(60);

const REMOVALS: u32 = 5;
const PAUSE: std::time::Duration = std::time::Duration::from_millis(50);

const LONGEST: u64 = 64 << 10;

/// Removed when dropped.
#[derive(Debug)]
pub struct WorkFolder {
    parent: TrustedFolder,
    folder: TrustedFolder,
    name: String,
    note: PathBuf,
    _lock: File,
}

impl WorkFolder {
    /// Makes the folder `name` and notes it in `registry` (see [`registry`]). Removes first what a
    /// killed run left there.
    pub fn create(parent: TrustedFolder, name: &str, registry: &Path) -> io::Result<Self> {
        remove_work(&parent, name.as_ref(), None)?;
        let path = parent.path().join(name);
        let text = path.to_string_lossy().replace('/', "+");
        let short: String = text.chars().rev().take(200).collect::<Vec<_>>().iter().rev().collect();
        let note = registry.join(format!("{}{short}", std::process::id()));
        // Locked and written before it gets its name: no sweep sees half a note.
        let unnamed = registry.join(format!("{UNNAMED}{}", std::process::id()));
        let mut file = File::create_new(&unnamed)
            .or_else(|_| fs::remove_file(&unnamed).and_then(|()| File::create_new(&unnamed)))?;
        let noted = rustix::fs::flock(&file, FlockOperation::LockExclusive)
            .map_err(io::Error::from)
            .and_then(|()| file.write_all(path.as_os_str().as_bytes()))
            .and_then(|()| fs::rename(&unnamed, &note));
        noted.inspect_err(|_| {
            let _ = fs::remove_file(&unnamed);
        })?;
        // From here on the note names the folder, and its identity once it exists.
        let made = parent.make_below(name).map_err(io::Error::from).and_then(|folder| {
            rustix::fs::fchmod(&folder, folder_mode())?;
            file.write_all(FolderIdentity::from_folder(&folder)?.to_note().as_bytes())?;
            Ok(folder)
        });
        let folder = made.inspect_err(|_| {
            let _ = remove_work(&parent, name.as_ref(), Some(FolderIdentity::default()));
            let _ = fs::remove_file(&note);
        })?;
        let work = Self { parent, folder, name: name.into(), note, _lock: file };
        fs::write(work.path().join(MARKER), "bakeoff removes this folder when its run ends\n")?;
        Ok(work)
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Others must not see it: it may come from files that they can't read.
fn folder_mode() -> Mode {
    if bakeoff_engines::servers_go_by_path() { Mode::from_raw_mode(0o711) } else { Mode::RWXU }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        let identity = FolderIdentity::from_folder(&self.folder).ok();
        // Descriptors that are short now may be free in a moment. A folder that stays is noted for
        // the next bakeoff.
        for _ in 0..REMOVALS {
            if remove_work(&self.parent, self.name.as_ref(), identity).is_ok() {
                let _ = fs::remove_file(&self.note);
                return;
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// Removes the work folders of runs that are gone. A folder that can't be removed stays noted.
pub fn sweep_work_folders(registry: &Path) -> io::Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    for entry in fs::read_dir(registry)? {
        let entry = entry?;
        // Being written right now, or given up long ago.
        let unnamed = entry.file_name().as_encoded_bytes().starts_with(UNNAMED.as_bytes());
        if unnamed && entry.metadata()?.modified()?.elapsed().is_ok_and(|age| age < WRITING) {
            continue;
        }
        let Some(note) = LeftoverNote::read(&entry.path()) else { continue };
        if note.clear().unwrap_or(false) {
            removed.push(note.folder.clone());
        }
        if fs::symlink_metadata(&note.folder).is_err() {
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(removed)
}

/// No other process can take the note while it is held.
struct LeftoverNote {
    folder: PathBuf,
    /// `None` if the run was killed before it made the folder.
    identity: Option<FolderIdentity>,
    _lock: File,
}

impl LeftoverNote {
    /// Trusts only notes of this user whose run is gone.
    fn read(path: &Path) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
        let about = file.metadata().ok()?;
        let user = rustix::process::geteuid().as_raw();
        if !about.is_file() || about.uid() != user {
            return None;
        }
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        let mut text = Vec::new();
        (&mut file).take(LONGEST).read_to_end(&mut text).ok()?;
        let (folder, identity) = FolderIdentity::split_note(&text);
        let folder = PathBuf::from(OsString::from_vec(folder.to_vec()));
        folder.is_absolute().then_some(Self { folder, identity, _lock: file })
    }

    fn clear(&self) -> io::Result<bool> {
        let (Some(parent), Some(name)) = (self.folder.parent(), self.folder.file_name()) else {
            return Ok(false);
        };
        // The parent must be a folder where nobody else can replace things.
        let parent = bakeoff_folders::trust::holder(parent)?;
        remove_work(&parent, name, Some(self.identity.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, symlink};

    use super::*;

    /// What somebody else has put there, or what is not what was noted, stays as it is.
    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        let registry = path("registry");
        fs::create_dir(&registry).unwrap();
        let create = |name: &str| {
            let folder = bakeoff_folders::trust::folder(place.path()).unwrap();
            WorkFolder::create(folder, name, &registry)
        };
        // The lock goes, the folder and the note stay.
        let kill = |name: &str| {
            let work = create(name).unwrap();
            fs::create_dir_all(path(name).join("some/where/deep")).unwrap();
            fs::write(path(name).join("some/where/data"), "x").unwrap();
            let (note, text) = (work.note.clone(), fs::read(&work.note).unwrap());
            fs::rename(path(name), path("kept")).unwrap();
            drop(work);
            fs::rename(path("kept"), path(name)).unwrap();
            fs::write(&note, text).unwrap();
            note
        };
        let live = create("live").unwrap();
        let live_note = live.note.clone();
        let dead = kill("dead");
        // Another one of the same look, and a link to the very folder.
        let moved = kill("moved");
        fs::rename(path("moved"), path("made")).unwrap();
        fs::create_dir(path("moved")).unwrap();
        fs::write(path("moved").join(MARKER), "").unwrap();
        let linked = kill("linked");
        fs::rename(path("linked"), path("target")).unwrap();
        symlink(path("target"), path("linked")).unwrap();
        // A folder of somebody else's, which somebody notes.
        fs::create_dir(path("theirs")).unwrap();
        fs::write(path("theirs").join("thesis"), "years").unwrap();
        create("theirs").unwrap_err();
        // What was killed before its folder was known leaves an empty one at most.
        fs::create_dir(path("empty")).unwrap();
        fs::create_dir(path("full")).unwrap();
        fs::write(path("full").join(MARKER), "").unwrap();
        for name in ["theirs", "empty", "full"] {
            fs::write(registry.join(name), path(name).to_str().unwrap()).unwrap();
        }
        // A note behind a link, and one of somebody else's.
        let hidden = kill("hidden");
        fs::rename(&hidden, path("note")).unwrap();
        symlink(path("note"), &hidden).unwrap();
        let foreign = kill("foreign");
        let is_root = rustix::process::geteuid().is_root();
        if is_root {
            chown(&foreign, Some(65534), Some(65534)).unwrap();
        }

        let swept = sweep_work_folders(&registry).unwrap();
        assert!(swept.contains(&path("dead")), "{swept:?}");
        for (name, is_there) in [
            ("live", true),
            ("dead", false),
            ("moved", true),
            ("made", true),
            ("target", true),
            ("theirs/thesis", true),
            ("empty", false),
            ("full", true),
            ("hidden", true),
            ("foreign", is_root),
        ] {
            assert_eq!(path(name).exists(), is_there, "{name}");
        }
        assert!(!dead.exists() && moved.exists() && linked.exists() && live_note.exists());
        // Itself, under its name again.
        fs::remove_dir_all(path("moved")).unwrap();
        fs::rename(path("made"), path("moved")).unwrap();
        assert_eq!(sweep_work_folders(&registry).unwrap(), [path("moved")]);
        assert!(!path("moved").exists() && !moved.exists());
        drop(live);
        assert!(!path("live").exists() && !live_note.exists());
    }
}
