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
        " --level=1 --metadata=1.2 --raid-devices=2 /dev/xvdm /dev/xvdn &&\n",
        "mkfs.ext4 -E stride=128,stripe_width=512 /dev/md",
        "\n  bakeoff compare one-disk raid10-4-near\n",
        "It is wrong for used disks",
        "--disk raid10:8×MODEL/layout=far",
    ]);
    assert_eq!(std::fs::read_dir(place.path("")).unwrap().count(), 0, "nothing was made");
}

#[test]
fn disks_that_are_not_here_or_left_over_are_told_above_the_commands() {
    let place = Place::new();
    let out = place.run(&["layouts", "/dev/bakeoff-none-[1-3]n1"]).code(0).out();
    let command = out.find("  mkfs.ext4").expect("the commands are printed");
    for line in [
        "\n# NOT HERE: /dev/bakeoff-none-1n1 /dev/bakeoff-none-2n1 /dev/bakeoff-none-3n1: no such device",
        "\n# LEFT OVER: /dev/bakeoff-none-3n1 is in none of these arrays",
    ] {
        assert!(out[..command].contains(line), "{out}");
    }
}

#[test]
fn of_what_is_no_disk_no_commands_are_printed() {
    let place = Place::new();
    let why = "no layouts of these disks are printed: /dev/null is no block device";
    let refused = place.run(&["layouts", "/dev/null", "/dev/bakeoff-none-g"]).code(2).says(&[why]);
    assert_eq!(refused.out(), "", "no command could be copied");
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
