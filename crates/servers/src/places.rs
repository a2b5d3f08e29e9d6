//! Whether a server can be started as it is asked to, and the folders that it needs.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use bakeoff_folders::Dir;
use rustix::fs::Mode;
use rustix::io::Errno;

use crate::account::ServerAccount;
use crate::error::{Error, Result};
use crate::kind::ServerProduct;
use crate::launch::{Launch, ServerPlaces};
use crate::mounts::Mounts;
use crate::settings::SettingStanding;

/// The longest path that a socket's address holds, in bytes (`sun_path` is 108 with its end).
const SOCKET_PATH: usize = 107;

impl Launch {
    /// Makes sure that its settings can be given.
    pub(crate) fn check(&self, kind: &'static dyn ServerProduct) -> Result<()> {
        for (name, value) in &self.settings {
            let is_letter = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
            let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic());
            let reason = if !is_name || !name.chars().all(is_letter) {
                "write its plain name"
            } else if value.contains(char::is_control) {
                "its value is more than a line of text"
            } else if kind.review().standing(name, value) == SettingStanding::Reserved {
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
    /// The places that a launch means, as this process sees them.
    pub fn from_launch(kind: &'static dyn ServerProduct, launch: &Launch) -> Result<Self> {
        let absolute =
            |path: &Path| std::path::absolute(path).map_err(Error::at("find the folder", path));
        let directory = absolute(&launch.directory)?;
        let runtime = match &launch.runtime {
            Some(runtime) => absolute(runtime)?,
            None => directory.join("server"),
        };
        Ok(Self::within(kind, directory, runtime))
    }

    /// The places in two folders.
    pub fn within(kind: &'static dyn ServerProduct, directory: PathBuf, runtime: PathBuf) -> Self {
        Self {
            data: directory.join("data"),
            temporary: directory.join("tmp"),
            socket: runtime.join(kind.socket()),
            log: runtime.join("log"),
            directory,
            runtime,
        }
    }
}

/// A server's folders, made and held.
#[derive(Debug)]
pub struct Folders {
    /// Root's own where the server runs as another user: what is in it can't be swapped.
    pub directory: Dir,
    temporary: Dir,
    /// The server's own.
    pub runtime: Dir,
}

impl Folders {
    /// Makes the folders that are not there, and gives those to the server's user that are for it to
    /// write in.
    pub fn make(places: &ServerPlaces, account: &ServerAccount) -> Result<Self> {
        let made = |path: &Path| {
            fs::create_dir_all(path).map_err(Error::at("make the folder", path))?;
            Dir::open(path).map_err(Error::folder)
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

    /// Its data, where there are some.
    pub fn data(&self) -> Result<Option<Dir>> {
        match self.directory.look("data").map_err(Error::folder)? {
            Some(data) => self.directory.enter(data.name).map(Some).map_err(Error::folder),
            None => Ok(None),
        }
    }

    /// A new folder in its directory.
    pub fn fresh(&self, name: &str, account: &ServerAccount) -> Result<Dir> {
        let path = self.directory.path().join(name);
        if self.directory.look(name).map_err(Error::folder)?.is_some() {
            fs::remove_dir_all(&path).map_err(Error::at("remove", &path))?;
        }
        let fresh = make_in(&self.directory, name)?;
        account.give(&fresh)?;
        Ok(fresh)
    }
}

/// Opens a folder in another one; makes it where it is not there.
fn make_in(folder: &Dir, name: impl AsRef<OsStr>) -> Result<Dir> {
    let name = name.as_ref();
    match rustix::fs::mkdirat(folder, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => folder.enter(name).map_err(Error::folder),
        Err(error) => Err(Error::at("make the folder", &folder.path().join(name))(error.into())),
    }
}

/// How a server sees its folders.
#[derive(Debug)]
pub enum View {
    /// In mounts of its own, on a short path, whatever the folders above them are.
    Mounted,
    /// As this process does.
    Plain,
}

impl View {
    /// Mounts where this process may give them to a server, as root mostly may.
    ///
    /// # Errors
    /// Without them, its path may be one that the server would take for several.
    pub fn choose(kind: &'static dyn ServerProduct, places: &ServerPlaces) -> Result<Self> {
        if Mounts::can_be_had() {
            return Ok(Self::Mounted);
        }
        let temporary = &places.temporary;
        match kind.separator() {
            Some(separator) if temporary.to_string_lossy().contains(separator) => {
                Err(Error::Separator { kind, path: temporary.clone(), separator })
            }
            _ => Ok(Self::Plain),
        }
    }

    /// The places as the server sees them, and what it has to inherit for that.
    ///
    /// # Errors
    /// Its user can't get there.
    pub fn places(
        &self,
        kind: &'static dyn ServerProduct,
        places: &ServerPlaces,
        folders: &Folders,
        account: &ServerAccount,
    ) -> Result<(ServerPlaces, Option<OwnedFd>)> {
        if matches!(self, Self::Mounted) {
            let seen = ServerPlaces::within(kind, Mounts::PLACE.into(), Mounts::RUNTIME.into());
            return Ok((seen, None));
        }
        for folder in [&folders.temporary, &folders.runtime] {
            if let Some(folder) = account.barrier(folder.path()) {
                let user = account.name().into();
                return Err(Error::Unreachable { kind, user, folder });
            }
        }
        let runtime = folders.runtime.as_fd().try_clone_to_owned();
        let runtime = runtime.map_err(Error::at("open", folders.runtime.path()))?;
        let seen = short(places, &runtime, "self");
        let inherited = (seen != places.runtime).then_some(runtime);
        Ok((ServerPlaces::within(kind, places.directory.clone(), seen), inherited))
    }
}

/// The runtime folder by a path that is short enough for a socket in it; where its own is not, by its
/// descriptor in a process.
pub fn short(places: &ServerPlaces, runtime: impl AsFd, process: &str) -> PathBuf {
    if places.socket.as_os_str().len() <= SOCKET_PATH {
        return places.runtime.clone();
    }
    format!("/proc/{process}/fd/{}", runtime.as_fd().as_raw_fd()).into()
}
