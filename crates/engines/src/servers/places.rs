//! Checks of a launch, and the folders that a server needs.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use bakeoff_folders::Dir;
use rustix::fs::Mode;
use rustix::io::Errno;

use crate::servers::account::ServerAccount;
use crate::servers::error::{Error, Result};
use crate::servers::kind::ServerProduct;
use crate::servers::launch::{Launch, ServerPlaces};
use crate::servers::mounts::Mounts;
use crate::servers::settings::SettingStanding;

/// The longest path that a socket's address holds, in bytes (`sun_path` is 108 with its end).
const SOCKET_PATH: usize = 107;

impl Launch {
    pub(crate) fn check_settings(&self, kind: &'static dyn ServerProduct) -> Result<()> {
        for (name, value) in &self.settings {
            let is_letter = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
            let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic());
            let reason = if !is_name || !name.chars().all(is_letter) {
                "write its plain name"
            } else if value.contains(char::is_control) {
                "its value is more than a line of text"
            } else if kind.review().find_standing(name, value) == SettingStanding::Reserved {
                "bakeoff sets it itself; leave it out"
            } else {
                continue;
            };
            return Err(Error::Setting { kind, name: name.clone(), reason });
        }
        Ok(())
    }
}

impl ServerPlaces {
    pub fn from_launch(kind: &'static dyn ServerProduct, launch: &Launch) -> Result<Self> {
        let absolute = |path: &Path| {
            std::path::absolute(path).map_err(Error::at_path("find the folder", path))
        };
        let directory = absolute(&launch.directory)?;
        let runtime = match &launch.runtime {
            Some(runtime) => absolute(runtime)?,
            None => directory.join("server"),
        };
        Ok(Self::from_folders(kind, directory, runtime))
    }

    pub fn from_folders(
        kind: &'static dyn ServerProduct,
        directory: PathBuf,
        runtime: PathBuf,
    ) -> Self {
        Self {
            data: directory.join("data"),
            temporary: directory.join("tmp"),
            socket: runtime.join(kind.socket_name()),
            log: runtime.join("log"),
            directory,
            runtime,
        }
    }
}

#[derive(Debug)]
pub struct Folders {
    /// Root's if the server runs as another user: then nobody can swap what is in it.
    pub directory: Dir,
    temporary: Dir,
    pub runtime: Dir,
}

impl Folders {
    pub fn make_all(places: &ServerPlaces, account: &ServerAccount) -> Result<Self> {
        let made = |path: &Path| {
            fs::create_dir_all(path).map_err(Error::at_path("make the folder", path))?;
            Dir::open(path).map_err(Error::from_folder)
        };
        let directory = made(&places.directory)?;
        account.keep(&directory)?;
        let temporary = make_in(&directory, "tmp")?;
        account.give(&temporary)?;
        let runtime = match places.runtime.strip_prefix(&places.directory) {
            Ok(name) if name.components().count() == 1 => make_in(&directory, name.as_os_str())?,
            _ => made(&places.runtime)?,
        };
        account.give(&runtime)?;
        Ok(Self { directory, temporary, runtime })
    }

    pub fn data(&self) -> Result<Option<Dir>> {
        match self.directory.find_entry("data").map_err(Error::from_folder)? {
            Some(data) => {
                self.directory.enter_folder(data.name).map(Some).map_err(Error::from_folder)
            }
            None => Ok(None),
        }
    }

    pub fn make_fresh(&self, name: &str, account: &ServerAccount) -> Result<Dir> {
        let path = self.directory.path().join(name);
        if self.directory.find_entry(name).map_err(Error::from_folder)?.is_some() {
            fs::remove_dir_all(&path).map_err(Error::at_path("remove", &path))?;
        }
        let fresh = make_in(&self.directory, name)?;
        account.give(&fresh)?;
        Ok(fresh)
    }
}

fn make_in(folder: &Dir, name: impl AsRef<OsStr>) -> Result<Dir> {
    let name = name.as_ref();
    match rustix::fs::mkdirat(folder, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => folder.enter_folder(name).map_err(Error::from_folder),
        Err(error) => {
            Err(Error::at_path("make the folder", &folder.path().join(name))(error.into()))
        }
    }
}

#[derive(Debug)]
pub enum MountMode {
    Mounted,
    Plain,
}

impl MountMode {
    pub fn choose_view() -> Self {
        if Mounts::can_be_had() { Self::Mounted } else { Self::Plain }
    }

    /// The places as the server sees them, and the descriptors that it has to inherit for that.
    pub fn seen_places(
        &self,
        kind: &'static dyn ServerProduct,
        places: &ServerPlaces,
        folders: &Folders,
        account: &ServerAccount,
    ) -> Result<(ServerPlaces, Vec<OwnedFd>)> {
        if matches!(self, Self::Mounted) {
            let seen =
                ServerPlaces::from_folders(kind, Mounts::PLACE.into(), Mounts::RUNTIME.into());
            return Ok((seen, Vec::new()));
        }
        for folder in [&folders.temporary, &folders.runtime] {
            if let Some(folder) = account.find_barrier(folder.path()) {
                let user = account.name().into();
                return Err(Error::Unreachable { kind, user, folder });
            }
        }
        let mut inherited = Vec::new();
        let mut inherit = |folder: &Dir| {
            let held = folder.as_fd().try_clone_to_owned();
            let held = held.map_err(Error::at_path("open", folder.path()))?;
            let path = path_by_descriptor("self", &held);
            inherited.push(held);
            Ok(path)
        };
        let directory = match is_plain(&places.directory) {
            true => places.directory.clone(),
            false => inherit(&folders.directory)?,
        };
        let runtime = match fits_socket(places) {
            true => places.runtime.clone(),
            false => inherit(&folders.runtime)?,
        };
        Ok((ServerPlaces::from_folders(kind, directory, runtime), inherited))
    }
}

/// The folder's own path if it is fit for a socket's; if not, one by its descriptor in a process.
pub fn short_path(places: &ServerPlaces, runtime: impl AsFd, process: &str) -> PathBuf {
    match fits_socket(places) {
        true => places.runtime.clone(),
        false => path_by_descriptor(process, runtime),
    }
}

fn path_by_descriptor(process: &str, folder: impl AsFd) -> PathBuf {
    format!("/proc/{process}/fd/{}", folder.as_fd().as_raw_fd()).into()
}

fn fits_socket(places: &ServerPlaces) -> bool {
    places.socket.as_os_str().len() <= SOCKET_PATH && is_plain(&places.runtime)
}

/// Whether no server, no client and no file of theirs reads a character of the path as syntax: of a
/// list (`:` `,` `;`), an address (`#` `?` `%` `@` `{`), a quoted text, or the end of a line.
fn is_plain(path: &Path) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || "/-_.+= ".contains(letter);
    path.to_str().is_some_and(|path| path.chars().all(is_letter))
}
