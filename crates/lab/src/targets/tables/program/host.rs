//! Starts the processes of an application's own program, and sees that none is left.

use std::collections::HashSet;
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bakeoff_engines::own_server::locate_program;
use bakeoff_engines::servers::ServerUser;
use bakeoff_load::ClientShare;
use bakeoff_workloads::ClientProgram;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, set_child_subreaper,
    set_parent_process_death_signal, waitpid,
};

use super::log::{ProgramLog, ProgramOutput};
use super::process::{ProgramFault, ProgramProcess, ProgramState, describe_end};
use super::protocol::{LineBuffer, ProgramReply, ProtocolFault};
use crate::TrialError;
use crate::process::{end_family, list_children};

/// The descriptor on which a client is asked and answers.
const DESCRIPTOR: RawFd = 3;
const LOOK: Duration = Duration::from_millis(20);
/// What is passed on of bakeoff's own environment. The rest may hold secrets.
const PASSED_ON: [&str; 5] = ["PATH", "LANG", "LC_ALL", "TZ", "TMPDIR"];
/// A killed process may have been starting another one.
const MOST_SWEEPS: usize = 10;

pub struct ProgramHost {
    program: ClientProgram,
    variables: Vec<(String, OsString)>,
    user: Option<ServerUser>,
    log: ProgramLog,
    /// What a client's process joins by writing to it.
    joined: Vec<File>,
    /// This process's children that are none of the program's.
    others: HashSet<Pid>,
    living: Mutex<HashSet<Pid>>,
    /// So that nothing else gets the number that each process has for its own.
    _reserved: File,
}

impl ProgramHost {
    /// `variables` tell where the database is; `user` is whom the processes run as.
    pub fn new(
        program: &ClientProgram,
        variables: Vec<(String, OsString)>,
        user: Option<ServerUser>,
        log: Option<PathBuf>,
    ) -> io::Result<Self> {
        // A process whose parent is gone becomes this one's child.
        set_child_subreaper(Some(getpid()))?;
        Ok(Self {
            program: program.clone(),
            variables,
            user,
            log: ProgramLog::new(log),
            joined: Vec::new(),
            others: list_children().into_iter().collect(),
            living: Mutex::default(),
            _reserved: File::open("/dev/null")?,
        })
    }

    /// Its clients are processes of these groups, too.
    pub fn join_groups(&mut self, groups: &[PathBuf]) -> io::Result<()> {
        let opened = groups.iter().map(|group| File::options().write(true).open(group));
        self.joined = opened.collect::<io::Result<_>>()?;
        Ok(())
    }

    /// Starts a client's process, and waits until it is ready.
    pub fn start_client(
        &self,
        number: usize,
        share: &ClientShare,
    ) -> Result<ProgramProcess<'_>, TrialError> {
        let own = [
            ("BAKEOFF_CLIENT", number.to_string()),
            ("BAKEOFF_CLIENTS", share.of.to_string()),
            ("BAKEOFF_SEED", share.seed.to_string()),
            ("BAKEOFF_FD", DESCRIPTOR.to_string()),
        ];
        self.start_asked(&self.program.client, format!("client {number}"), &own)
    }

    /// Starts the process that knows what a power cut has left, and waits until it is ready.
    pub fn start_auditor(&self) -> Result<ProgramProcess<'_>, TrialError> {
        let none = || TrialError::User("the application has no program that audits it".into());
        let command = self.program.audit.as_ref().ok_or_else(none)?;
        let own = [
            ("BAKEOFF_CLIENT", "0".to_owned()),
            ("BAKEOFF_CLIENTS", "1".to_owned()),
            ("BAKEOFF_SEED", "0".to_owned()),
            ("BAKEOFF_FD", DESCRIPTOR.to_string()),
        ];
        self.start_asked(command, "audit".into(), &own)
    }

    fn start_asked(
        &self,
        command: &[String],
        name: String,
        own: &[(&str, String)],
    ) -> Result<ProgramProcess<'_>, TrialError> {
        let (ours, theirs) = UnixStream::pair().map_err(not_started(&command[0]))?;
        ours.set_nonblocking(true).map_err(not_started(&command[0]))?;
        let mut process = self.start_process(command, name, own, Some(&theirs))?;
        drop(theirs);
        process.socket = Some(ours);
        let start = Duration::from_secs(self.program.start_s);
        match process.receive(|| "said `ready`".into(), start) {
            Ok(ProgramReply::Ready) => Ok(process),
            Ok(_) => Err(TrialError::User(process.end_faulty(&ProtocolFault::NotReady.into()))),
            Err(fault) => Err(TrialError::User(process.end_faulty(&fault))),
        }
    }

    /// Runs the program that fills the tables to its end. `alive` hears of it when it writes
    /// something.
    pub fn fill(&self, seed: u64, alive: &mut dyn FnMut()) -> Result<(), TrialError> {
        let Some(command) = &self.program.fill else { return Ok(()) };
        let own = [
            ("BAKEOFF_CLIENT", "0".to_owned()),
            ("BAKEOFF_CLIENTS", "1".to_owned()),
            ("BAKEOFF_SEED", seed.to_string()),
        ];
        let mut process = self.start_process(command, "fill".into(), &own, None)?;
        let mut told = 0;
        loop {
            let end = process.peek_end();
            process.output.read_more();
            if process.output.count > told {
                told = process.output.count;
                alive();
            }
            match end {
                None => std::thread::sleep(LOOK),
                Some(end) if end.exit_status() == Some(0) => return Ok(()),
                Some(end) => {
                    let fault = ProgramFault::Ended(describe_end(&end));
                    return Err(TrialError::User(process.end_faulty(&fault)));
                }
            }
        }
    }

    fn start_process(
        &self,
        command: &[String],
        name: String,
        own: &[(&str, String)],
        asked_on: Option<&UnixStream>,
    ) -> Result<ProgramProcess<'_>, TrialError> {
        let failed = not_started(&command[0]);
        let (output, writer) = ProgramOutput::new(&self.log, name).map_err(&failed)?;
        let mut started = Command::new(locate_program(&self.program.folder, &command[0]));
        started.args(&command[1..]).stdin(Stdio::null()).process_group(0);
        started.stdout(writer.try_clone().map_err(&failed)?).stderr(writer);
        let passed_on = PASSED_ON.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        started.env_clear().envs(passed_on);
        let home = std::env::var_os("HOME").filter(|_| self.user.is_none());
        started.env("HOME", home.unwrap_or_else(|| "/".into()));
        started.envs(self.variables.iter().map(|(name, value)| (name, value)));
        started.envs(own.iter().map(|(name, value)| (name, value)));
        let folder = CString::new(self.program.folder.as_os_str().as_bytes())
            .map_err(|error| failed(error.into()))?;
        let (user, parent) = (self.user.clone(), getpid());
        let asked_on = asked_on.map(|socket| socket.as_raw_fd());
        // What fills the tables is no client.
        let joined = self.joined.iter().filter(|_| asked_on.is_some());
        let joined: Vec<RawFd> = joined.map(|group| group.as_raw_fd()).collect();
        // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
        unsafe {
            started.pre_exec(move || {
                if let Some(socket) = asked_on
                    && libc::dup2(socket, DESCRIPTOR) < 0
                {
                    return Err(io::Error::last_os_error());
                }
                for group in &joined {
                    if libc::write(*group, c"0".as_ptr().cast(), 1) < 0 {
                        return Err(io::Error::last_os_error());
                    }
                }
                user.as_ref().map_or(Ok(()), ServerUser::become_user)?;
                if libc::chdir(folder.as_ptr()) < 0 {
                    return Err(io::Error::last_os_error());
                }
                // After the change of user, which would undo it.
                set_parent_process_death_signal(Some(Signal::KILL))?;
                // The parent may have died before the line above took effect.
                if getppid() == Some(parent) {
                    Ok(())
                } else {
                    Err(io::ErrorKind::BrokenPipe.into())
                }
            });
        }
        let mut living = self.living.lock().unwrap_or_else(PoisonError::into_inner);
        let child = started.spawn().map_err(|error| self.explain_unstarted(&command[0], error))?;
        living.insert(Pid::from_child(&child));
        Ok(ProgramProcess {
            host: self,
            name: command[0].clone(),
            child,
            socket: None,
            output,
            lines: LineBuffer::default(),
            state: ProgramState::Sound,
        })
    }

    fn explain_unstarted(&self, command: &str, error: io::Error) -> TrialError {
        let forbidden = error.kind() == io::ErrorKind::PermissionDenied;
        match &self.user {
            Some(user) if forbidden => TrialError::User(format!(
                "the program {command} can't be started: it runs as the server's user {user}, who may not enter {} \
                 or run what is there; keep it where that user may, such as /srv, or run bakeoff as an ordinary user",
                self.program.folder.display()
            )),
            None if forbidden => TrialError::User(format!(
                "the program {command} can't be started: {error}; is it executable (chmod +x)?"
            )),
            _ => not_started(command)(error),
        }
    }

    /// After the last one, whatever escaped from them is ended, too.
    pub(super) fn forget(&self, pid: Pid) {
        let mut living = self.living.lock().unwrap_or_else(PoisonError::into_inner);
        living.remove(&pid);
        for _ in 0..MOST_SWEEPS {
            let escaped = || list_children().into_iter().filter(|it| !self.others.contains(it));
            if !living.is_empty() || escaped().next().is_none() {
                return;
            }
            for child in escaped() {
                if end_family(child) {
                    let _ = waitpid(Some(child), WaitOptions::empty());
                }
            }
        }
    }
}

fn not_started(command: &str) -> impl Fn(io::Error) -> TrialError {
    let command = command.to_owned();
    move |error| TrialError::User(format!("the program {command} can't be started: {error}"))
}
