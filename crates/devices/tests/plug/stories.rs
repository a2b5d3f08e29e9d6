//! How writes are torn, and what they take of memory: what a model that allows it all can't tell.

use bakeoff_devices::plug::{
    Before, EntryPlace, Ino, Keep, Metadata, MirrorCopies, NodeKind, Pending,
};

use crate::driver::{Driver, ORDERED, POSIX, Promises, attributes};
use crate::model::ROOT;
use crate::seen::picture;

/// A durable file with these bytes.
pub fn with_file(promises: Promises, bytes: Vec<u8>) -> (Driver, Ino) {
    let mut driver = Driver::new(promises, None);
    let ino = driver.create(ROOT, "x", NodeKind::File).expect("a new name");
    driver.write(ino, 0, bytes);
    driver.settle();
    (driver, ino)
}

/// What many power cuts leave of it, on an array or not.
pub fn left(driver: &Driver, copies: Option<&MirrorCopies>, keep: Keep) -> Vec<Vec<u8>> {
    let cut = |seed| {
        let image = driver.pending.state().image_on(copies, keep, seed, &driver.store);
        picture(&image.expect("an image"), &driver.store).expect("a tree")["/x"].2.clone()
    };
    (0..300).map(cut).map(|bytes| bytes.expect("a file")).collect()
}

fn differ(bytes: &[u8]) -> bool {
    bytes.iter().any(|byte| *byte != bytes[0])
}

#[test]
fn a_page_is_torn_between_its_pages_and_more_rarely_within_one() {
    let (mut driver, it) = with_file(POSIX, vec![1; 16384]);
    driver.write(it, 0, vec![2; 16384]);
    assert!(!left(&driver, None, Keep::Subset).iter().any(|bytes| differ(bytes)));
    let (mut between, mut within) = (0, 0);
    for bytes in left(&driver, None, Keep::Torn) {
        assert!(bytes.len() == 16384 && !bytes.chunks(512).any(differ), "sectors are whole");
        if bytes.chunks(4096).any(differ) {
            within += 1;
        } else if differ(&bytes) {
            between += 1;
        }
    }
    assert!(within > 0 && between > within, "{between} between pages, {within} within");
}

#[test]
fn a_page_without_a_block_is_whole_or_not_there_where_there_is_a_journal() {
    for (promises, may_be) in [(ORDERED, false), (POSIX, true)] {
        // Those that never had one, and those that were cut off.
        for before in [&[][..], &[1; 16384]] {
            let (mut driver, it) = with_file(promises, before.to_vec());
            driver.truncate(it, 0, false);
            driver.write(it, 0, vec![2; 16384]);
            let torn = |bytes: &Vec<u8>| bytes.chunks(4096).any(differ);
            let torn = left(&driver, None, Keep::Torn).iter().any(torn);
            assert_eq!(torn, may_be, "{promises:?}");
        }
        // In each page one half after the other.
        let (mut driver, it) = with_file(promises, Vec::new());
        driver.write(it, 0, vec![1; 2048]);
        driver.write(it, 2048, vec![1; 4096]);
        driver.write(it, 6144, vec![1; 2048]);
        let seen = left(&driver, None, Keep::Subset);
        let later_alone = [vec![0; 2048], vec![1; 4096]].concat();
        assert_eq!(seen.contains(&later_alone), may_be, "{promises:?}");
        assert!(seen.contains(&vec![1; 8192]) && seen.contains(&vec![1; 6144]), "{promises:?}");
        // A page may be missing before one that is there.
        let gap = |bytes: &Vec<u8>| bytes.starts_with(&[0; 4096]) && bytes.get(4096) == Some(&1);
        assert!(left(&driver, None, Keep::Torn).iter().any(gap), "{promises:?}");
    }
}

#[test]
fn a_page_with_a_block_may_be_torn_where_there_is_a_journal_too() {
    let (mut driver, it) = with_file(ORDERED, vec![1; 5000]);
    // The rest of the last page has a block; the next one has none.
    driver.write(it, 5000, vec![2; 7288]);
    let seen = left(&driver, None, Keep::Torn);
    let mixed = |page: &[u8]| page.contains(&0) && page.contains(&2);
    let old = |bytes: &Vec<u8>| mixed(bytes.get(5120..bytes.len().min(8192)).unwrap_or_default());
    assert!(seen.iter().any(old));
    assert!(!seen.iter().any(|bytes| bytes.get(8192..).is_some_and(mixed)));
}

#[test]
fn an_append_takes_little_memory_and_zeros_take_none() {
    const PAGES: u64 = 10_000;
    let mut pending = Pending::new(ROOT, attributes(0o755), Metadata::Posix);
    let place = EntryPlace { dir: ROOT, name: "x".as_ref() };
    pending.adopt(place, 2, NodeKind::File, attributes(0o644));
    let mut per_page = |old: &[u8]| {
        let before = pending.memory_bytes();
        for page in 0..PAGES {
            let size = if old.is_empty() { page * 4096 } else { PAGES * 4096 };
            pending.write(2, page * 4096, 4096, size, Before::Bytes(old));
        }
        (pending.memory_bytes() - before) / PAGES
    };
    assert!(per_page(&[]) <= 72);
    assert_eq!(per_page(&[0; 4096]), per_page(&[]));
    assert_eq!(per_page(&[1; 4096]), per_page(&[]) + 4096);
}
