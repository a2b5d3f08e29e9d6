//! Random histories of file operations, on a mount and on a model of a file system.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rustix::fs::{CWD, FallocateFlags, RenameFlags};
use rustix::io::Errno;

use crate::common::Disk;
use crate::failures::folder;
use crate::model::{Collision, Id, Model, Thing};
use crate::reality::{self, Way, errno};

/// The largest file; most are smaller.
const LARGEST: usize = 300_000;

/// One history under way.
struct History {
    disk: Disk,
    model: Model,
    random: Xoshiro256PlusPlus,
    /// Files that are open, some of which have no name any more.
    open: Vec<(File, Way, Id)>,
}

const WAYS: [Way; 5] = [Way::Buffered, Way::Synced, Way::Direct, Way::DirectSynced, Way::Mapped];

impl History {
    fn new(disk: Disk, seed: u64) -> Self {
        Self {
            disk,
            model: Model::new(),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            open: Vec::new(),
        }
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

    fn way(&mut self) -> Way {
        WAYS[self.below(WAYS.len())]
    }

    fn range(&mut self) -> (usize, usize) {
        let most = if self.below(8) == 0 { LARGEST } else { 20_000 };
        (self.below(most), 1 + self.below(most / 4))
    }

    fn step(&mut self) {
        match self.below(20) {
            0..=2 => self.create(),
            3 => {
                let path = self.path();
                let done = fs::create_dir(self.disk.path(&path));
                self.compare("mkdir", &path, done, |model, path| model.mkdir(path));
            }
            4 => {
                let path = self.path();
                let done = fs::remove_file(self.disk.path(&path));
                self.compare("unlink", &path, done, |model, path| model.unlink(path));
            }
            5 => {
                let path = self.path();
                let done = fs::remove_dir(self.disk.path(&path));
                self.compare("rmdir", &path, done, |model, path| model.rmdir(path));
            }
            6 | 7 => self.rename(),
            8 => self.link(),
            9 => self.symlink(),
            10..=13 => self.write(),
            14 => self.truncate(),
            15 => self.allocate(),
            16 => self.open(),
            17 => self.close(),
            18 => self.chmod(),
            _ => self.sync(),
        }
    }

    /// Holds the answer against the model's.
    fn compare(
        &mut self,
        what: &str,
        path: &str,
        done: std::io::Result<()>,
        expect: impl FnOnce(&mut Model, &str) -> Result<(), Errno>,
    ) {
        let done = done.map_err(|error| errno(&error));
        assert_eq!(done, expect(&mut self.model, path), "{what} {path}");
    }

    fn create(&mut self) {
        let (path, mode) = (self.path(), 0o600 + self.below(64) as u32);
        let made = File::options().write(true).create_new(true).open(self.disk.path(&path));
        let made = made.and_then(|file| file.set_permissions(fs::Permissions::from_mode(mode)));
        self.compare("create", &path, made, |model, path| model.create(path, mode).map(drop));
    }

    fn rename(&mut self) {
        let (from, to) = (self.path(), self.path());
        let (flags, collision) = [
            (RenameFlags::empty(), Collision::Replace),
            (RenameFlags::NOREPLACE, Collision::Refuse),
            (RenameFlags::EXCHANGE, Collision::Exchange),
        ][self.below(3)];
        let (old, new) = (self.disk.path(&from), self.disk.path(&to));
        let done = rustix::fs::renameat_with(CWD, old, CWD, new, flags);
        assert_eq!(done, self.model.rename(&from, &to, collision), "{from} to {to}, {flags:?}");
    }

    fn link(&mut self) {
        let (from, to) = (self.path(), self.path());
        let done = fs::hard_link(self.disk.path(&from), self.disk.path(&to));
        self.compare("link", &from, done, |model, from| model.link(from, &to));
    }

    fn symlink(&mut self) {
        let path = format!("link{}", self.below(2));
        if self.below(2) == 0 {
            let target = format!("nowhere/{}", self.below(1000));
            let done = std::os::unix::fs::symlink(&target, self.disk.path(&path));
            self.compare("symlink", &path, done, |model, path| model.symlink(path, &target));
        } else {
            let done = fs::remove_file(self.disk.path(&path));
            self.compare("unlink", &path, done, |model, path| model.unlink(path));
        }
    }

    /// A file that is open already, or is opened now by some path, if there is one.
    fn some_file(&mut self) -> Option<(File, Way, Id)> {
        if !self.open.is_empty() && self.below(2) == 0 {
            let n = self.below(self.open.len());
            let (file, way, id) = &self.open[n];
            return Some((file.try_clone().unwrap(), *way, *id));
        }
        let (path, way) = (self.path(), self.way());
        let (opened, known) = (reality::open(&self.disk.path(&path), way), self.model.file(&path));
        match (opened, known) {
            (Ok(file), Ok(id)) => Some((file, way, id)),
            (opened, known) => {
                assert_eq!(opened.map(drop), known.map(drop), "open {path}");
                None
            }
        }
    }

    fn write(&mut self) {
        let Some((file, way, id)) = self.some_file() else { return };
        let (mut offset, mut length) = self.range();
        match way {
            Way::Direct | Way::DirectSynced if self.below(10) > 0 => {
                offset = offset / 512 * 512;
                length = length.next_multiple_of(512);
            }
            Way::Mapped => {
                let size = self.model.data(id).len();
                if size == 0 {
                    return;
                }
                offset %= size;
                length = length.min(size - offset);
            }
            _ => {}
        }
        let bytes: Vec<u8> = (0..length).map(|_| self.random.random()).collect();
        let done = reality::write(&file, way, offset, &bytes);
        let direct = matches!(way, Way::Direct | Way::DirectSynced);
        if direct && !(offset.is_multiple_of(512) && length.is_multiple_of(512)) {
            assert_eq!(done, Err(Errno::INVAL), "{length} bytes at {offset}, {way:?}");
        } else {
            assert_eq!(done, Ok(()), "{length} bytes at {offset}, {way:?}");
            self.model.write(id, offset, &bytes);
        }
        self.check(&file, way, id);
    }

    fn truncate(&mut self) {
        let Some((file, way, id)) = self.some_file() else { return };
        let (size, _) = self.range();
        file.set_len(size as u64).unwrap();
        self.model.resize(id, size);
        self.check(&file, way, id);
    }

    fn allocate(&mut self) {
        use FallocateFlags as F;
        let Some((file, way, id)) = self.some_file() else { return };
        let (offset, length) = self.range();
        let kind = self.below(5);
        let flags = [
            F::empty(),
            F::KEEP_SIZE,
            F::PUNCH_HOLE | F::KEEP_SIZE,
            F::ZERO_RANGE,
            F::ZERO_RANGE | F::KEEP_SIZE,
        ][kind];
        match reality::allocate(&file, flags, offset, length) {
            // Not all backing file systems have all of these.
            Err(Errno::OPNOTSUPP) => return,
            done => assert_eq!(done, Ok(()), "{flags:?} {length} at {offset}"),
        }
        if flags.intersects(F::PUNCH_HOLE | F::ZERO_RANGE) {
            self.model.clear(id, offset, length);
        }
        if !flags.contains(F::KEEP_SIZE) {
            self.model.grow(id, offset + length);
        }
        self.check(&file, way, id);
    }

    fn open(&mut self) {
        if let Some(opened) = self.some_file() {
            self.open.push(opened);
        }
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            let n = self.below(self.open.len());
            self.open.swap_remove(n);
        }
    }

    fn chmod(&mut self) {
        let Some((file, _, id)) = self.some_file() else { return };
        let mode = 0o600 + self.below(64) as u32;
        file.set_permissions(fs::Permissions::from_mode(mode)).unwrap();
        self.model.chmod(id, mode);
    }

    fn sync(&mut self) {
        let Some((file, _, _)) = self.some_file() else { return };
        match self.below(3) {
            0 => file.sync_all().unwrap(),
            1 => file.sync_data().unwrap(),
            _ => File::open(self.disk.path("")).unwrap().sync_all().unwrap(),
        }
    }

    /// Compares one file, read in one way.
    fn check(&mut self, file: &File, way: Way, id: Id) {
        let read = reality::read(file, way).unwrap();
        let meta = file.metadata().unwrap();
        let Thing::File { data, mode, names } = self.model.thing(id) else { panic!("no file") };
        let known = (*mode, u64::from(*names), data.len() as u64);
        assert_eq!((meta.mode() & 0o7777, meta.nlink(), meta.len()), known);
        let differs = data.iter().zip(&read).position(|(a, b)| a != b);
        assert_eq!((read.len(), differs), (data.len(), None), "read {way:?}");
    }

    /// Compares all there is.
    fn check_all(&mut self) {
        let paths = self.model.paths();
        for (path, id) in &paths {
            let place = self.disk.path(path);
            match self.model.thing(*id) {
                Thing::File { .. } => {
                    let way = self.way();
                    let file = reality::open(&place, way).unwrap();
                    self.check(&file, way, *id);
                }
                Thing::Folder(entries) => {
                    let names: Vec<_> = entries.keys().cloned().collect();
                    assert_eq!(list(&place), names, "{path}");
                }
                Thing::Link(target) => {
                    assert_eq!(fs::read_link(&place).unwrap().to_str().unwrap(), target);
                }
            }
        }
        let names = paths.iter().filter(|(path, _)| !path.contains('/'));
        let names: Vec<_> = names.map(|(path, _)| path.clone()).collect();
        assert_eq!(list(&self.disk.path("")), names);
    }
}

/// A folder's names, in order, each once.
fn list(folder: &std::path::Path) -> Vec<String> {
    let mut names = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert_eq!(names.insert(name.clone(), ()), None, "{name} is there twice");
    }
    names.into_keys().collect()
}

/// Steps of each history; `BAKEOFF_STEPS` sets another number.
fn steps() -> usize {
    std::env::var("BAKEOFF_STEPS").map_or(1500, |steps| steps.parse().unwrap())
}

fn run(seed: u64) {
    let Some(disk) = Disk::mount("null") else { return };
    let mut history = History::new(disk, seed);
    for n in 0..steps() {
        history.step();
        if n % 50 == 0 {
            history.check_all();
        }
    }
    history.check_all();
    history.open.clear();
    history.disk.remount();
    history.check_all();
}

#[test]
fn a_mount_does_what_a_file_system_does() {
    for seed in 0..3 {
        run(seed);
    }
}

#[test]
fn what_was_synced_is_in_every_crash_image() {
    for (seed, keep) in bakeoff_devices::plug::Keep::ALL.into_iter().enumerate() {
        let Some(disk) = Disk::mount("null") else { return };
        let mut history = History::new(disk, seed as u64);
        for _ in 0..steps() / 3 {
            history.step();
        }
        history.open.clear();
        for (path, id) in history.model.paths() {
            if !matches!(history.model.thing(id), Thing::Link(_)) {
                File::open(history.disk.path(path)).unwrap().sync_all().unwrap();
            }
        }
        File::open(history.disk.path("")).unwrap().sync_all().unwrap();
        let image = folder(&history.disk, "image");
        history.disk.volume.cut(keep, seed as u64, &image).unwrap();
        for (path, id) in history.model.paths() {
            let place = image.join(&path);
            match history.model.thing(id) {
                Thing::File { data, mode, .. } => {
                    assert!(fs::read(&place).unwrap() == *data, "{keep}: {path} differs");
                    assert_eq!(fs::metadata(&place).unwrap().mode() & 0o7777, *mode, "{path}");
                }
                Thing::Folder(entries) => {
                    let names: Vec<_> = entries.keys().cloned().collect();
                    assert_eq!(list(&place), names, "{keep}: {path}");
                }
                Thing::Link(target) => {
                    assert_eq!(fs::read_link(&place).unwrap().to_str().unwrap(), target);
                }
            }
        }
    }
}
