//! Removes a work folder through an open descriptor, so that it removes the same folder that it
//! checked.

use std::ffi::{CStr, OsStr};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use bakeoff_folders::trust::TrustedFolder;
use rustix::fs::{
    AtFlags, Dir, Mode, OFlags, RenameFlags, ResolveFlags, Stat, fstat, openat, openat2, unlinkat,
};
use rustix::io::Errno;

use super::MARKER;

/// The default matches only an empty folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FolderIdentity {
    device: u64,
    inode: u64,
    owner: u32,
}

impl FolderIdentity {
    pub fn from_folder(folder: impl AsFd) -> io::Result<Self> {
        Ok(Self::from(&fstat(folder)?))
    }

    fn from(stat: &Stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino, owner: stat.st_uid }
    }

    pub fn to_note(self) -> String {
        format!("\0{} {} {}", self.device, self.inode, self.owner)
    }

    pub fn split_note(note: &[u8]) -> (&[u8], Option<Self>) {
        let mut parts = note.splitn(2, |byte| *byte == 0);
        let path = parts.next().unwrap_or_default();
        let numbers = parts.next().and_then(|text| std::str::from_utf8(text).ok());
        let parsed = numbers.and_then(|text| {
            let mut numbers = text.split(' ').map(|number| number.parse::<u64>().ok());
            let (device, inode) = (numbers.next()??, numbers.next()??);
            Some(Self { device, inode, owner: numbers.next()??.try_into().ok()? })
        });
        (path, parsed)
    }
}

/// Returns whether there was one. Removes only the `noted` folder; if the note has no identity,
/// only an empty one. Links and other users' folders are refused.
pub fn remove_work(
    parent: &TrustedFolder,
    name: &OsStr,
    noted: Option<FolderIdentity>,
) -> io::Result<bool> {
    let path = parent.path().join(name);
    let path = path.display();
    let refuse = |why: &str| {
        let text = format!("{path} {why}: find out what it is, then remove it: rm -r {path}");
        Err(io::Error::new(io::ErrorKind::AlreadyExists, text))
    };
    let folder = match open_folder(parent, name) {
        Ok(folder) => folder,
        Err(Errno::NOENT) => return Ok(false),
        Err(Errno::LOOP | Errno::NOTDIR) => return refuse("is a link or a file"),
        Err(error) => return Err(io::Error::from(error)),
    };
    let found = FolderIdentity::from_folder(&folder)?;
    if found.owner != rustix::process::geteuid().as_raw() {
        return refuse("belongs to somebody else");
    }
    // A run that was killed right after making the folder left it empty.
    let known = noted.is_none_or(|noted| noted == found);
    if known && is_marked(&folder)? {
        // The marker goes last, so that a removal that was cut short can go on.
        empty_folder(&folder, found.device)?;
        unlinkat(&folder, MARKER, AtFlags::empty())?;
    }
    match unlinkat(parent, name, AtFlags::REMOVEDIR) {
        Ok(()) => Ok(true),
        Err(Errno::NOTEMPTY | Errno::EXIST) if known => refuse("is there and is not bakeoff's"),
        Err(Errno::NOTEMPTY | Errno::EXIST) => refuse("is another one than was made"),
        Err(error) => Err(error.into()),
    }
}

fn is_marked(folder: &OwnedFd) -> io::Result<bool> {
    match rustix::fs::statat(folder, MARKER, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Stays on one file system. Nested folders are first moved to the top, so endless nesting takes
/// neither stack nor descriptors.
fn empty_folder(folder: &OwnedFd, device: u64) -> io::Result<()> {
    let mut number = 0;
    while let Some(entries) = other_names(folder, MARKER)? {
        for name in entries {
            let Some(below) = remove_or_open(folder, &name, device)? else { continue };
            for inner in other_names(&below, "")?.unwrap_or_default() {
                if remove_or_open(&below, &inner, device)?.is_some() {
                    number = raise_folder(&below, &inner, folder, number)?;
                }
            }
            unlinkat(folder, &*name, AtFlags::REMOVEDIR)?;
        }
    }
    Ok(())
}

fn other_names(folder: &OwnedFd, but: &str) -> io::Result<Option<Vec<Box<CStr>>>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if ![".", "..", but].map(str::as_bytes).contains(&name.to_bytes()) {
            names.push(name.into());
        }
    }
    Ok((!names.is_empty()).then_some(names))
}

fn remove_or_open(folder: &OwnedFd, name: &CStr, device: u64) -> io::Result<Option<OwnedFd>> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(None),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    let is_mounted = || {
        let what = format!("something is mounted on {}", name.to_string_lossy());
        Err(io::Error::new(io::ErrorKind::ResourceBusy, what))
    };
    match open_unmounted(folder, name) {
        Ok(below) if fstat(&below)?.st_dev == device => Ok(Some(below)),
        Ok(_) | Err(Errno::XDEV) => is_mounted(),
        Err(error) => Err(error.into()),
    }
}

/// Fails with `EXDEV` on a mount, also on one of the same file system (`mount --bind`), which has
/// the same device number. Linux before 5.6 can't tell.
fn open_unmounted(at: &OwnedFd, name: &CStr) -> rustix::io::Result<OwnedFd> {
    match openat2(at, name, FOLDER, Mode::empty(), ResolveFlags::NO_XDEV) {
        Err(Errno::NOSYS | Errno::PERM) => open_folder(at, name),
        opened => opened,
    }
}

/// Moves a nested folder to the top under a new name; returns the next number.
fn raise_folder(from: &OwnedFd, name: &CStr, top: &OwnedFd, mut number: u64) -> io::Result<u64> {
    loop {
        let new = format!(".removed-{number}");
        number += 1;
        match rustix::fs::renameat_with(from, name, top, new, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(number),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn open_folder(at: impl AsFd, name: impl rustix::path::Arg) -> rustix::io::Result<OwnedFd> {
    openat(at, name, FOLDER, Mode::empty())
}

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_nested_without_end_is_removed_and_links_lead_nowhere() {
        let place = tempfile::tempdir().unwrap();
        let parent = bakeoff_folders::trust::folder(place.path()).unwrap();
        let (work, victim) = (place.path().join("work"), place.path().join("victim"));
        fs::create_dir(&work).unwrap();
        fs::write(work.join(MARKER), "").unwrap();
        fs::create_dir(&victim).unwrap();
        fs::write(victim.join("thesis"), "years").unwrap();
        std::os::unix::fs::symlink(&victim, work.join("link")).unwrap();
        fs::create_dir(work.join(".removed-0")).unwrap();
        // Deeper than descriptors are had, and than a path can be long.
        let mut at: OwnedFd = fs::File::open(&work).unwrap().into();
        for _ in 0..5000 {
            rustix::fs::mkdirat(&at, "deeper", Mode::RWXU).unwrap();
            at = open_folder(&at, "deeper").unwrap();
        }
        drop(at);
        assert!(remove_work(&parent, "work".as_ref(), None).unwrap());
        assert!(!work.exists() && victim.join("thesis").exists());
        assert!(!remove_work(&parent, "work".as_ref(), None).unwrap(), "it is gone");
    }

    /// Only root may mount; nothing is mounted elsewhere.
    #[test]
    fn what_is_mounted_from_the_same_file_system_is_not_entered() {
        let place = tempfile::tempdir().unwrap();
        let [work, thesis] = ["work", "thesis"].map(|name| place.path().join(name));
        fs::create_dir_all(work.join("m")).unwrap();
        fs::create_dir(&thesis).unwrap();
        fs::write(thesis.join("chapter1"), "years").unwrap();
        let mount = |words: &[&std::ffi::OsStr]| {
            let done = std::process::Command::new(words[0]).args(&words[1..]).status();
            done.is_ok_and(|status| status.success())
        };
        let at = work.join("m");
        if !rustix::process::geteuid().is_root()
            || !mount(&["mount".as_ref(), "--bind".as_ref(), thesis.as_ref(), at.as_ref()])
        {
            return;
        }
        let folder: OwnedFd = fs::File::open(&work).unwrap().into();
        let error = empty_folder(&folder, fstat(&folder).unwrap().st_dev).unwrap_err();
        assert!(mount(&["umount".as_ref(), at.as_ref()]));
        assert!(error.to_string().contains("mounted on m"), "{error}");
        assert!(thesis.join("chapter1").exists(), "it is somebody else's");
    }

    #[test]
    fn a_removal_stays_on_its_file_system() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("mounted")).unwrap();
        let folder: OwnedFd = fs::File::open(place.path()).unwrap().into();
        let device = fstat(&folder).unwrap().st_dev;
        let error = empty_folder(&folder, device + 1).unwrap_err();
        assert!(error.to_string().contains("mounted on mounted"), "{error}");
        empty_folder(&folder, device).unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }
}
