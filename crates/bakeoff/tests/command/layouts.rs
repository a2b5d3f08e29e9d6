//! `bakeoff layouts`.

use super::Place;

#[test]
fn the_layouts_of_some_disks_are_printed_and_nothing_is_run() {
    let place = Place::new();
    let printed = place.run(&["layouts", "/dev/xvd[g-n]"]).code(0);
    printed.says(&[
        "# Nothing of this is run",
        "mkfs.ext4 /dev/xvdg\n",
        "RAID-10 of 4, near copies, in one step\n  costs 2 disks for the space of one",
        "--level=10 --layout=f2 --chunk=512K --raid-devices=8 /dev/xvdg /dev/xvdh",
        "mdadm --create /dev/md4 --level=1 --raid-devices=2 /dev/xvdm /dev/xvdn",
        "mkfs.ext4 -E stride=128,stripe_width=512 /dev/md0",
        "--disk raid10:8×MODEL/layout=far",
    ]);
    assert_eq!(std::fs::read_dir(place.path("")).unwrap().count(), 0, "nothing was made");
}

#[test]
fn disks_that_are_not_here_and_what_is_no_disk_are_told_above_the_commands() {
    let place = Place::new();
    let above = |out: &str, line: &str| {
        let command = out.find("  mkfs.ext4").expect("the commands are printed");
        assert!(out[..command].contains(line), "{out}");
    };
    let absent = place.run(&["layouts", "/dev/bakeoff-none-[gh]"]).code(0);
    let line =
        "\n# NOT HERE: /dev/bakeoff-none-g /dev/bakeoff-none-h: no such device on this machine";
    above(&absent.out(), line);
    let taken = place.run(&["layouts", "/dev/null", "/dev/bakeoff-none-g"]).code(2);
    above(&taken.out(), "\n# NO DISK: /dev/null is no block device\n");
    above(&taken.out(), "\n# NOT HERE: /dev/bakeoff-none-g: ");
    taken.says(&["error: not all of these are free disks"]);
}

#[test]
fn what_is_no_disk_or_no_chunk_is_refused_with_what_is() {
    let place = Place::new();
    for (arguments, text) in [
        (&["sdb"][..], "write it like /dev/xvdg"),
        (&["/dev/sdb", "/dev/sdb"], "named twice"),
        (&["--chunk", "100K", "/dev/sd[bc]"], "a power of two from 4K to 64M"),
        (&[], "DEVICE"),
    ] {
        place.run(&[&["layouts"][..], arguments].concat()).code(2).says(&[text]);
    }
}
