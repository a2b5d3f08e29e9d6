//! What applications do to make data durable, operation by operation, on any file system.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::thread;

use rustix::fs::FallocateFlags;

/// What a writer appends or overwrites at once, in bytes.
const RECORD: u64 = 512;
/// Bytes of a file that is overwritten.
const WRITTEN: u64 = 1 << 20;
/// Bytes of a file that `fallocate` made.
const ALLOCATED: u64 = 8 << 20;

/// One way to make data durable.
pub struct Pattern {
    /// What it is, in a few words.
    pub name: &'static str,
    /// How many threads do it, each with files of its own.
    pub writers: u32,
    /// Makes ready what a writer needs, not counted.
    prepare: fn(&Path, u32) -> File,
    /// One operation of a writer.
    operation: fn(&Path, u32, &File, u64),
}

/// Those that are counted.
pub const PATTERNS: &[Pattern] = &[
    Pattern::new("append, fdatasync", 1, empty, append_data),
    Pattern::new("append, fsync", 1, empty, append_all),
    Pattern::new("write into fallocated, fdatasync", 1, allocated, append_data),
    Pattern::new("append, fdatasync", 4, empty, append_data),
    Pattern::new("overwrite, fdatasync", 1, written, overwrite),
    Pattern::new("overwrite, fdatasync", 4, written, overwrite),
    Pattern::new("overwrite by O_DSYNC", 1, written_dsync, over),
    Pattern::new("the same around the page cache", 1, written_direct, over_direct),
    Pattern::new("create, fsync", 1, folder, create),
    Pattern::new("create, fsync", 4, folder, create),
    Pattern::new("and rename, sync of folder", 1, folder, replace),
    Pattern::new("and rename, sync of folder", 4, folder, replace),
];

impl Pattern {
    const fn new(
        name: &'static str,
        writers: u32,
        prepare: fn(&Path, u32) -> File,
        operation: fn(&Path, u32, &File, u64),
    ) -> Self {
        Self { name, writers, prepare, operation }
    }

    /// Makes ready what the writers need.
    pub fn prepare(&self, folder: &Path) -> Vec<File> {
        let files: Vec<File> =
            (0..self.writers).map(|writer| (self.prepare)(folder, writer)).collect();
        // Operations that are not counted, and then all that is left.
        self.run(folder, &files, 0..8);
        rustix::fs::syncfs(File::open(folder).unwrap()).unwrap();
        files
    }

    /// Has each writer do the operations of these numbers.
    pub fn run(&self, folder: &Path, files: &[File], numbers: std::ops::Range<u64>) {
        thread::scope(|scope| {
            for (writer, file) in (0..).zip(files) {
                let numbers = numbers.clone();
                scope.spawn(move || {
                    numbers.for_each(|number| (self.operation)(folder, writer, file, number));
                });
            }
        });
    }
}

fn empty(folder: &Path, writer: u32) -> File {
    synced(File::create(folder.join(format!("log-{writer}"))).unwrap())
}

fn allocated(folder: &Path, writer: u32) -> File {
    let file = empty(folder, writer);
    rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, ALLOCATED).unwrap();
    synced(file)
}

fn written(folder: &Path, writer: u32) -> File {
    let file = empty(folder, writer);
    file.write_all_at(&vec![1; WRITTEN as usize], 0).unwrap();
    synced(file)
}

fn written_dsync(folder: &Path, writer: u32) -> File {
    written_then(folder, writer, libc::O_DSYNC)
}

fn written_direct(folder: &Path, writer: u32) -> File {
    written_then(folder, writer, libc::O_DSYNC | libc::O_DIRECT)
}

fn written_then(folder: &Path, writer: u32, flags: i32) -> File {
    drop(written(folder, writer));
    let path = folder.join(format!("log-{writer}"));
    File::options().write(true).custom_flags(flags).open(path).unwrap()
}

/// A folder of the writer's own, with a file that others can be renamed over.
fn folder(folder: &Path, writer: u32) -> File {
    let own = folder.join(format!("folder-{writer}"));
    std::fs::create_dir(&own).unwrap();
    std::fs::write(own.join("current"), [1; RECORD as usize]).unwrap();
    synced(File::open(own).unwrap())
}

fn synced(file: File) -> File {
    file.sync_all().unwrap();
    file
}

fn append_data(_: &Path, _: u32, file: &File, number: u64) {
    file.write_all_at(&[2; RECORD as usize], number * RECORD).unwrap();
    file.sync_data().unwrap();
}

fn append_all(_: &Path, _: u32, file: &File, number: u64) {
    file.write_all_at(&[2; RECORD as usize], number * RECORD).unwrap();
    file.sync_all().unwrap();
}

fn overwrite(folder: &Path, writer: u32, file: &File, number: u64) {
    over(folder, writer, file, number);
    file.sync_data().unwrap();
}

/// Anywhere in the file, each time elsewhere.
fn over(_: &Path, _: u32, file: &File, number: u64) {
    let place = number * 37 % (WRITTEN / RECORD) * RECORD;
    file.write_all_at(&[3; RECORD as usize], place).unwrap();
}

fn over_direct(_: &Path, _: u32, file: &File, number: u64) {
    /// Memory as direct writes take it.
    #[repr(align(4096))]
    struct Page([u8; 4096]);
    let place = number * 37 % (WRITTEN / 4096) * 4096;
    file.write_all_at(&Page([3; 4096]).0, place).unwrap();
}

fn create(folder: &Path, writer: u32, _: &File, number: u64) {
    make(&folder.join(format!("folder-{writer}/new-{number}")));
}

fn replace(folder: &Path, writer: u32, own: &File, _: u64) {
    let at = |name: &str| folder.join(format!("folder-{writer}/{name}"));
    make(&at("next"));
    std::fs::rename(at("next"), at("current")).unwrap();
    own.sync_all().unwrap();
}

fn make(path: &Path) {
    let file = File::create_new(path).unwrap();
    file.write_all_at(&[4; RECORD as usize], 0).unwrap();
    file.sync_all().unwrap();
}
