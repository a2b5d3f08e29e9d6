//! What lies below a folder, and what of it makes its times doubtful.

use std::io;
use std::path::Path;

use bakeoff_results::{DiskTiming, LEAST_FLUSH_S};

use crate::machine::accounts::{BlockDevice, is_fuse};
use crate::machine::describe_machine;

/// Above this share a drive's garbage collection may have no room.
const FULL: f64 = 0.8;

/// Seconds of a random read that an arm may have a part in. Virtual disks say that they turn, whatever
/// they lie on.
const ARM_S: f64 = 1e-3;

/// Kinds of file systems whose disk is in another machine.
const NETWORK: [&str; 9] =
    ["nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "afs", "lustre", "glusterfs"];

#[derive(Debug, Default)]
pub struct DiskMedium {
    file_system: String,
    is_served: bool,
    is_virtual: bool,
    used: f64,
    /// `write back` or `write through`.
    write_cache: Option<String>,
    pub has_fua: Option<bool>,
    turns: Option<bool>,
}

impl DiskMedium {
    pub fn from_folder(folder: &Path) -> io::Result<Self> {
        let machine = describe_machine(folder)?;
        let device = BlockDevice::from_folder(folder)?;
        let is_set = |name: &str| Some(device.read_queue_setting(name)? == "1");
        let space = rustix::fs::statvfs(folder)?;
        let kind = machine.virtualisation.unwrap_or_default();
        Ok(Self {
            file_system: machine.file_system,
            is_served: is_fuse(folder)?,
            is_virtual: kind.contains("hypervisor"),
            used: 1.0 - space.f_bavail as f64 / space.f_blocks.max(1) as f64,
            write_cache: device.read_queue_setting("write_cache"),
            has_fua: is_set("fua"),
            turns: is_set("rotational"),
        })
    }

    /// Each as a clause.
    pub fn find_doubts(&self, timing: &DiskTiming, is_direct: bool) -> Vec<String> {
        let Self { file_system, .. } = self;
        let flush = &timing.flush;
        let is_free = flush.flush_s < LEAST_FLUSH_S;
        let is_cached = self.write_cache.as_deref() == Some("write back");
        let doubt = |holds: bool, text: &str| holds.then(|| text.to_owned());
        let used = format!(
            "{:.0} % of the file system is taken: a drive that is so full may flush slower than it did, or will",
            100.0 * self.used
        );
        let network =
            format!("{file_system} is a network file system: its times are the network's, too");
        let steady = format!(
            "a flush took {:.2} ms in the first half and {:.2} ms in the second: the drive may clear up \
             behind earlier writes; time it again when it was idle for some minutes",
            1e3 * flush.halves_s[0],
            1e3 * flush.halves_s[1]
        );
        let all = [
            doubt(
                is_free && is_cached,
                "a flush costs nothing, and the kernel says that the drive has a cache that loses its \
                 data without one: the drive or its host does not flush",
            ),
            doubt(
                is_free && self.is_virtual && !is_cached,
                "a flush costs nothing on a virtual machine: the host may keep the data in its memory",
            ),
            doubt(!flush.is_steady(), &steady),
            doubt(self.used > FULL, &used),
            doubt(
                !is_direct,
                "this file system has no direct I/O: reads are not timed, and a flush has the write in it",
            ),
            doubt(NETWORK.contains(&&**file_system), &network),
            doubt(
                self.is_served,
                "a process serves this file system (FUSE): its times are that process's, too",
            ),
            doubt(
                self.write_cache.is_none() && !self.is_served,
                "the kernel shows no block device below this file system: whether it has a write cache \
                 is not known",
            ),
            doubt(
                self.turns == Some(true) && timing.read_s.is_none_or(|seconds| seconds > ARM_S),
                "this disk turns: a model of an SSD has its times and no way of its arm; \
                 hdd-7200 and hdd-5400 have one",
            ),
        ];
        all.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_testkit::synthetic::sample_timing;

    use super::*;

    fn timing(halves_s: [f64; 2]) -> DiskTiming {
        let mut timing = sample_timing([20.0, 1e6 * (halves_s[0] + halves_s[1]) / 2.0, 5000.0]);
        timing.flush.halves_s = halves_s;
        timing
    }

    fn known() -> DiskMedium {
        let write_cache = Some("write through".to_owned());
        DiskMedium { file_system: "ext4".into(), write_cache, ..DiskMedium::default() }
    }

    #[test]
    fn what_makes_times_doubtful_is_told_and_nothing_else() {
        let (free, steady) = (timing([2e-6, 4e-6]), timing([300e-6, 400e-6]));
        let quick = DiskTiming { read_s: Some(60e-6), ..steady.clone() };
        for (medium, timed, is_direct, words) in [
            (known(), &steady, true, None),
            (known(), &free, true, None),
            (
                DiskMedium { write_cache: Some("write back".into()), ..known() },
                &free,
                true,
                Some("does not flush"),
            ),
            (DiskMedium { is_virtual: true, ..known() }, &free, true, Some("the host may keep")),
            (DiskMedium { is_virtual: true, ..known() }, &steady, true, None),
            (known(), &timing([300e-6, 500e-6]), true, Some("0.30 ms in the first half and 0.50")),
            (DiskMedium { used: 0.81, ..known() }, &steady, true, Some("81 %")),
            (known(), &steady, false, Some("no direct I/O")),
            (
                DiskMedium { file_system: "nfs4".into(), ..known() },
                &steady,
                true,
                Some("nfs4 is a network file system"),
            ),
            (DiskMedium { write_cache: None, ..known() }, &steady, true, Some("no block device")),
            (DiskMedium { turns: Some(true), ..known() }, &steady, true, Some("hdd-7200")),
            (DiskMedium { turns: Some(true), ..known() }, &quick, true, None),
        ] {
            let doubts = medium.find_doubts(timed, is_direct);
            assert_eq!(doubts.len(), usize::from(words.is_some()), "{medium:?}: {doubts:?}");
            assert!(words.is_none_or(|words| doubts[0].contains(words)), "{doubts:?}");
        }
    }
}
