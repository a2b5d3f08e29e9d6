//! What the data lie on: files in a folder, or a raw device in the place of the only file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use bakeoff_disk::neighbour::is_in_memory;

use crate::TrialError;
use crate::place::TargetPlace;
use crate::place::device::RawDevice;

/// Why nothing is measured on a file system that is in memory, with what to change.
pub const IN_MEMORY: &str = "this file system is in memory, so that no disk would be measured: use --path \
                             or --out on another one";

/// What the data lie on.
#[derive(Clone, Debug)]
pub enum DataMedium {
    /// Files in this folder.
    Folder(PathBuf),
    /// This device, from its first byte.
    Device(RawDevice),
}

/// Whether files that are made in a folder will be in memory.
///
/// # Errors
/// What the system says.
pub fn is_folder_in_memory(folder: &Path) -> io::Result<bool> {
    is_in_memory(&File::open(folder)?)
}

/// The path of a file in the target's folder.
pub fn path(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("data-{number}"))
}

impl DataMedium {
    /// Files in a folder.
    pub fn folder(folder: &Path) -> Self {
        Self::Folder(folder.into())
    }

    /// What a place has for the data.
    ///
    /// # Errors
    /// It has nothing.
    pub fn from_place(place: &TargetPlace) -> Result<Self, TrialError> {
        match (&place.device, &place.directory) {
            (Some(device), _) => Ok(Self::Device(device.clone())),
            (None, Some(folder)) => Ok(Self::folder(folder)),
            (None, None) => Err(TrialError::User("a folder has to be here".into())),
        }
    }

    /// Whether others wrote to it before, so that a page may hold any writing.
    pub fn is_used(&self) -> bool {
        matches!(self, Self::Device(_))
    }

    /// Bytes of which a request is a multiple, where that is known before anything is opened.
    pub fn sector(&self) -> Option<u32> {
        match self {
            Self::Folder(_) => None,
            Self::Device(device) => Some(device.sector),
        }
    }

    /// A new file to be written to; a device is written to around the page cache, which would hold all of it.
    ///
    /// # Errors
    /// The file is there already, or can't be made; the device can't be opened.
    pub fn create(&self, number: usize) -> io::Result<File> {
        match self {
            Self::Folder(folder) => File::create_new(path(folder, number)),
            Self::Device(device) => {
                device.open(OpenOptions::new().write(true).custom_flags(libc::O_DIRECT))
            }
        }
    }

    /// Opens what has the data of a file.
    ///
    /// # Errors
    /// It can't be opened so.
    pub fn open(&self, number: usize, options: &OpenOptions) -> io::Result<File> {
        match self {
            Self::Folder(folder) => options.open(path(folder, number)),
            Self::Device(device) => device.open(options),
        }
    }

    /// How many bytes an open file has.
    ///
    /// # Errors
    /// What the system says.
    pub fn length(&self, file: &File) -> io::Result<u64> {
        match self {
            Self::Folder(_) => Ok(file.metadata()?.len()),
            Self::Device(device) => Ok(device.bytes),
        }
    }

    /// Whether an open file is in memory, so that no disk would be measured.
    ///
    /// # Errors
    /// What the system says.
    pub fn is_in_memory(&self, file: &File) -> io::Result<bool> {
        match self {
            Self::Folder(_) => is_in_memory(file),
            // The file system of its name has nothing to do with it.
            Self::Device(device) => Ok(device.is_in_memory()),
        }
    }
}
