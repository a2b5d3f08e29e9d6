//! Free memory for a server.

use std::fs;
use std::path::Path;

const GROUPS: &str = "/sys/fs/cgroup";

/// Free bytes within the limits of this process's groups; 0 if the kernel doesn't tell.
pub(crate) fn free_memory_bytes() -> u64 {
    let told = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = told.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    let free = kib.unwrap_or(0) * 1024;
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    read_limits(Path::new(GROUPS), &groups).into_iter().fold(free, u64::min)
}

/// The memory limits of a process's groups and of the groups above them, below `root`. `groups` has
/// a line `number:controllers:/path` for each; version 2 names no controllers.
fn read_limits(root: &Path, groups: &str) -> Vec<u64> {
    let files = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?.trim_start_matches('/'));
        let (folder, file) = match controllers {
            "" => ("", "memory.max"),
            "memory" => ("memory", "memory.limit_in_bytes"),
            _ => return None,
        };
        let above = Path::new(path).ancestors();
        Some(above.map(move |group| root.join(folder).join(group).join(file)))
    });
    files.flatten().filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_the_machine_has() {
        let told = fs::read_to_string("/proc/meminfo").expect("the kernel tells");
        let total = told.lines().find_map(|line| line.strip_prefix("MemTotal:")).expect("a line");
        let kib: u64 = total.trim().trim_end_matches(" kB").parse().expect("a number");
        assert!(
            free_memory_bytes() > 0 && free_memory_bytes() < kib * 1024,
            "{} of {kib} KiB",
            free_memory_bytes()
        );
    }

    #[test]
    fn limits_are_those_of_its_groups_of_memory_and_of_all_above_them() {
        let place = tempfile::tempdir().expect("a folder");
        for (file, limit) in [
            ("outer/memory.max", "4000"),
            ("outer/inner/memory.max", "max"),
            ("memory/memory.limit_in_bytes", "9223372036854771712"),
            ("memory/job/memory.limit_in_bytes", "3000"),
            ("cpu/job/memory.limit_in_bytes", "1"),
        ] {
            let file = place.path().join(file);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, format!("{limit}\n")).expect("a file");
        }
        let of = |groups: &str| read_limits(place.path(), groups);
        assert_eq!(of("0::/outer/inner\n"), [4000]);
        assert_eq!(of("5:cpu:/job\n4:memory:/job\n"), [3000, i64::MAX as u64 - 4095]);
        assert_eq!(of("nonsense\n0::/\n"), [0; 0]);
    }
}
