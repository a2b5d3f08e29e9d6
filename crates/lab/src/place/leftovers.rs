//! Folders of work that must not outlive their run, even when it is killed.
//!
//! Each run notes its work folder in a file of a common place, and holds a lock on that file. The
//! lock goes with the process, so a note that can be locked belongs to a run that is gone: the
//! next bakeoff removes the folder it names. The note says which folder it was, by its device and
//! inode: what is found under its name is removed if it is that one, and through no link.

mod remove;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub use bakeoff_disk::registry::place as registry;
use bakeoff_trust::TrustedFolder;
use rustix::fs::{FlockOperation, Mode, OFlags};

use remove::{FolderIdentity, remove_work};

/// What marks a folder as bakeoff's to remove.
const MARKER: &str = ".bakeoff-work";

/// How the name of a note begins that is not written yet.
const UNNAMED: &str = ".new-";

/// How long writing a note may take.
const WRITING: std::time::Duration = std::time::Duration::from_secs(60);

/// How often a folder is tried to be removed at the end of a run, and how long between.
const REMOVALS: u32 = 5;
const PAUSE: std::time::Duration = std::time::Duration::from_millis(50);

/// No note is longer: a path and two numbers.
const LONGEST: u64 = 64 << 10;

/// A folder for intermediate files; removed when dropped.
#[derive(Debug)]
pub struct WorkFolder {
    /// What it lies in.
    parent: TrustedFolder,
    folder: TrustedFolder,
    name: String,
    note: PathBuf,
    /// Held locked as long as the run lives.
    _lock: File,
}

impl WorkFolder {
    /// Makes the folder `name` in `parent`, noted in the registry `registry` (see [`registry`]). What
    /// a killed run left there is removed first.
    ///
    /// # Errors
    /// When it can't be made, or something is there that is not bakeoff's.
    pub fn create(parent: TrustedFolder, name: &str, registry: &Path) -> io::Result<Self> {
        remove_work(&parent, name.as_ref(), None)?;
        let path = parent.path().join(name);
        let text = path.to_string_lossy().replace('/', "+");
        let short: String = text.chars().rev().take(200).collect::<Vec<_>>().iter().rev().collect();
        let note = registry.join(format!("{}{short}", std::process::id()));
        // Locked and written before it gets its name: a sweep never sees half a note.
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
        // From here on the folder is known, and so is which it is as soon as there is one.
        let made = parent.below(name).map_err(io::Error::from).and_then(|folder| {
            rustix::fs::fchmod(&folder, mode())?;
            file.write_all(FolderIdentity::from_folder(&folder)?.noted().as_bytes())?;
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

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// What lies there may come from files that others can't read, and they can't be told apart: nobody
/// else gets in, nor may list it.
fn mode() -> Mode {
    if bakeoff_engines::servers_go_by_path() { Mode::from_raw_mode(0o711) } else { Mode::RWXU }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        let identity = FolderIdentity::from_folder(&self.folder).ok();
        // What is short now, as descriptors, may be there in a moment. A folder that can't be removed
        // stays noted, for the next bakeoff to try.
        for _ in 0..REMOVALS {
            if remove_work(&self.parent, self.name.as_ref(), identity).is_ok() {
                let _ = fs::remove_file(&self.note);
                return;
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// Removes the work folders of runs that are gone; returns those that were removed.
///
/// # Errors
/// When the registry can't be read; a folder that can't be removed stays noted.
pub fn sweep(registry: &Path) -> io::Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    for entry in fs::read_dir(registry)? {
        let entry = entry?;
        // A note without its name is being written this moment, or was given up long ago.
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

/// What the note of a run that is gone says. Nobody else takes it up as long as this is held.
struct LeftoverNote {
    folder: PathBuf,
    /// Which folder it was; `None` where the run was killed before it was made.
    identity: Option<FolderIdentity>,
    _lock: File,
}

impl LeftoverNote {
    /// Reads a note of this user's whose run is gone; nobody else's is believed.
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
        let (folder, identity) = FolderIdentity::split(&text);
        let folder = PathBuf::from(OsString::from_vec(folder.to_vec()));
        folder.is_absolute().then_some(Self { folder, identity, _lock: file })
    }

    /// Removes the folder, if it is there and the one that was noted; whether it was.
    fn clear(&self) -> io::Result<bool> {
        let (Some(parent), Some(name)) = (self.folder.parent(), self.folder.file_name()) else {
            return Ok(false);
        };
        // Where everybody may write, nobody else can have put another folder there.
        let parent = bakeoff_trust::holder(parent)?;
        remove_work(&parent, name, Some(self.identity.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place with a registry in it.
    fn place() -> (tempfile::TempDir, PathBuf, TrustedFolder) {
        let place = tempfile::tempdir().unwrap();
        let registry = place.path().join("registry");
        fs::create_dir(&registry).unwrap();
        let folder = bakeoff_trust::folder(place.path()).unwrap();
        (place, registry, folder)
    }

    /// As a killed process does: the lock goes, the folder and the note stay.
    fn kill(work: WorkFolder) -> (PathBuf, PathBuf) {
        let (path, note) = (work.path().to_owned(), work.note.clone());
        let text = fs::read(&note).unwrap();
        let kept = path.with_extension("kept");
        fs::rename(&path, &kept).unwrap();
        drop(work);
        fs::rename(&kept, &path).unwrap();
        fs::write(&note, text).unwrap();
        (path, note)
    }

    #[test]
    fn a_live_folder_is_left_and_a_dead_one_removed() {
        let (_place, registry, folder) = place();
        let live = WorkFolder::create(folder.again().unwrap(), "live", &registry).unwrap();
        let dead = WorkFolder::create(folder.again().unwrap(), "dead", &registry).unwrap();
        fs::create_dir_all(dead.path().join("some/where/deep")).unwrap();
        fs::write(dead.path().join("some/where/data"), "x").unwrap();
        let (dead, _) = kill(dead);
        assert_eq!(sweep(&registry).unwrap(), std::slice::from_ref(&dead));
        assert!(live.path().exists() && !dead.exists());
        drop(live);
        assert_eq!(fs::read_dir(&registry).unwrap().count(), 0);
    }

    #[test]
    fn a_foreign_folder_is_never_touched() {
        let (place, registry, folder) = place();
        let theirs = place.path().join("work");
        fs::create_dir(&theirs).unwrap();
        fs::write(theirs.join("thesis"), "years").unwrap();
        WorkFolder::create(folder.again().unwrap(), "work", &registry).unwrap_err();
        fs::write(registry.join("note"), theirs.to_str().unwrap()).unwrap();
        assert!(sweep(&registry).unwrap().is_empty());
        assert!(theirs.join("thesis").exists());
    }

    #[test]
    fn only_the_folder_that_was_noted_is_removed_under_its_name() {
        let (place, registry, folder) = place();
        let work = WorkFolder::create(folder.again().unwrap(), "work", &registry).unwrap();
        let (path, note) = kill(work);
        let made = place.path().join("made");
        fs::rename(&path, &made).unwrap();
        // Another one of the same look.
        fs::create_dir(&path).unwrap();
        fs::write(path.join(MARKER), "").unwrap();
        fs::write(path.join("thesis"), "years").unwrap();
        assert!(sweep(&registry).unwrap().is_empty());
        assert!(path.join("thesis").exists() && note.exists());
        // A link to the very folder.
        fs::remove_dir_all(&path).unwrap();
        std::os::unix::fs::symlink(&made, &path).unwrap();
        assert!(sweep(&registry).unwrap().is_empty());
        assert!(made.join(MARKER).exists() && note.exists());
        // Itself.
        fs::remove_file(&path).unwrap();
        fs::rename(&made, &path).unwrap();
        assert_eq!(sweep(&registry).unwrap(), std::slice::from_ref(&path));
        assert!(!path.exists() && !note.exists());
    }

    #[test]
    fn what_was_killed_before_its_folder_was_known_leaves_an_empty_one_at_most() {
        let (place, registry, _) = place();
        for (name, full) in [("empty", false), ("full", true)] {
            let path = place.path().join(name);
            fs::create_dir(&path).unwrap();
            if full {
                fs::write(path.join(MARKER), "").unwrap();
            }
            fs::write(registry.join(name), path.to_str().unwrap()).unwrap();
        }
        sweep(&registry).unwrap();
        assert!(!place.path().join("empty").exists() && place.path().join("full").exists());
    }

    #[test]
    fn a_note_of_somebody_else_s_or_behind_a_link_is_not_believed() {
        let (place, registry, folder) = place();
        let work = WorkFolder::create(folder.again().unwrap(), "work", &registry).unwrap();
        let (path, note) = kill(work);
        let elsewhere = place.path().join("note");
        fs::rename(&note, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &note).unwrap();
        assert!(sweep(&registry).unwrap().is_empty() && path.exists());
        fs::remove_file(&note).unwrap();
        fs::rename(&elsewhere, &note).unwrap();
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&note, Some(65534), Some(65534)).unwrap();
            assert!(sweep(&registry).unwrap().is_empty() && path.exists());
        }
    }
}
