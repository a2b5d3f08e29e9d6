//! Talks to a mounted disk's daemon: a Unix socket, one line of JSON for a request and one for the
//! answer. Empty lines before the answer show that the daemon is at work.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bakeoff_devices::ext4;
use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_devices::plug::{Keep, Metadata};
use bakeoff_devices::station::StationCounts;
use bakeoff_devices::trigger::{CallSignature, TimedTrigger, Trigger};
use bakeoff_folders::trust;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::executor::Accuracy;
use crate::fault::{self, FaultRule};
use crate::last_words::LastWords;
use crate::mount_table;
use crate::patience::PATIENCE;
use crate::stop_guard::is_stopped;

mod listening;
mod wire;

pub(crate) use listening::ControlListener;

/// How long a daemon that is stopped (SIGSTOP) may say nothing.
const STOPPED: Duration = Duration::from_secs(10);
/// How often a daemon that works on its answer sends an empty line.
const BEAT: Duration = Duration::from_millis(500);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ask {
    Stat,
    Neighbours(String),
    Timing(bool),
    Cut(ImageRequest),
    PowerOff,
    Image(ImageRequest),
    Snapshot(ImageRequest),
    HandOver,
    Record,
    /// `None` ends the trace.
    Trace(Option<TraceRequest>),
    /// A new folder for the recorded history.
    Recorded(PathBuf),
    RecordAnew,
    Arm(Vec<TimedTrigger>, Vec<CallSignature>),
    Fault(String),
    Unmount,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ImageRequest {
    pub keep: String,
    pub seed: u64,
    /// An absolute path.
    pub folder: PathBuf,
    /// Which of the awaited moments it shows, and how names become durable there. `None`: the
    /// moment at which the power went.
    pub of: Option<(usize, Metadata)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TraceRequest {
    /// An absolute path.
    pub file: PathBuf,
    pub hold: Duration,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ControlAnswer {
    Done,
    Stat(Box<Stat>),
    Refused(Error),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stat {
    pub model: String,
    pub backing: PathBuf,
    pub mountpoint: PathBuf,
    pub pid: u32,
    pub seconds: f64,
    pub seed: u64,
    pub metadata: String,
    pub neighbours: String,
    pub timing: bool,
    /// When the power went, in nanoseconds of `CLOCK_MONOTONIC`: before the first call that failed
    /// for it. `None` while it is on.
    pub off_at_ns: Option<u64>,
    /// When the awaited moments came, in nanoseconds of `CLOCK_MONOTONIC`, in the order in which
    /// they were armed; `None` for a moment to come.
    pub moments_ns: Vec<Option<u64>>,
    /// For each awaited moment, whether its event came before its time was over and before the
    /// power went.
    pub by_itself: Vec<bool>,
    pub faults: Vec<String>,
    /// The time that is taken off each wait for the way through FUSE, in microseconds.
    pub round_trip_us: f64,
    pub device: StationCounts,
    pub files: ext4::Ext4Counts,
    /// Writes that the program waited for one by one: the kernel did not gather them.
    pub waited_writes: u64,
    pub latency: Accuracy,
    pub memory_bytes: u64,
    /// Bytes of it that hold what a power cut would take.
    pub pending_bytes: u64,
    /// Bytes of it that hold what images of earlier moments need.
    pub recorded_bytes: u64,
}

impl ImageRequest {
    fn new(keep: Keep, seed: u64, folder: &Path) -> Result<Self, Error> {
        let folder = std::path::absolute(folder);
        let folder = folder.map_err(|error| Error::Folder(error.to_string()))?;
        Ok(Self { keep: keep.to_string(), seed, folder, of: None })
    }
}

#[derive(Clone, Debug)]
pub struct DiskControl {
    mountpoint: PathBuf,
    socket: PathBuf,
    patience: Duration,
    /// If this process started the daemon: how it ended, and its last messages.
    last_words: Option<Arc<LastWords>>,
}

impl DiskControl {
    /// Finds the daemon of the disk that is mounted on `mountpoint`, by what the mount itself says.
    /// Fails with [`Error::Folder`] if no disk is mounted there, or it is another user's.
    pub fn connect(mountpoint: &Path) -> Result<Self, Error> {
        let shown = mountpoint.display();
        let resolved = mount_table::resolve_mountpoint(mountpoint)
            .map_err(|error| Error::Folder(format!("{shown}: {error}")))?;
        let entry = mount_table::find_mount_at(&resolved);
        let Some((user, socket)) = entry.and_then(|entry| Some((entry.user, entry.socket()?)))
        else {
            let others = mount_table::list_disks().into_iter().map(|(entry, _)| entry.place);
            let others: Vec<String> = others.map(|place| place.display().to_string()).collect();
            let others = match others.as_slice() {
                [] => ", and none anywhere else".to_owned(),
                some => format!("; these are: {}", some.join(", ")),
            };
            let why = format!("no virtual disk is mounted on {shown}{others}");
            return Err(Error::Folder(why));
        };
        if let Some(user) = user.filter(|user| !trust::is_trusted(*user)) {
            return Err(other_user_error(shown, user));
        }
        let control = Self { mountpoint: resolved, socket, patience: PATIENCE, last_words: None };
        let tried = wire::connect(&control.socket, PATIENCE);
        tried.map(|_| control).map_err(|error| match (error.kind(), user) {
            (ErrorKind::PermissionDenied, Some(user)) => other_user_error(shown, user),
            _ => Error::Folder(format!(
                "the daemon of {shown} can't be reached ({error}): bakeoff disk unmount {shown} \
                 takes the disk away"
            )),
        })
    }

    /// For a daemon that this process has started: messages about a missing answer end with its
    /// last words.
    pub(crate) fn of_started(self, last_words: LastWords) -> Self {
        Self { last_words: Some(Arc::new(last_words)), ..self }
    }

    pub fn mountpoint(&self) -> &Path {
        &self.mountpoint
    }

    fn ask_daemon(&self, ask: &Ask) -> Result<(ControlAnswer, UnixStream), Error> {
        let at = self.mountpoint.display();
        let last_words = self.last_words.as_deref();
        let silent = |error: io::Error| {
            let told = last_words.map(LastWords::describe_end).unwrap_or_default();
            Error::Failed(format!("the daemon of {at} does not answer: {error}{told}"))
        };
        let (mut stream, pid) = wire::connect(&self.socket, self.patience).map_err(silent)?;
        let mut talk = || -> io::Result<_> {
            let mut line = serde_json::to_string(ask)?;
            line.push('\n');
            stream.write_all(line.as_bytes())?;
            let mut lines = wire::ConnectionLines::from_stream(&stream);
            loop {
                let line = self.next_line(&mut lines, pid)?;
                if !line.is_empty() {
                    return Ok(serde_json::from_slice(&line)?);
                }
            }
        };
        match talk() {
            Ok(ControlAnswer::Refused(error)) => Err(error),
            Ok(answer) => Ok((answer, stream)),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                let said = last_words.map(LastWords::format_suffix).unwrap_or_default();
                Err(Error::Failed(format!(
                    "the daemon of {at} (process {pid}) does not answer; if it was stopped, kill \
                     -CONT {pid} lets it go on; kill -KILL {pid} ends it, and the next bakeoff \
                     disk command takes the disk away{said}"
                )))
            }
            Err(error) => Err(silent(error)),
        }
    }

    /// Reads the daemon's next line. A stopped daemon is given up long before a busy one: it stays
    /// silent until it is allowed to go on.
    fn next_line(&self, lines: &mut wire::ConnectionLines<'_>, pid: u32) -> io::Result<Vec<u8>> {
        let deadline = Instant::now() + self.patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match lines.read_line(wire::LONGEST_ANSWER, left.min(STOPPED)) {
                Err(error)
                    if error.kind() == ErrorKind::TimedOut
                        && left > STOPPED
                        && !is_stopped(pid) => {}
                said => return said,
            }
        }
    }

    fn tell_daemon(&self, ask: &Ask) -> Result<(), Error> {
        self.ask_daemon(ask).map(drop)
    }

    pub fn stat(&self) -> Result<Stat, Error> {
        match self.ask_daemon(&Ask::Stat)?.0 {
            ControlAnswer::Stat(stat) => Ok(*stat),
            other => Err(Error::Failed(format!("the daemon answered {other:?}"))),
        }
    }

    pub fn set_timing(&self, on: bool) -> Result<(), Error> {
        self.tell_daemon(&Ask::Timing(on))
    }

    /// Sees that the kernel has handed over the writes that it gathers.
    pub fn hand_over(&self) -> Result<(), Error> {
        self.tell_daemon(&Ask::HandOver)
    }

    pub fn set_neighbours(&self, level: NeighbourLevel) -> Result<(), Error> {
        self.tell_daemon(&Ask::Neighbours(level.to_string()))
    }

    /// Has the power go by itself at a moment, counted from now. Replaces what was armed before.
    /// [`Stat::off_at_ns`] tells when it has gone.
    pub fn arm(&self, trigger: Trigger) -> Result<(), Error> {
        self.await_moments(&[trigger.into()], &[])
    }

    /// Waits for moments, counted from now; [`Stat::moments_ns`] tells when they have come. The
    /// power goes with the last one. Replaces what was armed before.
    pub fn await_moments(
        &self,
        moments: &[TimedTrigger],
        signatures: &[CallSignature],
    ) -> Result<(), Error> {
        self.tell_daemon(&Ask::Arm(moments.to_vec(), signatures.to_vec()))
    }

    /// Remembers from now on what images of earlier moments need, in up to 1 GiB of memory. If
    /// nothing was changed before, images with both ways to make names durable can be made.
    pub fn record(&self) -> Result<(), Error> {
        self.tell_daemon(&Ask::Record)
    }

    /// Traces what the device is asked for ([`bakeoff_devices::trace`]) into a new file outside of
    /// the disk. While the timing is off, a sync is answered only after `hold`.
    pub fn begin_trace(&self, file: &Path, hold: Duration) -> Result<(), Error> {
        let file = std::path::absolute(file);
        let file = file.map_err(|error| Error::Folder(error.to_string()))?;
        self.tell_daemon(&Ask::Trace(Some(TraceRequest { file, hold })))
    }

    /// Fails, too, if the trace is longer than 256 MiB or there was no room for it.
    pub fn end_trace(&self) -> Result<(), Error> {
        self.tell_daemon(&Ask::Trace(None))
    }

    /// Writes all that was remembered ([`DiskControl::record`]) up to the first awaited moment into
    /// a new folder, once the power is off; [`history::read`](crate::history::read) reads it.
    pub fn save_history(&self, folder: &Path) -> Result<(), Error> {
        let folder = std::path::absolute(folder);
        let folder = folder.map_err(|error| Error::Folder(error.to_string()))?;
        self.tell_daemon(&Ask::Recorded(folder))
    }

    /// Makes all earlier changes durable, as `sync(2)` does, forgets them, and begins to remember
    /// as [`DiskControl::record`] does: so both ways to make names durable can be had. Does nothing
    /// once an awaited moment has come.
    pub fn record_anew(&self) -> Result<(), Error> {
        self.tell_daemon(&Ask::RecordAnew)
    }

    /// Pulls the plug, for good: every later call in the mount fails with EIO.
    pub fn power_off(&self) -> Result<(), Error> {
        self.tell_daemon(&Ask::PowerOff)
    }

    /// Writes what a real disk would hold since the power is off to a folder, which must be empty
    /// or not there. The same history, rule and seed give the same image; it is not synced.
    pub fn image(&self, keep: Keep, seed: u64, folder: &Path) -> Result<(), Error> {
        self.tell_daemon(&Ask::Image(ImageRequest::new(keep, seed, folder)?))
    }

    /// As [`DiskControl::image`], of one of the awaited moments, with names made durable in this
    /// way.
    pub fn image_of(
        &self,
        moment: usize,
        metadata: Metadata,
        keep: Keep,
        seed: u64,
        folder: &Path,
    ) -> Result<(), Error> {
        let of = Some((moment, metadata));
        self.tell_daemon(&Ask::Image(ImageRequest { of, ..ImageRequest::new(keep, seed, folder)? }))
    }

    /// Writes what the disk would hold if its power went now to a folder, which must be empty or
    /// not there; the power stays on. Nothing is left of an image that fails.
    pub fn snapshot(&self, keep: Keep, seed: u64, folder: &Path) -> Result<(), Error> {
        self.tell_daemon(&Ask::Snapshot(ImageRequest::new(keep, seed, folder)?))
    }

    /// [`DiskControl::power_off`] and [`DiskControl::image`] in one: the power stays on if the
    /// folder can't be used.
    pub fn cut(&self, keep: Keep, seed: u64, folder: &Path) -> Result<(), Error> {
        self.tell_daemon(&Ask::Cut(ImageRequest::new(keep, seed, folder)?))
    }

    /// Lets a later call fail; [`crate::fault`] says how a rule is written. A path may also go
    /// through the mountpoint. Returns the rule as it was understood.
    pub fn inject_fault(&self, rule: &str) -> Result<FaultRule, Error> {
        let rule = fault::strip_mountpoint(rule, &self.mountpoint);
        let rule = rule.parse::<FaultRule>().map_err(|error| Error::Usage(error.to_string()))?;
        self.tell_daemon(&Ask::Fault(rule.to_string()))?;
        Ok(rule)
    }

    /// Unmounts the disk and waits for its daemon's end. A disk in use stays ([`Error::Folder`]).
    pub fn unmount(&self) -> Result<(), Error> {
        let mut stream = match self.ask_daemon(&Ask::Unmount) {
            Ok((_, stream)) => stream,
            // The daemon may end before its answer is sent.
            Err(Error::Failed(_)) if !mount_table::is_ours(&self.mountpoint) => return Ok(()),
            Err(error) => return Err(error),
        };
        // The connection ends when the daemon does.
        let ended = stream.set_read_timeout(Some(PATIENCE));
        let ended = ended.and_then(|()| stream.read_to_end(&mut Vec::new()));
        match ended {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Err(Error::Failed("it is unmounted, but its daemon does not end".into()))
            }
            _ => Ok(()),
        }
    }
}

fn other_user_error(shown: std::path::Display<'_>, user: u32) -> Error {
    let why = if rustix::process::getuid().is_root() {
        format!(
            "{shown} is a disk of user {user}: that user manages it, and root can take it away \
             (bakeoff disk unmount {shown})"
        )
    } else {
        format!("{shown} is a disk of user {user}: only that user and root may manage it")
    };
    Error::Folder(why)
}

#[cfg(test)]
mod tests;
