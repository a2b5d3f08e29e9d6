use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bakeoff_devices::plug::Contents;
use bakeoff_folders::Dir;

use super::adopt::{open_below, path_below, walk_folder};
use super::orphans::Orphans;
use super::{InodeNumber, ROOT, Volume};

impl Volume {
    pub(super) fn present_contents(&self) -> io::Result<BackingContents<'_>> {
        let (mut files, backing) = (HashMap::new(), self.open_backing()?);
        walk_folder(&backing, ROOT, &mut |_, folder, entry| {
            let (ino, _) = self.numbers.find_or_assign(entry.stat.st_ino);
            let path = path_below(&backing, folder, entry);
            let size = entry.stat.st_size.cast_unsigned();
            files.insert(ino, Backing { path, number: entry.stat.st_ino, size });
            Ok(ino)
        })?;
        let (orphans, open) = (&self.orphans, RefCell::new(None));
        Ok(BackingContents { backing, files, orphans, open })
    }
}

struct Backing {
    path: PathBuf,
    number: u64,
    size: u64,
}

/// The bytes of files in the backing folder, hidden ones included.
pub(super) struct BackingContents<'a> {
    backing: Dir,
    files: HashMap<InodeNumber, Backing>,
    orphans: &'a Orphans,
    open: RefCell<Option<(InodeNumber, File)>>,
}

impl BackingContents<'_> {
    pub(super) fn backing(&self) -> &Dir {
        &self.backing
    }

    /// `None` for a file without a name, and for the root.
    pub(super) fn path_below_backing(&self, ino: InodeNumber) -> Option<&Path> {
        self.files.get(&ino).map(|file| file.path.as_path())
    }

    pub(super) fn open_orphan(&self, ino: InodeNumber) -> io::Result<File> {
        Ok(File::from(self.orphans.open_orphan(ino)?))
    }

    fn with_file<T>(
        &self,
        ino: InodeNumber,
        read: impl FnOnce(&File) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut open = self.open.borrow_mut();
        match &*open {
            Some((number, file)) if *number == ino => read(file),
            _ => {
                let file = match self.files.get(&ino) {
                    Some(file) => open_below(&self.backing, &file.path, file.number)?,
                    None => self.open_orphan(ino)?,
                };
                let read = read(&file);
                *open = Some((ino, file));
                read
            }
        }
    }
}

impl Contents for BackingContents<'_> {
    fn read(&self, ino: InodeNumber, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.with_file(ino, |file| {
            let mut count = 0;
            while count < buffer.len() {
                match file.read_at(&mut buffer[count..], offset + count as u64)? {
                    0 => break,
                    some => count += some,
                }
            }
            Ok(count)
        })
    }

    fn size(&self, ino: InodeNumber) -> io::Result<u64> {
        match self.files.get(&ino) {
            Some(file) => Ok(file.size),
            None => self.with_file(ino, |file| Ok(file.metadata()?.len())),
        }
    }
}
