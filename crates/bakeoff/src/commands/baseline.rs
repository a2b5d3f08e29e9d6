//! Baselines: finished runs kept by name, for later runs to be held against.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use bakeoff_folders::trust::{self, TrustedFolder};
use bakeoff_results::{DATABASE, EXPERIMENT, RunFolder};
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::exit::{CommandFailure, Exit};

/// The folder of all baselines; the variable may name another one.
const FOLDER: &str = "bakeoff-baselines";
const VARIABLE: &str = "BAKEOFF_BASELINES";
const LONGEST: usize = 100;
const RUN_FILES: [&str; 2] = [DATABASE, EXPERIMENT];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaselineName(String);

impl BaselineName {
    pub fn parse(text: &str) -> Result<Self, String> {
        let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
        let fits = (1..=LONGEST).contains(&text.len()) && !text.starts_with('.');
        match fits && text.chars().all(is_plain) {
            true => Ok(Self(text.to_owned())),
            false => Err(format!(
                "a baseline's name has letters, digits, `-`, `_` and `.`, {LONGEST} at most, and does not \
                 begin with a point"
            )),
        }
    }

    pub fn folder(&self) -> PathBuf {
        locate_all().join(&self.0)
    }

    /// Fails if no run has this name.
    pub fn find_folder(&self) -> Result<PathBuf, CommandFailure> {
        let folder = self.folder();
        if folder.is_dir() {
            return Ok(folder);
        }
        let (name, all) = (&self.0, locate_all());
        let why = format!(
            "there is no baseline `{name}` in {}; keep a run as one: bakeoff run … --save-baseline {name}",
            all.display()
        );
        Err(CommandFailure::new(Exit::Usage, why))
    }

    /// Fails where [`BaselineName::save`] would refuse the place; changes nothing.
    pub fn check_place(&self) -> Result<(), CommandFailure> {
        if fs::symlink_metadata(locate_all()).is_err() {
            return Ok(());
        }
        let all = trust::folder(&locate_all()).map_err(|error| refuse(error.to_string()))?;
        self.find_earlier(&all).map(drop)
    }

    /// Copies a finished run, and only then takes the place of an earlier one of this name.
    pub fn save(&self, run: &Path) -> Result<PathBuf, CommandFailure> {
        let all = trust::make(&locate_all()).map_err(|error| refuse(error.to_string()))?;
        let has_earlier = self.find_earlier(&all)?;
        let folder = self.folder();
        self.replace_by(run, &all, has_earlier).map_err(|error| {
            let exit = match error.kind() {
                ErrorKind::StorageFull => Exit::Full,
                _ => Exit::Failed,
            };
            let path = folder.display();
            CommandFailure::new(exit, format!("the baseline {path} can't be written: {error}"))
        })?;
        Ok(folder)
    }

    /// Whether there is an earlier one. It must be this user's, no link, and nothing but a run.
    fn find_earlier(&self, all: &TrustedFolder) -> Result<bool, CommandFailure> {
        let path = all.path().join(&self.0);
        if fs::symlink_metadata(&path).is_err() {
            return Ok(false);
        }
        let told = self.folder();
        let told = told.display();
        all.make_below(&self.0).map_err(|error| refuse(error.to_string()))?;
        let entries = fs::read_dir(&path).map_err(|error| refuse(format!("{told}: {error}")))?;
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !RUN_FILES.contains(&&*name) {
                return Err(refuse(format!(
                    "{told} holds `{name}`, which no baseline has: move it away, or choose another name"
                )));
            }
        }
        let is_run = RunFolder::open(&path).is_ok();
        let why = format!("{told} is there and holds no run: choose another name");
        if is_run { Ok(true) } else { Err(refuse(why)) }
    }

    fn replace_by(&self, run: &Path, all: &TrustedFolder, has_earlier: bool) -> io::Result<()> {
        let begun = format!(".{}.new", self.0);
        let new = all.make_below(&begun).map_err(io::Error::other)?;
        remove_files(&new)?;
        let copied = RUN_FILES.iter().try_for_each(|name| copy_file(&run.join(name), &new, name));
        let named = copied.and_then(|()| match has_earlier {
            false => rename(all, &begun, &self.0, RenameFlags::empty()),
            true => match rename(all, &begun, &self.0, RenameFlags::EXCHANGE) {
                // Some file systems exchange nothing.
                Err(error) if error.kind() == ErrorKind::InvalidInput => {
                    remove_files(&all.make_below(&self.0).map_err(io::Error::other)?)?;
                    rename(all, &begun, &self.0, RenameFlags::empty())
                }
                done => done,
            },
        });
        // What has the name of the new one now is the earlier one, or what could not be written.
        if rustix::fs::statat(all, &begun, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            remove_files(&all.make_below(&begun).map_err(io::Error::other)?)?;
            rustix::fs::unlinkat(all, &begun, AtFlags::REMOVEDIR)?;
        }
        named
    }
}

fn locate_all() -> PathBuf {
    let all = std::env::var_os(VARIABLE).filter(|it| !it.is_empty());
    all.map_or_else(|| FOLDER.into(), PathBuf::from)
}

fn refuse(why: String) -> CommandFailure {
    CommandFailure::new(Exit::Folder, why)
}

fn rename(all: &TrustedFolder, from: &str, to: &str, flags: RenameFlags) -> io::Result<()> {
    Ok(rustix::fs::renameat_with(all, from, all, to, flags)?)
}

fn copy_file(from: &Path, folder: &TrustedFolder, name: &str) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(0o644))?;
    let mut file = File::from(file);
    io::copy(&mut File::open(from)?, &mut file)?;
    file.sync_all()
}

/// The files of a run, and no others.
fn remove_files(folder: &TrustedFolder) -> io::Result<()> {
    for name in RUN_FILES {
        match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
