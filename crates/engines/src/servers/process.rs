//! A server's process: started as another user and in control groups; it dies with us and is ended
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

use crate::servers::account::ServerAccount;
use crate::servers::mounts::Mounts;
use crate::servers::shared::NameSpace;

/// A killed process that waits for its disk ends only after that.
const GONE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct ProcessContext {
    pub account: ServerAccount,
    /// Each group's `cgroup.procs`, open for writing.
    pub groups: Vec<File>,
    /// Held open by it and all that it starts as long as they live.
    pub held: Vec<OwnedFd>,
    pub mounts: Option<Mounts>,
}

#[derive(Debug)]
pub struct ServerProcess {
    pid: Pid,
    handle: OwnedFd,
    keeper: Option<JoinHandle<io::Result<ExitStatus>>>,
    status: Option<ExitStatus>,
}

impl ServerProcess {
    /// The kernel kills a child when the thread that started it ends. So each child has its own
    /// thread, which starts it and waits for it.
    pub fn start(mut command: Command, given: ProcessContext) -> io::Result<Self> {
        let ProcessContext { account, groups, held, mounts } = given;
        command.process_group(0);
        set_up_child(&mut command, &account, groups, held);
        let (sender, started) = mpsc::channel();
        let keeper = thread::Builder::new().name("server".into()).spawn(move || {
            let entered = mounts.as_ref().map_or(Ok(()), Mounts::enter);
            let spawned = entered.and_then(|()| command.spawn());
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

    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    pub fn is_running(&self) -> bool {
        !self.ends_within(Duration::ZERO)
    }

    pub fn ends_within(&self, limit: Duration) -> bool {
        has_ended(&self.handle, limit)
    }

    pub fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        if has_ended(&self.handle, limit)
            && let Some(keeper) = self.keeper.take()
        {
            let status = keeper.join().expect("it only waits");
            self.status = Some(status.expect("nobody else waits for a child of ours"));
        }
        self.status
    }

    pub fn send_signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.handle, signal);
    }

    pub fn kill(&mut self) {
        // A stopped process starts no others meanwhile.
        self.send_signal(Signal::STOP);
        let below = processes_below(self.pid);
        self.send_signal(Signal::KILL);
        for process in &below {
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
        let deadline = Instant::now() + GONE;
        self.wait(GONE);
        for process in &below {
            has_ended(process, deadline.saturating_duration_since(Instant::now()));
        }
    }
}

fn set_up_child(
    command: &mut Command,
    account: &ServerAccount,
    groups: Vec<File>,
    held: Vec<OwnedFd>,
) {
    let parent = getpid();
    let (ids, shared) = (account.ids(), NameSpace::for_child());
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
                shared.enter_new()?;
            }
            if let Some((uid, gid)) = ids {
                set_thread_groups(&[])?;
                set_thread_gid(gid)?;
                set_thread_uid(uid)?;
            }
            // After the change of user, which would reset it.
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have died before the line above took effect.
            if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
        });
    }
}

fn has_ended(handle: &OwnedFd, limit: Duration) -> bool {
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

fn processes_below(pid: Pid) -> Vec<OwnedFd> {
    let mut found = Vec::new();
    for child in list_children(pid) {
        found.extend(pidfd_open(child, PidfdFlags::empty()));
        found.extend(processes_below(child));
    }
    found
}

/// A process, and all that descend from it.
pub fn list_family(pid: Pid) -> Vec<Pid> {
    let below = list_children(pid).into_iter().flat_map(list_family);
    std::iter::once(pid).chain(below).collect()
}

fn list_children(pid: Pid) -> Vec<Pid> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let parse = |number: &str| Pid::from_raw(number.parse().ok()?);
    lists.flat_map(|list| list.split_whitespace().filter_map(parse).collect::<Vec<_>>()).collect()
}
