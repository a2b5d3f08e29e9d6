//! Counts syncs on the machine's own disk.
//!
//! The kernel counts best: each disk file system has a trace point that every fsync, fdatasync,
//! msync and write with `O_SYNC` or `O_DSYNC` passes. A counter on it covers the thread that opens
//! it and all its later threads and processes: an engine or server that starts afterwards. That
//! needs root. Without root, the device's own count of flushes must do, which counts all processes.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::path::Path;

use bakeoff_results::Scope;
use rustix::fs::{Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};

use super::accounts::BlockDevice;

/// Magic number of the file system (statfs(2)), and its trace point.
const POINTS: [(u64, &str); 4] = [
    (0xef53, "ext4/ext4_sync_file_enter"),
    (0x5846_5342, "xfs/xfs_file_fsync"),
    (0x9123_683e, "btrfs/btrfs_sync_file"),
    (0xf2f5_2010, "f2fs/f2fs_sync_file_enter"),
];

pub enum SyncCounter {
    Kernel(File),
    Device(BlockDevice),
}

impl SyncCounter {
    /// Call it before the engine opens, on the thread that opens it. `None` if syncs can't be
    /// counted.
    pub fn new(folder: &Path) -> Option<Self> {
        if let Ok(counter) = open_for_folder(folder) {
            return Some(Self::Kernel(counter));
        }
        Self::of_device(BlockDevice::from_folder(folder).ok()?)
    }

    pub fn of_device(device: BlockDevice) -> Option<Self> {
        device.count_flushes().map(|_| Self::Device(device))
    }

    pub fn read_count(&self) -> Option<u64> {
        match self {
            Self::Kernel(counter) => {
                let mut bytes = [0; 8];
                let mut counter = counter;
                counter.read_exact(&mut bytes).ok()?;
                Some(u64::from_ne_bytes(bytes))
            }
            Self::Device(device) => device.count_flushes(),
        }
    }

    pub fn scope(&self, group: &'static str) -> Scope {
        match self {
            Self::Kernel(_) => Scope::Processes(group.into()),
            Self::Device(_) => Scope::Device,
        }
    }
}

fn open_for_folder(folder: &Path) -> io::Result<File> {
    let magic = rustix::fs::statfs(folder)?.f_type as u64 & 0xffff_ffff;
    let point = POINTS.iter().find(|(known, _)| *known == magic).map(|(_, point)| point);
    let point = point.ok_or(io::ErrorKind::Unsupported)?;
    // tracefs, mounted nowhere: it goes with the descriptor.
    let context = rustix::mount::fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_create(context.as_fd())?;
    let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY;
    let traces =
        rustix::mount::fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let id = rustix::fs::openat(traces, format!("events/{point}/id"), flags, Mode::empty())?;
    let id = io::read_to_string(File::from(id))?;
    let id = id.trim().parse().map_err(|_| io::ErrorKind::InvalidData)?;
    open_counter(id)
}

/// The first form of `struct perf_event_attr`, 64 bytes, which every kernel takes. Source:
/// perf_event_open(2).
#[repr(C)]
#[derive(Default)]
struct PerfEventAttributes {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    address: u64,
}

const TRACEPOINT: u32 = 2;
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;
/// Counts for threads and processes that start later, too.
const INHERIT: u64 = 1 << 1;

fn open_counter(id: u64) -> io::Result<File> {
    let size = size_of::<PerfEventAttributes>() as u32;
    let attributes = PerfEventAttributes {
        kind: TRACEPOINT,
        size,
        config: id,
        flags: INHERIT,
        ..PerfEventAttributes::default()
    };
    let (this_thread, any_processor, no_group) = (0, -1, -1);
    // SAFETY: the kernel reads `size` bytes of `attributes`, which is alive, and keeps none of it.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            this_thread,
            any_processor,
            no_group,
            CLOSE_ON_EXEC,
        )
    };
    let descriptor = i32::try_from(descriptor).map_err(|_| io::ErrorKind::InvalidData)?;
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and nobody else's.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(descriptor) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_testkit::skip;
    use std::fs::OpenOptions;
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    use std::process::Command;

    /// What is seen while `work` is done, and who saw it; `None` where the kernel doesn't count.
    fn seen(folder: &Path, work: impl FnOnce()) -> Option<u64> {
        let counter = SyncCounter::new(folder);
        let Some(counter @ SyncCounter::Kernel(_)) = counter else {
            skip("the kernel's count of syncs takes root and ext4, xfs, btrfs or f2fs");
            return None;
        };
        let before = counter.read_count().unwrap();
        work();
        Some(counter.read_count().unwrap() - before)
    }

    #[test]
    fn the_kernel_counts_what_threads_and_children_make_durable() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let work = || {
            let file = File::create(&path).unwrap();
            file.sync_data().unwrap();
            file.sync_all().unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| file.sync_data().unwrap()).join().unwrap();
            });
            let mut synced =
                OpenOptions::new().append(true).custom_flags(libc::O_DSYNC).open(&path).unwrap();
            synced.write_all(b"no call says so").unwrap();
            let child = Command::new("sync").arg("--data").arg(&path).status().unwrap();
            assert!(child.success());
        };
        let Some(syncs) = seen(folder.path(), work) else { return };
        assert_eq!(syncs, 5);
    }

    #[test]
    fn other_people_s_syncs_and_plain_writes_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(folder.path().join("other")).unwrap();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        // It is there before the counter is, so that it does not come of this thread later.
        let other = std::thread::spawn(move || wait.recv().is_ok_and(|()| file.sync_all().is_ok()));
        let work = || {
            std::fs::write(folder.path().join("file"), "text").unwrap();
            go.send(()).unwrap();
            assert!(other.join().unwrap());
        };
        assert_eq!(seen(folder.path(), work).unwrap_or(0), 0);
    }
}
