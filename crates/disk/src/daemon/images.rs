use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use bakeoff_folders::trust::TrustedFolder;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::MountedDisk;
use super::checks::is_empty;
use crate::control::ImageRequest;
use crate::error::Error;
use crate::history;
use crate::mount_table;

impl MountedDisk {
    pub(super) fn write_image(&self, wanted: &ImageRequest) -> Result<(), Error> {
        if !self.volume.is_off() {
            let at = self.note.mountpoint.display();
            return Err(Error::Failed(format!("the power of {at} is on: cut it first")));
        }
        self.cut_power(wanted)
    }

    pub(super) fn cut_power(&self, wanted: &ImageRequest) -> Result<(), Error> {
        let keep = wanted.keep.parse().map_err(Error::usage)?;
        let folder = self.image_folder(&wanted.folder)?;
        let done = match wanted.of {
            None => self.volume.cut_power(keep, wanted.seed, folder.path()),
            Some((moment, metadata)) => {
                self.volume.image_of(moment, metadata, keep, wanted.seed, folder.path())
            }
        };
        let place = folder.path().display();
        done.map_err(|error| match error.kind() {
            ErrorKind::StorageFull => Error::Failed(format!(
                "{place}: {error}; the power is off, and the image is not whole"
            )),
            _ => Error::Failed(format!("{place}: {error}")),
        })
    }

    pub(super) fn save_history(&self, folder: &Path) -> Result<(), Error> {
        let wrote = self.volume.to_recorded().and_then(|all| history::write(&all, folder));
        wrote.map_err(|error| Error::Failed(format!("{}: {error}", folder.display())))
    }

    /// Makes an image and leaves the power on. What was made of an image that fails is removed.
    pub(super) fn write_snapshot(&self, wanted: &ImageRequest) -> Result<(), Error> {
        if self.volume.is_off() {
            let at = self.note.mountpoint.display();
            return Err(Error::Failed(format!(
                "the power of {at} is off: bakeoff disk cut {at} makes images of that moment"
            )));
        }
        let keep = wanted.keep.parse().map_err(Error::usage)?;
        let folder = self.image_folder(&wanted.folder)?;
        self.volume.snapshot(keep, wanted.seed, folder.path()).map_err(|error| {
            let left = match error.kind() {
                ErrorKind::DirectoryNotEmpty => "no image was made".to_owned(),
                _ => match remove_image(&folder) {
                    Ok(()) => "nothing of the image is left".to_owned(),
                    Err(error) => {
                        format!("what was written of the image can't be removed ({error})")
                    }
                },
            };
            let on = match error.kind() {
                ErrorKind::ConnectionAborted => "",
                _ => ", and the disk runs on",
            };
            Error::Failed(format!("{}: {error}; {left}{on}", folder.path().display()))
        })
    }

    /// Makes the folder of a crash image, or checks that it is empty, before anything is cut. It is
    /// this image's alone until it is dropped: nobody else decides what is in it or where it is.
    fn image_folder(&self, image: &Path) -> Result<TrustedFolder, Error> {
        let wrong = |why: &dyn std::fmt::Display| {
            let image = image.display();
            Error::Folder(format!("{image} can't take the image: {why}"))
        };
        let place = mount_table::resolve_mountpoint(image).or_else(|_| {
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
        let folder = own_folder(image).map_err(|error| wrong(&error))?;
        match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(wrong(&"another image is being written there")),
            Err(error) => return Err(wrong(&io::Error::from(error))),
        }
        match is_empty(folder.path()).map_err(|error| wrong(&error))? {
            true => Ok(folder),
            false => Err(wrong(&"it is not empty")),
        }
    }
}

/// A folder that nobody else controls; made if only its parent exists.
fn own_folder(path: &Path) -> bakeoff_folders::trust::Result<TrustedFolder> {
    match (bakeoff_folders::trust::folder(path), path.parent().zip(path.file_name())) {
        (Err(bakeoff_folders::trust::Error::System { source, .. }), Some((parent, name)))
            if source.kind() == ErrorKind::NotFound =>
        {
            bakeoff_folders::trust::holder(parent)?.make_below(name)
        }
        (opened, _) => opened,
    }
}

fn remove_image(folder: &TrustedFolder) -> io::Result<()> {
    if folder.was_made() {
        return fs::remove_dir_all(folder.path());
    }
    for entry in fs::read_dir(folder.path())? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}
