use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bakeoff_devices::device::RequestKind;
use bakeoff_devices::ext4::DeviceWork;
use bakeoff_devices::trace::{Tracer, Waits};

use super::{InodeNumber, Volume};
use crate::executor::WorkCallback;

/// Some 30 million requests.
const MOST: u64 = 256 << 20;
const CHUNK: usize = 1 << 20;

#[derive(Default)]
pub(super) struct Traces {
    on: AtomicBool,
    open: Mutex<Option<OpenTrace>>,
}

struct OpenTrace {
    tracer: Tracer,
    file: File,
    written: u64,
    failed: Option<io::Error>,
    held: Option<HeldSyncs>,
}

/// Syncs that are answered a little later than they are done.
struct HeldSyncs {
    time: Duration,
    queue: Sender<(Instant, WorkCallback)>,
    thread: JoinHandle<()>,
}

impl HeldSyncs {
    fn start(time: Duration) -> io::Result<Self> {
        let (queue, held) = mpsc::channel::<(Instant, WorkCallback)>();
        let thread = thread::Builder::new().name("disk-held".into()).spawn(move || {
            // All are held for the same time, so the first one is due first.
            for (due, then) in held {
                thread::sleep(due.saturating_duration_since(Instant::now()));
                then();
            }
        })?;
        Ok(Self { time, queue, thread })
    }
}

impl OpenTrace {
    /// An error is reported when the trace ends: no caller waits for it.
    fn write_pending(&mut self) {
        let bytes = self.tracer.take_bytes();
        self.written += bytes.len() as u64;
        if self.failed.is_some() {
            return;
        }
        self.failed = if self.written > MOST {
            let why = format!("it would be longer than {} MiB; do less work", MOST >> 20);
            Some(io::Error::new(io::ErrorKind::FileTooLarge, why))
        } else {
            self.file.write_all(&bytes).err()
        };
    }
}

impl Traces {
    fn lock(&self) -> MutexGuard<'_, Option<OpenTrace>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Volume {
    /// Traces what is asked of the device into a new file, which must not be one of this disk's.
    /// While work takes no time, a sync is answered only after `hold`: so commits of other clients
    /// share the next one, as on a device that takes its time.
    pub fn begin_trace(&self, to: &Path, hold: Duration) -> io::Result<()> {
        let mut open = self.traces.lock();
        if open.is_some() {
            return Err(io::Error::other("the disk's requests are being traced already"));
        }
        let file = File::options().write(true).create_new(true).mode(0o600).open(to)?;
        let held = if hold.is_zero() { None } else { Some(HeldSyncs::start(hold)?) };
        let tracer = Tracer::default();
        *open = Some(OpenTrace { tracer, file, written: 0, failed: None, held });
        self.traces.on.store(true, Ordering::Release);
        Ok(())
    }

    /// Returns the bytes of the trace. It fails if the trace is longer than 256 MiB or could not be
    /// written: then it is no use.
    pub fn end_trace(&self) -> io::Result<u64> {
        self.traces.on.store(false, Ordering::Release);
        let open = self.traces.lock().take();
        let mut open =
            open.ok_or_else(|| io::Error::other("the disk's requests are not traced"))?;
        if let Some(HeldSyncs { queue, thread, .. }) = open.held.take() {
            drop(queue);
            let _ = thread.join();
        }
        open.tracer.end(self.lock_model().ext4.span());
        open.write_pending();
        open.failed.map_or(Ok(open.written), Err)
    }

    pub(super) fn trace_work(&self, waits: Waits, ino: Option<InodeNumber>, work: &DeviceWork) {
        if !self.traces.on.load(Ordering::Acquire) || work.steps.iter().all(Vec::is_empty) {
            return;
        }
        let mut open = self.traces.lock();
        let Some(open) = open.as_mut() else { return };
        let name = || {
            use std::os::unix::ffi::OsStringExt as _;
            let path = ino.and_then(|ino| self.inodes.get(ino)?.find_path(&self.backing));
            path.unwrap_or_default().into_os_string().into_vec()
        };
        open.tracer.add_work(self.executor.now(), waits, ino, name, work);
        if open.tracer.pending_bytes() > CHUNK {
            open.write_pending();
        }
    }

    /// The call that answers a sync, later if syncs are held.
    pub(super) fn hold_answer(
        &self,
        work: &DeviceWork,
        then: WorkCallback,
    ) -> Option<WorkCallback> {
        let syncs =
            || work.steps.iter().flatten().any(|request| request.kind == RequestKind::Flush);
        if !self.traces.on.load(Ordering::Acquire) || self.executor.is_timed() || !syncs() {
            return Some(then);
        }
        let open = self.traces.lock();
        let Some(held) = open.as_ref().and_then(|open| open.held.as_ref()) else {
            return Some(then);
        };
        held.queue.send((Instant::now() + held.time, then)).err().map(|it| it.0.1)
    }
}
