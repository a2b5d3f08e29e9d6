//! A workload's pages behind a web server in a process of its own. That process opens the engine; the
//! visitors are in this one.

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

use self::browsers::{BrowserLanes, VisitorAccess};
use self::wire::{OpenedWebServer, Question, WebProcessReply};
use super::TARGET;
use super::ready::Ready;
use super::server::{PHP_GROUP, PageServer, WEB_GROUP, WithPhp};
use crate::TrialError;
use crate::place::TargetPlace;
use crate::process::job::{Message, ProcessJob, Task};
use crate::process::{ChildProcess, ChildProgram, Received};
use crate::targets::page::{At, Events, FaultCounters, Spent};
use crate::targets::{ClientTally, Processes, RunningTarget};

pub use self::serve::serve;

/// How long it is waited for a message before it is looked again whether the process is there.
const LOOK: Duration = Duration::from_secs(1);
/// How long a web server's process may take to close the engine and to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whether what serves the pages of an engine is there: it is asked.
///
/// # Errors
/// All that is missing or too old, each with what brings it.
pub fn ready(server: PageServer, engine: &dyn Engine) -> Result<(), Vec<String>> {
    match (server, WithPhp::from_engine(engine)) {
        (PageServer::Php, Some(with)) => php::ready(with),
        _ => Ok(()),
    }
}

/// What of it is not there, without starting anything: for the plan.
pub fn lacks(server: PageServer) -> Option<String> {
    match server {
        PageServer::Php => php::find().err(),
        PageServer::None | PageServer::BuiltIn => None,
    }
}

/// Which versions of it are installed, as settings for the record.
pub fn installed(server: PageServer, engine: &dyn Engine) -> Vec<AppliedSetting> {
    match (server, WithPhp::from_engine(engine)) {
        (PageServer::Php, Some(with)) => php::installed(with),
        _ => Vec::new(),
    }
}

/// The folder of a web server's socket. The socket is reached through it, since the path of a socket may
/// have no more than 107 bytes.
struct SocketFolder {
    path: PathBuf,
    opened: OwnedFd,
}

impl SocketFolder {
    /// The one in a place.
    fn open(ready: &Ready, place: &TargetPlace) -> Result<Self, TrialError> {
        let group = place.group(ready.resolved.server.socket_group(ready.engine));
        let folder = group.and_then(|group| group.runtime.as_deref());
        let folder = folder.ok_or_else(|| TrialError::process("a web server has no folder"))?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(folder, flags, Mode::empty());
        let opened = opened.map_err(|error| TrialError::place("a web server's folder", error))?;
        Ok(Self { path: folder.into(), opened })
    }

    /// Where this process finds the socket.
    fn socket(&self) -> PathBuf {
        format!("/proc/self/fd/{}/web.sock", self.opened.as_raw_fd()).into()
    }

    /// Where other processes of this user find the folder, as long as this one is there.
    fn short(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.opened.as_raw_fd()).into()
    }
}

/// A web server that is running, as its visitors know it.
pub struct ServedSite<'a> {
    ready: &'a Ready,
    site: &'a dyn Site,
    /// The web server's process; `None` once it has ended.
    process: Mutex<Option<ChildProcess>>,
    web: u32,
    opened: OpenedWebServer,
    at: At,
    /// Held, since the socket is reached through it.
    _folder: SocketFolder,
    faults: FaultCounters,
    spent: Spent,
}

impl<'a> ServedSite<'a> {
    /// Starts a web server over what is in a place; it opens the engine.
    ///
    /// # Errors
    /// It can't be started, or can't open the engine.
    pub fn open(ready: &'a Ready, place: &TargetPlace) -> Result<Self, TrialError> {
        let site = ready.site()?;
        let folder = SocketFolder::open(ready, place)?;
        let failed = |error| TrialError::place("a web server can't be started", error);
        let job = ProcessJob {
            target: TARGET.into(),
            subject: serde_json::to_value(&ready.resolved).expect("it is plain data"),
            place: place.clone(),
            task: Task::Serve,
        };
        let process = ChildProcess::start(&ChildProgram::own(), &job).map_err(failed)?;
        let web = process.id();
        let mut process = Some(process);
        let opened = match next(&mut process)? {
            WebProcessReply::Opened(opened) => opened,
            other => return Err(unexpected(&other)),
        };
        let (process, at) = (Mutex::new(process), At::Unix(folder.socket()));
        let (faults, spent) = (FaultCounters::default(), Spent::default());
        Ok(Self { ready, site, process, web, opened, at, _folder: folder, faults, spent })
    }

    /// Asks the web server's process something.
    fn ask(&self, question: &Question) -> Result<WebProcessReply, TrialError> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        tell(&mut process, question)?;
        next(&mut process)
    }

    /// Has the web server's process do something that answers nothing.
    fn has_done(&self, question: &Question) -> Result<(), TrialError> {
        match self.ask(question)? {
            WebProcessReply::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }
}

/// Tells the web server's process something; one that has ended is told by [`next`].
fn tell(process: &mut Option<ChildProcess>, question: &Question) -> Result<(), TrialError> {
    let Some(told) = process else {
        return Err(TrialError::process("the web server's process has ended"));
    };
    match told.tell(question) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(TrialError::process(format!("the web server can't be told anything: {error}")))
        }
        _ => Ok(()),
    }
}

/// The next answer of the web server's process.
fn next(process: &mut Option<ChildProcess>) -> Result<WebProcessReply, TrialError> {
    let why = |text: String| Err(TrialError::process(format!("the web server: {text}")));
    loop {
        let Some(asked) = process.as_ref() else { return why("its process has ended".to_owned()) };
        match asked.receive(LOOK) {
            Received::Message(Message::Served(answer)) => {
                return match serde_json::from_value(answer) {
                    Ok(answer) => Ok(answer),
                    Err(error) => why(format!("its answer can't be read: {error}")),
                };
            }
            Received::Message(Message::Failed(error)) => return Err(error),
            Received::Message(_) | Received::Nothing => {}
            Received::End => {
                let ended = process.take().map(ChildProcess::exit_report);
                return why(ended.unwrap_or_default());
            }
        }
    }
}

fn unexpected(answer: &WebProcessReply) -> TrialError {
    TrialError::process(format!("the web server answered something else: {answer:?}"))
}

impl RunningTarget for ServedSite<'_> {
    fn operations(&self) -> &[Name] {
        self.ready.kinds.names()
    }

    /// Connections share a thread for each processor.
    fn drivers(&self, clients: usize) -> usize {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        clients.min(processors)
    }

    /// nginx has two for each: one of them to PHP. It may have as many as this process.
    fn files_per_client(&self) -> Result<usize, TrialError> {
        Ok(if self.ready.resolved.server == PageServer::Php { 2 } else { 1 })
    }

    fn driver<'b>(
        &'b self,
        share: &ClientShare,
        _: Option<Box<dyn Claims + 'b>>,
    ) -> Result<Box<dyn Driver + 'b>, TrialError> {
        let reached = VisitorAccess {
            at: &self.at,
            faults: &self.faults,
            spent: &self.spent,
            gzip: self.ready.resolved.gzip,
            rtt: self.ready.prepared.round_trip(),
        };
        let browsers = BrowserLanes::new(self.site, &self.ready.kinds, reached, share);
        let events = Events::new(browsers, share);
        Ok(Box::new(events.map_err(|errno| TrialError::place("epoll can't be had", errno))?))
    }

    fn debt(&self) -> Result<Option<Debt>, TrialError> {
        match self.ask(&Question::Debt)? {
            WebProcessReply::Owes(owes) => Ok(owes.map(wire::WireDebt::into_debt)),
            other => Err(unexpected(&other)),
        }
    }

    fn warm(&self) -> Result<(), TrialError> {
        self.has_done(&Question::Warm)
    }

    fn drain(&self) -> Result<(), TrialError> {
        self.has_done(&Question::Drain)
    }

    /// What the engine's and the workload's own checks find.
    fn check(&self) -> Result<Option<Vec<String>>, TrialError> {
        match self.ask(&Question::Check)? {
            WebProcessReply::Checked(found) => Ok(found),
            other => Err(unexpected(&other)),
        }
    }

    fn missed(&self) -> Vec<String> {
        self.site.missed()
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

    /// The engine's, the faults of answers, and what the web server counts.
    fn counters(&self) -> Measures {
        let mut measures = self.faults.measures();
        match self.ask(&Question::Counters) {
            Ok(WebProcessReply::Counters(counted)) => measures.extend(counted),
            Ok(_) | Err(_) => tracing::debug!("the web server tells no counters"),
        }
        measures
    }

    fn take_busy(&self) -> Option<f64> {
        self.spent.take_busy()
    }

    fn writes_back(&self) -> &'static [&'static str] {
        self.opened.writes_back()
    }

    fn cache_misses(&self) -> &'static [&'static str] {
        self.opened.cache_misses()
    }

    /// It is asked for clients that hang, too, while somebody waits for what a hung database owes: that is
    /// not waited for.
    fn tally(&self) -> Option<ClientTally> {
        let mut process = match self.process.try_lock() {
            Ok(process) => process,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        tell(&mut process, &Question::Tally).ok()?;
        match next(&mut process) {
            Ok(WebProcessReply::Tally { commits, bytes, returned }) => {
                // Nothing of the engine runs on the drivers' threads.
                Some(ClientTally { commits, bytes, returned: Some(returned), inside: 0.0 })
            }
            Ok(_) | Err(_) => None,
        }
    }
}

impl Drop for ServedSite<'_> {
    /// The engine is closed in order; a process that does not end in time is ended with its value.
    fn drop(&mut self) {
        let process = self.process.get_mut().unwrap_or_else(PoisonError::into_inner);
        if tell(process, &Question::Stop).is_err() {
            return;
        }
        let asked = Instant::now();
        while let Some(Received::Nothing | Received::Message(Message::Served(_))) =
            process.as_ref().map(|it| it.receive(LOOK))
        {
            if asked.elapsed() > PATIENCE {
                return;
            }
        }
    }
}
