//! Finds users of a device that the lists of mounts, swap and arrays don't show: loop devices,
//! processes that write to it, and other paths to the same disk.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, major, minor, statx};

pub type Number = (u32, u32);

const DISKS: &str = "/sys/block";
/// Files with a disk's worldwide name, which is the same by every path to the disk.
const NAMES: [&str; 2] = ["wwid", "device/wwid"];

/// One line for each user of these devices, of their partitions, or of their whole disks.
pub fn describe_users(devices: &[String]) -> Vec<String> {
    let numbers: BTreeSet<Number> =
        devices.iter().flat_map(|device| device_numbers(device)).collect();
    if numbers.is_empty() {
        return Vec::new();
    }
    let mut lines = find_loops(&numbers, Path::new(DISKS));
    lines.extend(find_writers(&numbers, Path::new("/proc")));
    lines
}

pub fn device_numbers(device: &str) -> BTreeSet<Number> {
    sysfs_folder(Path::new(device))
        .map(|folder| family_numbers(&folder).into_iter().collect())
        .unwrap_or_default()
}

/// The kernel writes a number as `8:1`.
pub fn parse_number(text: &str) -> Option<Number> {
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Finds other paths to these disks by the disks' worldwide names.
pub fn find_twins(devices: &[String]) -> Vec<String> {
    let disks: Vec<PathBuf> = devices
        .iter()
        .filter_map(|device| Some(whole_disk(&sysfs_folder(Path::new(device))?)))
        .collect();
    find_same_disks(&disks, Path::new(DISKS)).iter().map(|name| format!("/dev/{name}")).collect()
}

fn find_same_disks(disks: &[PathBuf], all: &Path) -> Vec<String> {
    let name = |folder: &Path| {
        let names = NAMES.iter().filter_map(|file| fs::read_to_string(folder.join(file)).ok());
        names.map(|name| name.trim().to_owned()).find(|name| !name.is_empty())
    };
    let own: Vec<String> = disks.iter().filter_map(|disk| name(disk)).collect();
    let is_other = |folder: &PathBuf| {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        !disks.contains(&folder) && name(&folder).is_some_and(|name| own.contains(&name))
    };
    let others = list_entries(all).into_iter().filter(is_other);
    others.filter_map(|it| Some(it.file_name()?.to_string_lossy().replace('!', "/"))).collect()
}

fn list_entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Source: the kernel's Documentation/ABI/stable/sysfs-block.
fn sysfs_folder(device: &Path) -> Option<PathBuf> {
    let about = fs::metadata(device).ok().filter(|it| it.file_type().is_block_device())?;
    let (major, minor) = (major(about.rdev()), minor(about.rdev()));
    fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()
}

fn whole_disk(listed: &Path) -> PathBuf {
    let above = listed.parent().filter(|_| listed.join("partition").exists());
    above.unwrap_or(listed).to_owned()
}

fn family_numbers(listed: &Path) -> Vec<Number> {
    let parts = list_entries(listed).into_iter().filter(|it| it.join("partition").exists());
    let all = parts.chain([listed.to_owned(), whole_disk(listed)]);
    let of = |folder: PathBuf| parse_number(fs::read_to_string(folder.join("dev")).ok()?.trim());
    all.filter_map(of).collect()
}

/// Source: the kernel's Documentation/ABI/testing/sysfs-block-loop.
fn find_loops(numbers: &BTreeSet<Number>, disks: &Path) -> Vec<String> {
    let line = |folder: PathBuf| {
        let text = fs::read_to_string(folder.join("loop/backing_file")).ok()?;
        let backing = text.trim_end_matches('\n');
        let name = folder.file_name()?.to_string_lossy().into_owned();
        match fs::metadata(backing) {
            Ok(about) => {
                let number = (major(about.rdev()), minor(about.rdev()));
                let is_one = about.file_type().is_block_device() && numbers.contains(&number);
                is_one.then(|| format!("{backing} is below the device {name}"))
            }
            // The backing file may be one of these devices.
            Err(error) => backing
                .starts_with("/dev/")
                .then(|| format!("{name} is over {backing}, at which nobody can look: {error}")),
        }
    };
    list_entries(disks).into_iter().filter_map(line).collect()
}

/// Opens nothing, and asks no file server. Source: proc_pid_fd(5), proc_pid_fdinfo(5).
fn find_writers(numbers: &BTreeSet<Number>, proc: &Path) -> Vec<String> {
    let own = fs::read_link(proc.join("self")).unwrap_or_default();
    let own = own.to_string_lossy();
    let is_one = |descriptor: &Path| {
        let about = statx(CWD, descriptor, AtFlags::STATX_DONT_SYNC, StatxFlags::TYPE);
        about.is_ok_and(|about| {
            let kind = FileType::from_raw_mode(u32::from(about.stx_mode));
            let number = (about.stx_rdev_major, about.stx_rdev_minor);
            kind == FileType::BlockDevice && numbers.contains(&number)
        })
    };
    let line = |process: PathBuf| {
        let number = process.file_name()?.to_string_lossy().into_owned();
        let is_other = number.bytes().all(|byte| byte.is_ascii_digit()) && number != own;
        let descriptors = if is_other { list_entries(&process.join("fd")) } else { Vec::new() };
        let writes = |descriptor: &PathBuf| {
            let name = descriptor.file_name().unwrap_or_default();
            let about = fs::read_to_string(process.join("fdinfo").join(name));
            about.map_or(true, |about| may_write(&about))
        };
        let found = descriptors.into_iter().find(|it| is_one(it) && writes(it))?;
        let what = fs::read_link(&found).unwrap_or(found);
        let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
        Some(format!("process {number} ({}) has {} open for writing", name.trim(), what.display()))
    };
    list_entries(proc).into_iter().filter_map(line).collect()
}

/// Whether a descriptor is open for writing; true if the kernel doesn't say.
fn may_write(about: &str) -> bool {
    let flags = about.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u64::from_str_radix(flags.trim(), 8).ok());
    flags.is_none_or(|flags| flags & 3 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_for_writing_are_told_from_those_for_reading() {
        for (flags, writes) in [("0100000", false), ("02100001", true), ("0100002", true)] {
            let about = format!("pos:\t0\nflags:\t{flags}\nmnt_id:\t24\n");
            assert_eq!(may_write(&about), writes, "{flags}");
        }
        assert!(may_write("pos:\t0\n"), "nobody knows");
    }

    #[test]
    fn a_device_is_of_one_family_with_its_partitions_and_its_disk_and_not_with_the_disk_s_others() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for (path, number) in [("sda", "8:0\n"), ("sda/sda1", "8:1\n"), ("sda/sda2", "8:2\n")] {
            fs::create_dir_all(at(path)).unwrap();
            fs::write(at(path).join("dev"), number).unwrap();
        }
        for part in ["sda/sda1/partition", "sda/sda2/partition"] {
            fs::write(at(part), "1\n").unwrap();
        }
        let of = |path: &str| family_numbers(&at(path)).into_iter().collect::<BTreeSet<_>>();
        assert_eq!(of("sda"), BTreeSet::from([(8, 0), (8, 1), (8, 2)]));
        assert_eq!(of("sda/sda2"), BTreeSet::from([(8, 0), (8, 2)]));
    }

    #[test]
    fn disks_of_one_name_are_the_same_and_those_without_a_name_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let all = folder.path().canonicalize().unwrap();
        for (disk, name) in [("sda", "naa.5\n"), ("sdb", "naa.6\n"), ("sdc", "naa.5\n")] {
            fs::create_dir_all(all.join(disk).join("device")).unwrap();
            fs::write(all.join(disk).join("device/wwid"), name).unwrap();
        }
        for disk in ["vda", "vdb"] {
            fs::create_dir(all.join(disk)).unwrap();
        }
        let of = |disk: &str| find_same_disks(&[all.join(disk)], &all);
        assert_eq!(of("sda"), ["sdc"]);
        assert_eq!([of("sdb"), of("vda")], [Vec::<String>::new(), Vec::new()]);
    }

    #[test]
    fn a_loop_device_over_what_nobody_can_look_at_may_be_over_any_device() {
        let folder = tempfile::tempdir().unwrap();
        for (name, backing) in [("loop0", "/dev/gone"), ("loop1", "/proc/version")] {
            fs::create_dir_all(folder.path().join(name).join("loop")).unwrap();
            fs::write(folder.path().join(name).join("loop/backing_file"), backing).unwrap();
        }
        let found = find_loops(&BTreeSet::from([(8, 0)]), folder.path());
        assert!(found.len() == 1 && found[0].starts_with("loop0 is over /dev/gone"), "{found:?}");
    }
}
