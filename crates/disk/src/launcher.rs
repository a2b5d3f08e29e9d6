//! Starts the process behind a mount, tells it what to mount, and reads its answer.
//!
//! It gets the options as one line of JSON on its standard input and answers with one on its standard
//! output. The other end of this is [`crate::daemon::launched`].

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
use crate::stopped::{Guard, STOPPED, is_stopped};

/// How long a daemon may take to mount: a large folder has to be read first.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often a look is taken meanwhile whether it was stopped.
const LOOK: Duration = Duration::from_millis(100);
/// Bytes of what is to be mounted, in a line: two paths and little else.
const LONGEST: u64 = 64 << 10;

/// A program, and the arguments that make it a disk's daemon: with them its `main` calls
/// [`crate::daemon::launched`].
#[derive(Clone, Debug)]
pub struct Launcher {
    /// The program's file.
    pub program: PathBuf,
    /// All of its arguments.
    pub arguments: Vec<OsString>,
}

/// What the started process answers, once.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LaunchReply {
    Mounted,
    Refused(Error),
}

impl Launcher {
    /// The process, not started yet.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }
}

/// A daemon that is ready.
pub(crate) struct Launched {
    pub daemon: Child,
    /// Ends it when it is stopped as long as this is there.
    pub guard: Guard,
    pub last_words: LastWords,
}

/// Starts a daemon and waits until it is ready, or has said why not.
pub(crate) fn launch(mut command: Command, options: &MountOptions) -> Result<Launched, Error> {
    // JSON has no such number: it would arrive as one that was not given.
    if let Some(fraction) = options.used_fraction.filter(|fraction| !fraction.is_finite()) {
        let why = format!("used is {fraction}, and must be above 0 and at most 1");
        return Err(Error::Usage(why));
    }
    let asked = line(options).map_err(|error| {
        let (backing, mountpoint) = (options.backing.display(), options.mountpoint.display());
        Error::Folder(format!("{backing} or {mountpoint}: {error}; take another folder"))
    })?;
    let program = PathBuf::from(command.get_program());
    let failed = |error| Error::Failed(format!("{} can't be started: {error}", program.display()));
    let said = CapturedStderr::nothing().map_err(failed)?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(said.stderr().map_err(failed)?);
    let mut daemon = command.spawn().map_err(failed)?;
    let watched = Guard::new(&daemon).and_then(|guard| {
        LastWords::from_child(&daemon, said).map(|last_words| (guard, last_words))
    });
    let (guard, last_words) = watched.map_err(|error| {
        let _ = daemon.kill().and_then(|()| daemon.wait());
        failed(error)
    })?;
    // One that has ended already says below why it did.
    let _ = daemon.stdin.take().expect("piped").write_all(&asked);
    let output = daemon.stdout.take().expect("piped");
    if !says_something(&mut daemon, &output, PATIENCE) {
        let _ = daemon.kill().and_then(|()| daemon.wait());
        // What it has mounted has nobody any more who serves it.
        let _ = registry::sweep();
        let (program, seconds, said) = (program.display(), PATIENCE.as_secs(), last_words.said());
        return Err(Error::Failed(format!(
            "{program} did not report within {seconds} s that the disk is mounted; see whether \
             the machine is busy, and try again{said}"
        )));
    }
    let mut lines = BufReader::new(output).lines().map_while(Result::ok);
    match lines.find_map(|line| serde_json::from_str(&line).ok()) {
        Some(LaunchReply::Mounted) => Ok(Launched { daemon, guard, last_words }),
        Some(LaunchReply::Refused(error)) => {
            daemon.wait().map_err(failed)?;
            Err(error)
        }
        None => {
            let status = daemon.wait().map_err(failed)?;
            // One that was killed may have mounted it before.
            let _ = registry::sweep();
            Err(ended(&program, status, &last_words))
        }
    }
}

/// Why a daemon has not answered that has ended: what it says of that itself, or else how it ended.
fn ended(program: &Path, status: ExitStatus, last_words: &LastWords) -> Error {
    let (program, lines) = (program.display(), last_words.last_lines());
    Error::Failed(match lines.strip_prefix("error: ") {
        Some(why) => why.to_owned(),
        None => format!("{program} ended without an answer ({status}){}", last_words.said()),
    })
}

/// Waits until something is said, or nothing will be. A daemon that is stopped meanwhile is ended: one
/// of its threads may wait for an answer of its own mount, so that the kernel does not tell its
/// parent that all of it has stopped.
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
            // Its end is told below, as that of any other.
            let _ = daemon.kill();
        }
    }
    false
}

/// What the process that [`launch`] started is asked to mount.
pub(crate) fn asked(input: &mut dyn BufRead) -> Result<MountOptions, Error> {
    let mut line = String::new();
    let read = input.take(LONGEST).read_line(&mut line).map_err(|error| error.to_string());
    let options = read.and_then(|_| serde_json::from_str(&line).map_err(|error| error.to_string()));
    options.map_err(|why| {
        Error::Usage(format!("standard input does not say what is to be mounted: {why}"))
    })
}

/// Answers who called [`launch`].
pub(crate) fn answer(output: &mut dyn Write, reply: &LaunchReply) -> io::Result<()> {
    output.write_all(&line(reply)?)?;
    output.flush()
}

fn line(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}
