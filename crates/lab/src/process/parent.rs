//! A trial's process as its starter sees it: bakeoff started again, and ended with all that it
//! started.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::Pid;
use serde::Serialize;

use super::family;
use super::job::{GO, Message, ProcessJob};
use crate::{LOG, TrialError};

const TAIL: usize = 4096;

/// This program's file, even if a build has replaced it meanwhile.
const OWN: &str = "/proc/self/exe";

/// How long the last output of an ended process may take.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A program and arguments that make a trial's process: its `main` calls [`crate::run_child()`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildProgram {
    pub path: PathBuf,
    pub arguments: Vec<OsString>,
}

impl ChildProgram {
    pub fn from_this_process() -> Self {
        Self { path: OWN.into(), arguments: std::env::args_os().skip(1).collect() }
    }

    /// A process from this program's own file gets this process's name, which messages show.
    fn to_command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.arguments);
        let called = std::env::args_os().next().filter(|_| self.path == Path::new(OWN));
        if let Some(called) = called {
            command.arg0(called);
        }
        command
    }
}

/// Killed when dropped.
pub struct ChildProcess {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Message>,
    errors: Option<JoinHandle<String>>,
}

pub enum ReceiveOutcome {
    Message(Message),
    Nothing,
    End,
}

impl ChildProcess {
    /// It reads its job from standard input ([`crate::run_child`]).
    pub fn start(program: &ChildProgram, job: &ProcessJob) -> io::Result<Self> {
        let mut command = program.to_command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own, so that Ctrl-C reaches only the lab, which ends it in order.
        command.process_group(0);
        let lab = rustix::process::getpid();
        // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
        unsafe {
            command.pre_exec(move || {
                let kill = rustix::process::Signal::KILL;
                rustix::process::set_parent_process_death_signal(Some(kill))?;
                // The lab may have died before the line above took effect.
                if rustix::process::getppid() == Some(lab) {
                    Ok(())
                } else {
                    Err(io::ErrorKind::BrokenPipe.into())
                }
            });
        }
        let mut child = command.spawn()?;
        tracing::debug!(pid = child.id(), task = ?job.task, "process starts");
        let input = child.stdin.take().expect("piped");
        let (output, stderr) = (child.stdout.take(), child.stderr.take());
        let (sender, messages) = mpsc::channel();
        // From here on the process goes with this value, whatever fails.
        let mut process = Self { child, input, messages, errors: None };
        let output = output.expect("piped");
        listen_on_thread("trial-output", move || pass_on(output, &sender))?;
        let stderr = stderr.expect("piped");
        process.errors = Some(listen_on_thread("trial-errors", move || read_tail(stderr))?);
        process.send(&serde_json::to_string(job).expect("a job is plain data"))?;
        Ok(process)
    }

    fn send(&mut self, line: &str) -> io::Result<()> {
        self.input.write_all(line.as_bytes())?;
        self.input.write_all(b"\n")?;
        self.input.flush()
    }

    pub fn tell_to_go(mut self) -> Result<Self, TrialError> {
        match self.send_go()? {
            true => Ok(self),
            false => Err(TrialError::process_error(self.exit_report())),
        }
    }

    /// False: it has ended.
    pub fn send_go(&mut self) -> Result<bool, TrialError> {
        match self.send(GO) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(TrialError::process_error(format!(
                "its process can't be told to go on: {error}"
            ))),
        }
    }

    pub fn send_json(&mut self, what: &impl Serialize) -> io::Result<()> {
        self.send(&serde_json::to_string(what)?)
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn receive(&self, patience: Duration) -> ReceiveOutcome {
        match self.messages.recv_timeout(patience) {
            Ok(message) => ReceiveOutcome::Message(message),
            Err(RecvTimeoutError::Timeout) => ReceiveOutcome::Nothing,
            Err(RecvTimeoutError::Disconnected) => ReceiveOutcome::End,
        }
    }

    /// Kills the process and all that it started; returns messages that nobody had received.
    pub fn end(mut self) -> Vec<Message> {
        self.kill();
        // A process that it started may hold its output open.
        let next = |messages: &Receiver<Message>| messages.recv_timeout(LAST_WORDS).ok();
        std::iter::from_fn(|| next(&self.messages)).collect()
    }

    fn kill(&mut self) {
        // A process that was waited for has no number any more.
        let gone = !matches!(self.child.try_wait(), Ok(None))
            || family::end_family(Pid::from_child(&self.child));
        tracing::debug!(pid = self.child.id(), gone, "process ended");
        if gone {
            // Fails only for a process that was waited for before.
            let _ = self.child.wait();
        }
    }

    pub fn exit_report(mut self) -> String {
        let status = self.child.wait();
        let errors = self.errors.take().and_then(|thread| thread.join().ok());
        let how = match status {
            Ok(status) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("its process ended with exit code {code}"),
                (None, Some(signal)) => format!("its process was killed by signal {signal}"),
                (None, None) => "its process ended".into(),
            },
            Err(error) => format!("its process can't be waited for: {error}"),
        };
        match errors.as_deref().map(str::trim) {
            None | Some("") => how,
            Some(text) => format!("{how}: {text}"),
        }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

fn listen_on_thread<T: Send + 'static>(
    name: &str,
    listen: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    std::thread::Builder::new().name(name.into()).spawn(listen)
}

fn pass_on(output: impl Read, to: &Sender<Message>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        tracing::trace!(line, "process says");
        let message = serde_json::from_str(&line).unwrap_or_else(|error| {
            Message::Failed(TrialError::process_error(format!(
                "its process sent {line:?}, which can't be read: {error}"
            )))
        });
        if to.send(message).is_err() {
            return;
        }
    }
}

fn read_tail(mut stream: impl Read) -> String {
    let passes_on = std::env::var_os(LOG).is_some();
    let mut kept = Vec::new();
    let mut buffer = [0; 1024];
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        if passes_on {
            let _ = io::stderr().write_all(&buffer[..read]);
        }
        kept.extend_from_slice(&buffer[..read]);
        let surplus = kept.len().saturating_sub(TAIL);
        kept.drain(..surplus);
    }
    String::from_utf8_lossy(&kept).into_owned()
}
