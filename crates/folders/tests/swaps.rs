//! What somebody puts into a folder, before or while it is read, leads nowhere else.

use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use bakeoff_folders::{Dir, EntryKind, disk_usage, each_file};

/// How often a folder is read while it is swapped so often.
const LOOKS: u64 = 10_000;
/// The bytes that nobody may read.
const SECRET: &[u8] = b"secret";

fn all(folder: &Path) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    // A folder that became a link between two looks is refused: no less right than passed over.
    let _ = each_file(&Dir::open(folder).unwrap(), &mut |mut file, _| {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        found.push(bytes);
        Ok(())
    });
    found
}

#[test]
fn links_are_not_followed_and_pipes_not_opened() {
    let place = tempfile::tempdir().unwrap();
    let (folder, outside) = (place.path().join("folder"), place.path().join("outside"));
    fs::create_dir(&folder).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), SECRET).unwrap();
    symlink(&outside, folder.join("linked")).unwrap();
    symlink(outside.join("file"), folder.join("link")).unwrap();
    let pipe = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, folder.join("pipe"), pipe, 0o600.into(), 0).unwrap();
    fs::write(folder.join("data"), "own").unwrap();

    assert_eq!(all(&folder), [b"own"]);
    let dir = Dir::open(&folder).unwrap();
    assert!(disk_usage(&dir).unwrap() < 64 << 10);
    for name in ["link", "pipe", "linked"] {
        let error = dir.open_for_read(name).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
        dir.open_for_append(name).unwrap_err();
    }
    let error = dir.enter_folder("linked").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotADirectory);
    assert!(error.to_string().contains("is a link"), "{error}");
    Dir::open(&folder.join("linked")).unwrap_err();
    assert_eq!(dir.find_entry("linked").unwrap().map(|entry| entry.kind), Some(EntryKind::Link));
    fs::hard_link(outside.join("file"), folder.join("second")).unwrap();
    let error = dir.open_for_append("second").unwrap_err();
    assert!(error.to_string().contains("several names"), "{error}");
}

#[test]
fn a_folder_that_is_swapped_with_a_link_while_it_is_read_leads_nowhere_else() {
    let place = tempfile::tempdir().unwrap();
    let (folder, outside) = (place.path().join("folder"), place.path().join("outside"));
    fs::create_dir_all(folder.join("swapped")).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(folder.join("swapped/file"), "own").unwrap();
    fs::write(outside.join("file"), SECRET).unwrap();
    symlink(&outside, folder.join("other")).unwrap();
    let (stop, swaps) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let swapper = scope.spawn(|| {
            let flags = rustix::fs::RenameFlags::EXCHANGE;
            let (one, other) = (folder.join("swapped"), folder.join("other"));
            while !stop.load(Relaxed) {
                let cwd = rustix::fs::CWD;
                rustix::fs::renameat_with(cwd, &one, cwd, &other, flags).unwrap();
                swaps.fetch_add(1, Relaxed);
            }
        });
        let (mut looks, mut own) = (0, 0);
        while !swapper.is_finished() && (looks < LOOKS || own == 0 || swaps.load(Relaxed) < LOOKS) {
            looks += 1;
            let found = all(&folder);
            own += found.iter().filter(|bytes| *bytes == b"own").count();
            assert!(!found.iter().any(|bytes| bytes == SECRET), "a link was followed");
        }
        stop.store(true, Relaxed);
    });
}

#[test]
fn folders_without_end_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let mut depth = Dir::open(place.path()).unwrap();
    for _ in 0..1000 {
        rustix::fs::mkdirat(&depth, "f", 0o700.into()).unwrap();
        let flags = rustix::fs::OFlags::DIRECTORY;
        let below = rustix::fs::openat(&depth, "f", flags, rustix::fs::Mode::empty()).unwrap();
        depth = Dir::from_descriptor(below, place.path()).unwrap();
    }
    let error = disk_usage(&Dir::open(place.path()).unwrap()).unwrap_err();
    assert!(error.to_string().contains("too many folders"), "{error}");
}
