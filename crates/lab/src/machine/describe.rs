use std::fs;
use std::path::Path;

use bakeoff_disk::mount_table::{self, MountEntry};
use bakeoff_results::{HostIdentity, Machine};

use crate::machine::accounts::BlockDevice;
use crate::machine::system::SystemFiles;

pub const NO_FILE_SYSTEM: &str = "no file system";

/// Mount options that name a place or an owner.
const PLACES: [&str; 4] = ["lowerdir=", "upperdir=", "workdir=", "username="];

pub fn describe_machine(folder: &Path) -> std::io::Result<Machine> {
    let mount = mount_table::find_mount_over(&folder.canonicalize()?);
    let mount_options = mount.as_ref().map(mount_options);
    let device = name_device(BlockDevice::from_folder(folder)?, mount.as_ref());
    let file_system = mount.map(|mount| mount.kind).unwrap_or_default();
    describe_with(file_system, mount_options, device)
}

/// A file system without a block device of its own (FUSE, btrfs, NFS, overlay, ZFS) has another
/// number after each mount, so its source names it.
fn name_device(device: BlockDevice, mount: Option<&MountEntry>) -> String {
    match mount {
        Some(mount) if device.is_unnamed() => match mount.socket() {
            // The socket is another one after each mount, too.
            Some(_) => "bakeoff-disk".into(),
            // Whose account it is stays untold.
            None => {
                let source = mount.source.rsplit('@').next().unwrap_or_default();
                source.strip_prefix("/dev/").unwrap_or(source).to_owned()
            }
        },
        _ => device.name,
    }
}

/// `number` is a number of stat(2).
pub fn describe_device(number: u64) -> std::io::Result<Machine> {
    describe_with(
        NO_FILE_SYSTEM.into(),
        None,
        BlockDevice::from_number(number).in_full(&identify_host().boot),
    )
}

fn describe_with(
    file_system: String,
    mount_options: Option<String>,
    device: String,
) -> std::io::Result<Machine> {
    let read = |path: &str| fs::read_to_string(path);
    let os_release = read("/etc/os-release").unwrap_or_default();
    let system = find_field(&os_release, "PRETTY_NAME", '=').trim_matches('"').to_owned();
    let processor = find_field(&read("/proc/cpuinfo")?, "model name", ':').to_owned();
    let files = SystemFiles(Path::new("/"));
    Ok(Machine {
        system,
        kernel: read("/proc/sys/kernel/osrelease")?.trim().to_owned(),
        processor,
        processors: count_processors() as u32,
        memory_bytes: read_memory("MemTotal")?,
        file_system,
        device,
        kernel_version: files.kernel_version(),
        governor: files.frequency_governor(),
        smt: files.has_smt(),
        huge_pages: files.huge_pages(),
        mount_options,
        hardware: files.hardware_name(),
        virtualisation: files.virtualisation(),
    })
}

fn mount_options(mount: &MountEntry) -> String {
    let names_a_place = |option: &&String| PLACES.iter().any(|place| option.starts_with(place));
    let options = mount.options.iter().filter(|option| !names_a_place(option));
    options.map(String::as_str).collect::<Vec<_>>().join(",")
}

/// Sources: proc_sys_kernel(5), random(4).
pub fn identify_host() -> HostIdentity {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    HostIdentity {
        name: read("/proc/sys/kernel/hostname"),
        boot: read("/proc/sys/kernel/random/boot_id"),
    }
}

/// Processors that this process may use; 1 if the system doesn't say.
pub fn count_processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Processes that wanted a processor in the last minute, on average. Source: proc_loadavg(5).
pub fn load_average() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

/// Memory that can be had without swapping; much of it holds the page cache.
pub fn available_memory() -> std::io::Result<u64> {
    read_memory("MemAvailable")
}

/// In bytes; 0 if it is missing. Source: proc_meminfo(5).
fn read_memory(name: &str) -> std::io::Result<u64> {
    let account = fs::read_to_string("/proc/meminfo")?;
    let kib: u64 =
        find_field(&account, name, ':').trim_end_matches("kB").trim().parse().unwrap_or(0);
    Ok(kib * 1024)
}

fn find_field<'a>(text: &'a str, name: &str, separator: char) -> &'a str {
    let value = text.lines().find_map(|line| {
        let (key, value) = line.split_once(separator)?;
        (key.trim() == name).then_some(value.trim())
    });
    value.unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(kind: &str, source: &str, options: &[&str]) -> MountEntry {
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        MountEntry {
            place: "/".into(),
            kind: kind.into(),
            source: source.into(),
            options,
            user: None,
        }
    }

    #[test]
    fn options_say_how_and_not_where() {
        let options =
            ["rw", "relatime", "lowerdir=/a:/b", "upperdir=/c", "workdir=/d", "index=off"];
        let mount = mount("overlay", "overlay", &options);
        assert_eq!(mount_options(&mount), "rw,relatime,index=off");
    }

    #[test]
    fn a_disk_has_one_name_after_each_mount() {
        for (minor, kind, source, name) in [
            (39, "fuse.bakeoff", "bakeoff-disk:/run/bakeoff/17.socket", "bakeoff-disk"),
            (40, "fuse.bakeoff", "bakeoff-disk:/run/bakeoff/18.socket", "bakeoff-disk"),
            (41, "btrfs", "/dev/sdb1", "sdb1"),
            (42, "zfs", "tank/data", "tank/data"),
            (43, "nfs4", "host:/export", "host:/export"),
            (44, "fuse.sshfs", "somebody@host:/home", "host:/home"),
            (45, "overlay", "overlay", "overlay"),
        ] {
            let device = BlockDevice::from_number(rustix::fs::makedev(0, minor));
            assert_eq!(name_device(device, Some(&mount(kind, source, &[]))), name, "{kind}");
        }
        let device = BlockDevice::from_number(rustix::fs::makedev(4094, 3));
        assert_eq!(name_device(device, Some(&mount("ext4", "/dev/root", &[]))), "4094:3");
    }

    #[test]
    fn this_machine_is_described_with_its_mount() {
        let machine = describe_machine(Path::new("/proc/self")).unwrap();
        assert_eq!(machine.file_system, "proc");
        assert!(machine.mount_options.unwrap().starts_with('r'), "rw or ro");
        assert!(describe_machine(Path::new("/nowhere/at/all")).is_err());
    }
}
