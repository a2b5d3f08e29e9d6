//! A word with a mounted disk's daemon: a Unix socket, one line of JSON for a request, one for the
//! answer. Until that comes, empty lines tell that the daemon is at work.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bakeoff_devices::ext4;
use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_devices::plug::{Keep, Metadata};
use bakeoff_devices::station::StationCounts;
use bakeoff_devices::trigger::{Awaited, CallSignature, Trigger};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::executor::Accuracy;
use crate::fault::{self, FaultRule};
use crate::last_words::LastWords;
use crate::patience::PATIENCE;
use crate::stopped::is_stopped;
use crate::{own, table};

mod listening;
mod wire;

pub(crate) use listening::ControlListener;

/// How long a daemon that is stopped (SIGSTOP) may say nothing.
const STOPPED: Duration = Duration::from_secs(10);
/// How often a daemon that works on its answer says something.
const BEAT: Duration = Duration::from_millis(500);

/// What a daemon is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ask {
    Stat,
    /// A level of neighbours, as it is written.
    Neighbours(String),
    Timing(bool),
    /// The power off, and an image.
    Cut(ImageRequest),
    PowerOff,
    /// An image of a disk that is off.
    Image(ImageRequest),
    /// An image of a disk that stays on.
    Snapshot(ImageRequest),
    Record,
    /// A trace of the device's requests, or the end of it.
    Trace(Option<TraceTo>),
    /// All that was remembered, into this new folder.
    Recorded(PathBuf),
    RecordAnew,
    Arm(Vec<Awaited>, Vec<CallSignature>),
    Fault(String),
    Unmount,
}

/// A crash image that is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ImageRequest {
    pub keep: String,
    pub seed: u64,
    /// An absolute path.
    pub folder: PathBuf,
    /// Which of the awaited moments it shows, by its number, and how names become durable there. `None`:
    /// the moment at which the power went.
    pub of: Option<(usize, Metadata)>,
}

/// Where a trace goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TraceTo {
    /// An absolute path.
    pub file: PathBuf,
    /// How long syncs are held.
    pub hold: Duration,
}

/// What it answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ControlAnswer {
    Done,
    Stat(Box<Stat>),
    Refused(Error),
}

/// What a mounted disk is and what it has done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stat {
    /// The device's model.
    pub model: String,
    /// The folder that holds the files.
    pub backing: PathBuf,
    /// Where they are to be seen.
    pub mountpoint: PathBuf,
    /// The daemon's process.
    pub pid: u32,
    /// Seconds since it was mounted.
    pub seconds: f64,
    /// The seed of the device and of its neighbours.
    pub seed: u64,
    /// How names and attributes become durable.
    pub metadata: String,
    /// Who else is on the device.
    pub neighbours: String,
    /// Whether work takes its time.
    pub timing: bool,
    /// When the power went, in nanoseconds of `CLOCK_MONOTONIC`: before the first call that failed
    /// for it. None while it is on.
    pub off_at_ns: Option<u64>,
    /// When the awaited moments came, in nanoseconds of `CLOCK_MONOTONIC`, in the order in which they
    /// were armed; None for a moment to come.
    pub moments_ns: Vec<Option<u64>>,
    /// For each awaited moment, whether its event came, before its time was over and before the power
    /// went.
    pub by_itself: Vec<bool>,
    /// What is to go wrong, as it is written; calls are counted from now.
    pub faults: Vec<String>,
    /// What is taken off each wait for the way through FUSE, in microseconds.
    pub round_trip_us: f64,
    /// What the device did.
    pub device: StationCounts,
    /// What was asked of the file system, and what it asked of the device.
    pub files: ext4::Ext4Counts,
    /// Modelled against achieved latency.
    pub latency: Accuracy,
    /// Memory of the daemon, in bytes.
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

/// A way to speak to a disk's daemon.
#[derive(Clone, Debug)]
pub struct DiskControl {
    mountpoint: PathBuf,
    socket: PathBuf,
    /// How long the daemon may say nothing.
    patience: Duration,
    /// Where this process has started the daemon: how it ended, and what it said last.
    last_words: Option<Arc<LastWords>>,
}

impl DiskControl {
    /// Finds the daemon of the disk that is mounted on `mountpoint`, by what the mount itself says.
    ///
    /// # Errors
    /// [`Error::Folder`] when no disk is mounted there, it is another user's, or its daemon can't be
    /// reached.
    pub fn connect(mountpoint: &Path) -> Result<Self, Error> {
        let shown = mountpoint.display();
        let resolved = table::resolve(mountpoint)
            .map_err(|error| Error::Folder(format!("{shown}: {error}")))?;
        let entry = table::at(&resolved);
        let Some((user, socket)) = entry.and_then(|entry| Some((entry.user, entry.socket()?)))
        else {
            let others = table::disks().into_iter().map(|(entry, _)| entry.place);
            let others: Vec<String> = others.map(|place| place.display().to_string()).collect();
            let others = match others.as_slice() {
                [] => ", and none anywhere else".to_owned(),
                some => format!("; these are: {}", some.join(", ")),
            };
            let why = format!("no virtual disk is mounted on {shown}{others}");
            return Err(Error::Folder(why));
        };
        if let Some(user) = user.filter(|user| !own::is_trusted(*user)) {
            return Err(others(shown, user));
        }
        let control = Self { mountpoint: resolved, socket, patience: PATIENCE, last_words: None };
        let tried = wire::connect(&control.socket, PATIENCE);
        tried.map(|_| control).map_err(|error| match (error.kind(), user) {
            (ErrorKind::PermissionDenied, Some(user)) => others(shown, user),
            _ => Error::Folder(format!(
                "the daemon of {shown} can't be reached ({error}): bakeoff disk unmount {shown} \
                 takes the disk away"
            )),
        })
    }

    /// The same of a daemon that this process has started: what is told of it when it does not answer
    /// ends with its last words.
    pub(crate) fn of_started(self, last_words: LastWords) -> Self {
        Self { last_words: Some(Arc::new(last_words)), ..self }
    }

    /// The absolute path of the mountpoint.
    pub fn mountpoint(&self) -> &Path {
        &self.mountpoint
    }

    fn ask(&self, ask: &Ask) -> Result<(ControlAnswer, UnixStream), Error> {
        let at = self.mountpoint.display();
        let last_words = self.last_words.as_deref();
        let silent = |error: io::Error| {
            let told = last_words.map(LastWords::told).unwrap_or_default();
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
                let said = last_words.map(LastWords::said).unwrap_or_default();
                Err(Error::Failed(format!(
                    "the daemon of {at} (process {pid}) does not answer; if it was stopped, kill \
                     -CONT {pid} lets it go on; kill -KILL {pid} ends it, and the next bakeoff \
                     disk command takes the disk away{said}"
                )))
            }
            Err(error) => Err(silent(error)),
        }
    }

    /// The next line that the daemon says, which is that process. One that is stopped is given up long before
    /// one that goes on: it says nothing until somebody lets it.
    fn next_line(&self, lines: &mut wire::ConnectionLines<'_>, pid: u32) -> io::Result<Vec<u8>> {
        let deadline = Instant::now() + self.patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match lines.line(wire::LONGEST_ANSWER, left.min(STOPPED)) {
                Err(error)
                    if error.kind() == ErrorKind::TimedOut
                        && left > STOPPED
                        && !is_stopped(pid) => {}
                said => return said,
            }
        }
    }

    fn tell(&self, ask: &Ask) -> Result<(), Error> {
        self.ask(ask).map(drop)
    }

    /// What the disk is and has done.
    ///
    /// # Errors
    /// The daemon is gone.
    pub fn stat(&self) -> Result<Stat, Error> {
        match self.ask(&Ask::Stat)?.0 {
            ControlAnswer::Stat(stat) => Ok(*stat),
            other => Err(Error::Failed(format!("the daemon answered {other:?}"))),
        }
    }

    /// Lets work take its time, or not.
    ///
    /// # Errors
    /// The daemon is gone, the power is off, or its device takes no time.
    pub fn set_timing(&self, on: bool) -> Result<(), Error> {
        self.tell(&Ask::Timing(on))
    }

    /// Who else is on the device from now on.
    ///
    /// # Errors
    /// The daemon is gone, the power is off, or its device has no queue.
    pub fn set_neighbours(&self, level: NeighbourLevel) -> Result<(), Error> {
        self.tell(&Ask::Neighbours(level.to_string()))
    }

    /// Has the power go by itself, at a moment that is counted from now; replaces what was armed
    /// before. [`Stat::off_at_ns`] tells when it has gone.
    ///
    /// # Errors
    /// The daemon is gone, the power is off already, or the count is 0 ([`Error::Usage`]).
    pub fn arm(&self, trigger: Trigger) -> Result<(), Error> {
        self.await_moments(&[Awaited { trigger, within: None }])
    }

    /// Waits for moments, each counted from now: [`Stat::moments_ns`] tells when they have come, and
    /// with the last of them the power goes. Replaces what was armed before.
    ///
    /// # Errors
    /// As of [`DiskControl::arm`], or there is none ([`Error::Usage`]).
    pub fn await_moments(&self, moments: &[Awaited]) -> Result<(), Error> {
        self.await_signatures(moments, &[])
    }

    /// The same, where moments may be counted by signatures.
    ///
    /// # Errors
    /// As of [`DiskControl::await_moments`], or a moment is counted by a signature that there is not
    /// ([`Error::Usage`]).
    pub fn await_signatures(
        &self,
        moments: &[Awaited],
        signatures: &[CallSignature],
    ) -> Result<(), Error> {
        self.tell(&Ask::Arm(moments.to_vec(), signatures.to_vec()))
    }

    /// Has the disk remember from now on what images of earlier moments need, in up to 1 GiB of
    /// memory. Where nothing was changed before it, both ways to make names durable can be had.
    ///
    /// # Errors
    /// The daemon is gone.
    pub fn record(&self) -> Result<(), Error> {
        self.tell(&Ask::Record)
    }

    /// Traces from now on what the device is asked for ([`bakeoff_devices::trace`]) into a new file
    /// outside of the disk. While the timing is off, a sync is answered only after `hold`.
    ///
    /// # Errors
    /// The daemon is gone, traces already, or the file can't be there ([`Error::Folder`]).
    pub fn trace(&self, file: &Path, hold: Duration) -> Result<(), Error> {
        let file = std::path::absolute(file);
        let file = file.map_err(|error| Error::Folder(error.to_string()))?;
        self.tell(&Ask::Trace(Some(TraceTo { file, hold })))
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// The daemon is gone, there is no trace, or it is no use: longer than 256 MiB, or without room.
    pub fn end_trace(&self) -> Result<(), Error> {
        self.tell(&Ask::Trace(None))
    }

    /// Writes all that was remembered ([`DiskControl::record`]) up to the first moment that was waited for
    /// into a new folder, once the power is off; [`history::read`](crate::history::read) reads it.
    ///
    /// # Errors
    /// The daemon is gone, the power is on, the folder is there already, nothing was remembered, or
    /// something was changed before it was.
    pub fn recorded(&self, folder: &Path) -> Result<(), Error> {
        let folder = std::path::absolute(folder);
        let folder = folder.map_err(|error| Error::Folder(error.to_string()))?;
        self.tell(&Ask::Recorded(folder))
    }

    /// Has the disk make durable all that was written and changed so far, as `sync(2)` does, and begin to
    /// remember as [`DiskControl::record`] does. What came before is forgotten, so that both ways to make
    /// names durable can be had. Nothing happens once an awaited moment has come.
    ///
    /// # Errors
    /// The daemon is gone, or the power is off.
    pub fn record_anew(&self) -> Result<(), Error> {
        self.tell(&Ask::RecordAnew)
    }

    /// Pulls the plug, for good: every later call in the mount fails with EIO. Nothing happens
    /// when the power is off already.
    ///
    /// # Errors
    /// The daemon is gone.
    pub fn power_off(&self) -> Result<(), Error> {
        self.tell(&Ask::PowerOff)
    }

    /// Writes what a real disk would hold since the power is off to a folder, which must be empty
    /// or not there. There may be as many images of that moment as wanted; the same history, rule
    /// and seed give the same. An image is not synced.
    ///
    /// # Errors
    /// The daemon is gone, the power is on, or the folder can't be used ([`Error::Folder`]).
    pub fn image(&self, keep: Keep, seed: u64, folder: &Path) -> Result<(), Error> {
        self.tell(&Ask::Image(ImageRequest::new(keep, seed, folder)?))
    }

    /// As [`DiskControl::image`], of one of the moments that were waited for, by its place among them, on
    /// a file system that makes names durable in this way.
    ///
    /// # Errors
    /// Those of [`DiskControl::image`]; or that moment was not recorded, or not in this way ([`DiskControl::record`]).
    pub fn image_of(
        &self,
        moment: usize,
        metadata: Metadata,
        keep: Keep,
        seed: u64,
        folder: &Path,
    ) -> Result<(), Error> {
        let of = Some((moment, metadata));
        self.tell(&Ask::Image(ImageRequest { of, ..ImageRequest::new(keep, seed, folder)? }))
    }

    /// Writes what the disk would hold if its power went now to a folder, which must be empty or not
    /// there; the power stays on. The image is of one moment between two requests, and not synced.
    ///
    /// # Errors
    /// The daemon is gone, the power is off, the folder can't be used ([`Error::Folder`]), or the image
    /// can't be written: then nothing is left of it.
    pub fn snapshot(&self, keep: Keep, seed: u64, folder: &Path) -> Result<(), Error> {
        self.tell(&Ask::Snapshot(ImageRequest::new(keep, seed, folder)?))
    }

    /// [`DiskControl::power_off`] and [`DiskControl::image`] in one: the power stays on when the folder
    /// can't be used.
    ///
    /// # Errors
    /// The daemon is gone, or the folder can't be used ([`Error::Folder`]).
    pub fn cut(&self, keep: Keep, seed: u64, folder: &Path) -> Result<(), Error> {
        self.tell(&Ask::Cut(ImageRequest::new(keep, seed, folder)?))
    }

    /// Lets a later call fail; see [`crate::fault`] for how a rule is written. A path may also go
    /// through the mountpoint. Returns the rule as it was understood.
    ///
    /// # Errors
    /// The daemon is gone, the power is off, or the rule can't be read ([`Error::Usage`]).
    pub fn fault(&self, rule: &str) -> Result<FaultRule, Error> {
        let rule = fault::below(rule, &self.mountpoint);
        let rule = rule.parse::<FaultRule>().map_err(|error| Error::Usage(error.to_string()))?;
        self.tell(&Ask::Fault(rule.to_string()))?;
        Ok(rule)
    }

    /// Unmounts the disk and waits for its daemon's end.
    ///
    /// # Errors
    /// Somebody uses it ([`Error::Folder`]); then it stays.
    pub fn unmount(&self) -> Result<(), Error> {
        let mut stream = match self.ask(&Ask::Unmount) {
            Ok((_, stream)) => stream,
            // It may end before its answer is out.
            Err(Error::Failed(_)) if !table::is_ours(&self.mountpoint) => return Ok(()),
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

/// Why somebody else's disk is left alone.
fn others(shown: std::path::Display<'_>, user: u32) -> Error {
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
