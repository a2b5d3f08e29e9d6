//! A server's process: started under another user and in control groups, dying with us, and ended
//! with all that it has started.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, getppid, pidfd_open, pidfd_send_signal,
    set_parent_process_death_signal,
};
use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};

use crate::account::ServerAccount;
use crate::mounts::Mounts;
use crate::shared::NameSpace;

/// How long killed processes may take to be gone: one that waits for its disk ends after that.
const GONE: Duration = Duration::from_secs(30);

/// What a server's process is given beside its command.
#[derive(Debug)]
pub struct ProcessContext {
    /// The user that it runs as.
    pub account: ServerAccount,
    /// The control groups that it belongs into: each one's `cgroup.procs`, open for writing.
    pub groups: Vec<File>,
    /// What it and all that it starts hold open as long as they live.
    pub held: Vec<OwnedFd>,
    /// Mounts of its own.
    pub mounts: Option<Mounts>,
}

/// A child that runs, or has ended.
#[derive(Debug)]
pub struct ServerProcess {
    pid: Pid,
    handle: OwnedFd,
    keeper: Option<JoinHandle<io::Result<ExitStatus>>>,
    status: Option<ExitStatus>,
}

impl ServerProcess {
    /// Starts a command with what it is given.
    ///
    /// The kernel kills a child when the thread that started it ends. So each child has a thread of its
    /// own, which starts it and waits for it.
    pub fn start(mut command: Command, given: ProcessContext) -> io::Result<Self> {
        let ProcessContext { account, groups, held, mounts } = given;
        command.process_group(0);
        dress(&mut command, &account, groups, held);
        let (sender, started) = mpsc::channel();
        let keeper = thread::Builder::new().name("server".into()).spawn(move || {
            let entered = mounts.as_ref().map_or(Ok(()), Mounts::enter);
            let spawned = entered.and_then(|()| command.spawn());
            // From now on only the child holds the lock and its folders.
            drop((command, mounts));
            let mut child = spawned.inspect_err(|_| drop(sender.send(None)))?;
            let pid = Pid::from_child(&child);
            let _ = sender.send(Some((pid, pidfd_open(pid, PidfdFlags::empty()))));
            child.wait()
        })?;
        match started.recv() {
            Ok(Some((pid, Ok(handle)))) => {
                Ok(Self { pid, handle, keeper: Some(keeper), status: None })
            }
            Ok(Some((pid, Err(error)))) => {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
                Err(error.into())
            }
            Ok(None) | Err(_) => match keeper.join() {
                Ok(Err(error)) => Err(error),
                Ok(Ok(_)) | Err(_) => Err(io::Error::other("the thread that starts it failed")),
            },
        }
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Whether it has not ended.
    pub fn is_running(&self) -> bool {
        !self.ends_within(Duration::ZERO)
    }

    /// Whether it has ended, or does so in the given time.
    pub fn ends_within(&self, limit: Duration) -> bool {
        ended(&self.handle, limit)
    }

    /// Waits for its end, at most so long; says how it ended.
    pub fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        if ended(&self.handle, limit)
            && let Some(keeper) = self.keeper.take()
        {
            let status = keeper.join().expect("it only waits");
            self.status = Some(status.expect("nobody else waits for a child of ours"));
        }
        self.status
    }

    /// Sends it a signal; does nothing when it has ended.
    pub fn signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.handle, signal);
    }

    /// Kills it and all that is below it, and waits until they are gone.
    pub fn kill(&mut self) {
        // Stopped, it starts no others meanwhile.
        self.signal(Signal::STOP);
        let below = below(self.pid);
        self.signal(Signal::KILL);
        for process in &below {
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
        let deadline = Instant::now() + GONE;
        self.wait(GONE);
        for process in &below {
            ended(process, deadline.saturating_duration_since(Instant::now()));
        }
    }
}

/// Has the child do, between fork and exec, what makes it a server's.
fn dress(command: &mut Command, account: &ServerAccount, groups: Vec<File>, held: Vec<OwnedFd>) {
    let parent = getpid();
    let (ids, shared) = (account.ids(), NameSpace::own());
    // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            for group in &groups {
                rustix::io::write(group, b"0")?;
            }
            for held in &held {
                fcntl_setfd(held, FdFlags::empty())?;
            }
            if let Some(shared) = &shared {
                shared.enter()?;
            }
            if let Some((uid, gid)) = ids {
                set_thread_groups(&[])?;
                set_thread_gid(gid)?;
                set_thread_uid(uid)?;
            }
            // After the change of user, which would undo it.
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have died before the line above took effect.
            if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
        });
    }
}

/// Whether a process has ended, or does so in the given time.
fn ended(handle: &OwnedFd, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).expect("limits are short");
        match poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&left)) {
            Ok(ready) => return ready > 0,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return true,
        }
    }
}

/// The processes below another one.
fn below(pid: Pid) -> Vec<OwnedFd> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let lists: Vec<_> = lists.collect();
    let numbers = lists.iter().flat_map(|list| list.split_whitespace());
    let mut found = Vec::new();
    for child in numbers.filter_map(|number| Pid::from_raw(number.parse().ok()?)) {
        found.extend(pidfd_open(child, PidfdFlags::empty()));
        found.extend(below(child));
    }
    found
}
