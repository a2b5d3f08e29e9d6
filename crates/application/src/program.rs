//! The folder of an application's own program: what tells it apart, and who else can change it.

use std::collections::BTreeSet;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use bakeoff_folders::trust::{self, TrustedFolder};
use bakeoff_folders::{Dir, EntryKind, FolderEntry};
use bakeoff_workloads::fingerprint_parts;
use serde::{Deserialize, Serialize};

/// A program that brings more has data beside it, which belong into the database.
const MOST_BYTES: u64 = 64 << 20;
/// Made by an interpreter while it runs.
const MADE: &str = "__pycache__";

/// The folder as it was when it was read. Programs run in it; it is not copied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramFolder {
    /// Absolute.
    pub path: PathBuf,
    /// Tells contents apart. Hidden files and what an interpreter makes are left out.
    pub fingerprint: String,
}

impl ProgramFolder {
    /// Reads all files.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let path = folder.canonicalize()?;
        let (dir, mut parts, mut bytes) = (Dir::open(&path)?, Vec::new(), 0);
        read_parts(&dir, &mut bytes, &mut parts)?;
        parts.sort();
        let print = fingerprint_parts(parts.iter().map(String::as_bytes));
        Ok(Self { path, fingerprint: format!("{print:016x}") })
    }

    /// The error says what has changed since it was read.
    pub fn check_unchanged(&self) -> Result<(), String> {
        let folder = self.path.display();
        let now = Self::read(&self.path).map_err(|error| format!("{folder}: {error}"))?;
        match now.fingerprint == self.fingerprint {
            true => Ok(()),
            false => Err(format!(
                "{folder}: the application's program is not what it was when the run began: put its files back, or \
                 begin a new run"
            )),
        }
    }

    /// Why somebody else may decide what its programs do; `None` if nobody else can write to it.
    pub fn find_other_writer(&self) -> Option<String> {
        let check = || check_alone(&trust::folder(&self.path)?, &mut BTreeSet::new());
        check().err().map(|error| error.to_string())
    }
}

fn is_left_out(entry: &FolderEntry) -> bool {
    let name = entry.name.to_string_lossy();
    name.starts_with('.') || name == MADE
}

fn read_parts(dir: &Dir, bytes: &mut u64, parts: &mut Vec<String>) -> io::Result<()> {
    for entry in dir.list_entries()?.into_iter().filter(|entry| !is_left_out(entry)) {
        let path = dir.path().join(&entry.name);
        let content = match entry.kind {
            EntryKind::Folder => {
                read_parts(&dir.enter_folder(&entry.name)?, bytes, parts)?;
                continue;
            }
            EntryKind::Link => path.read_link()?.into_os_string().into_encoded_bytes(),
            EntryKind::File => {
                let mut content = Vec::new();
                let file = dir.open_for_read(&entry.name)?;
                *bytes += file.take(MOST_BYTES + 1).read_to_end(&mut content)? as u64;
                content
            }
            EntryKind::Special => continue,
        };
        if *bytes > MOST_BYTES {
            let what = format!("has more than {} MB of files beside its program", MOST_BYTES >> 20);
            return Err(io::Error::other(what));
        }
        let print = fingerprint_parts([&content[..]]);
        parts.push(format!("{} {print:016x}", path.display()));
    }
    Ok(())
}

/// Also the targets of links, with all that is in them. A folder is looked at once.
fn check_alone(folder: &TrustedFolder, seen: &mut BTreeSet<PathBuf>) -> trust::Result<()> {
    if !seen.insert(folder.path().to_owned()) {
        return Ok(());
    }
    let failed =
        |error: io::Error| trust::Error::System { path: folder.path().to_owned(), source: error };
    let dir = Dir::open(folder.path()).map_err(failed)?;
    for entry in dir.list_entries().map_err(failed)? {
        match entry.kind {
            EntryKind::Folder => check_alone(&folder.make_below(&entry.name)?, seen)?,
            EntryKind::File => drop(folder.open_file(&entry.name)?),
            EntryKind::Link => check_target(&folder.path().join(&entry.name), seen)?,
            EntryKind::Special => {}
        }
    }
    Ok(())
}

/// A link that leads nowhere can't be run.
fn check_target(link: &Path, seen: &mut BTreeSet<PathBuf>) -> trust::Result<()> {
    let Ok(target) = link.canonicalize() else { return Ok(()) };
    match (target.is_dir(), target.parent(), target.file_name()) {
        (false, Some(parent), Some(name)) => trust::folder(parent)?.open_file(name).map(drop),
        _ => check_alone(&trust::folder(&target)?, seen),
    }
}
