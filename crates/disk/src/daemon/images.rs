//! Images that are asked for.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::{Disk, is_empty};
use crate::control::Image;
use crate::error::Error;
use crate::table;

impl Disk {
    /// An image of a disk that is off.
    pub(super) fn image(&self, wanted: &Image) -> Result<(), Error> {
        if !self.volume.is_off() {
            let at = self.note.mountpoint.display();
            return Err(Error::Failed(format!("the power of {at} is on: cut it first")));
        }
        self.cut(wanted)
    }

    /// Cuts the power, if it is on, and makes an image.
    pub(super) fn cut(&self, wanted: &Image) -> Result<(), Error> {
        let keep = wanted.keep.parse().map_err(Error::usage)?;
        let folder = self.image_folder(&wanted.folder)?;
        let done = match wanted.of {
            None => self.volume.cut(keep, wanted.seed, &folder),
            Some((moment, metadata)) => {
                self.volume.image_of(moment, metadata, keep, wanted.seed, &folder)
            }
        };
        done.map_err(|error| match error.kind() {
            ErrorKind::StorageFull => Error::Failed(format!(
                "{}: {error}; the power is off, and the image is not whole",
                folder.display()
            )),
            _ => Error::Failed(format!("{}: {error}", folder.display())),
        })
    }

    /// Makes an image, and lets the power on. What was made of one that fails is removed.
    pub(super) fn snapshot(&self, wanted: &Image) -> Result<(), Error> {
        if self.volume.is_off() {
            let at = self.note.mountpoint.display();
            return Err(Error::Failed(format!(
                "the power of {at} is off: bakeoff disk cut {at} makes images of that moment"
            )));
        }
        let keep = wanted.keep.parse().map_err(Error::usage)?;
        let was_there = wanted.folder.exists();
        let folder = self.image_folder(&wanted.folder)?;
        self.volume.snapshot(keep, wanted.seed, &folder).map_err(|error| {
            let removed = if was_there { empty(&folder) } else { fs::remove_dir_all(&folder) };
            let left = match removed {
                Ok(()) => "nothing of the image is left".to_owned(),
                Err(error) => format!("what was written of the image can't be removed ({error})"),
            };
            let folder = folder.display();
            Error::Failed(format!("{folder}: {error}; {left}, and the disk runs on"))
        })
    }

    /// Makes the folder of a crash image, or sees that it is empty, before anything is cut.
    fn image_folder(&self, image: &Path) -> Result<PathBuf, Error> {
        let wrong = |why: &dyn std::fmt::Display| {
            let image = image.display();
            Error::Folder(format!("{image} can't take the image: {why}"))
        };
        let place = table::resolve(image).or_else(|_| {
            let parent = image.parent().unwrap_or(Path::new("/")).canonicalize()?;
            Ok(parent.join(image.file_name().unwrap_or_default()))
        });
        let place = place.map_err(|error: io::Error| wrong(&error))?;
        for (what, folder) in
            [("backing folder", &self.note.backing), ("mount", &self.note.mountpoint)]
        {
            if place.starts_with(folder) {
                return Err(wrong(&format!("it is inside the disk's {what}")));
            }
        }
        match fs::create_dir(&place) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                match is_empty(&place).map_err(|error| wrong(&error))? {
                    true => Ok(place),
                    false => Err(wrong(&"it is not empty")),
                }
            }
            made => made.map(|()| place).map_err(|error| wrong(&error)),
        }
    }
}

/// Removes what is in a folder.
fn empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}
