//! Files whose reads and writes the page cache takes in the place of a disk: what is said of them, and where
//! nobody can tell.

use bakeoff_testkit::in_time;

use super::Place;
use super::disk::Disks;
use super::fileio::warnings;
use super::on_disks::can_mount;

/// What is never synced stays in memory for longer than this run; what is synced does not. The file is small: Linux
/// has who dirties many pages write them at once where the machine has many already, but each of these is
/// written over often before it is written back.
#[test]
fn writes_that_the_page_cache_still_has_when_a_trial_ends_are_told() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let run = ["run", "fileio", "--disk", "hdd-7200", "--factor", "pattern=randwrite"];
    let files = ["--factor", "size=1M", "--factor", "access=buffered", "--factor", "depth=1"];
    let short = ["--seconds", "0.5", "--repetitions", "1"];
    for (out, sync, is_cached) in [("r0", "sync=never", true), ("r1", "sync=fdatasync:1", false)] {
        let document = in_time("what was in memory alone", |times| {
            let out = format!("{out}-{times}");
            let own = ["--factor", sync, "--out", &out];
            place.run(&[&run[..], &files, &short, &own].concat()).code(0);
            let document = place.json(&out);
            let to_disk = document["cells"][0]["to_disk"].as_f64().expect("it is known");
            // What was synced has always reached the disk.
            assert!(is_cached || to_disk >= 0.5, "{sync}: {to_disk}");
            ((to_disk < 0.5) == is_cached).then_some(document)
        });
        assert!(document["cells"][0]["from_disk"].is_null(), "nothing was read");
        assert_eq!(warnings(&document).contains(&"from-cache"), is_cached, "{sync}");
        let told = document["warnings"].to_string();
        let words = "the page cache still had more than half of what clients wrote";
        assert_eq!(told.contains(words), is_cached, "{told}");
    }
}

/// The kernel counts no reads of a block device for those who read files that another process serves.
#[test]
fn reads_of_a_file_system_without_a_block_device_are_not_judged() {
    let Some(disks) = Disks::new() else { return };
    disks.mount("null");
    let run = ["run", "fileio", "--path", "m", "--factor", "size=1M", "--factor", "depth=1"];
    let short = ["--seconds", "0.5", "--repetitions", "1", "--out", "r"];
    disks.0.run(&[&run[..], &short].concat()).code(0);
    let document = disks.0.json("r");
    let warnings = warnings(&document);
    assert!(!warnings.contains(&"from-cache"), "{}", document["warnings"]);
    assert!(warnings.contains(&"cache-not-known"), "{}", document["warnings"]);
    let told = "it is not known which reads reached the device";
    assert!(document["warnings"].to_string().contains(told), "{}", document["warnings"]);
    disks.unmount();
}
