//! Writes a crash image into a folder.

use std::collections::HashMap;
use std::fs::{self, File, Permissions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, lchown, symlink};
use std::path::{Path, PathBuf};

use bakeoff_devices::plug::{Attributes, Content, Contents, Image, Ino, Item, Kind};
use rustix::fs::{CWD, FileType, Mode, mknodat};

/// Bytes that are copied at a time; where they are all zeros, a hole is left.
const BLOCK: u64 = 64 << 10;

/// Writes an image into an empty folder: bytes, holes, hard links, permissions, owners. It is
/// not synced: whoever reads it on the same machine has no need of that.
///
/// # Errors
/// When the folder is not there or not empty, when `contents` can't give what is needed, or when
/// something can't be written.
pub fn materialise(image: &Image<'_>, contents: &dyn Contents, to: &Path) -> io::Result<()> {
    if fs::read_dir(to)?.next().is_some() {
        let text = format!("{} is not empty: name an empty folder", to.display());
        return Err(io::Error::new(io::ErrorKind::DirectoryNotEmpty, text));
    }
    let mut writer = Writer { image, contents, written: HashMap::new() };
    writer.item(image.root(), to)
}

struct Writer<'a> {
    image: &'a Image<'a>,
    contents: &'a dyn Contents,
    /// The first name of each thing that is there already.
    written: HashMap<Ino, PathBuf>,
}

impl Writer<'_> {
    fn item(&mut self, ino: Ino, path: &Path) -> io::Result<()> {
        let Some(item) = self.image.item(ino) else { return Ok(()) };
        if let Some(first) = self.written.get(&ino) {
            return fs::hard_link(first, path);
        }
        self.written.insert(ino, path.to_owned());
        match &item.kind {
            Kind::File => self.file(item, path)?,
            Kind::Directory => self.directory(ino, item, path)?,
            Kind::Symlink(target) => symlink(target, path)?,
            Kind::Special(format, device) => {
                mknodat(CWD, path, FileType::from_raw_mode(*format), Mode::RUSR, *device)?;
            }
        }
        set_attributes(path, &item.kind, item.attributes)
    }

    fn directory(&mut self, ino: Ino, item: &Item<'_>, path: &Path) -> io::Result<()> {
        if ino != self.image.root() {
            fs::create_dir(path)?;
        }
        for (name, entry) in &item.entries {
            self.item(*entry, &path.join(name))?;
        }
        Ok(())
    }

    fn file(&self, item: &Item<'_>, path: &Path) -> io::Result<()> {
        let file = File::create_new(path)?;
        let Some(content) = &item.content else { return Ok(()) };
        file.set_len(content.size())?;
        let mut buffer = vec![0; BLOCK as usize];
        for range in content.filled() {
            self.copy(content, range, &file, &mut buffer)?;
        }
        Ok(())
    }

    fn copy(
        &self,
        content: &Content<'_>,
        range: Range<u64>,
        file: &File,
        buffer: &mut [u8],
    ) -> io::Result<()> {
        let mut at = range.start;
        while at < range.end {
            let end = ((at / BLOCK + 1) * BLOCK).min(range.end);
            let part = &mut buffer[..(end - at) as usize];
            content.read(self.contents, at, part)?;
            if part.iter().any(|byte| *byte != 0) {
                file.write_all_at(part, at)?;
            }
            at = end;
        }
        Ok(())
    }
}

/// Sets owner and permissions, in this order: a new owner takes the set-user bit away.
fn set_attributes(path: &Path, kind: &Kind, attributes: Attributes) -> io::Result<()> {
    let Attributes { mode, uid, gid } = attributes;
    let now = fs::symlink_metadata(path)?;
    if (now.uid(), now.gid()) != (uid, gid) {
        lchown(path, Some(uid), Some(gid))?;
    }
    if !matches!(kind, Kind::Symlink(_)) {
        fs::set_permissions(path, Permissions::from_mode(mode & 0o7777))?;
    }
    Ok(())
}
