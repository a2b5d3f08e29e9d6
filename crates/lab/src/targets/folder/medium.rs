//! The place of the data: files in a folder, or a raw device instead of the only file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use bakeoff_disk::neighbour::is_in_memory;

use crate::TrialError;
use crate::place::TargetPlace;
use crate::place::device::RawDevice;

pub const IN_MEMORY: &str = "this file system is in memory, so that no disk would be measured: use --path \
                             or --out on another one";

#[derive(Clone, Debug)]
pub enum DataMedium {
    Folder(PathBuf),
    Device(RawDevice),
}

pub fn is_folder_in_memory(folder: &Path) -> io::Result<bool> {
    is_in_memory(&File::open(folder)?)
}

pub fn file_path(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("data-{number}"))
}

impl DataMedium {
    pub fn from_folder(folder: &Path) -> Self {
        Self::Folder(folder.into())
    }

    pub fn from_place(place: &TargetPlace) -> Result<Self, TrialError> {
        match (&place.device, &place.directory) {
            (Some(device), _) => Ok(Self::Device(device.clone())),
            (None, Some(folder)) => Ok(Self::from_folder(folder)),
            (None, None) => Err(TrialError::User("a folder has to be here".into())),
        }
    }

    /// Others wrote to it before, so a page may hold any writing.
    pub fn is_used(&self) -> bool {
        matches!(self, Self::Device(_))
    }

    /// Requests must be a multiple of it. `None` if it is known only after opening.
    pub fn known_sector(&self) -> Option<u32> {
        match self {
            Self::Folder(_) => None,
            Self::Device(device) => Some(device.sector),
        }
    }

    /// A device is written around the page cache, which would hold all of it.
    pub fn create(&self, number: usize) -> io::Result<File> {
        match self {
            Self::Folder(folder) => File::create_new(file_path(folder, number)),
            Self::Device(device) => {
                device.open(OpenOptions::new().write(true).custom_flags(libc::O_DIRECT))
            }
        }
    }

    pub fn open(&self, number: usize, options: &OpenOptions) -> io::Result<File> {
        match self {
            Self::Folder(folder) => options.open(file_path(folder, number)),
            Self::Device(device) => device.open(options),
        }
    }

    pub fn length(&self, file: &File) -> io::Result<u64> {
        match self {
            Self::Folder(_) => Ok(file.metadata()?.len()),
            Self::Device(device) => Ok(device.bytes),
        }
    }

    pub fn is_in_memory(&self, file: &File) -> io::Result<bool> {
        match self {
            Self::Folder(_) => is_in_memory(file),
            // The device node's own file system does not count.
            Self::Device(device) => Ok(device.is_in_memory()),
        }
    }
}
