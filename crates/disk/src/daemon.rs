//! The process behind a mounted disk: checks what it is given, mounts, answers, and cleans up.

use std::io::{self, BufRead, Read};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
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
use crate::options::MountOptions;
use crate::registry::{MountClaim, MountNote};
use crate::table::{self, How};
use crate::volume::{Volume, VolumeOptions};

mod asked;
mod checks;
mod images;
mod own_calls;
mod trace;

pub use checks::can_mount;

use checks::{MEND, MadeFolders, folders};
use own_calls::{TRIPS, round_trips, through_the_mount};

/// How long those who use the mount have to leave it after a signal.
const GRACE: Duration = Duration::from_secs(1);
/// How long the session may take to end once nobody can reach it.
const ENDING: Duration = Duration::from_secs(3);

/// What the daemon waits for.
enum DaemonEvent {
    Signal,
    /// It is not to be seen any more where this process is; somebody with mounts of its own
    /// (`mount_namespaces(7)`) may still have it.
    Left,
    /// The mount is gone, whoever unmounted it.
    Unmounted(io::Result<()>),
}

/// The whole of a process that a [`Launcher`](launcher::Launcher) starts: reads on `input` what to
/// mount, answers on `output` that it is mounted or why not, and serves it as [`serve`] does. A `main`
/// calls it with its standard input and output, and with the models that its program has.
///
/// # Errors
/// Those of [`serve`], or `input` does not say what to mount. `output` has told of what went wrong
/// before it was mounted.
pub fn launched(
    models: &Models,
    input: &mut dyn BufRead,
    output: &mut dyn io::Write,
) -> Result<(), Error> {
    let mut mounted = false;
    let served = launcher::asked(input).and_then(|options| {
        serve(models, &options, |_| {
            mounted = true;
            launcher::answer(output, &LaunchReply::Mounted)
        })
    });
    if let Err(error) = &served
        && !mounted
    {
        // Nobody may be there any more to hear it.
        let _ = launcher::answer(output, &LaunchReply::Refused(error.clone()));
    }
    served
}

/// Mounts a disk of one of these models, calls `ready` when it did, and serves it until it is
/// unmounted or told to end by a signal. Where `ready` fails, it is unmounted at once. A folder that is missing is
/// made; a mountpoint that was made goes at the end, and the files' folder where nothing was mounted.
///
/// # Errors
/// It can't be mounted as asked, and nothing was changed; or it can't be served any more.
pub fn serve(
    models: &Models,
    options: &MountOptions,
    ready: impl FnOnce(&MountNote) -> io::Result<()>,
) -> Result<(), Error> {
    let spec = options.device(models)?;
    let mut made = MadeFolders::make_missing(options)?;
    let note = folders(options, &spec)?;
    can_mount()?;
    let claim = MountClaim::new(&note)?;
    fuse::end_with_a_lost_reply();
    let (events, heard) = mpsc::channel();
    listen_for_signals(events.clone()).map_err(failed("signals"))?;
    let disk = Arc::new(MountedDisk::open(options, &spec, note, events)?);
    fuse::end_with_a_panic();
    disk.mount(&claim.socket())?;
    let served = disk.calibrate(options.timing).and_then(|()| {
        // The disk goes when this function ends, whoever is still connected.
        let answering = Arc::downgrade(&disk);
        let listening =
            ControlListener::start(&claim.socket(), move |ask| match answering.upgrade() {
                Some(disk) => disk.answer(ask),
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
            disk.leave(&heard)
        }
    };
    disk.executor.stop();
    let listening = served.map_err(failed("the mount"))?;
    let _answered = listening.finish();
    // The volume clears its hidden folder before others may have the backing folder.
    drop(disk);
    // Who waits for the end of the connection may mount there again.
    drop(made);
    drop(claim);
    session.map_err(failed("the mount"))
}

/// A mounted disk.
struct MountedDisk {
    note: MountNote,
    seed: u64,
    metadata: Metadata,
    null: bool,
    volume: Arc<Volume>,
    executor: Arc<Executor>,
    started: Instant,
    /// Whether it was found to answer.
    ready: Arc<AtomicBool>,
    events: Sender<DaemonEvent>,
    changing: Mutex<Changing>,
}

/// What can be set while it is mounted.
struct Changing {
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
            volume.keep_out_of_page_cache().map_err(failed("the page cache"))?;
        }
        let changing = Mutex::new(Changing { neighbours: options.neighbours, round_trip: 0 });
        let (seed, metadata) = (options.seed, options.metadata);
        let started = Instant::now();
        let ready = Arc::default();
        Ok(Self { note, seed, metadata, null, volume, executor, started, ready, events, changing })
    }

    fn mount(&self, socket: &Path) -> Result<(), Error> {
        let options = ServeOptions { name: table::source(socket), ..ServeOptions::default() };
        let session = fuse::serve(Arc::clone(&self.volume), &self.note.mountpoint, &options);
        let session = session.map_err(|error| {
            let mountpoint = self.note.mountpoint.display();
            // The library tells all that it gave to the system; what that said comes last.
            let error = error.to_string();
            let said = error.rsplit(": ").next().unwrap_or_default();
            Error::Failed(format!("{mountpoint} can't be mounted ({said}): {MEND}"))
        })?;
        let (ready, events) = (Arc::clone(&self.ready), self.events.clone());
        let wait = move || {
            let ended = session.wait();
            if !ready.load(Ordering::Relaxed) {
                // Whoever asks the disk for something would wait for ever.
                fuse::give_up(&format!("the mount ended before it was ready: {ended:?}"));
            }
            events.send(DaemonEvent::Unmounted(ended))
        };
        let thread = thread::Builder::new().name("disk-mount".into()).spawn(wait);
        thread.map(drop).map_err(failed("the mount"))
    }

    /// Measures how long a call takes through FUSE and back when nothing is to be waited for, by
    /// one that the kernel never answers itself; then lets the disk take its time.
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

    fn lock(&self) -> std::sync::MutexGuard<'_, Changing> {
        self.changing.lock().expect("nobody panics with it")
    }

    /// Unmounts after a signal, whoever still uses it, and waits for the session's end.
    fn leave(&self, heard: &mpsc::Receiver<DaemonEvent>) -> io::Result<()> {
        // Nobody is to wait for the disk any more.
        self.executor.set_timing(false);
        let at = &self.note.mountpoint;
        let start = Instant::now();
        while table::is_ours(at) && table::unmount(at, How::Now).is_err() {
            if start.elapsed() > GRACE {
                table::unmount(at, How::Lazily)?;
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
        end_of_session(heard)
    }
}

/// Waits for the end of the session once nobody can reach the disk from where this process is, and
/// not for ever: who has files open, or the mount among mounts of its own, loses it with this process.
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

fn failed(what: &'static str) -> impl Fn(io::Error) -> Error {
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
