//! Picks device names for new arrays that this machine does not have yet.

use std::collections::BTreeSet;
use std::fs;

/// Sources: md(4) on /proc/mdstat; the kernel's Documentation/ABI/stable/sysfs-block.
pub fn taken_names() -> BTreeSet<String> {
    let arrays = fs::read_to_string("/proc/mdstat").unwrap_or_default();
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let devices = devices.map(|entry| entry.file_name().to_string_lossy().into_owned());
    parse_mdstat(&arrays).into_iter().chain(devices).collect()
}

/// Each name in /proc/mdstat is the first word of a line: `md0 : active raid1 sdb[1] sda[0]`.
fn parse_mdstat(arrays: &str) -> Vec<String> {
    let name = |line: &str| Some(line.split_once(" : ")?.0.trim().to_owned());
    arrays.lines().filter_map(name).collect()
}

/// Returns `number` device names from `/dev/md0` on, without the taken ones.
pub fn free_devices(number: usize, taken: &BTreeSet<String>) -> Vec<String> {
    let names = (0_u32..).map(|at| format!("md{at}"));
    let free = names.filter(|name| !taken.contains(name));
    free.map(|name| format!("/dev/{name}")).take(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_that_are_here_are_left_alone_whether_they_run_or_not() {
        let arrays = "Personalities : [raid1] [raid10]\n\
                      md1 : active raid1 sdb[1] sda[0]\n      \
                      1046528 blocks super 1.2 [2/2] [UU]\n\n\
                      md3 : inactive sdc[0](S)\n\nunused devices: <none>\n";
        let mut taken: BTreeSet<String> = parse_mdstat(arrays).into_iter().collect();
        assert!(taken.contains("md1") && taken.contains("md3"), "{taken:?}");
        assert_eq!(free_devices(3, &taken), ["/dev/md0", "/dev/md2", "/dev/md4"]);
        taken.insert("md0".into());
        assert_eq!(free_devices(2, &taken), ["/dev/md2", "/dev/md4"]);
        assert_eq!(free_devices(2, &BTreeSet::new()), ["/dev/md0", "/dev/md1"]);
    }
}
