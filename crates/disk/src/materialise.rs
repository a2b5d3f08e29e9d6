use std::collections::HashMap;
use std::fs::{self, File, Permissions};
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, lchown, symlink};
use std::path::{Path, PathBuf};

use bakeoff_devices::plug::{
    Contents, CrashImage, FileAttributes, FileContent, Ino, Item, NodeKind,
};
use bakeoff_folders::Dir;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Gid, Uid};

/// Bytes copied at a time; a hole is left where they are all zeros.
const BLOCK: u64 = 64 << 10;

/// Writes an image into an empty folder of this user: bytes, holes, hard links, permissions,
/// owners. It is not synced: readers on the same machine don't need that.
pub fn materialise(image: &CrashImage<'_>, contents: &dyn Contents, to: &Path) -> io::Result<()> {
    let folder = Dir::open(to)?;
    if !folder.list_entries()?.is_empty() {
        let text = format!("{} is not empty: name an empty folder", to.display());
        return Err(io::Error::new(io::ErrorKind::DirectoryNotEmpty, text));
    }
    if folder.stat_folder()?.st_uid != rustix::process::geteuid().as_raw() {
        let text = format!("{} belongs to another user: name a folder of yours", to.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    // Owners are given what is theirs long before all is written: none of them gets in until then.
    rustix::fs::fchmod(&folder, Mode::RWXU)?;
    let to = format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd());
    let mut writer = ImageWriter { image, contents, written: HashMap::new() };
    // The folder itself comes last.
    writer.write_entries(image.root(), Path::new(&to))?;
    let Some(root) = image.item(image.root()) else { return Ok(()) };
    let FileAttributes { mode, uid, gid } = root.attributes;
    let now = folder.stat_folder()?;
    if (now.st_uid, now.st_gid) != (uid, gid) {
        rustix::fs::fchown(&folder, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?;
    }
    Ok(rustix::fs::fchmod(&folder, Mode::from_raw_mode(mode & 0o7777))?)
}

struct ImageWriter<'a> {
    image: &'a CrashImage<'a>,
    contents: &'a dyn Contents,
    written: HashMap<Ino, PathBuf>,
}

impl ImageWriter<'_> {
    fn write_item(&mut self, ino: Ino, path: &Path) -> io::Result<()> {
        let Some(item) = self.image.item(ino) else { return Ok(()) };
        if let Some(first) = self.written.get(&ino) {
            return fs::hard_link(first, path);
        }
        self.written.insert(ino, path.to_owned());
        match &item.kind {
            NodeKind::File => self.write_file(item, path)?,
            NodeKind::Directory => {
                fs::create_dir(path)?;
                self.write_entries(ino, path)?;
            }
            NodeKind::Symlink(target) => symlink(target, path)?,
            NodeKind::Special(format, device) => {
                mknodat(CWD, path, FileType::from_raw_mode(*format), Mode::RUSR, *device)?;
            }
        }
        set_attributes(path, &item.kind, item.attributes)
    }

    fn write_entries(&mut self, ino: Ino, path: &Path) -> io::Result<()> {
        let Some(item) = self.image.item(ino) else { return Ok(()) };
        for (name, entry) in &item.entries {
            self.write_item(*entry, &path.join(name))?;
        }
        Ok(())
    }

    fn write_file(&self, item: &Item<'_>, path: &Path) -> io::Result<()> {
        let file = File::create_new(path)?;
        let Some(content) = &item.content else { return Ok(()) };
        file.set_len(content.size())?;
        let mut buffer = vec![0; BLOCK as usize];
        for range in content.filled_ranges(self.contents) {
            self.copy_range(content, range, &file, &mut buffer)?;
        }
        Ok(())
    }

    fn copy_range(
        &self,
        content: &FileContent<'_>,
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

/// In this order: a new owner takes the set-user bit away.
fn set_attributes(path: &Path, kind: &NodeKind, attributes: FileAttributes) -> io::Result<()> {
    let FileAttributes { mode, uid, gid } = attributes;
    let now = fs::symlink_metadata(path)?;
    if (now.uid(), now.gid()) != (uid, gid) {
        lchown(path, Some(uid), Some(gid))?;
    }
    if !matches!(kind, NodeKind::Symlink(_)) {
        fs::set_permissions(path, Permissions::from_mode(mode & 0o7777))?;
    }
    Ok(())
}
