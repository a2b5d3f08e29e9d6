//! What a power cut leaves where nothing orders data before the metadata, and where there are two
//! copies of them.

use std::collections::{BTreeSet, HashMap};

use bakeoff_devices::ext4::Extent;
use bakeoff_devices::models::Models;
use bakeoff_devices::plug::{Ino, Keep, MirrorCopies};

use crate::driver::{Driver, JOURNAL, ORDERED, Promises, WRITEBACK};
use crate::stories::{left, with_file};

const PAGE: usize = 4096;

/// A file of four pages full of `0`, durable.
fn log(promises: Promises) -> (Driver, Ino) {
    with_file(promises, vec![b'0'; 4 * PAGE])
}

#[test]
fn a_file_that_grew_shows_stale_bytes_where_nothing_orders_data() {
    for promises in [ORDERED, WRITEBACK, JOURNAL] {
        let (mut driver, ino) = log(promises);
        driver.write(ino, 4 * PAGE, vec![b'A'; 2 * PAGE]);
        let is_stale = |bytes: &Vec<u8>| {
            assert!(bytes[..4 * PAGE].iter().all(|byte| *byte == b'0'));
            bytes[4 * PAGE..].iter().any(|byte| ![b'A', 0].contains(byte))
        };
        for keep in Keep::ALL {
            let stale = left(&driver, None, keep).iter().any(is_stale);
            assert_eq!(
                stale,
                promises == WRITEBACK && keep != Keep::DropAll,
                "{promises:?}, {keep}"
            );
        }
        driver.sync_file(ino, false);
        for keep in Keep::ALL {
            let all = left(&driver, None, keep);
            assert!(!all.iter().any(is_stale) && all.first().unwrap().len() == 6 * PAGE, "{keep}");
        }
    }
}

/// The log on an array of which each chunk is a page: pages 0 and 2 are on the same disks, and 1 and 3.
fn on_array(model: &str, ino: Ino) -> MirrorCopies {
    let spec = Models::standard().parse(model).unwrap();
    let extent = Extent { offset: 0, place: 0, length: 4 * PAGE as u64 };
    MirrorCopies::new(spec.mirrors().expect("it is an array"), HashMap::from([(ino, vec![extent])]))
}

/// The first bytes of the first two pages, of all images: `01`.
fn pages(copies: Option<&MirrorCopies>, driver: &Driver, keep: Keep) -> BTreeSet<String> {
    let first = |bytes: Vec<u8>| {
        let pages = bytes.chunks(PAGE).take(2);
        let whole = |page: &[u8]| keep == Keep::Torn || page.iter().all(|byte| *byte == page[0]);
        assert!(pages.clone().all(whole), "a torn page");
        pages.map(|page| char::from(page[0])).collect()
    };
    left(driver, copies, keep).into_iter().map(first).collect()
}

fn set<const N: usize>(pages: [&str; N]) -> BTreeSet<String> {
    pages.map(str::to_owned).into()
}

#[test]
fn of_a_write_in_flight_the_copy_is_read_that_lost_it() {
    // One write over the chunks of two pairs of disks.
    let (mut driver, ino) = log(ORDERED);
    driver.write(ino, 0, vec![b'1'; 2 * PAGE]);
    let array = on_array("raid10:4×ssd-sata/chunk=4K", ino);
    let whole = set(["00", "11"]);
    assert_eq!(pages(None, &driver, Keep::Subset), whole);
    assert_eq!(pages(Some(&array), &driver, Keep::Subset), set(["00", "01", "10", "11"]));
    // A pair of which one disk has failed has no other copy to differ from.
    let degraded = on_array("raid10:2×ssd-sata/chunk=4K/array=degraded", ino);
    assert_eq!(pages(Some(&degraded), &driver, Keep::Subset), whole);
    let unplaced = on_array("raid10:4×ssd-sata", ino + 1);
    assert_eq!(pages(Some(&unplaced), &driver, Keep::Subset), whole, "it is on no disk yet");
    // What was synced is in both.
    driver.sync_file(ino, false);
    for keep in Keep::ALL {
        assert_eq!(pages(Some(&array), &driver, keep), set(["11"]), "{keep}");
    }
}

#[test]
fn each_pair_of_disks_has_a_prefix_of_its_own() {
    let (mut driver, ino) = log(ORDERED);
    driver.write(ino, 0, vec![b'1'; PAGE]);
    driver.write(ino, PAGE, vec![b'1'; PAGE]);
    let in_order = set(["00", "10", "11"]);
    assert_eq!(pages(None, &driver, Keep::Prefix), in_order);
    let array = on_array("raid10:4×ssd-sata/chunk=4K", ino);
    assert_eq!(pages(Some(&array), &driver, Keep::Prefix), set(["00", "01", "10", "11"]));
    assert_eq!(pages(Some(&array), &driver, Keep::DropAll), set(["00"]));
    // On one pair they stay in order.
    let pair = on_array("raid10:2×ssd-sata/chunk=4K", ino);
    assert_eq!(pages(Some(&pair), &driver, Keep::Prefix), in_order);
}
