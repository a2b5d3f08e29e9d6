//! `bakeoff layouts`: prints the commands that make arrays of disks worth comparing. None of them
//! is run.

mod arrays;
pub(super) mod contents;
pub(super) mod devices;
mod state;
mod users;

use std::collections::BTreeSet;
use std::fmt::Write;

use bakeoff_devices::size::size_of;
use bakeoff_results::escape_unseen;

use crate::cli;
use crate::exit::{CommandFailure, Exit};
use crate::output::{by_own_name, print, say};

use self::state::DiskStates;

const BLOCK: u64 = 4 << 10;
const CHUNKS: std::ops::RangeInclusive<u64> = 4 << 10..=64 << 20;
const POINT: &str = "/mnt";

/// A new array copies first. Sources: md(4) on resyncs, mdadm(8) on `--wait` and `--assume-clean`.
const FIRST_COPY: &str = "
A new array copies each first copy onto its second one, for hours if the disks are large. What is measured meanwhile
is an array that is being rebuilt: measure when `mdadm --wait` has come back (/proc/mdstat shows how far it is).
`mdadm --create --assume-clean` leaves this out. That is right where all disks hold the same bytes, as new volumes or
SSDs after `blkdiscard` that read as zeros. It is wrong for used disks: their copies differ wherever nothing was
written since, which each check of the array counts as an error; and blocks that were never written may be read
faster than others.
";

/// Prints no commands if a disk is in use or is no disk. The exit code says if data would be lost.
pub fn run(arguments: &cli::Layouts) -> Result<Exit, CommandFailure> {
    let wrong = |why: String| CommandFailure::new(Exit::Usage, why);
    let devices = devices::read_devices(&arguments.devices).map_err(wrong)?;
    let chunk = parse_chunk(&arguments.chunk).map_err(wrong)?;
    let states = DiskStates::from_disks(&devices);
    if let Some(why) = states.refuse_in_use() {
        return Err(wrong(why));
    }
    print(&by_own_name(&escape_unseen(&describe_layouts(
        &devices,
        chunk,
        &states,
        &arrays::taken_names(),
    ))))?;
    if states.hold_something() {
        say(
            "error: not all of these disks are empty (see the comments above the commands); the commands destroy \
             what is on them",
        );
        return Ok(Exit::Usage);
    }
    Ok(Exit::Done)
}

fn parse_chunk(text: &str) -> Result<u64, String> {
    let bytes = size_of(&text.to_ascii_uppercase());
    let valid = |bytes: &u64| bytes.is_power_of_two() && CHUNKS.contains(bytes);
    bytes.filter(valid).ok_or_else(|| {
        format!("`{text}` is not a chunk; valid: a power of two from 4K to 64M, as 512K")
    })
}

/// All layouts of these devices. The arrays get names that are not among `taken`.
fn describe_layouts(
    devices: &[String],
    chunk: u64,
    states: &DiskStates,
    taken: &BTreeSet<String>,
) -> String {
    let mut text = format!(
        "# Nothing of this is run. Each of these layouts destroys what is on its disks ({}).\n{}",
        devices.join(" "),
        states.to_comments()
    );
    if let Some(left_over) = left_over(devices) {
        let _ = writeln!(
            text,
            "# LEFT OVER: {left_over} is in none of these arrays, which take an even number of disks; name one more \
             disk, or leave this one out"
        );
    }
    let arrays = arrays::free_devices(devices.len() / 2 + 1, taken);
    let layouts = choose_layouts(devices, chunk, &arrays);
    for layout in &layouts {
        text += &layout.to_script();
    }
    if devices.len() > 1 {
        text += FIRST_COPY;
    }
    if let [one, other, ..] = &layouts[..] {
        let _ = write!(
            text,
            "\nEach is measured into a folder of its own. Then hold two of them against each other, as:\n  \
             bakeoff compare {} {}\n",
            one.name, other.name
        );
    }
    text
}

#[derive(Debug, PartialEq)]
struct StorageLayout {
    title: String,
    name: String,
    device: String,
    /// How many disks are bought for the space of one.
    price: u32,
    survives: String,
    /// The commands that make it: each runs only if the one before succeeded.
    commands: Vec<String>,
    /// The command that removes it, so that the next one can be made.
    undo: String,
    model: String,
}

impl StorageLayout {
    fn to_script(&self) -> String {
        let Self { title, name, device, price, survives, commands, undo, model } = self;
        let disks = if *price == 1 { "disk" } else { "disks" };
        // In a shell they are one command, so nothing runs after one that fails.
        let commands = commands.join(" &&\n  ");
        format!(
            "\n{title}\n  costs {price} {disks} for the space of one; {survives}\n  {commands}\n  measure it, on \
             an empty mount point: mount {device} {POINT} && bakeoff run fileio --path {POINT} --clients 1..16 \
             --factor pattern=randread,randwrite --factor depth=1 --factor size=16G --out {name}\n  before the \
             next one: {undo}\n  as a model: --disk {model}\n"
        )
    }
}

/// The layouts worth comparing: one disk, then arrays of 2, 4, 8 and so on, and of all. `arrays[0]`
/// has the file system; the others are mirrors below it.
fn choose_layouts(devices: &[String], chunk: u64, arrays: &[String]) -> Vec<StorageLayout> {
    let all = in_arrays(devices);
    let doubled = std::iter::successors(Some(2), |number| Some(number * 2));
    let mut numbers: Vec<usize> = doubled.take_while(|number| *number < all).skip(1).collect();
    numbers.extend((all > 0).then_some(all));
    let mut layouts = vec![single_disk(&devices[0])];
    for number in numbers {
        let devices = &devices[..number];
        layouts.push(in_one_step(devices, chunk, CopyPlacement::Near, &arrays[0]));
        if number > 2 {
            layouts.push(stripe_over_mirrors(devices, chunk, arrays));
        }
        layouts.push(in_one_step(devices, chunk, CopyPlacement::Far, &arrays[0]));
    }
    layouts
}

fn in_arrays(devices: &[String]) -> usize {
    devices.len() - devices.len() % 2
}

fn left_over(devices: &[String]) -> Option<&String> {
    devices[in_arrays(devices)..].first().filter(|_| devices.len() > 1)
}

#[derive(Clone, Copy, PartialEq)]
enum CopyPlacement {
    Near,
    Far,
}

/// Removes the file system, then md's metadata on each layer; the last layer is the disks. `--stop
/// --scan` would stop all arrays, and `mkfs.ext4` asks before it overwrites. Source: wipefs(8).
fn undo_script(layers: &[&str]) -> String {
    let mut steps = vec![format!("umount {POINT}"), format!("wipefs -a {}", layers[0])];
    for layer in layers.windows(2) {
        steps.push(format!("mdadm --stop {}", layer[0]));
        steps.push(format!("mdadm --zero-superblock {}", layer[1]));
    }
    steps.join(" && ")
}

fn single_disk(device: &str) -> StorageLayout {
    StorageLayout {
        title: "One disk".into(),
        name: "one-disk".into(),
        device: device.to_owned(),
        price: 1,
        survives: "survives no failure".into(),
        commands: vec![format!("mkfs.ext4 {device}")],
        undo: undo_script(&[device]),
        model: "MODEL".into(),
    }
}

fn in_one_step(
    devices: &[String],
    chunk: u64,
    copies: CopyPlacement,
    array: &str,
) -> StorageLayout {
    let number = devices.len();
    let (name, layout, model) = match copies {
        CopyPlacement::Near => ("near", "n2", format!("raid10:{number}×MODEL")),
        CopyPlacement::Far => ("far", "f2", format!("raid10:{number}×MODEL/layout=far")),
    };
    let create = format!(
        "mdadm --create {array} --level=10 --layout={layout} --chunk={}K --raid-devices={number} {}",
        chunk >> 10,
        devices.join(" ")
    );
    StorageLayout {
        title: format!("RAID-10 of {number}, {name} copies, in one step"),
        name: format!("raid10-{number}-{name}"),
        device: array.to_owned(),
        price: 2,
        survives: describe_survival(number, copies),
        commands: vec![create, mkfs_command(number, chunk, array), wait_script(array)],
        undo: undo_script(&[array, &devices.join(" ")]),
        model: with_chunk(model, chunk),
    }
}

fn stripe_over_mirrors(devices: &[String], chunk: u64, arrays: &[String]) -> StorageLayout {
    let number = devices.len();
    let (array, mirrors) = (arrays[0].as_str(), &arrays[1..=number / 2]);
    // Without a named superblock format, mdadm asks before it makes a mirror. Source: mdadm(8).
    let mirror = |(mirror, pair): (&String, &[String])| {
        format!(
            "mdadm --create {mirror} --level=1 --metadata=1.2 --raid-devices=2 {}",
            pair.join(" ")
        )
    };
    let mut commands: Vec<String> = mirrors.iter().zip(devices.chunks(2)).map(mirror).collect();
    let (number_of_mirrors, mirrors) = (mirrors.len(), mirrors.join(" "));
    commands.push(format!(
        "mdadm --create {array} --level=0 --chunk={}K --raid-devices={number_of_mirrors} {mirrors}",
        chunk >> 10
    ));
    commands.push(mkfs_command(number, chunk, array));
    commands.push(wait_script(&mirrors));
    StorageLayout {
        title: format!("RAID-10 of {number}, a stripe over {number_of_mirrors} mirrors"),
        name: format!("raid10-{number}-stripe"),
        device: array.to_owned(),
        price: 2,
        survives: describe_survival(number, CopyPlacement::Near),
        commands,
        // The stripe goes first: it uses the mirrors.
        undo: undo_script(&[array, &mirrors, &devices.join(" ")]),
        model: with_chunk(format!("raid10:{number}×MODEL"), chunk),
    }
}

fn wait_script(arrays: &str) -> String {
    format!("mdadm --wait {arrays}")
}

/// Tells the file system where chunks and stripes begin.
fn mkfs_command(number: usize, chunk: u64, array: &str) -> String {
    let stride = chunk / BLOCK;
    let width = stride * number as u64 / 2;
    format!("mkfs.ext4 -E stride={stride},stripe_width={width} {array}")
}

fn with_chunk(model: String, chunk: u64) -> String {
    if chunk == bakeoff_devices::device::raid::CHUNK {
        return model;
    }
    format!("{model}/chunk={chunk}")
}

/// Near copies lie on a disk and its partner, far copies on a disk and its two neighbours in a
/// ring.
fn describe_survival(number: usize, copies: CopyPlacement) -> String {
    let others = number - 1;
    if others == 1 {
        return "survives either disk's failure".into();
    }
    let fatal = if copies == CopyPlacement::Near { 1 } else { 2 };
    let most = match copies {
        CopyPlacement::Near => "no two of one mirror",
        CopyPlacement::Far => "no two side by side",
    };
    format!(
        "survives any one failure, and up to {} where {most} are among them: of two at random {} in 100 \
         are survived",
        number / 2,
        100 * (others - fatal) / others
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(number: u8) -> Vec<String> {
        (0..number).map(|at| format!("/dev/xvd{}", char::from(b'g' + at))).collect()
    }

    /// The layouts of so many disks where these names are taken.
    fn layouts_of(number: u8, chunk: u64, taken: &[&str]) -> Vec<StorageLayout> {
        let taken: BTreeSet<String> = taken.iter().map(|name| (*name).to_owned()).collect();
        choose_layouts(
            &of(number),
            chunk,
            &arrays::free_devices(usize::from(number) / 2 + 1, &taken),
        )
    }

    fn titles(number: u8) -> Vec<String> {
        layouts_of(number, 512 << 10, &[]).into_iter().map(|layout| layout.title).collect()
    }

    #[test]
    fn one_disk_and_arrays_of_growing_size_are_compared_in_each_build() {
        assert_eq!(titles(1), ["One disk"]);
        let two = ["near copies, in one step", "far copies, in one step"];
        assert_eq!(titles(2)[1..], two.map(|build| format!("RAID-10 of 2, {build}")));
        let numbers = |number| {
            let mut numbers: Vec<String> =
                titles(number)[1..].iter().map(|title| title[11..12].to_owned()).collect();
            numbers.dedup();
            numbers.join("")
        };
        assert_eq!(numbers(8), "48");
        assert_eq!(numbers(6), "46");
        assert_eq!(numbers(5), "4", "an odd one is left out");
        assert_eq!(titles(8).len(), 7);
    }

    #[test]
    fn a_disk_that_no_array_has_is_named_and_new_arrays_are_waited_for() {
        let none = BTreeSet::new();
        let told = |number| describe_layouts(&of(number), 512 << 10, &DiskStates::default(), &none);
        let line = "# LEFT OVER: /dev/xvdi is in none of these arrays";
        assert!(told(3).contains(line), "{}", told(3));
        for (number, has_arrays) in [(1, false), (2, true), (4, true)] {
            let told = told(number);
            assert!(!told.contains("LEFT OVER"), "{told}");
            assert_eq!(told.contains("--assume-clean"), has_arrays, "{told}");
        }
    }

    #[test]
    fn the_commands_of_four_disks_are_those_of_mdadm_and_mkfs() {
        let layouts = layouts_of(4, 256 << 10, &[]);
        let commands: Vec<&[String]> = layouts.iter().map(|it| &it.commands[..]).collect();
        let four = "--chunk=256K --raid-devices=4 /dev/xvdg /dev/xvdh /dev/xvdi /dev/xvdj";
        let file_system = "mkfs.ext4 -E stride=64,stripe_width=128 /dev/md0";
        assert_eq!(commands[0], ["mkfs.ext4 /dev/xvdg"]);
        let near = format!("mdadm --create /dev/md0 --level=10 --layout=n2 {four}");
        assert_eq!(commands[1], [near.as_str(), file_system, "mdadm --wait /dev/md0"]);
        assert_eq!(
            commands[2],
            [
                "mdadm --create /dev/md1 --level=1 --metadata=1.2 --raid-devices=2 /dev/xvdg /dev/xvdh",
                "mdadm --create /dev/md2 --level=1 --metadata=1.2 --raid-devices=2 /dev/xvdi /dev/xvdj",
                "mdadm --create /dev/md0 --level=0 --chunk=256K --raid-devices=2 /dev/md1 /dev/md2",
                file_system,
                "mdadm --wait /dev/md1 /dev/md2",
            ]
        );
        assert!(commands[3][0].contains("--layout=f2"), "{commands:?}");
        assert_eq!(layouts[0].undo, "umount /mnt && wipefs -a /dev/xvdg");
        let disks = "/dev/xvdg /dev/xvdh /dev/xvdi /dev/xvdj";
        let stop = "umount /mnt && wipefs -a /dev/md0 && mdadm --stop /dev/md0";
        assert_eq!(layouts[1].undo, format!("{stop} && mdadm --zero-superblock {disks}"));
        let mirrors = "/dev/md1 /dev/md2";
        let stop = format!("{stop} && mdadm --zero-superblock {mirrors} && mdadm --stop {mirrors}");
        assert_eq!(layouts[2].undo, format!("{stop} && mdadm --zero-superblock {disks}"));
        assert_eq!(layouts[3].model, "raid10:4×MODEL/layout=far/chunk=262144");
    }

    #[test]
    fn an_array_that_is_here_is_in_no_command() {
        for layout in layouts_of(8, 512 << 10, &["md0", "md2"]) {
            let StorageLayout { title, device, commands, undo, .. } = layout;
            let all = format!("{}\n{undo}", commands.join("\n"));
            let has = |array: &str| all.split([' ', '\n']).any(|word| word == array);
            assert!(!has("/dev/md0") && !has("/dev/md2"), "{title}: {all}");
            assert!(title == "One disk" || device == "/dev/md1", "{title}: {device}");
            assert!(has(&device), "{title}: {all}");
        }
    }

    #[test]
    fn a_command_that_fails_is_the_last_and_each_layout_is_measured_into_a_folder_of_its_own() {
        let all = layouts_of(4, 512 << 10, &[]);
        for layout in &all {
            let (described, last) = (layout.to_script(), layout.commands.len() - 1);
            for (at, command) in layout.commands.iter().enumerate() {
                let end = if at < last { " &&\n" } else { "\n" };
                assert!(described.contains(&format!("\n  {command}{end}")), "{described}");
            }
            let mounted = format!("mount {} /mnt && bakeoff run fileio", layout.device);
            let out = format!(" --out {}\n", layout.name);
            assert!(described.contains(&mounted) && described.contains(&out), "{described}");
        }
        let names: Vec<&str> = all.iter().map(|layout| layout.name.as_str()).collect();
        assert_eq!(names, ["one-disk", "raid10-4-near", "raid10-4-stripe", "raid10-4-far"]);
        let none = BTreeSet::new();
        let told = |number| describe_layouts(&of(number), 512 << 10, &DiskStates::default(), &none);
        assert!(told(4).ends_with("\n  bakeoff compare one-disk raid10-4-near\n"), "{}", told(4));
        assert!(!told(1).contains("bakeoff compare"), "{}", told(1));
    }

    #[test]
    fn what_an_array_survives_is_counted_over_all_pairs() {
        for number in [4, 6, 8] {
            let pairs = number * (number - 1) / 2;
            for (copies, fatal) in [(CopyPlacement::Near, number / 2), (CopyPlacement::Far, number)]
            {
                let share = 100 * (pairs - fatal) / pairs;
                let said = describe_survival(number, copies);
                assert!(said.contains(&format!(" {share} in 100")), "{number}: {said}, {share}");
            }
        }
        assert_eq!(describe_survival(2, CopyPlacement::Far), "survives either disk's failure");
    }

    #[test]
    fn chunks_are_powers_of_two_that_md_takes() {
        assert_eq!((parse_chunk("512k"), parse_chunk("64M")), (Ok(512 << 10), Ok(64 << 20)));
        for wrong in ["", "2K", "96K", "128M", "big"] {
            assert!(parse_chunk(wrong).is_err(), "{wrong}");
        }
    }
}
