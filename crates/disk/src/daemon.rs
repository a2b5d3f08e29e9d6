use std::io::{self, BufRead, Read};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use bakeoff_devices::device::Nanos;
use bakeoff_devices::models::Models;
use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_devices::plug::Metadata;
use bakeoff_devices::spec::Spec;
use bakeoff_devices::station::Station;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::control::{ControlAnswer, ControlListener};
use crate::error::Error;
use crate::executor::{self, Executor};
use crate::fuse::{self, ServeOptions};
use crate::launcher::{self, LaunchReply};
use crate::mount_table::{self, How};
use crate::options::MountOptions;
use crate::registry::{MountClaim, MountNote};
use crate::volume::{Volume, VolumeOptions};

mod checks;
mod images;
mod kernel_pages;
mod own_calls;
mod requests;
mod trace;

pub use checks::can_mount;

use checks::{MEND, MadeFolders, check_folders};
use kernel_pages::KernelPages;
use own_calls::{TRIPS, round_trips, through_the_mount};

/// How long users of the mount have to leave it after a signal.
const GRACE: Duration = Duration::from_secs(1);
/// How long the session may take to end once the mount can't be reached.
const ENDING: Duration = Duration::from_secs(3);

enum DaemonEvent {
    Signal,
    /// Nobody sees the mount from this process any more; other mount namespaces
    /// (`mount_namespaces(7)`) may still have it.
    Left,
    Unmounted(io::Result<()>),
}

/// The whole of a process that a [`Launcher`](launcher::Launcher) starts: reads from `input` what
/// to mount, answers on `output` that it is mounted or why not, and serves it as [`serve_disk`] does. A
/// `main` calls it with its standard input and output and its models.
pub fn run_launched(
    models: &Models,
    input: &mut dyn BufRead,
    output: &mut dyn io::Write,
) -> Result<(), Error> {
    let mut mounted = false;
    let served = launcher::read_options(input).and_then(|options| {
        serve_disk(models, &options, |_| {
            mounted = true;
            launcher::write_reply(output, &LaunchReply::Mounted)
        })
    });
    if let Err(error) = &served
        && !mounted
    {
        let _ = launcher::write_reply(output, &LaunchReply::Refused(error.clone()));
    }
    served
}

/// Mounts a disk, calls `ready`, and serves the disk until it is unmounted or a signal comes. If
/// `ready` fails, the disk is unmounted at once. Missing folders are made. A mountpoint that was
/// made goes at the end, the files' folder only if nothing was mounted. If mounting fails, nothing
/// was changed.
pub fn serve_disk(
    models: &Models,
    options: &MountOptions,
    ready: impl FnOnce(&MountNote) -> io::Result<()>,
) -> Result<(), Error> {
    let spec = options.resolve_device(models)?;
    let mut made = MadeFolders::make_missing(options)?;
    let note = check_folders(options, &spec)?;
    can_mount()?;
    let claim = MountClaim::new(&note)?;
    fuse::end_with_a_lost_reply();
    let (events, heard) = mpsc::channel();
    listen_for_signals(events.clone()).map_err(wrap_error("signals"))?;
    let disk = Arc::new(MountedDisk::open(options, &spec, note, events)?);
    fuse::end_with_a_panic();
    disk.mount(&claim.socket())?;
    let served = disk.calibrate(options.timing).and_then(|()| {
        // The disk goes when this function ends, even if clients are still connected.
        let answering = Arc::downgrade(&disk);
        let listening =
            ControlListener::start(&claim.socket(), move |ask| match answering.upgrade() {
                Some(disk) => disk.answer_request(ask),
                None => ControlAnswer::Refused(Error::Failed("it is being unmounted".into())),
            })?;
        ready(&disk.note)?;
        made.keep_backing();
        Ok(listening)
    });
    let ended = match served {
        Ok(_) => heard.recv().unwrap_or(DaemonEvent::Signal),
        Err(_) => DaemonEvent::Signal,
    };
    let session = match ended {
        DaemonEvent::Unmounted(session) => session,
        DaemonEvent::Left => end_of_session(&heard),
        DaemonEvent::Signal => {
            disk.volume.end_snapshots();
            disk.leave_mount(&heard)
        }
    };
    disk.executor.stop();
    let listening = served.map_err(wrap_error("the mount"))?;
    let _answered = listening.wait_for_answers();
    // The volume clears its hidden folder before others may have the backing folder.
    drop(disk);
    // A client that waits for the end of the connection may mount there again.
    drop(made);
    drop(claim);
    session.map_err(wrap_error("the mount"))
}

struct MountedDisk {
    note: MountNote,
    seed: u64,
    metadata: Metadata,
    null: bool,
    volume: Arc<Volume>,
    executor: Arc<Executor>,
    started: Instant,
    ready: Arc<AtomicBool>,
    events: Sender<DaemonEvent>,
    changing: Mutex<DiskSettings>,
    /// With write-back, from when it is mounted.
    kernel_pages: OnceLock<Arc<KernelPages>>,
    write_back: bool,
}

struct DiskSettings {
    neighbours: NeighbourLevel,
    round_trip: Nanos,
}

impl MountedDisk {
    fn open(
        options: &MountOptions,
        spec: &Spec,
        note: MountNote,
        events: Sender<DaemonEvent>,
    ) -> Result<Self, Error> {
        let station = Station::new(spec.build(options.seed), options.seed);
        // The timing comes on when the round trip is known.
        let null = spec.is_null();
        let executor =
            Arc::new(Executor::start(station, executor::ExecutorOptions { timing: false, null }));
        executor.set_neighbours(options.neighbours);
        let mut volume_options = VolumeOptions::new(Arc::clone(&executor), spec);
        volume_options.metadata = options.metadata;
        let volume = Volume::open(&note.backing, volume_options).map_err(|error| {
            Error::Folder(format!("{} can't be used: {error}", note.backing.display()))
        })?;
        if options.uncached {
            volume.keep_out_of_page_cache().map_err(wrap_error("the page cache"))?;
        }
        let changing = Mutex::new(DiskSettings { neighbours: options.neighbours, round_trip: 0 });
        let (seed, metadata) = (options.seed, options.metadata);
        let started = Instant::now();
        let ready = Arc::default();
        Ok(Self {
            note,
            seed,
            metadata,
            null,
            volume,
            executor,
            started,
            ready,
            events,
            changing,
            kernel_pages: OnceLock::new(),
            write_back: options.write_back,
        })
    }

    fn mount(&self, socket: &Path) -> Result<(), Error> {
        let options = ServeOptions {
            name: mount_table::format_source(socket),
            write_back: self.write_back,
            ..ServeOptions::default()
        };
        let session = fuse::serve_volume(Arc::clone(&self.volume), &self.note.mountpoint, &options);
        let session = session.map_err(|error| {
            let mountpoint = self.note.mountpoint.display();
            // The library repeats all that it gave to the system; the system's words come last.
            let error = error.to_string();
            let said = error.rsplit(": ").next().unwrap_or_default();
            Error::Failed(format!("{mountpoint} can't be mounted ({said}): {MEND}"))
        })?;
        let (ready, events) = (Arc::clone(&self.ready), self.events.clone());
        let wait = move || {
            let ended = session.wait_until_unmounted();
            if !ready.load(Ordering::Relaxed) {
                fuse::give_up(&format!("the mount ended before it was ready: {ended:?}"));
            }
            events.send(DaemonEvent::Unmounted(ended))
        };
        let thread = thread::Builder::new().name("disk-mount".into()).spawn(wait);
        thread.map_err(wrap_error("the mount"))?;
        if self.write_back {
            let pages = KernelPages::start(self.note.mountpoint.clone());
            let _ = self.kernel_pages.set(pages.map_err(wrap_error("the kernel's pages"))?);
        }
        Ok(())
    }

    /// Measures the way through FUSE and back by calls that the kernel never answers itself; then
    /// turns the timing on.
    fn calibrate(&self, timing: bool) -> io::Result<()> {
        let mountpoint = self.note.mountpoint.clone();
        let mut trips = through_the_mount(move || round_trips(&mountpoint))?;
        trips.sort_unstable();
        let nanos = u64::try_from(trips[TRIPS / 2].as_nanos()).unwrap_or(0);
        self.executor.set_round_trip(nanos);
        self.lock().round_trip = nanos;
        self.executor.set_timing(timing);
        self.ready.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, DiskSettings> {
        self.changing.lock().expect("nobody panics with it")
    }

    fn leave_mount(&self, heard: &mpsc::Receiver<DaemonEvent>) -> io::Result<()> {
        self.executor.set_timing(false);
        if let Some(pages) = self.kernel_pages.get() {
            pages.end();
        }
        let at = &self.note.mountpoint;
        let start = Instant::now();
        while mount_table::is_ours(at) && mount_table::unmount(at, How::Now).is_err() {
            if start.elapsed() > GRACE {
                mount_table::unmount(at, How::Lazily)?;
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
        end_of_session(heard)
    }
}

/// Waits, but not for ever, for the end of a session that nobody can reach from here. Whoever has
/// files open, or the mount in another namespace, loses it with this process.
fn end_of_session(heard: &mpsc::Receiver<DaemonEvent>) -> io::Result<()> {
    let start = Instant::now();
    loop {
        match heard.recv_timeout(ENDING.saturating_sub(start.elapsed())) {
            Ok(DaemonEvent::Signal | DaemonEvent::Left) => {}
            Ok(DaemonEvent::Unmounted(session)) => return session,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

fn wrap_error(what: &'static str) -> impl Fn(io::Error) -> Error {
    move |error| Error::Failed(format!("{what}: {error}"))
}

fn listen_for_signals(events: Sender<DaemonEvent>) -> io::Result<()> {
    let (mut heard, pipe) = UnixStream::pair()?;
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::low_level::pipe::register(signal, pipe.try_clone()?)?;
    }
    let listen = move || {
        while heard.read_exact(&mut [0]).is_ok() && events.send(DaemonEvent::Signal).is_ok() {}
    };
    thread::Builder::new().name("disk-signals".into()).spawn(listen).map(drop)
}
