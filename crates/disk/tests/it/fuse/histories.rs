//! Random histories of file operations, on a mount and in an ordinary folder beside it, whose file
//! system is the kernel's.

use std::fmt::Debug;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use bakeoff_devices::plug::Keep;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rustix::fs::{CWD, FallocateFlags, RenameFlags};
use rustix::io::Errno;

use super::reality::{self, Way, errno};
use crate::disk::Disk;

/// The largest file; most are smaller.
const LARGEST: usize = 300_000;

const WAYS: [Way; 5] = [Way::Buffered, Way::Synced, Way::Direct, Way::DirectSynced, Way::Mapped];

/// A file of the mount, opened in some way, and the one beside it.
type Twins = (File, Way, File);

/// One history under way.
struct History {
    disk: Disk,
    beside: PathBuf,
    random: Xoshiro256PlusPlus,
    /// Files that are open, some of which have no name any more.
    open: Vec<Twins>,
}

impl History {
    fn new(disk: Disk, seed: u64) -> Self {
        let beside = disk.folder("beside");
        Self { disk, beside, random: Xoshiro256PlusPlus::seed_from_u64(seed), open: Vec::new() }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random.random_range(0..bound)
    }

    /// Few names, so that they meet often; a folder may have any of them, too.
    fn path(&mut self) -> String {
        let name = |n| ["a", "b", "c", "d", "e"][n];
        let last = self.below(5);
        match self.below(3) {
            0 => name(last).to_owned(),
            _ => format!("{}/{}", name(3 + last % 2), name(self.below(5))),
        }
    }

    fn range(&mut self) -> (usize, usize) {
        let most = if self.below(8) == 0 { LARGEST } else { 20_000 };
        (self.below(most), 1 + self.below(most / 4))
    }

    /// Does the same in both folders; the answers must be the same.
    fn both<T: PartialEq + Debug>(&self, what: &str, act: impl Fn(&Path) -> io::Result<T>) {
        let done = act(&self.disk.path("")).map_err(|error| errno(&error));
        assert_eq!(done, act(&self.beside).map_err(|error| errno(&error)), "{what}");
    }

    fn step(&mut self) {
        let path = self.path();
        match self.below(20) {
            0..=2 => {
                let mode = Permissions::from_mode(0o600 + self.below(64) as u32);
                self.both(&format!("create {path}"), |root| {
                    let made = File::options().write(true).create_new(true).open(root.join(&path));
                    made?.set_permissions(mode.clone())
                });
            }
            3 => self.both(&format!("mkdir {path}"), |root| fs::create_dir(root.join(&path))),
            4 => self.both(&format!("unlink {path}"), |root| fs::remove_file(root.join(&path))),
            5 => self.both(&format!("rmdir {path}"), |root| fs::remove_dir(root.join(&path))),
            6 | 7 => self.rename(&path),
            8 => {
                let to = self.path();
                let what = format!("link {path} {to}");
                self.both(&what, |root| fs::hard_link(root.join(&path), root.join(&to)));
            }
            9 => self.symlink(),
            10..=13 => self.write(),
            14 => self.truncate(),
            15 => self.allocate(),
            16 => {
                if let Some(opened) = self.some_file() {
                    self.open.push(opened);
                }
            }
            17 => {
                if !self.open.is_empty() {
                    let n = self.below(self.open.len());
                    self.open.swap_remove(n);
                }
            }
            18 => self.chmod(),
            _ => self.sync(),
        }
    }

    fn rename(&mut self, from: &str) {
        let to = self.path();
        let flags =
            [RenameFlags::empty(), RenameFlags::NOREPLACE, RenameFlags::EXCHANGE][self.below(3)];
        self.both(&format!("rename {from} to {to}, {flags:?}"), |root| {
            Ok(rustix::fs::renameat_with(CWD, root.join(from), CWD, root.join(&to), flags)?)
        });
    }

    fn symlink(&mut self) {
        let path = format!("link{}", self.below(2));
        if self.below(2) == 0 {
            let target = format!("nowhere/{}", self.below(1000));
            let make = |root: &Path| std::os::unix::fs::symlink(&target, root.join(&path));
            self.both(&format!("symlink {path}"), make);
        } else {
            self.both(&format!("unlink {path}"), |root| fs::remove_file(root.join(&path)));
        }
    }

    /// A file that is open already, or is opened now by some path, if there is one.
    fn some_file(&mut self) -> Option<Twins> {
        if !self.open.is_empty() && self.below(2) == 0 {
            let n = self.below(self.open.len());
            let (file, way, twin) = &self.open[n];
            return Some((file.try_clone().unwrap(), *way, twin.try_clone().unwrap()));
        }
        let (path, way) = (self.path(), WAYS[self.below(WAYS.len())]);
        let opened = reality::open(&self.disk.path(&path), way);
        let twin = reality::open(&self.beside.join(&path), Way::Buffered);
        match (opened, twin) {
            (Ok(file), Ok(twin)) => Some((file, way, twin)),
            (opened, twin) => {
                assert_eq!(opened.map(drop), twin.map(drop), "open {path}");
                None
            }
        }
    }

    fn write(&mut self) {
        let Some((file, way, twin)) = self.some_file() else { return };
        let (mut offset, mut length) = self.range();
        let is_direct = matches!(way, Way::Direct | Way::DirectSynced);
        if is_direct && self.below(10) > 0 {
            offset = offset / 512 * 512;
            length = length.next_multiple_of(512);
        }
        if way == Way::Mapped {
            let size = twin.metadata().unwrap().len() as usize;
            if size == 0 {
                return;
            }
            offset %= size;
            length = length.min(size - offset);
        }
        let bytes: Vec<u8> = (0..length).map(|_| self.random.random()).collect();
        let done = reality::write(&file, way, offset, &bytes);
        if is_direct && !(offset.is_multiple_of(512) && length.is_multiple_of(512)) {
            assert_eq!(done, Err(Errno::INVAL), "{length} bytes at {offset}, {way:?}");
        } else {
            assert_eq!(done, Ok(()), "{length} bytes at {offset}, {way:?}");
            twin.write_all_at(&bytes, offset as u64).unwrap();
        }
        check(&file, way, &twin);
    }

    fn truncate(&mut self) {
        let Some((file, way, twin)) = self.some_file() else { return };
        let (size, _) = self.range();
        for file in [&file, &twin] {
            file.set_len(size as u64).unwrap();
        }
        check(&file, way, &twin);
    }

    fn allocate(&mut self) {
        use FallocateFlags as F;
        let Some((file, way, twin)) = self.some_file() else { return };
        let (offset, length) = self.range();
        let flags = [
            F::empty(),
            F::KEEP_SIZE,
            F::PUNCH_HOLE | F::KEEP_SIZE,
            F::ZERO_RANGE,
            F::ZERO_RANGE | F::KEEP_SIZE,
        ][self.below(5)];
        // Not all backing file systems have all of these.
        let [done, beside] =
            [&file, &twin].map(|file| reality::allocate(file, flags, offset, length));
        assert_eq!(done, beside, "{flags:?} {length} at {offset}");
        check(&file, way, &twin);
    }

    fn chmod(&mut self) {
        let Some((file, _, twin)) = self.some_file() else { return };
        let mode = Permissions::from_mode(0o600 + self.below(64) as u32);
        for file in [&file, &twin] {
            file.set_permissions(mode.clone()).unwrap();
        }
    }

    fn sync(&mut self) {
        let Some((file, ..)) = self.some_file() else { return };
        match self.below(3) {
            0 => file.sync_all().unwrap(),
            1 => file.sync_data().unwrap(),
            _ => File::open(self.disk.path("")).unwrap().sync_all().unwrap(),
        }
    }

    /// Compares all there is in a folder with what is beside it, read in one way or in any.
    fn check_all(&mut self, root: &Path, way: Option<Way>) {
        assert_eq!(list(root), list(&self.beside));
        for path in list(&self.beside) {
            let (place, beside) = (root.join(&path), self.beside.join(&path));
            let kind = fs::symlink_metadata(&beside).unwrap().file_type();
            assert_eq!(fs::symlink_metadata(&place).unwrap().file_type(), kind, "{path:?}");
            if kind.is_symlink() {
                assert_eq!(fs::read_link(&place).unwrap(), fs::read_link(&beside).unwrap());
            } else if kind.is_file() {
                let way = way.unwrap_or_else(|| WAYS[self.below(WAYS.len())]);
                check(&reality::open(&place, way).unwrap(), way, &File::open(beside).unwrap());
            }
        }
    }
}

/// Compares one file, read in one way.
fn check(file: &File, way: Way, twin: &File) {
    let told = |file: &File| {
        let meta = file.metadata().unwrap();
        (meta.mode(), meta.nlink(), meta.len())
    };
    assert_eq!(told(file), told(twin));
    let read = reality::read(file, way).unwrap();
    let known = reality::read(twin, Way::Buffered).unwrap();
    let differs = known.iter().zip(&read).position(|(a, b)| a != b);
    assert_eq!((read.len(), differs), (known.len(), None), "read {way:?}");
}

/// All paths in a folder, in order.
fn list(root: &Path) -> Vec<PathBuf> {
    let (mut paths, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            paths.push(entry.path().strip_prefix(root).unwrap().to_owned());
            folders.extend(Some(entry.path()).filter(|_| entry.file_type().unwrap().is_dir()));
        }
    }
    paths.sort();
    paths
}

/// Steps of each history; `BAKEOFF_STEPS` sets another number.
fn steps() -> usize {
    std::env::var("BAKEOFF_STEPS").map_or(1500, |steps| steps.parse().unwrap())
}

#[test]
fn a_mount_does_what_a_file_system_does() {
    for seed in 0..3 {
        let Some(disk) = Disk::mount_with("null", seed > 0) else { return };
        let mut history = History::new(disk, seed);
        let root = history.disk.path("");
        for n in 0..steps() {
            history.step();
            if n % 50 == 0 {
                history.check_all(&root, None);
            }
        }
        history.check_all(&root, None);
        history.open.clear();
        history.disk.remount();
        history.check_all(&root, None);
    }
}

/// The journey over all floors: from a program's calls to what a power cut leaves.
#[test]
fn what_was_synced_is_in_every_crash_image() {
    for (seed, keep) in Keep::ALL.into_iter().cycle().take(2 * Keep::ALL.len()).enumerate() {
        let Some(disk) = Disk::mount_with("null", seed >= Keep::ALL.len()) else { return };
        let mut history = History::new(disk, seed as u64);
        for _ in 0..steps() / 3 {
            history.step();
        }
        history.open.clear();
        let root = history.disk.path("");
        for path in list(&root).iter().map(|path| root.join(path)).chain([root.clone()]) {
            if !path.is_symlink() {
                File::open(path).unwrap().sync_all().unwrap();
            }
        }
        let image = history.disk.cut(keep);
        history.check_all(&image, Some(Way::Buffered));
    }
}
