//! Finds disks that are missing, in use, or not empty, before an array is made of them.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags, major, minor};
use rustix::io::Errno;

use super::contents::{self, SignatureScan};
use super::devices;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct DiskStates {
    missing: Vec<String>,
    /// Why some disks can't be in an array, each as a clause: in use, or no disk.
    refused: Vec<String>,
    held: Vec<String>,
    unseen: Vec<String>,
}

impl DiskStates {
    pub fn from_disks(disks: &[String]) -> Self {
        let mut states = Self::default();
        states.refused.extend(devices::in_use(&disk_names(disks)));
        let is_explained = !states.refused.is_empty();
        for disk in disks {
            states.note_disk(disk, fs::metadata(disk));
        }
        if !is_explained {
            states.refused.extend(disks.iter().filter_map(|disk| kernel_holds(disk)));
        }
        states
    }

    fn note_disk(&mut self, disk: &str, about: io::Result<Metadata>) {
        let about = match about {
            Ok(about) => about,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return self.missing.push(disk.to_owned());
            }
            Err(error) => return self.unseen.push(format!("NOT LOOKED AT: {disk}: {error}")),
        };
        if !about.file_type().is_block_device() {
            return self.refused.push(format!("{disk} is no block device"));
        }
        let listed = format!("/sys/dev/block/{}:{}", major(about.rdev()), minor(about.rdev()));
        let partitions = contents::list_partitions(Path::new(&listed));
        if !partitions.is_empty() {
            let names = partitions.join(", ");
            self.held.push(format!("NOT EMPTY: {disk} has the partitions {names}"));
        }
        match contents::read_signatures(Path::new(disk)) {
            SignatureScan::Nothing => {}
            SignatureScan::Found(what) => self.held.push(format!("NOT EMPTY: {disk}: {what}")),
            SignatureScan::Unseen(why) => self.unseen.push(format!("NOT LOOKED AT: {disk}: {why}")),
        }
    }

    /// Why no commands are printed, if a disk is in use or is no disk.
    pub fn refuse_in_use(&self) -> Option<String> {
        (!self.refused.is_empty()).then(|| {
            format!(
                "no layouts of these disks are printed: {}; name disks that nobody uses, or end that use first",
                self.refused.join("; ")
            )
        })
    }

    pub fn hold_something(&self) -> bool {
        !self.held.is_empty()
    }

    pub fn to_comments(&self) -> String {
        let missing = (!self.missing.is_empty()).then(|| {
            format!(
                "NOT HERE: {}: no such device on this machine; the commands are for a machine that has it",
                self.missing.join(" ")
            )
        });
        let lines = missing.iter().chain(&self.held).chain(&self.unseen);
        lines.map(|line| format!("# {line}\n")).collect()
    }
}

/// Finds users that no list shows, such as a file system over several disks. Opens for reading
/// only. Source: open(2), `O_EXCL`.
fn kernel_holds(disk: &str) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::open(disk, flags, Mode::empty()) {
        Err(Errno::BUSY) => Some(format!(
            "the kernel keeps {disk}, a partition of it or the disk that it is a partition of for somebody else"
        )),
        Ok(_) | Err(_) => None,
    }
}

/// The names under which disks may be in use: as given, and the target if that is a link.
fn disk_names(disks: &[String]) -> Vec<String> {
    let led_to = disks.iter().filter_map(|disk| fs::canonicalize(disk).ok());
    let led_to = led_to.map(|path| path.to_string_lossy().into_owned());
    let mut seen = BTreeSet::new();
    disks.iter().cloned().chain(led_to).filter(|name| seen.insert(name.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(disks: &[&str]) -> DiskStates {
        DiskStates::from_disks(&disks.iter().map(|disk| (*disk).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_disk_that_is_not_here_is_told_and_is_nobody_s() {
        let states = of(&["/dev/bakeoff-none-g", "/dev/bakeoff-none-h", "/dev/null/x"]);
        let line =
            "# NOT HERE: /dev/bakeoff-none-g /dev/bakeoff-none-h /dev/null/x: no such device";
        assert!(states.to_comments().starts_with(line), "{}", states.to_comments());
        assert_eq!(states.to_comments().lines().count(), 1);
        assert_eq!((states.refuse_in_use(), states.hold_something()), (None, false));
    }

    #[test]
    fn what_is_no_disk_is_no_place_for_an_array() {
        let states = of(&["/dev/null"]);
        let refusal = states.refuse_in_use().expect("it is no disk");
        assert!(refusal.contains("/dev/null is no block device"), "{refusal}");
    }

    #[test]
    fn what_nobody_could_look_at_is_told_and_is_not_called_empty() {
        let mut states = DiskStates::default();
        states.note_disk("/dev/sdx", Err(ErrorKind::PermissionDenied.into()));
        assert!(states.to_comments().starts_with("# NOT LOOKED AT: /dev/sdx: "), "{states:?}");
        assert_eq!((states.refuse_in_use(), states.hold_something()), (None, false));
    }

    #[test]
    fn a_link_is_known_by_what_it_leads_to_as_well() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("by-id");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        let link = link.to_string_lossy().into_owned();
        assert_eq!(disk_names(&[link.clone(), "/dev/null".into()]), [link, "/dev/null".into()]);
    }
}
