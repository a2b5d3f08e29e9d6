//! Folders of work that must not outlive their run, even when it is killed.
//!
//! Each run notes its work folder in a file of a common place, and holds a lock on that file. The
//! lock goes with the process, so a note that can be locked belongs to a run that is gone: the
//! next bakeoff removes the folder it names.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

pub use bakeoff_disk::registry::place as registry;
use rustix::fs::FlockOperation;

/// What marks a folder as bakeoff's to remove.
const MARKER: &str = ".bakeoff-work";

/// How the name of a note begins that is not written yet.
const UNNAMED: &str = ".new-";

/// How long writing a note may take.
const WRITING: std::time::Duration = std::time::Duration::from_secs(60);

/// A folder for intermediate files; removed when dropped.
#[derive(Debug)]
pub struct WorkFolder {
    path: PathBuf,
    note: PathBuf,
    /// Held locked as long as the run lives.
    _lock: File,
}

impl WorkFolder {
    /// Makes `path`, noted in the registry `registry` (see [`registry`]). What a killed run left
    /// there is removed first.
    ///
    /// # Errors
    /// When it can't be made, or holds something that is not bakeoff's.
    pub fn create(path: &Path, registry: &Path) -> io::Result<Self> {
        if path.exists() {
            remove_work(path)?;
        }
        let path = std::path::absolute(path)?;
        let name = path.to_string_lossy().replace('/', "+");
        let short: String = name.chars().rev().take(200).collect::<Vec<_>>().iter().rev().collect();
        let note = registry.join(format!("{}{short}", std::process::id()));
        // Locked and written before it gets its name: a sweep never sees half a note.
        let unnamed = registry.join(format!("{UNNAMED}{}", std::process::id()));
        let mut file = File::create(&unnamed)?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
        file.write_all(path.as_os_str().as_encoded_bytes())?;
        fs::rename(&unnamed, &note)?;
        // From here on the folder is known, and goes with this value.
        let work = Self { path, note, _lock: file };
        fs::create_dir(&work.path)?;
        fs::write(work.path.join(MARKER), "bakeoff removes this folder when its run ends\n")?;
        Ok(work)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        // A folder that can't be removed now stays noted, for the next bakeoff to try.
        if remove_work(&self.path).is_ok() || !self.path.exists() {
            let _ = fs::remove_file(&self.note);
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
        let note = entry.path();
        let Ok(mut file) = File::open(&note) else { continue };
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        let mut text = String::new();
        if file.read_to_string(&mut text).is_err() {
            continue;
        }
        let folder = PathBuf::from(text);
        if folder.is_absolute() && folder.exists() && remove_work(&folder).is_ok() {
            removed.push(folder.clone());
        }
        if !folder.exists() {
            let _ = fs::remove_file(&note);
        }
    }
    Ok(removed)
}

/// Removes a work folder, if it is one.
fn remove_work(path: &Path) -> io::Result<()> {
    // A run that was killed just after it had made the folder.
    if fs::read_dir(path)?.next().is_none() {
        return fs::remove_dir(path);
    }
    if !path.join(MARKER).exists() {
        let why = format!("{} is there and is not bakeoff's", path.display());
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
    }
    // The marker goes last, so that a removal that is cut short can be taken up again.
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_name() == MARKER {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_file(path.join(MARKER))?;
    fs::remove_dir(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_live_folder_is_left_and_a_dead_one_removed() {
        let place = tempfile::tempdir().unwrap();
        let registry = place.path().join("registry");
        fs::create_dir(&registry).unwrap();
        let live = WorkFolder::create(&place.path().join("live"), &registry).unwrap();
        let dead = WorkFolder::create(&place.path().join("dead"), &registry).unwrap();
        fs::write(dead.path().join("data"), "x").unwrap();
        let dead_path = dead.path().to_owned();
        // As a killed process does: the lock goes, the folder and the note stay.
        let note = fs::read(&dead.note).unwrap();
        drop(dead);
        fs::create_dir(&dead_path).unwrap();
        fs::write(dead_path.join(MARKER), "").unwrap();
        fs::write(registry.join("note"), note).unwrap();

        assert_eq!(sweep(&registry).unwrap(), std::slice::from_ref(&dead_path));
        assert!(live.path().exists() && !dead_path.exists());
        drop(live);
        assert_eq!(fs::read_dir(&registry).unwrap().count(), 0);
    }

    #[test]
    fn a_foreign_folder_is_never_touched() {
        let place = tempfile::tempdir().unwrap();
        let theirs = place.path().join("work");
        fs::create_dir(&theirs).unwrap();
        fs::write(theirs.join("thesis"), "years").unwrap();
        WorkFolder::create(&theirs, place.path()).unwrap_err();
        fs::write(place.path().join("note"), theirs.to_str().unwrap()).unwrap();
        assert!(sweep(place.path()).unwrap().is_empty());
        assert!(theirs.join("thesis").exists());
    }
}
