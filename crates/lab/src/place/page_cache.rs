use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::path::Path;

use bakeoff_folders::Dir;
use rustix::fs::{Advice, fadvise};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

const WINDOW: u64 = 1 << 30;

/// Drops every file below a folder from the page cache, after writing it. Pages that a process has
/// mapped stay.
pub fn drop_from_cache(folder: &Path) -> io::Result<()> {
    each_file(folder, &mut |file, _| {
        file.sync_data()?;
        fadvise(file, 0, None::<NonZeroU64>, Advice::DontNeed)?;
        Ok(())
    })
}

pub fn resident_bytes(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    each_file(folder, &mut |file, length| {
        for start in (0..length).step_by(WINDOW as usize) {
            bytes += resident_in(file, start, (length - start).min(WINDOW) as usize)?;
        }
        Ok(())
    })?;
    Ok(bytes)
}

/// Source: mincore(2).
fn resident_in(file: &File, start: u64, length: usize) -> io::Result<u64> {
    let page = rustix::param::page_size();
    let mut present = vec![0u8; length.div_ceil(page)];
    // SAFETY: the mapping is new, nobody reads it, and it is gone when this function ends; the
    // kernel writes a byte a page into a buffer that has as many.
    let done = unsafe {
        let flags = MapFlags::SHARED;
        let map = mmap(std::ptr::null_mut(), length, ProtFlags::READ, flags, file, start)?;
        let done = libc::mincore(map, length, present.as_mut_ptr());
        let error = io::Error::last_os_error();
        munmap(map, length)?;
        if done == 0 { Ok(()) } else { Err(error) }
    };
    done?;
    Ok(present.iter().filter(|byte| **byte & 1 == 1).count() as u64 * page as u64)
}

/// Skips empty and vanished files.
fn each_file(folder: &Path, what: &mut impl FnMut(&File, u64) -> io::Result<()>) -> io::Result<()> {
    bakeoff_folders::each_file(&Dir::open(folder)?, &mut |file, _| match file.metadata()?.len() {
        0 => Ok(()),
        length => what(file, length),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    use bakeoff_testkit::{in_time, wait_until};

    #[test]
    fn what_was_just_written_is_forgotten() {
        let place = crate::tests::folder_on_disk();
        let below = place.path().join("below");
        fs::create_dir(&below).unwrap();
        fs::write(place.path().join("empty"), "").unwrap();
        // The machine may take pages back at any time.
        let is_whole = || (resident_bytes(place.path()).unwrap() >= 3_000_000).then_some(());
        in_time("what was written", |_| {
            fs::write(below.join("file"), vec![1; 3_000_000]).unwrap();
            is_whole()
        });
        // A page that it has in hand this moment stays.
        wait_until("an empty cache", || {
            drop_from_cache(place.path()).unwrap();
            resident_bytes(place.path()).unwrap() == 0
        });
        in_time("what was read", |_| {
            assert_eq!(fs::read(below.join("file")).unwrap(), vec![1; 3_000_000]);
            is_whole()
        });
    }
}
