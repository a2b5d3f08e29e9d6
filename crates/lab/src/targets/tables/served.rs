//! Serves a workload's pages from a web server in a process of its own, which opens the engine. The
//! visitors are in this process.

mod browsers;
mod php;
mod serve;
mod web;
mod wire;

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use bakeoff_engines::{Debt, Engine, EngineHome};
use bakeoff_load::{ClientShare, Driver};
use bakeoff_results::measure::DATABASE_GROUP;
use bakeoff_results::{AppliedSetting, Measures};
use bakeoff_workloads::site::Site;
use bakeoff_workloads::{Claims, Name};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};

use self::browsers::BrowserLanes;
use self::wire::{OpenedWebServer, WebProcessReply, WebProcessRequest};
use super::TARGET;
use super::ready::Ready;
use super::server::{PHP_GROUP, PageServer, WEB_GROUP};
use crate::TrialError;
use crate::machine::count_processors;
use crate::place::TargetPlace;
use crate::process::job::{Message, ProcessJob, Task};
use crate::process::{ChildProcess, ChildProgram, ReceiveOutcome};
use crate::targets::page::{
    At, DriverTime, EventDriver, FaultCounters, PageAccess, count_client_threads,
};
use crate::targets::{ClientTally, Processes, RunningTarget};

pub use self::serve::serve_pages;

const LOOK: Duration = Duration::from_secs(1);
const CLOSE_TIMEOUT: Duration = Duration::from_secs(60);

/// Starts the programs to ask for their versions.
pub fn check_ready(server: PageServer, engine: &dyn Engine) -> Result<(), Vec<String>> {
    server.php(engine).map_or(Ok(()), php::check_ready)
}

/// Starts nothing: for the plan.
pub fn find_missing(server: PageServer) -> Option<String> {
    match server {
        PageServer::Php => php::find_programs().err(),
        PageServer::None | PageServer::BuiltIn => None,
    }
}

pub fn installed_versions(server: PageServer, engine: &dyn Engine) -> Vec<AppliedSetting> {
    server.php(engine).map_or_else(Vec::new, php::installed_versions)
}

/// The folder of a web server's socket. A socket's path may have only 107 bytes, so it is reached
/// through this folder.
struct SocketFolder {
    path: PathBuf,
    opened: OwnedFd,
}

impl SocketFolder {
    fn open(ready: &Ready, place: &TargetPlace) -> Result<Self, TrialError> {
        let group = place.find_group(ready.resolved.server.socket_group(ready.engine));
        let folder = group.and_then(|group| group.runtime.as_deref());
        let folder =
            folder.ok_or_else(|| TrialError::process_error("a web server has no folder"))?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(folder, flags, Mode::empty());
        let opened =
            opened.map_err(|error| TrialError::place_error("a web server's folder", error))?;
        Ok(Self { path: folder.into(), opened })
    }

    fn socket_path(&self) -> PathBuf {
        format!("/proc/self/fd/{}/web.sock", self.opened.as_raw_fd()).into()
    }

    /// A short path for other processes of this user, valid while this process lives.
    fn short_path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.opened.as_raw_fd()).into()
    }
}

pub struct ServedSite<'a> {
    ready: &'a Ready,
    site: &'a dyn Site,
    process: Mutex<Option<ChildProcess>>,
    web: u32,
    opened: OpenedWebServer,
    at: At,
    /// The socket is reached through it.
    _folder: SocketFolder,
    faults: FaultCounters,
    spent: DriverTime,
}

impl<'a> ServedSite<'a> {
    pub fn open(ready: &'a Ready, place: &TargetPlace) -> Result<Self, TrialError> {
        let site = ready.site()?;
        let folder = SocketFolder::open(ready, place)?;
        let failed = |error| TrialError::place_error("a web server can't be started", error);
        let job = ProcessJob {
            target: TARGET.into(),
            subject: serde_json::to_value(&ready.resolved).expect("it is plain data"),
            place: place.clone(),
            task: Task::Serve,
        };
        let process =
            ChildProcess::start(&ChildProgram::from_this_process(), &job).map_err(failed)?;
        let web = process.id();
        let mut process = Some(process);
        let opened = match next(&mut process)? {
            WebProcessReply::Opened(opened) => opened,
            other => return Err(unexpected_reply(&other)),
        };
        let (process, at) = (Mutex::new(process), At::Unix(folder.socket_path()));
        let (faults, spent) = (FaultCounters::default(), DriverTime::default());
        Ok(Self { ready, site, process, web, opened, at, _folder: folder, faults, spent })
    }

    fn ask_server(&self, question: &WebProcessRequest) -> Result<WebProcessReply, TrialError> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        tell_server(&mut process, question)?;
        next(&mut process)
    }

    fn has_done(&self, question: &WebProcessRequest) -> Result<(), TrialError> {
        match self.ask_server(question)? {
            WebProcessReply::Done => Ok(()),
            other => Err(unexpected_reply(&other)),
        }
    }
}

/// If the process has ended, [`next`] reports it.
fn tell_server(
    process: &mut Option<ChildProcess>,
    question: &WebProcessRequest,
) -> Result<(), TrialError> {
    let Some(told) = process else {
        return Err(TrialError::process_error("the web server's process has ended"));
    };
    match told.send_json(question) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(TrialError::process_error(
            format!("the web server can't be told anything: {error}"),
        )),
        _ => Ok(()),
    }
}

fn next(process: &mut Option<ChildProcess>) -> Result<WebProcessReply, TrialError> {
    let why = |text: String| Err(TrialError::process_error(format!("the web server: {text}")));
    loop {
        let Some(asked) = process.as_ref() else { return why("its process has ended".to_owned()) };
        match asked.receive(LOOK) {
            ReceiveOutcome::Message(Message::Served(answer)) => {
                return match serde_json::from_value(answer) {
                    Ok(answer) => Ok(answer),
                    Err(error) => why(format!("its answer can't be read: {error}")),
                };
            }
            ReceiveOutcome::Message(Message::Failed(error)) => return Err(error),
            ReceiveOutcome::Message(_) | ReceiveOutcome::Nothing => {}
            ReceiveOutcome::End => {
                let ended = process.take().map(ChildProcess::exit_report);
                return why(ended.unwrap_or_default());
            }
        }
    }
}

fn unexpected_reply(answer: &WebProcessReply) -> TrialError {
    TrialError::process_error(format!("the web server answered something else: {answer:?}"))
}

impl RunningTarget for ServedSite<'_> {
    fn operations(&self) -> &[Name] {
        self.ready.kinds.names()
    }

    fn drivers(&self, clients: usize) -> usize {
        count_client_threads(clients, count_processors())
    }

    /// nginx needs two per client, one of them to PHP, and has the limit of this process.
    fn files_per_client(&self) -> Result<usize, TrialError> {
        Ok(if self.ready.resolved.server == PageServer::Php { 2 } else { 1 })
    }

    fn make_driver<'b>(
        &'b self,
        share: &ClientShare,
        _: Option<Box<dyn Claims + 'b>>,
    ) -> Result<Box<dyn Driver + 'b>, TrialError> {
        let access = PageAccess {
            at: &self.at,
            requests_each: None,
            rtt: self.ready.prepared.round_trip(),
            faults: &self.faults,
            spent: &self.spent,
        };
        let Ready { kinds, resolved, .. } = self.ready;
        let lanes = BrowserLanes::new(self.site, kinds, resolved.gzip, share);
        Ok(Box::new(EventDriver::new(lanes, access, share)?))
    }

    fn debt(&self) -> Result<Option<Debt>, TrialError> {
        match self.ask_server(&WebProcessRequest::Debt)? {
            WebProcessReply::Owes(owes) => Ok(owes.map(wire::WireDebt::into_debt)),
            other => Err(unexpected_reply(&other)),
        }
    }

    fn warm(&self) -> Result<(), TrialError> {
        self.has_done(&WebProcessRequest::Warm)
    }

    fn drain(&self) -> Result<(), TrialError> {
        self.has_done(&WebProcessRequest::Drain)
    }

    fn check(&self) -> Result<Option<Vec<String>>, TrialError> {
        match self.ask_server(&WebProcessRequest::Check)? {
            WebProcessReply::Checked(found) => Ok(found),
            other => Err(unexpected_reply(&other)),
        }
    }

    fn find_unchecked(&self) -> Result<Option<String>, TrialError> {
        match self.ask_server(&WebProcessRequest::FindUnchecked)? {
            WebProcessReply::Unchecked(found) => Ok(found),
            other => Err(unexpected_reply(&other)),
        }
    }

    fn describe_missed(&self) -> Vec<String> {
        self.site.list_missed()
    }

    fn groups(&self) -> Vec<(&'static str, Processes)> {
        let web = self.web;
        let (database, php) = (self.opened.database, self.opened.php);
        match (self.ready.engine.home(), database, php) {
            (EngineHome::Server, Some(database), None) => vec![
                (DATABASE_GROUP, Processes::Family(database)),
                (WEB_GROUP, Processes::Without { root: web, apart: database }),
            ],
            (EngineHome::Server, Some(database), Some([nginx, php])) => vec![
                (DATABASE_GROUP, Processes::Family(database)),
                (PHP_GROUP, Processes::Family(php)),
                (WEB_GROUP, Processes::Family(nginx)),
            ],
            (_, _, Some([nginx, _])) => vec![
                (DATABASE_GROUP, Processes::Without { root: web, apart: nginx }),
                (WEB_GROUP, Processes::Family(nginx)),
            ],
            _ => vec![(DATABASE_GROUP, Processes::Family(web))],
        }
    }

    fn counters(&self) -> Measures {
        let mut measures = self.faults.measures();
        match self.ask_server(&WebProcessRequest::Counters) {
            Ok(WebProcessReply::Counters(counted)) => measures.extend(counted),
            Ok(_) | Err(_) => tracing::debug!("the web server tells no counters"),
        }
        measures
    }

    fn take_busy(&self) -> Option<f64> {
        self.spent.take_busy()
    }

    fn writes_back(&self) -> Vec<&str> {
        self.opened.writes_back.iter().map(String::as_str).collect()
    }

    fn cache_misses(&self) -> Vec<&str> {
        self.opened.cache_misses.iter().map(String::as_str).collect()
    }

    /// Also called for hanging clients, while another thread waits for a hung database's debts:
    /// don't wait for that.
    fn take_tally(&self) -> Option<ClientTally> {
        let mut process = match self.process.try_lock() {
            Ok(process) => process,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        tell_server(&mut process, &WebProcessRequest::Tally).ok()?;
        match next(&mut process) {
            // The engine uses no time on the drivers' threads.
            Ok(WebProcessReply::Tally(totals)) => Some(totals.tally(0.0)),
            Ok(_) | Err(_) => None,
        }
    }
}

impl Drop for ServedSite<'_> {
    /// Closes the engine in order; a process that does not end in time is killed with its value.
    fn drop(&mut self) {
        let process = self.process.get_mut().unwrap_or_else(PoisonError::into_inner);
        if tell_server(process, &WebProcessRequest::Stop).is_err() {
            return;
        }
        let asked = Instant::now();
        while let Some(ReceiveOutcome::Nothing | ReceiveOutcome::Message(Message::Served(_))) =
            process.as_ref().map(|it| it.receive(LOOK))
        {
            if asked.elapsed() > CLOSE_TIMEOUT {
                return;
            }
        }
    }
}
