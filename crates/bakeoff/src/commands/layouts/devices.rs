//! Reads the devices that a user names: `/dev/xvdg`, or `/dev/xvd[g-n]` for several.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::slice;

use super::users::{self, Number};

/// The most devices: an array takes no more.
const MOST: usize = bakeoff_devices::device::raid::MOST_DISKS as usize;

pub fn read_devices(patterns: &[String]) -> Result<Vec<String>, String> {
    let mut devices: Vec<String> = Vec::new();
    for pattern in patterns {
        for device in expand_pattern(pattern)? {
            check_path(&device)?;
            let is_same = |known: &&String| real_path(known) == real_path(&device);
            if let Some(known) = devices.iter().find(is_same) {
                let other = if *known == device { "" } else { &format!(", as {known}, too") };
                return Err(format!("{device} is named twice{other}; name each disk once"));
            }
            devices.push(device);
            if devices.len() > MOST {
                return Err(format!("these are more than {MOST} disks; name fewer"));
            }
        }
    }
    Ok(devices)
}

/// Two names may lead to one disk: links, and `/dev/./sda`. A disk that is not there has its name alone.
fn real_path(device: &str) -> PathBuf {
    fs::canonicalize(device).unwrap_or_else(|_| Path::new(device).components().collect())
}

fn expand_pattern(pattern: &str) -> Result<Vec<String>, String> {
    let Some((before, rest)) = pattern.split_once('[') else { return Ok(vec![pattern.to_owned()]) };
    let wrong =
        || format!("`{pattern}` has brackets without letters; write them like /dev/sd[b-e]");
    let (set, after) = rest.split_once(']').ok_or_else(wrong)?;
    let letters = expand_letters(set).filter(|letters| !letters.is_empty()).ok_or_else(wrong)?;
    let rests = expand_pattern(after)?;
    let of = |letter: char| rests.iter().map(move |rest| format!("{before}{letter}{rest}"));
    Ok(letters.into_iter().flat_map(of).collect())
}

fn expand_letters(set: &str) -> Option<Vec<char>> {
    let (mut letters, mut rest) = (Vec::new(), set.chars().peekable());
    while let Some(first) = rest.next() {
        if rest.next_if_eq(&'-').is_none() {
            letters.push(first);
            continue;
        }
        let last = rest.next().filter(|last| *last >= first)?;
        letters.extend(first..=last);
    }
    letters.iter().all(char::is_ascii_alphanumeric).then_some(letters)
}

fn check_path(device: &str) -> Result<(), String> {
    let letters = |c: char| c.is_ascii_alphanumeric() || "/-_.:".contains(c);
    if device.starts_with("/dev/") && device.len() > 5 && device.chars().all(letters) {
        return Ok(());
    }
    Err(format!(
        "`{device}` is not a device's path; write it like /dev/xvdg, or /dev/xvd[g-n] for several"
    ))
}

/// Lists how devices are in use: mounted, swapped to, in an array, below another device (LVM, LUKS,
/// loop), opened for writing, or the same disk by another path.
pub fn in_use(devices: &[String]) -> Vec<String> {
    let mut lines = find_uses(devices);
    for twin in users::find_twins(devices) {
        let of_twin = find_uses(slice::from_ref(&twin)).into_iter();
        lines.extend(of_twin.map(|line| format!("{twin} is the same disk, and {line}")));
    }
    lines
}

fn find_uses(devices: &[String]) -> Vec<String> {
    let file = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let mut lines = find_mounts(devices, users::device_numbers, &file("/proc/self/mountinfo"));
    lines.extend(find_swaps_and_arrays(devices, &file("/proc/swaps"), &file("/proc/mdstat")));
    lines.extend(
        devices.iter().flat_map(|device| find_holders(device, Path::new("/sys/class/block"))),
    );
    lines.extend(users::describe_users(devices));
    lines
}

/// Arrays are found elsewhere. Source: the kernel's Documentation/ABI/stable/sysfs-block.
fn find_holders(device: &str, listed: &Path) -> Vec<String> {
    let Some(name) = device.strip_prefix("/dev/") else { return Vec::new() };
    let names = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    let own = listed.join(name);
    let parts = names(&own).into_iter().filter(|part| is_it_or_its_part(name, part));
    let folders = parts.map(|part| own.join(part)).chain([own.clone()]);
    let holders = folders.flat_map(|folder| names(&folder.join("holders")));
    let others = holders.filter(|holder| !holder.starts_with("md"));
    others.map(|holder| format!("{device} is below the device {holder}")).collect()
}

/// Compares device numbers, too: a mount may name `/dev/root`. Source: proc_pid_mountinfo(5).
fn find_mounts(
    devices: &[String],
    numbers: impl Fn(&str) -> BTreeSet<Number>,
    mounts: &str,
) -> Vec<String> {
    let numbers: Vec<BTreeSet<Number>> = devices.iter().map(|device| numbers(device)).collect();
    let line = |line: &str| {
        let (mount, source) = line.split_once(" - ")?;
        let source = source.split(' ').nth(1)?;
        let mut fields = mount.split(' ').skip(2);
        let (number, point) = (users::parse_number(fields.next()?)?, fields.nth(1)?);
        let root = if point == "/" { " (the root file system)" } else { "" };
        if devices.iter().any(|device| is_it_or_its_part(device, source)) {
            return Some(format!("{source} is mounted on {point}{root}"));
        }
        let (device, _) = devices.iter().zip(&numbers).find(|(_, its)| its.contains(&number))?;
        Some(format!("{device} is mounted on {point}{root}, as {source}"))
    };
    mounts.lines().filter_map(line).collect()
}

/// Sources: proc_swaps(5), md(4).
fn find_swaps_and_arrays(devices: &[String], swaps: &str, arrays: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for device in devices {
        let is_part = |path: &str| is_it_or_its_part(device, path);
        let swapped = swaps.lines().filter_map(|line| line.split_whitespace().next());
        lines.extend(swapped.filter(|path| is_part(path)).map(|it| format!("{it} is swapped to")));
        for line in arrays.lines() {
            let Some((array, members)) = line.split_once(" : ") else { continue };
            let mut members = members.split(' ').filter_map(|member| member.split_once('['));
            if members.any(|(member, _)| is_part(&format!("/dev/{member}"))) {
                lines.push(format!("{device} is part of the array {array}"));
            }
        }
    }
    lines
}

/// A partition's path is `/dev/sdb1` or `/dev/nvme0n1p1`.
fn is_it_or_its_part(device: &str, path: &str) -> bool {
    let Some(rest) = path.strip_prefix(device) else { return false };
    // After a digit, a `p` stands before the partition's number.
    let number = match device.ends_with(|letter: char| letter.is_ascii_digit()) {
        true => rest.strip_prefix('p').unwrap_or_default(),
        false => rest,
    };
    rest.is_empty() || !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(patterns: &[&str]) -> Result<String, String> {
        let patterns: Vec<String> = patterns.iter().map(|&it| it.to_owned()).collect();
        read_devices(&patterns).map(|devices| devices.join(" "))
    }

    #[test]
    fn brackets_stand_for_each_of_their_letters() {
        assert_eq!(all(&["/dev/sdb"]).as_deref(), Ok("/dev/sdb"));
        let range = all(&["/dev/xvd[g-ik]"]);
        assert_eq!(range.as_deref(), Ok("/dev/xvdg /dev/xvdh /dev/xvdi /dev/xvdk"));
        let two = all(&["/dev/sd[ab][12]"]);
        assert_eq!(two.as_deref(), Ok("/dev/sda1 /dev/sda2 /dev/sdb1 /dev/sdb2"));
    }

    #[test]
    fn what_is_no_device_is_refused_before_it_stands_in_a_command() {
        for (wrong, why) in [
            (&["sdb"][..], "is not a device's path"),
            (&["/dev/sdb; rm"], "is not a device's path"),
            (&["/dev/$(x)"], "is not a device's path"),
            (&["/dev/"], "is not a device's path"),
            (&["/dev/sd[b"], "brackets without letters"),
            (&["/dev/sd[]"], "brackets without letters"),
            (&["/dev/sd[e-b]"], "brackets without letters"),
            (&["/dev/sd[;]"], "brackets without letters"),
            (&["/dev/sd[b-d]", "/dev/sdc"], "/dev/sdc is named twice"),
            (&["/dev/sdb", "/dev/./sdb"], "/dev/./sdb is named twice, as /dev/sdb, too"),
            (&["/dev/stdin", "/dev/fd/0"], "/dev/fd/0 is named twice, as /dev/stdin, too"),
            (&["/dev/sd[a-z][a-z]"], "more than 64 disks"),
        ] {
            let error = all(wrong).expect_err("it is wrong");
            assert!(error.contains(why), "{wrong:?}: {error}");
        }
    }

    #[test]
    fn disks_in_use_are_told_with_what_uses_them() {
        let devices: Vec<String> =
            ["/dev/sda", "/dev/sdb", "/dev/sdc", "/dev/sdd"].map(str::to_owned).into();
        let swaps = "Filename Type Size Used Priority\n/dev/sdb2 partition 1 0 -2\n";
        let arrays =
            "Personalities : [raid10]\nmd127 : active raid1 sdc[1] sdx[0]\n      1 blocks\n";
        let found = find_swaps_and_arrays(&devices, swaps, arrays);
        assert_eq!(found, ["/dev/sdb2 is swapped to", "/dev/sdc is part of the array md127"]);
    }

    #[test]
    fn mounted_disks_are_known_by_their_names_and_by_their_numbers() {
        let devices = ["/dev/sda", "/dev/sdb", "/dev/sdc"].map(str::to_owned);
        let numbers = |device: &str| match device {
            "/dev/sda" => BTreeSet::from([(8, 0), (8, 1)]),
            "/dev/sdb" => BTreeSet::from([(8, 16), (8, 17)]),
            _ => BTreeSet::new(),
        };
        let mounts = "27 1 8:17 / / rw,relatime shared:1 - ext4 /dev/root rw\n\
                      22 27 0:21 / /proc rw - proc proc rw\n\
                      28 27 8:1 / /home rw master:2 shared:3 - ext4 /dev/sda1 rw\n\
                      29 27 0:40 / /data rw - btrfs /dev/sdc rw\n\
                      30 27 65:160 / /far rw - ext4 /dev/sdaa rw\n";
        let expected = [
            "/dev/sdb is mounted on / (the root file system), as /dev/root",
            "/dev/sda1 is mounted on /home",
            "/dev/sdc is mounted on /data",
        ];
        assert_eq!(find_mounts(&devices, numbers, mounts), expected);
    }

    #[test]
    fn disks_below_other_devices_are_told_with_these() {
        let listed = tempfile::tempdir().unwrap();
        for holder in ["sda/holders/md0", "sda/sda2/holders/dm-1", "sda/queue", "sdb/holders"] {
            fs::create_dir_all(listed.path().join(holder)).unwrap();
        }
        let found = |device| find_holders(device, listed.path());
        assert_eq!(found("/dev/sda"), ["/dev/sda is below the device dm-1"]);
        assert_eq!([found("/dev/sdb"), found("/dev/sdc")], [Vec::<String>::new(), Vec::new()]);
    }

    #[test]
    fn partitions_are_told_from_other_disks() {
        for (path, is_part) in [
            ("/dev/nvme0n1", true),
            ("/dev/nvme0n1p2", true),
            ("/dev/nvme0n12", false),
            ("/dev/nvme0n1p", false),
            ("/dev/nvme0", false),
        ] {
            assert_eq!(is_it_or_its_part("/dev/nvme0n1", path), is_part, "{path}");
        }
    }
}
