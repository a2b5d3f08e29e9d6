//! Known stories: what programs do, and what a power cut makes of it.

use std::collections::BTreeSet;

use bakeoff_devices::plug::{Before, FileAttributes, Ino, Keep, Metadata, NodeKind, Pending};

use crate::driver::{Driver, attributes};
use crate::model::{Picture, ROOT};
use crate::seen::picture;

const SEEDS: u64 = 200;

/// What many power cuts by one rule leave.
fn cuts(driver: &Driver, keep: Keep) -> Vec<Picture> {
    let cut = |seed| {
        let image = driver.pending.image(keep, seed, &driver.store).expect("an image");
        picture(&image, &driver.store).expect("a tree")
    };
    (0..SEEDS).map(cut).collect()
}

/// What they leave of one file; `None` where it is not there.
fn file(driver: &Driver, keep: Keep, path: &str) -> BTreeSet<Option<Vec<u8>>> {
    let seen = |picture: Picture| picture.get(path).and_then(|(.., bytes)| bytes.clone());
    cuts(driver, keep).into_iter().map(seen).collect()
}

fn new_file(driver: &mut Driver, dir: Ino, name: &str, bytes: &[u8]) -> Ino {
    let ino = driver.create(dir, name, NodeKind::File).expect("a new name");
    driver.write(ino, 0, bytes.to_vec());
    ino
}

fn set<const N: usize>(bytes: [Option<&[u8]>; N]) -> BTreeSet<Option<Vec<u8>>> {
    bytes.into_iter().map(|bytes| bytes.map(<[u8]>::to_vec)).collect()
}

#[test]
fn a_rename_without_a_sync_of_the_directory_shows_the_old_file_or_the_new_one() {
    let mut driver = Driver::new(Metadata::Posix, None);
    let old = driver.picture()["/a"].2.clone().unwrap();
    let new = new_file(&mut driver, ROOT, "a.tmp", b"new");
    driver.sync_file(new, false);
    driver.rename(driver.at("/a.tmp"), ROOT, "a");
    assert_eq!(file(&driver, Keep::DropAll, "/a"), set([Some(&old)]));
    for keep in [Keep::Prefix, Keep::Subset, Keep::Torn] {
        assert_eq!(file(&driver, keep, "/a"), set([Some(&old), Some(b"new")]), "{keep}");
    }
    driver.sync_dir(ROOT, false);
    for keep in Keep::ALL {
        assert_eq!(file(&driver, keep, "/a"), set([Some(b"new")]), "{keep}");
        assert_eq!(file(&driver, keep, "/a.tmp"), set([None]), "{keep}");
    }
}

#[test]
fn where_names_are_one_log_a_commit_takes_in_a_rename_that_nobody_synced() {
    for (metadata, renamed) in [(Metadata::Ordered, true), (Metadata::Posix, false)] {
        let mut driver = Driver::new(metadata, None);
        let old = driver.picture()["/a"].2.clone().unwrap();
        let new = new_file(&mut driver, ROOT, "a.tmp", b"new");
        driver.sync_file(new, false);
        if metadata == Metadata::Ordered {
            // The file is new: its sync commits.
            driver.commit(false);
        }
        driver.rename(driver.at("/a.tmp"), ROOT, "a");
        let other = new_file(&mut driver, ROOT, "other", b"1");
        driver.sync_file(other, false);
        if metadata == Metadata::Ordered {
            driver.commit(false);
        }
        let left = if renamed { set([Some(b"new")]) } else { set([Some(&old)]) };
        assert_eq!(file(&driver, Keep::DropAll, "/a"), left, "{metadata}");
        let other = if renamed { set([Some(b"1")]) } else { set([None]) };
        assert_eq!(file(&driver, Keep::DropAll, "/other"), other, "{metadata}");
    }
}

#[test]
fn where_names_are_one_log_none_is_left_without_those_before_it() {
    let mut driver = Driver::new(Metadata::Ordered, None);
    for name in ["b", "c", "x", "y"] {
        driver.create(ROOT, name, NodeKind::File).unwrap();
    }
    for keep in [Keep::Prefix, Keep::Subset, Keep::Torn] {
        let left: BTreeSet<Vec<String>> = cuts(&driver, keep)
            .into_iter()
            .map(|picture| {
                let new = |path: &String| ["/b", "/c", "/x", "/y"].contains(&path.as_str());
                picture.into_keys().filter(new).collect()
            })
            .collect();
        let prefix = |count: usize| ["/b", "/c", "/x", "/y"][..count].iter().map(|s| (*s).into());
        let prefixes = (0..=4).map(|count| prefix(count).collect()).collect();
        assert_eq!(left, prefixes, "{keep}");
    }
}

#[test]
fn a_rename_without_a_sync_of_the_file_may_leave_it_empty() {
    let mut driver = Driver::new(Metadata::Posix, None);
    let old = driver.picture()["/a"].2.clone().unwrap();
    new_file(&mut driver, ROOT, "a.tmp", b"new");
    driver.rename(driver.at("/a.tmp"), ROOT, "a");
    let all = set([Some(b"".as_slice()), Some(&old), Some(b"new")]);
    assert_eq!(file(&driver, Keep::Subset, "/a"), all);
    // The directory alone does not help.
    driver.sync_dir(ROOT, false);
    assert_eq!(file(&driver, Keep::Subset, "/a"), set([Some(b"".as_slice()), Some(b"new")]));
}

#[test]
fn a_new_file_that_was_synced_is_found_when_its_directory_was_synced_too() {
    let mut driver = Driver::new(Metadata::Posix, None);
    let outer = driver.create(ROOT, "outer", NodeKind::Directory).unwrap();
    let inner = driver.create(outer, "inner", NodeKind::Directory).unwrap();
    let file_there = new_file(&mut driver, inner, "file", b"there");
    driver.sync_file(file_there, false);
    let maybe = set([None, Some(b"there")]);
    assert_eq!(file(&driver, Keep::DropAll, "/outer/inner/file"), set([None]));
    for keep in [Keep::Prefix, Keep::Subset, Keep::Torn] {
        assert_eq!(file(&driver, keep, "/outer/inner/file"), maybe, "{keep}");
    }
    // With the names in it the directory's own is durable, and those above it.
    driver.sync_dir(inner, false);
    new_file(&mut driver, inner, "other", b"maybe");
    for keep in Keep::ALL {
        assert_eq!(file(&driver, keep, "/outer/inner/file"), set([Some(b"there")]), "{keep}");
    }
    assert_eq!(file(&driver, Keep::DropAll, "/outer/inner/other"), set([None]));
}

#[test]
fn a_sync_of_a_renamed_file_makes_neither_name_durable() {
    let mut driver = Driver::new(Metadata::Posix, None);
    let it = new_file(&mut driver, ROOT, "x", b"1");
    driver.sync_file(it, false);
    driver.sync_dir(ROOT, false);
    let d = driver.at("/d").2;
    driver.rename(driver.at("/x"), d, "x");
    driver.sync_file(it, false);
    assert_eq!(file(&driver, Keep::DropAll, "/x"), set([Some(b"1")]));
    assert_eq!(file(&driver, Keep::Subset, "/d/x"), set([None, Some(b"1")]));
    // Either of the two directories will do: a rename is one piece.
    driver.sync_dir(d, false);
    for keep in Keep::ALL {
        assert_eq!(file(&driver, keep, "/d/x"), set([Some(b"1")]), "{keep}");
        assert_eq!(file(&driver, keep, "/x"), set([None]), "{keep}");
    }
}

#[test]
fn a_sync_does_not_count_for_what_is_written_while_it_is_under_way() {
    let mut driver = Driver::new(Metadata::Posix, None);
    let it = new_file(&mut driver, ROOT, "x", b"one");
    driver.sync_dir(ROOT, false);
    let mark = driver.pending.mark();
    driver.write(it, 0, b"two".to_vec());
    driver.pending.sync_file(it, mark);
    assert_eq!(file(&driver, Keep::DropAll, "/x"), set([Some(b"one")]));
    assert_eq!(file(&driver, Keep::Subset, "/x"), set([Some(b"one"), Some(b"two")]));
}

#[test]
fn what_a_failed_sync_lost_stays_lost_though_the_next_one_succeeds() {
    let mut driver = Driver::new(Metadata::Posix, None);
    let it = new_file(&mut driver, ROOT, "x", &[1; 2048]);
    driver.sync_file(it, false);
    driver.sync_dir(ROOT, false);
    driver.write(it, 0, vec![2; 2048]);
    driver.fail_sync(it, false);
    driver.sync_file(it, false);
    // Written again, and with it the rest of its sector.
    driver.write(it, 600, vec![3; 10]);
    driver.sync_file(it, false);
    let mut left = vec![1; 2048];
    left[512..1024].fill(2);
    left[600..610].fill(3);
    for keep in Keep::ALL {
        assert_eq!(file(&driver, keep, "/x"), set([Some(&left)]), "{keep}");
    }
}

#[test]
fn a_write_that_is_lost_before_one_that_is_kept_leaves_a_hole() {
    let mut driver = Driver::new(Metadata::Posix, None);
    let it = driver.create(ROOT, "x", NodeKind::File).unwrap();
    driver.sync_dir(ROOT, false);
    let (one, two) = (vec![1; 512], vec![2; 512]);
    driver.write(it, 0, one.clone());
    driver.write(it, 512, two.clone());
    let (hole, both) = ([vec![0; 512], two.clone()].concat(), [one.clone(), two].concat());
    let some = set([Some(b"".as_slice()), Some(&one), Some(&hole), Some(&both)]);
    assert_eq!(file(&driver, Keep::Subset, "/x"), some);
    let in_order = set([Some(b"".as_slice()), Some(&one), Some(&both)]);
    assert_eq!(file(&driver, Keep::Prefix, "/x"), in_order);
}

#[test]
fn a_database_page_may_be_torn_between_its_pages_and_more_rarely_within_one() {
    let mut driver = Driver::new(Metadata::Posix, None);
    let it = new_file(&mut driver, ROOT, "x", &[1; 16384]);
    driver.sync_file(it, false);
    driver.sync_dir(ROOT, false);
    driver.write(it, 0, vec![2; 16384]);
    let whole = set([Some(&[1; 16384]), Some(&[2; 16384])]);
    assert_eq!(file(&driver, Keep::Subset, "/x"), whole);

    let mixed = |bytes: &[u8]| bytes.iter().any(|byte| *byte != bytes[0]);
    let (mut between, mut within) = (0, 0);
    for picture in cuts(&driver, Keep::Torn) {
        let bytes = picture["/x"].2.clone().unwrap();
        assert!(bytes.len() == 16384 && !bytes.chunks(512).any(mixed), "sectors are whole");
        if bytes.chunks(4096).any(mixed) {
            within += 1;
        } else if mixed(&bytes) {
            between += 1;
        }
    }
    assert!(within > 0 && between > within, "{between} between pages, {within} within");
}

/// In how many images of a file the sectors of a page differ.
fn torn_within(driver: &Driver, keep: Keep) -> usize {
    let torn = |picture: &Picture| {
        let bytes = picture.get("/x").and_then(|(.., bytes)| bytes.clone()).unwrap_or_default();
        bytes.chunks(4096).any(|page| page.iter().any(|byte| *byte != page[0]))
    };
    cuts(driver, keep).iter().filter(|picture| torn(picture)).count()
}

#[test]
fn a_page_that_had_no_block_is_whole_or_not_there_where_there_is_a_journal() {
    for (metadata, may_be) in [(Metadata::Ordered, false), (Metadata::Posix, true)] {
        let mut driver = Driver::new(metadata, None);
        new_file(&mut driver, ROOT, "x", &[1; 16384]);
        driver.sync_dir(ROOT, false);
        assert_eq!(torn_within(&driver, Keep::Torn) > 0, may_be, "{metadata}");

        // Nor have those that were cut off.
        let mut driver = Driver::new(metadata, None);
        let it = new_file(&mut driver, ROOT, "x", &[1; 16384]);
        driver.sync_dir(ROOT, false);
        driver.sync_file(it, false);
        driver.truncate(it, 0, false);
        driver.write(it, 0, vec![2; 16384]);
        assert_eq!(torn_within(&driver, Keep::Torn) > 0, may_be, "{metadata}");

        // In each page one half after the other.
        let mut driver = Driver::new(metadata, None);
        let it = driver.create(ROOT, "x", NodeKind::File).unwrap();
        driver.sync_dir(ROOT, false);
        driver.write(it, 0, vec![1; 2048]);
        driver.write(it, 2048, vec![1; 4096]);
        driver.write(it, 6144, vec![1; 2048]);
        let seen = file(&driver, Keep::Subset, "/x");
        let later_alone = [vec![0; 2048], vec![1; 4096]].concat();
        assert_eq!(seen.contains(&Some(later_alone)), may_be, "{metadata}");
        assert!(seen.contains(&Some(vec![1; 8192])), "{metadata}");
        assert!(seen.contains(&Some(vec![1; 6144])), "{metadata}");
        // A page may be missing before one that is there.
        let hole = [vec![0; 4096], vec![1; 4096]].concat();
        let torn = file(&driver, Keep::Torn, "/x");
        let gap = torn.iter().flatten().any(|bytes| bytes.starts_with(&hole[..4097]));
        assert!(gap, "{metadata}");
    }
}

#[test]
fn a_page_that_was_there_may_be_torn_where_there_is_a_journal_too() {
    let mut driver = Driver::new(Metadata::Ordered, None);
    let it = new_file(&mut driver, ROOT, "x", &[1; 5000]);
    driver.sync_file(it, false);
    driver.sync_dir(ROOT, false);
    // The rest of the last page has a block; the next one has none.
    driver.write(it, 5000, vec![2; 7288]);
    let seen = file(&driver, Keep::Torn, "/x");
    let part = |bytes: &Vec<u8>| {
        let page = bytes.get(5120..bytes.len().min(8192)).unwrap_or_default();
        page.contains(&0) && page.contains(&2)
    };
    assert!(seen.iter().flatten().any(part));
    let new =
        |bytes: &Vec<u8>| bytes.get(8192..).is_some_and(|it| it.contains(&0) && it.contains(&2));
    assert!(!seen.iter().flatten().any(new));
}

#[test]
fn a_directory_may_move_into_one_that_it_held() {
    let mut driver = Driver::new(Metadata::Posix, None);
    let outer = driver.create(ROOT, "outer", NodeKind::Directory).unwrap();
    let inner = driver.create(outer, "inner", NodeKind::Directory).unwrap();
    driver.sync_all();
    driver.rename(driver.at("/outer/inner"), ROOT, "inner");
    driver.rename(driver.at("/outer"), inner, "outer");
    let trees: BTreeSet<Vec<String>> = cuts(&driver, Keep::Subset)
        .into_iter()
        .map(|picture| picture.into_keys().filter(|path| path.contains("er")).collect())
        .collect();
    let tree = |paths: [&str; 2]| paths.map(str::to_owned).to_vec();
    let steps =
        [["/outer", "/outer/inner"], ["/inner", "/outer"], ["/inner", "/inner/outer"]].map(tree);
    assert_eq!(trees, steps.into());
}

#[test]
fn a_file_that_came_and_went_is_let_go_with_the_journal_commit() {
    let mut driver = Driver::new(Metadata::Posix, None);
    let it = new_file(&mut driver, ROOT, "x", b"gone");
    driver.remove(driver.at("/x"));
    assert!(driver.pending.holds(it));
    // It may show: the power may have gone in between.
    assert!(file(&driver, Keep::Prefix, "/x").contains(&Some(b"gone".to_vec())));
    let mark = driver.pending.mark();
    assert_eq!(driver.pending.commit_names(mark), [it]);
    assert!(!driver.pending.holds(it) && driver.pending.bytes() == 0);
    // Whoever still holds it open may write on; nothing of it can be lost.
    driver.write(it, 0, b"more".to_vec());
    assert_eq!(driver.pending.bytes(), 0);
}

#[test]
fn every_prefix_is_met_from_nothing_to_all() {
    let mut driver = Driver::new(Metadata::Posix, None);
    let it = driver.create(ROOT, "x", NodeKind::File).unwrap();
    driver.sync_dir(ROOT, false);
    let sizes = (0..5).map(|n| Some(vec![b'x'; n])).collect::<BTreeSet<_>>();
    for n in 0..4 {
        driver.write(it, n, b"x".to_vec());
    }
    assert_eq!(file(&driver, Keep::Prefix, "/x"), sizes);
}

#[test]
fn an_append_takes_little_memory_and_zeros_take_none() {
    const PAGES: u64 = 10_000;
    let mut pending =
        Pending::new(ROOT, FileAttributes { mode: 0o755, uid: 0, gid: 0 }, Metadata::Posix);
    let place = bakeoff_devices::plug::EntryPlace { dir: ROOT, name: "x".as_ref() };
    pending.adopt(place, 2, NodeKind::File, attributes(0o644));
    let mut per_page = |old: &[u8]| {
        let before = pending.bytes();
        for page in 0..PAGES {
            let size = if old.is_empty() { page * 4096 } else { PAGES * 4096 };
            pending.write(2, page * 4096, 4096, size, Before::Bytes(old));
        }
        (pending.bytes() - before) / PAGES
    };
    assert!(per_page(&[]) <= 72);
    assert_eq!(per_page(&[0; 4096]), per_page(&[]));
    assert_eq!(per_page(&[1; 4096]), per_page(&[]) + 4096);
}
