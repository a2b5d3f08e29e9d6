//! The process behind a mounted disk: checks what it is given, mounts, answers, and cleans up.

use std::fs;
use std::io::{self, BufRead, ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use bakeoff_devices::device::Nanos;
use bakeoff_devices::models::Models;
use bakeoff_devices::neighbour::Level;
use bakeoff_devices::plug::Metadata;
use bakeoff_devices::spec::Spec;
use bakeoff_devices::station::Station;
use bakeoff_devices::trigger::{Awaited, Signature};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::control::{Answer, Ask, Listening, Stat};
use crate::error::Error;
use crate::executor::{self, Executor};
use crate::fuse::{self, ServeOptions};
use crate::launcher::{self, Reply};
use crate::options::{MountOptions, check_neighbours};
use crate::registry::{Claim, Note};
use crate::table::{self, How};
use crate::volume::{Volume, VolumeOptions};

mod images;
mod trace;

/// How long those who use the mount have to leave it after a signal.
const GRACE: Duration = Duration::from_secs(1);
/// How long the session may take to end once nobody can reach it.
const ENDING: Duration = Duration::from_secs(3);
/// Calls by which the round trip is measured, and those before, which are not counted.
const TRIPS: usize = 200;
const WARM_UP: usize = 50;

/// What the daemon waits for.
enum Event {
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
            launcher::answer(output, &Reply::Mounted)
        })
    });
    if let Err(error) = &served
        && !mounted
    {
        // Nobody may be there any more to hear it.
        let _ = launcher::answer(output, &Reply::Refused(error.clone()));
    }
    served
}

/// Mounts a disk of one of these models, calls `ready` when it did, and serves it until it is
/// unmounted or told to end by a signal. Where `ready` fails, it is unmounted at once.
///
/// # Errors
/// It can't be mounted as asked, and nothing was changed; or it can't be served any more.
pub fn serve(
    models: &Models,
    options: &MountOptions,
    ready: impl FnOnce(&Note) -> io::Result<()>,
) -> Result<(), Error> {
    let spec = options.device(models)?;
    let note = folders(options, &spec)?;
    can_mount()?;
    let claim = Claim::new(&note)?;
    fuse::end_with_a_lost_reply();
    let (events, heard) = mpsc::channel();
    listen_for_signals(events.clone()).map_err(failed("signals"))?;
    let disk = Arc::new(Disk::open(options, &spec, note, events)?);
    disk.mount(&claim.socket())?;
    let served = disk.calibrate(options.timing).and_then(|()| {
        // The disk goes when this function ends, whoever is still connected.
        let answering = Arc::downgrade(&disk);
        let listening = Listening::start(&claim.socket(), move |ask| match answering.upgrade() {
            Some(disk) => disk.answer(ask),
            None => Answer::Refused(Error::Failed("it is being unmounted".into())),
        })?;
        ready(&disk.note)?;
        Ok(listening)
    });
    let ended = match served {
        Ok(_) => heard.recv().unwrap_or(Event::Signal),
        Err(_) => Event::Signal,
    };
    let session = match ended {
        Event::Unmounted(session) => session,
        Event::Left => end_of_session(&heard),
        Event::Signal => {
            disk.volume.end_snapshots();
            disk.leave(&heard)
        }
    };
    disk.executor.stop();
    let listening = served.map_err(failed("the mount"))?;
    let _answered = listening.finish();
    // The volume clears its hidden folder before others may have the backing folder.
    drop(disk);
    drop(claim);
    session.map_err(failed("the mount"))
}

/// A mounted disk.
struct Disk {
    note: Note,
    seed: u64,
    metadata: Metadata,
    null: bool,
    volume: Arc<Volume>,
    executor: Arc<Executor>,
    started: Instant,
    /// Whether it was found to answer.
    ready: Arc<AtomicBool>,
    events: Sender<Event>,
    changing: Mutex<Changing>,
}

/// What can be set while it is mounted.
struct Changing {
    neighbours: Level,
    round_trip: Nanos,
}

impl Disk {
    fn open(
        options: &MountOptions,
        spec: &Spec,
        note: Note,
        events: Sender<Event>,
    ) -> Result<Self, Error> {
        let station = Station::new(spec.build(options.seed), options.seed);
        // The timing comes on when the round trip is known.
        let null = spec.is_null();
        let executor =
            Arc::new(Executor::start(station, executor::Options { timing: false, null }));
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
            events.send(Event::Unmounted(ended))
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

    fn answer(&self, ask: Ask) -> Answer {
        let answer = match ask {
            Ask::Stat => return Answer::Stat(Box::new(self.stat())),
            Ask::Neighbours(level) => self.set_neighbours(&level),
            Ask::Timing(on) => self.set_timing(on),
            Ask::Arm(moments, signatures) => self.arm(&moments, &signatures),
            Ask::Record => {
                self.volume.record();
                Ok(())
            }
            Ask::Trace(to) => self.trace(to),
            Ask::Recorded(folder) => self.recorded(&folder),
            Ask::RecordAnew => self
                .volume
                .record_anew()
                .map(drop)
                .map_err(|error| Error::Failed(error.to_string())),
            Ask::Snapshot(wanted) => self.snapshot(&wanted),
            Ask::PowerOff => {
                self.volume.power_off();
                Ok(())
            }
            Ask::Image(wanted) => self.image(&wanted),
            Ask::Cut(wanted) => self.cut(&wanted),
            Ask::Fault(rule) => self.fault(&rule),
            Ask::Unmount => self.unmount(),
        };
        answer.map_or_else(Answer::Refused, |()| Answer::Done)
    }

    fn stat(&self) -> Stat {
        let changing = self.lock();
        Stat {
            model: self.note.model.clone(),
            backing: self.note.backing.clone(),
            mountpoint: self.note.mountpoint.clone(),
            pid: self.note.pid,
            seconds: self.started.elapsed().as_secs_f64(),
            seed: self.seed,
            metadata: self.metadata.to_string(),
            neighbours: changing.neighbours.to_string(),
            timing: self.executor.timing(),
            off_at_ns: self.volume.off_at(),
            moments_ns: self.volume.noted(),
            by_itself: self.volume.came_by_itself(),
            faults: self.volume.faults().iter().map(ToString::to_string).collect(),
            round_trip_us: changing.round_trip as f64 / 1e3,
            device: self.executor.counts(),
            files: self.volume.counts(),
            latency: self.executor.achieved(),
            memory_bytes: memory(),
            pending_bytes: self.volume.pending_bytes(),
            recorded_bytes: self.volume.recorded_bytes(),
        }
    }

    /// Sees that there is still something to change.
    fn on(&self) -> Result<(), Error> {
        if self.volume.is_off() {
            let at = self.note.mountpoint.display();
            return Err(Error::Failed(format!(
                "the power of {at} is off, so nothing can be changed: unmount it (bakeoff disk \
                 unmount {at}) and mount it again"
            )));
        }
        Ok(())
    }

    fn set_neighbours(&self, level: &str) -> Result<(), Error> {
        self.on()?;
        let level: Level = level.parse().map_err(Error::usage)?;
        check_neighbours(self.null, level)?;
        self.executor.set_neighbours(level);
        self.lock().neighbours = level;
        Ok(())
    }

    fn set_timing(&self, on: bool) -> Result<(), Error> {
        self.on()?;
        if on && self.null {
            return Err(Error::Usage(
                "the model `null` takes no time, so timing can't be turned on: mount another \
                 model (bakeoff list disks)"
                    .into(),
            ));
        }
        if on && !self.executor.timing() {
            // What was written while nobody had to wait is not to be written once somebody has.
            self.volume.settle();
        }
        self.executor.set_timing(on);
        Ok(())
    }

    fn arm(&self, moments: &[Awaited], signatures: &[Signature]) -> Result<(), Error> {
        self.volume.await_signatures(moments, signatures).map_err(|error| match error.kind() {
            ErrorKind::InvalidInput => Error::usage(error),
            _ => Error::Failed(format!("{}: {error}", self.note.mountpoint.display())),
        })
    }

    fn fault(&self, rule: &str) -> Result<(), Error> {
        self.on()?;
        self.volume.inject(rule.parse().map_err(Error::usage)?);
        Ok(())
    }

    fn unmount(&self) -> Result<(), Error> {
        let at = self.note.mountpoint.clone();
        let unmounted = through_the_mount(move || {
            // The kernel does it when the last one who has the mount loses it, which may be somebody
            // that the daemon does not wait for. Nothing is left to be done where the power is off.
            let _ = fs::File::open(&at).map(rustix::fs::syncfs);
            table::unmount(&at, How::Now)
        });
        let at = &self.note.mountpoint;
        unmounted.map_err(|error| match error.kind() {
            ErrorKind::ResourceBusy => Error::in_use(at),
            _ => Error::Failed(format!("{} can't be unmounted: {error}", at.display())),
        })?;
        // It is heard as long as the daemon is there.
        let _ = self.events.send(Event::Left);
        Ok(())
    }

    /// Unmounts after a signal, whoever still uses it, and waits for the session's end.
    fn leave(&self, heard: &mpsc::Receiver<Event>) -> io::Result<()> {
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
fn end_of_session(heard: &mpsc::Receiver<Event>) -> io::Result<()> {
    let start = Instant::now();
    loop {
        match heard.recv_timeout(ENDING.saturating_sub(start.elapsed())) {
            Ok(Event::Signal | Event::Left) => {}
            Ok(Event::Unmounted(session)) => return session,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// Sees that both folders can be what they are asked to be; says where they are.
fn folders(options: &MountOptions, spec: &Spec) -> Result<Note, Error> {
    let wrong = |path: &Path, why: &dyn std::fmt::Display| {
        Error::Folder(format!("{}: {why}", path.display()))
    };
    let (given, backing) = (&options.backing, options.backing.canonicalize());
    let backing = backing.map_err(|error| wrong(given, &format!("the backing folder: {error}")))?;
    if !backing.is_dir() {
        return Err(wrong(given, &"it is not a folder; the files of the disk are kept in one"));
    }
    let access =
        rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    rustix::fs::access(&backing, access)
        .map_err(|error| wrong(given, &format!("you may not write there: {error}")))?;
    let given = &options.mountpoint;
    let missing = |error: io::Error| {
        wrong(
            given,
            &format!("{error}; make an empty folder to mount on: mkdir {}", given.display()),
        )
    };
    let mountpoint = table::resolve(given).map_err(missing)?;
    if table::is_ours(&mountpoint) {
        let why = format!("a disk is mounted here: bakeoff disk unmount {}", given.display());
        return Err(wrong(given, &why));
    }
    if let Some(other) = table::at(&mountpoint) {
        let why = format!("something else ({}) is mounted here; take another folder", other.kind);
        return Err(wrong(given, &why));
    }
    if !mountpoint.is_dir() {
        return Err(wrong(given, &"it is not a folder; a disk is mounted on an empty one"));
    }
    if mountpoint.starts_with(&backing) || backing.starts_with(&mountpoint) {
        let why = format!("{} and the mountpoint may not be inside each other", backing.display());
        return Err(wrong(given, &why));
    }
    if !is_empty(&mountpoint).map_err(|error| wrong(given, &error))? {
        return Err(wrong(given, &"it is not empty; a disk is mounted on an empty folder"));
    }
    Ok(Note { pid: std::process::id(), backing, mountpoint, model: spec.to_string() })
}

fn is_empty(folder: &Path) -> io::Result<bool> {
    Ok(fs::read_dir(folder)?.next().is_none())
}

/// What can be done where FUSE can't be used.
const MEND: &str = "on a machine of your own, load the kernel's module (modprobe fuse); in a \
                    container, start it with --device /dev/fuse --cap-add SYS_ADMIN; without root, \
                    install fusermount3 (Debian: apt-get install fuse3)";

/// The number of the device /dev/fuse: Linux, `Documentation/admin-guide/devices.txt`.
const FUSE: (u32, u32) = (10, 229);

/// Sees that FUSE can be used at all, as far as that can be seen without mounting.
///
/// # Errors
/// What is missing, and what brings it.
pub fn can_mount() -> Result<(), Error> {
    let device = Path::new("/dev/fuse");
    let opened = fs::File::options().read(true).write(true).open(device);
    let why = match opened.map(|file| rustix::fs::fstat(&file)) {
        Ok(Ok(stat))
            if (rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev)) == FUSE =>
        {
            return Ok(());
        }
        Ok(_) => "is something else here".to_owned(),
        Err(error) if error.kind() == ErrorKind::NotFound => "is not there".to_owned(),
        // fusermount3 opens it as its caller, too.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            return Err(Error::Failed(
                "virtual disks need FUSE, and you may not open /dev/fuse: have root let all users do \
                 so, as on most machines (chmod 666 /dev/fuse), or run bakeoff as root"
                    .into(),
            ));
        }
        Err(error) => format!("can't be opened ({error})"),
    };
    Err(Error::Failed(format!("virtual disks need FUSE, and /dev/fuse {why}: {MEND}")))
}

/// Has a thread of its own do something that waits for this very process.
///
/// Such a thread can't be killed before the connection ends, and that is held by the process's
/// descriptors: so the thread gives its own up first, and must not use one that was open before.
fn through_the_mount<T: Send + 'static>(
    what: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let thread = thread::Builder::new().name("disk-own-caller".into());
    let thread = thread.spawn(move || {
        // SAFETY: the thread uses no descriptor from here on, and has no part in those of others.
        unsafe {
            rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::FILES)?;
            libc::close_range(3, libc::c_uint::MAX, 0);
        }
        what()
    })?;
    thread.join().map_err(|_| io::Error::other("it panicked"))?
}

/// How long calls through the mount take.
fn round_trips(mountpoint: &Path) -> io::Result<Vec<Duration>> {
    let mut trips = Vec::with_capacity(TRIPS);
    for n in 0..WARM_UP + TRIPS {
        let start = Instant::now();
        rustix::fs::statvfs(mountpoint)?;
        if n >= WARM_UP {
            trips.push(start.elapsed());
        }
    }
    Ok(trips)
}

fn failed(what: &'static str) -> impl Fn(io::Error) -> Error {
    move |error| Error::Failed(format!("{what}: {error}"))
}

fn listen_for_signals(events: Sender<Event>) -> io::Result<()> {
    let (mut heard, pipe) = UnixStream::pair()?;
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::low_level::pipe::register(signal, pipe.try_clone()?)?;
    }
    let listen = move || {
        while heard.read_exact(&mut [0]).is_ok() && events.send(Event::Signal).is_ok() {}
    };
    thread::Builder::new().name("disk-signals".into()).spawn(listen).map(drop)
}

/// Bytes of memory that this process has in use: see proc_pid_statm(5).
fn memory() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}
