//! Finds out what is on a raw device before it is overwritten.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Where util-linux has blkid, also if the search path lacks that folder.
const PROGRAMS: [&str; 3] = ["blkid", "/usr/sbin/blkid", "/sbin/blkid"];

/// Source: the kernel's Documentation/ABI/stable/sysfs-block.
pub fn list_partitions(listed: &Path) -> Vec<String> {
    let entries = fs::read_dir(listed).into_iter().flatten().flatten();
    let parts = entries.filter(|entry| entry.path().join("partition").exists());
    let mut names: Vec<String> =
        parts.map(|part| part.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// What a device holds by its signatures: file systems, members of arrays, partition tables. Its
/// text is a clause.
#[derive(Debug, PartialEq, Eq)]
pub enum SignatureScan {
    Nothing,
    Found(String),
    Unseen(String),
}

impl fmt::Display for SignatureScan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Nothing => "blkid knows nothing that is on it",
            Self::Found(text) | Self::Unseen(text) => text.as_str(),
        })
    }
}

pub fn read_signatures(device: &Path) -> SignatureScan {
    let unseen =
        |why: &str| SignatureScan::Unseen(format!("nobody has looked at what is on it{why}"));
    // For a device that it can't read, blkid says the same as for an empty one.
    if let Err(error) = File::open(device) {
        return unseen(&format!(": {error}"));
    }
    let ask = |program: &str| {
        let arguments = ["-p", "-o", "export"];
        Command::new(program).args(arguments).arg(device).stdin(Stdio::null()).output()
    };
    let is_there = |said: &io::Result<Output>| match said {
        Ok(_) => true,
        Err(error) => error.kind() != ErrorKind::NotFound,
    };
    match PROGRAMS.into_iter().map(ask).find(is_there) {
        None => unseen(", since blkid (util-linux) is not here"),
        Some(Err(error)) => unseen(&format!(": blkid: {error}")),
        Some(Ok(said)) => parse_blkid(said.status.code(), &String::from_utf8_lossy(&said.stdout)),
    }
}

/// Reads the output of blkid. Source: blkid(8), its low-level probing.
fn parse_blkid(code: Option<i32>, said: &str) -> SignatureScan {
    let value = |key: &str| said.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    let label = value("LABEL").map_or_else(String::new, |label| format!(" named {label}"));
    let kind = value("TYPE").map(|kind| format!("{kind}{label}"));
    let table = value("PTTYPE").map(|kind| format!("a table of partitions ({kind})"));
    let found: Vec<String> = kind.into_iter().chain(table).collect();
    match code {
        Some(0) if !found.is_empty() => {
            SignatureScan::Found(format!("on it is {}", found.join(" and ")))
        }
        Some(0 | 2) => SignatureScan::Nothing,
        Some(8) => SignatureScan::Found("on it are signatures of several things".into()),
        _ => SignatureScan::Unseen("nobody knows what is on it, since blkid failed".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_a_device_is_told_by_its_signatures() {
        for (code, said, words) in [
            (Some(0), "DEVNAME=/dev/sdb\nLABEL=thesis\nTYPE=ext4\n", "on it is ext4 named thesis"),
            (Some(0), "DEVNAME=/dev/sdb\nTYPE=xfs\n", "on it is xfs"),
            (Some(0), "PTUUID=1\nPTTYPE=gpt\n", "on it is a table of partitions (gpt)"),
            (Some(0), "PART_ENTRY_TYPE=0x83\n", "blkid knows nothing that is on it"),
            (Some(2), "", "blkid knows nothing that is on it"),
            (Some(8), "", "on it are signatures of several things"),
            (Some(4), "", "nobody knows what is on it, since blkid failed"),
            (None, "TYPE=ext4\n", "nobody knows what is on it, since blkid failed"),
        ] {
            assert_eq!(parse_blkid(code, said).to_string(), words, "{code:?} {said}");
        }
    }

    #[test]
    fn a_device_that_can_not_be_read_is_not_called_empty() {
        let folder = tempfile::tempdir().unwrap();
        let seen = read_signatures(&folder.path().join("gone"));
        assert!(matches!(&seen, SignatureScan::Unseen(_)), "{seen}");
    }

    #[test]
    fn partitions_of_a_disk_are_told_by_their_names() {
        let disk = tempfile::tempdir().unwrap();
        for name in ["sdb2", "sdb1", "queue"] {
            fs::create_dir(disk.path().join(name)).unwrap();
        }
        for name in ["sdb2", "sdb1"] {
            fs::write(disk.path().join(name).join("partition"), "1\n").unwrap();
        }
        assert_eq!(list_partitions(disk.path()), ["sdb1", "sdb2"]);
        assert_eq!(list_partitions(&disk.path().join("sdb1")), Vec::<String>::new());
    }
}
