//! Crash images as they are written into folders: of the random histories that the plug is tested
//! by, and of what those do not make.
//!
//! `BAKEOFF_PLUG_CASES` sets how many histories the plug's own tests try; a tenth of them here.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use bakeoff_devices::plug::{CrashImage, Ino, Keep, NodeKind};
use bakeoff_disk::materialise::materialise;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::commands::commands;
use crate::driver::{Driver, POSIX};
use crate::model::{Picture, ROOT};
use crate::seen::picture;

#[test]
fn a_folder_made_of_an_image_holds_just_the_image() {
    let cases =
        std::env::var("BAKEOFF_PLUG_CASES").map_or(200, |cases| cases.parse().expect("a number"));
    let config = Config { cases: cases / 10, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&commands(60), |history| {
        let mut driver = Driver::new(POSIX, None);
        history.iter().for_each(|command| driver.run(command));
        for keep in Keep::ALL {
            folder(&driver, keep, 1).map_err(TestCaseError::fail)?;
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_folder_gets_holes_pipes_and_owners_and_must_be_empty() {
    let mut driver = Driver::new(POSIX, None);
    let sparse = driver.create(ROOT, "sparse", NodeKind::File).unwrap();
    driver.truncate(sparse, 64 << 20, false);
    driver.write(sparse, 32 << 20, b"here".to_vec());
    driver.create(ROOT, "pipe", NodeKind::Special(0o010_000, 0));
    driver.settle();
    let to = tempfile::tempdir().unwrap();
    let make = || {
        let image = driver.pending.state().image(Keep::DropAll, 0, &driver.store).unwrap();
        materialise(&image, &driver.store, to.path())
    };
    make().unwrap();
    let meta = fs::metadata(to.path().join("sparse")).unwrap();
    assert!(meta.len() == 64 << 20 && meta.blocks() * 512 <= 1 << 20, "{meta:?}");
    assert_eq!(fs::read(to.path().join("sparse")).unwrap(), driver.store.0[&sparse]);
    assert!(fs::metadata(to.path().join("pipe")).unwrap().file_type().is_fifo());
    let error = make().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::DirectoryNotEmpty);
    assert!(error.to_string().contains("name an empty folder"), "{error}");
}

/// Writes an image into a folder and reads it back.
fn folder(driver: &Driver, keep: Keep, seed: u64) -> Result<(), String> {
    let to = tempfile::tempdir().map_err(|e| e.to_string())?;
    let image =
        driver.pending.state().image(keep, seed, &driver.store).map_err(|e| e.to_string())?;
    materialise(&image, &driver.store, to.path()).map_err(|e| e.to_string())?;
    let expected = picture(&image, &driver.store)?;
    let found = read_folder(to.path(), &image, &expected)?;
    if found != expected.len() {
        return Err(format!("{found} names in the folder, {} in the image", expected.len()));
    }
    Ok(())
}

/// Holds what is in a folder against a picture. Gives the number of names.
fn read_folder(to: &Path, image: &CrashImage<'_>, expected: &Picture) -> Result<usize, String> {
    let mut numbers: HashMap<Ino, u64> = HashMap::new();
    for (path, (ino, mode, bytes)) in expected {
        let real = to.join(path.trim_start_matches('/'));
        let meta = fs::symlink_metadata(&real).map_err(|e| format!("{path}: {e}"))?;
        if *numbers.entry(*ino).or_insert(meta.ino()) != meta.ino() {
            return Err(format!("{path} is not a hard link"));
        }
        let kind = &image.item(*ino).unwrap().kind;
        let right = match kind {
            NodeKind::Symlink(target) => {
                fs::read_link(&real).is_ok_and(|to| to == Path::new(target))
            }
            NodeKind::Directory => meta.is_dir(),
            _ => meta.is_file() && fs::read(&real).ok() == *bytes,
        };
        let mode_right = meta.is_symlink() || meta.permissions().mode() & 0o7777 == *mode;
        if !right || !mode_right {
            return Err(format!("{path} is {meta:?}"));
        }
    }
    Ok(count(to))
}

fn count(path: &Path) -> usize {
    let below = if path.is_dir() && !path.is_symlink() {
        fs::read_dir(path).unwrap().map(|entry| count(&entry.unwrap().path())).sum()
    } else {
        0
    };
    1 + below
}
