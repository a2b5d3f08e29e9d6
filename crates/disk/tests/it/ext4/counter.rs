//! The kernel's count of requests to a block device.
//!
//! `/sys/block/*/stat` takes a flush that a sync asks for by itself for a write of nothing, and one
//! that belongs to a write for none, so that its writes can't be compared. The trace point that each
//! request passes tells them apart.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};

/// The first form of the kernel's `struct perf_event_attr`, 64 bytes, which every kernel takes.
///
/// Source: perf_event_open(2).
#[repr(C)]
#[derive(Default)]
struct Attributes {
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

/// A trace point.
const TRACEPOINT: u32 = 2;
/// The descriptor is not for programs that are executed.
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;
/// `PERF_EVENT_IOC_SET_FILTER`.
const SET_FILTER: libc::c_ulong = 0x4008_2406;

/// How often the kernel issued requests of one kind, whoever asked for them. It goes with the
/// process.
pub struct Counter(Vec<File>);

impl Counter {
    /// Counts requests that fit a filter of the trace point's fields.
    pub fn new(filter: &str) -> io::Result<Self> {
        let point = point()?;
        let processors = std::thread::available_parallelism()?.get();
        (0..processors)
            .map(|processor| open(point, processor, filter))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// How many there were so far.
    pub fn now(&self) -> u64 {
        let read = |mut file: &File| {
            let mut bytes = [0; 8];
            file.read_exact(&mut bytes).unwrap();
            u64::from_ne_bytes(bytes)
        };
        self.0.iter().map(read).sum()
    }
}

/// The number of the trace point that requests pass on their way to the device.
fn point() -> io::Result<u64> {
    // The kernel's file system of trace points, mounted nowhere: it goes with the descriptor.
    let context = rustix::mount::fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_create(context.as_fd())?;
    let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY;
    let traces =
        rustix::mount::fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let id = rustix::fs::openat(traces, "events/block/block_rq_issue/id", flags, Mode::empty())?;
    let id = io::read_to_string(File::from(id))?;
    id.trim().parse().map_err(|_| io::ErrorKind::InvalidData.into())
}

/// A counter of whatever passes on a processor.
fn open(point: u64, processor: usize, filter: &str) -> io::Result<File> {
    let size = size_of::<Attributes>() as u32;
    let attributes = Attributes { kind: TRACEPOINT, size, config: point, ..Attributes::default() };
    let (all, alone) = (-1, -1);
    // SAFETY: the kernel reads `size` bytes of `attributes`, which is alive, and keeps none of it.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            all,
            processor as libc::c_int,
            alone,
            CLOSE_ON_EXEC,
        )
    };
    let descriptor = i32::try_from(descriptor).map_err(|_| io::ErrorKind::InvalidData)?;
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and nobody else's.
    let counter = File::from(unsafe { OwnedFd::from_raw_fd(descriptor) });
    let filter = CString::new(filter)?;
    // SAFETY: the kernel reads the string, which is alive, and keeps none of it.
    let set = unsafe { libc::ioctl(counter.as_raw_fd(), SET_FILTER, filter.as_ptr()) };
    if set < 0 { Err(io::Error::last_os_error()) } else { Ok(counter) }
}
