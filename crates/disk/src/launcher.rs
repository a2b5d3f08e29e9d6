//! Starts the process behind a mount, sends its options, and reads its answer.
//!
//! It gets the options as one line of JSON on its standard input and answers with one on its
//! standard output. The other end is [`crate::daemon::run_launched`].

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::last_words::{CapturedStderr, LastWords};
use crate::options::MountOptions;
use crate::registry;
use crate::stop_guard::{Guard, STOPPED, is_stopped};

/// A large folder has to be read first.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(100);
const LONGEST: u64 = 64 << 10;

/// A program with the arguments that make it a disk's daemon: its `main` then calls
/// [`crate::daemon::run_launched`].
#[derive(Clone, Debug)]
pub struct Launcher {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LaunchReply {
    Mounted,
    Refused(Error),
}

impl Launcher {
    pub(crate) fn to_command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }
}

pub(crate) struct DaemonProcess {
    pub daemon: Child,
    pub guard: Guard,
    pub last_words: LastWords,
}

pub(crate) fn launch_daemon(
    mut command: Command,
    options: &MountOptions,
) -> Result<DaemonProcess, Error> {
    // JSON has no such number: it would arrive as one that was not given.
    if let Some(fraction) = options.used_fraction.filter(|fraction| !fraction.is_finite()) {
        let why = format!("used is {fraction}, and must be above 0 and at most 1");
        return Err(Error::Usage(why));
    }
    let asked = to_line(options).map_err(|error| {
        let (backing, mountpoint) = (options.backing.display(), options.mountpoint.display());
        Error::Folder(format!("{backing} or {mountpoint}: {error}; take another folder"))
    })?;
    let program = PathBuf::from(command.get_program());
    let failed = |error| Error::Failed(format!("{} can't be started: {error}", program.display()));
    let said = CapturedStderr::empty().map_err(failed)?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(said.to_stdio().map_err(failed)?);
    let mut daemon = command.spawn().map_err(failed)?;
    let watched = Guard::new(&daemon).and_then(|guard| {
        LastWords::from_child(&daemon, said).map(|last_words| (guard, last_words))
    });
    let (guard, last_words) = watched.map_err(|error| {
        let _ = daemon.kill().and_then(|()| daemon.wait());
        failed(error)
    })?;
    // A daemon that has ended says why below.
    let _ = daemon.stdin.take().expect("piped").write_all(&asked);
    let output = daemon.stdout.take().expect("piped");
    if !says_something(&mut daemon, &output, PATIENCE) {
        let _ = daemon.kill().and_then(|()| daemon.wait());
        let _ = registry::sweep();
        let (program, seconds, said) =
            (program.display(), PATIENCE.as_secs(), last_words.format_suffix());
        return Err(Error::Failed(format!(
            "{program} did not report within {seconds} s that the disk is mounted; see whether \
             the machine is busy, and try again{said}"
        )));
    }
    let mut lines = BufReader::new(output).lines().map_while(Result::ok);
    match lines.find_map(|line| serde_json::from_str(&line).ok()) {
        Some(LaunchReply::Mounted) => Ok(DaemonProcess { daemon, guard, last_words }),
        Some(LaunchReply::Refused(error)) => {
            daemon.wait().map_err(failed)?;
            Err(error)
        }
        None => {
            let status = daemon.wait().map_err(failed)?;
            // One that was killed may have mounted it before.
            let _ = registry::sweep();
            Err(ended_error(&program, status, &last_words))
        }
    }
}

/// Why a daemon ended without an answer: its last messages, or else how it ended.
fn ended_error(program: &Path, status: ExitStatus, last_words: &LastWords) -> Error {
    let (program, lines) = (program.display(), last_words.last_lines());
    Error::Failed(match lines.strip_prefix("error: ") {
        Some(why) => why.to_owned(),
        None => {
            format!("{program} ended without an answer ({status}){}", last_words.format_suffix())
        }
    })
}

/// Waits until the daemon writes or ends. A daemon that is stopped meanwhile is killed: if one of
/// its threads waits for its own mount, the kernel does not report the stop to the parent.
fn says_something(daemon: &mut Child, output: &ChildStdout, patience: Duration) -> bool {
    let look = Timespec::try_from(LOOK).expect("a moment");
    let start = Instant::now();
    let mut stopped = None;
    while start.elapsed() < patience {
        match poll(&mut [PollFd::new(output, PollFlags::IN)], Some(&look)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            _ => return true,
        }
        stopped = is_stopped(daemon.id()).then(|| stopped.unwrap_or_else(Instant::now));
        if stopped.is_some_and(|since| since.elapsed() > STOPPED) {
            // Its end is reported below, like any other.
            let _ = daemon.kill();
        }
    }
    false
}

pub(crate) fn read_options(input: &mut dyn BufRead) -> Result<MountOptions, Error> {
    let mut line = String::new();
    let read = input.take(LONGEST).read_line(&mut line).map_err(|error| error.to_string());
    let options = read.and_then(|_| serde_json::from_str(&line).map_err(|error| error.to_string()));
    options.map_err(|why| {
        Error::Usage(format!("standard input does not say what is to be mounted: {why}"))
    })
}

pub(crate) fn write_reply(output: &mut dyn Write, reply: &LaunchReply) -> io::Result<()> {
    output.write_all(&to_line(reply)?)?;
    output.flush()
}

fn to_line(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}
