//! What the run is made on, for the record.

use std::fs;
use std::path::Path;

use bakeoff_disk::table::{self, MountEntry};
use bakeoff_results::{HostIdentity, Machine};

use crate::machine::accounts::BlockDevice;
use crate::machine::system::SystemFiles;

/// What a raw device has in the place of a file system's name.
pub const NO_FILE_SYSTEM: &str = "no file system";

/// Options of mounts that say where something lies, or whose it is, and not how it is mounted.
const PLACES: [&str; 4] = ["lowerdir=", "upperdir=", "workdir=", "username="];

/// Describes this machine and the file system of `folder`.
///
/// # Errors
/// When the folder can't be read; what the system does not tell is left empty.
pub fn describe(folder: &Path) -> std::io::Result<Machine> {
    let mount = table::over(&folder.canonicalize()?);
    let mount_options = mount.as_ref().map(mount_options);
    let file_system = mount.map(|mount| mount.kind).unwrap_or_default();
    described(file_system, mount_options, BlockDevice::under(folder)?.name)
}

/// Describes this machine and a raw device by its number, as stat(2) has it, with what tells the device from
/// others.
///
/// # Errors
/// When the system tells nothing of itself.
pub fn describe_device(number: u64) -> std::io::Result<Machine> {
    described(NO_FILE_SYSTEM.into(), None, BlockDevice::from_number(number).in_full(&host().boot))
}

fn described(
    file_system: String,
    mount_options: Option<String>,
    device: String,
) -> std::io::Result<Machine> {
    let read = |path: &str| fs::read_to_string(path);
    // Not every system has it.
    let os_release = read("/etc/os-release").unwrap_or_default();
    let system = field(&os_release, "PRETTY_NAME", '=').trim_matches('"').to_owned();
    let processor = field(&read("/proc/cpuinfo")?, "model name", ':').to_owned();
    let files = SystemFiles(Path::new("/"));
    Ok(Machine {
        system,
        kernel: read("/proc/sys/kernel/osrelease")?.trim().to_owned(),
        processor,
        processors: std::thread::available_parallelism().map_or(1, |count| count.get() as u32),
        memory_bytes: memory("MemTotal")?,
        file_system,
        device,
        kernel_version: files.kernel_version(),
        governor: files.governor(),
        smt: files.smt(),
        huge_pages: files.huge_pages(),
        mount_options,
        hardware: files.hardware(),
        virtualisation: files.virtualisation(),
    })
}

/// How a file system is mounted, as an administrator writes it.
fn mount_options(mount: &MountEntry) -> String {
    let names_a_place = |option: &&String| PLACES.iter().any(|place| option.starts_with(place));
    let options = mount.options.iter().filter(|option| !names_a_place(option));
    options.map(String::as_str).collect::<Vec<_>>().join(",")
}

/// What tells this machine from others of its kind; what the system does not tell is left empty. Sources:
/// proc_sys_kernel(5), random(4).
pub fn host() -> HostIdentity {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    HostIdentity {
        name: read("/proc/sys/kernel/hostname"),
        boot: read("/proc/sys/kernel/random/boot_id"),
    }
}

/// How many processes wanted a processor in the last minute, on average; `None` where the system
/// does not tell. Source: proc_loadavg(5).
pub fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

/// Bytes of memory that can be had without anything being swapped out, much of it from the page cache.
///
/// # Errors
/// When the system does not tell.
pub fn available_memory() -> std::io::Result<u64> {
    memory("MemAvailable")
}

/// A field of the account of memory, in bytes; 0 for one that is not there. Source: proc_meminfo(5).
fn memory(name: &str) -> std::io::Result<u64> {
    let account = fs::read_to_string("/proc/meminfo")?;
    let kib: u64 = field(&account, name, ':').trim_end_matches("kB").trim().parse().unwrap_or(0);
    Ok(kib * 1024)
}

fn field<'a>(text: &'a str, name: &str, separator: char) -> &'a str {
    let value = text.lines().find_map(|line| {
        let (key, value) = line.split_once(separator)?;
        (key.trim() == name).then_some(value.trim())
    });
    value.unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_say_how_and_not_where() {
        let options =
            ["rw", "relatime", "lowerdir=/a:/b", "upperdir=/c", "workdir=/d", "index=off"];
        let mount = MountEntry {
            place: "/".into(),
            kind: "overlay".into(),
            source: "overlay".into(),
            options: options.map(str::to_owned).into(),
            user: None,
        };
        assert_eq!(mount_options(&mount), "rw,relatime,index=off");
    }

    #[test]
    fn this_machine_is_described_with_its_mount() {
        let machine = describe(Path::new("/proc/self")).unwrap();
        assert_eq!(machine.file_system, "proc");
        assert!(machine.mount_options.unwrap().starts_with('r'), "rw or ro");
        assert!(describe(Path::new("/nowhere/at/all")).is_err());
    }
}
