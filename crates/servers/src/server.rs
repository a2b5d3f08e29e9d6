//! A server's life: its data folder initialised, started, stopped or killed.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bakeoff_folders::Dir;

use crate::account::ServerAccount;
use crate::launch::{Launch, ServerPlaces};
use crate::lock::lock;
use crate::log::ServerLog;
use crate::mounts::Mounts;
use crate::places::{Folders, View, short};
use crate::process::{ProcessContext, ServerProcess};
use crate::{Error, Result, ServerProduct, ServerProgram, sync};

/// How long a server may take until it answers.
const START: Duration = Duration::from_secs(60);
/// How often it is asked meanwhile.
const POLL: Duration = Duration::from_millis(10);
/// How long a data folder may take to be initialised.
const INITIALISE: Duration = Duration::from_secs(300);
/// How long a server may take to stop: it writes all that it has only in memory.
const STOP: Duration = Duration::from_secs(300);
/// How long what is left of a killed server may take to be gone.
const GONE: Duration = Duration::from_secs(30);
/// The environment variables that are passed on to a server; nothing else may change what it does.
const ENVIRONMENT: [&str; 3] = ["PATH", "LD_LIBRARY_PATH", "LD_PRELOAD"];
/// The data folder, and what it is called until it is whole.
const DATA: &str = "data";
const FRESH: &str = "data.new";

/// A private server that runs. Dropping it stops it in order.
#[derive(Debug)]
pub struct PrivateServer {
    kind: &'static dyn ServerProduct,
    places: ServerPlaces,
    process: ServerProcess,
    log: ServerLog,
    /// Its socket's folder: clients may have no other way there.
    _runtime: Dir,
}

impl PrivateServer {
    /// Makes an empty data folder ready, with the settings that only count then. Does nothing when
    /// that was done before. What a killed attempt has left is removed first.
    ///
    /// # Errors
    /// Whatever keeps the server from starting; each says what to do.
    pub fn initialise(program: &ServerProgram, launch: &Launch) -> Result<()> {
        let kind = program.kind();
        let stage = ServerStage::set(kind, launch)?;
        if stage.folders.data()?.is_some() {
            return Ok(());
        }
        let fresh = stage.folders.fresh(FRESH, &stage.account)?;
        let mut command = Command::new(&program.find()?.initialiser);
        let data = stage.seen.directory.join(FRESH);
        kind.initialise(&mut command, &stage.seen, &data, launch);
        let StartedServer { folders, mut process, log, .. } = stage.start(command, launch)?;
        let status = process.wait(INITIALISE);
        if !status.is_some_and(|status| status.success()) {
            process.kill();
            let how = status.map_or("it takes too long".into(), |status| status.to_string());
            return Err(Error::Initialise { kind, how, log: log.tail() });
        }
        sync::tree(&fresh)?;
        rustix::fs::renameat(&folders.directory, FRESH, &folders.directory, DATA)
            .map_err(|error| Error::at("name the new folder", fresh.path())(error.into()))?;
        folders.directory.sync().map_err(Error::folder)
    }

    /// Starts a server on initialised data and waits until it answers, for a minute at most.
    /// Waits first for what may be left of a killed one.
    ///
    /// # Errors
    /// Whatever keeps it from starting, with the last lines of its log; each says what to do.
    pub fn start(program: &ServerProgram, launch: &Launch) -> Result<Self> {
        Self::start_within(program, launch, START)
    }

    fn start_within(program: &ServerProgram, launch: &Launch, limit: Duration) -> Result<Self> {
        let kind = program.kind();
        let stage = ServerStage::set(kind, launch)?;
        if let Some(data) = stage.folders.data()? {
            stage.account.give(&data)?;
        }
        for path in kind.stale(&stage.places) {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(Error::at("remove", &path)(error));
                }
                _ => {}
            }
        }
        let installed = program.find()?;
        let mut command = Command::new(&installed.server);
        kind.serve(&mut command, &stage.seen, launch);
        installed.relocate(&mut command);
        let StartedServer { folders, places, process, log } = stage.start(command, launch)?;
        let mut server = Self { kind, places, process, log, _runtime: folders.runtime };
        let start = Instant::now();
        while !kind.answers(&server.places) {
            if let Some(status) = server.process.wait(POLL) {
                let how = status.to_string();
                return Err(Error::Ended { kind, how, log: server.log() });
            }
            if start.elapsed() > limit {
                server.process.kill();
                let seconds = limit.as_secs_f64();
                return Err(Error::Slow { kind, seconds, log: server.log() });
            }
        }
        Ok(server)
    }

    /// Its Unix socket. Where its path is too long for a socket's, it is reached through this
    /// process while the server is there.
    pub fn socket(&self) -> &Path {
        &self.places.socket
    }

    /// The number of its process; all that it starts are children of that one.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// The last lines of its log.
    pub fn log(&self) -> String {
        self.log.tail()
    }

    /// Whether it runs.
    pub fn is_running(&self) -> bool {
        self.process.is_running()
    }

    /// Whether it has ended, or does so in the given time: its socket is closed a moment before
    /// the last of it is gone.
    pub fn ends_within(&self, limit: Duration) -> bool {
        self.process.ends_within(limit)
    }

    /// Stops it in order, its clients' transactions undone. One that takes too long is killed.
    ///
    /// # Errors
    /// [`Error::Unclean`] when it had to be killed, had died before, or says that it failed.
    pub fn stop(mut self) -> Result<()> {
        self.stop_within(STOP)
    }

    fn stop_within(&mut self, limit: Duration) -> Result<()> {
        self.process.signal(self.kind.stop());
        let how = match self.process.wait(limit) {
            Some(status) if status.success() => return Ok(()),
            Some(status) => status.to_string(),
            None => {
                self.process.kill();
                format!("it was killed after {} s", limit.as_secs_f64())
            }
        };
        Err(Error::Unclean { kind: self.kind, how, log: self.log() })
    }

    /// Kills it and all its processes at once, as a crash would, and waits until they are gone.
    pub fn kill(mut self) {
        self.process.kill();
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        // One that has died can be told only by who asks `stop` or `is_running`.
        if self.is_running() {
            let _ = self.stop_within(STOP);
        }
    }
}

/// Everything that is ready before a process is started.
struct ServerStage {
    /// As this process sees them, and clients in it.
    places: ServerPlaces,
    /// As the server does.
    seen: ServerPlaces,
    folders: Folders,
    account: ServerAccount,
    mounts: Option<Mounts>,
    /// What the server inherits: the lock, and perhaps a folder.
    held: Vec<OwnedFd>,
}

/// What there is when one was.
struct StartedServer {
    places: ServerPlaces,
    folders: Folders,
    process: ServerProcess,
    log: ServerLog,
}

impl ServerStage {
    fn set(kind: &'static dyn ServerProduct, launch: &Launch) -> Result<Self> {
        launch.check(kind)?;
        let mut places = ServerPlaces::from_launch(kind, launch)?;
        let view = View::choose(kind, &places)?;
        let account = ServerAccount::choose(kind.user())?;
        let folders = Folders::make(&places, &account)?;
        let (seen, inherited) = view.places(kind, &places, &folders, &account)?;
        let mounts = match view {
            View::Mounted => Some(Mounts::from_folders(&folders.directory, &folders.runtime)),
            View::Plain => None,
        };
        let directory = &places.directory;
        let mounts = mounts.transpose().map_err(Error::at("mount", directory))?;
        // By a descriptor that leads to nothing above the folder, since the server inherits it.
        let locked = match &mounts {
            Some(mounts) => mounts.place(),
            None => File::open(directory).map(Into::into),
        };
        let locked = locked.map_err(Error::at("open", directory))?;
        let lock = lock(locked, directory, GONE)?;
        let socket = kind.socket();
        places.socket =
            short(&places, &folders.runtime, &std::process::id().to_string()).join(socket);
        let held = inherited.into_iter().chain([lock]).collect();
        Ok(Self { places, seen, folders, account, mounts, held })
    }

    /// Starts a command in this stage; what it says goes to the log.
    fn start(self, mut command: Command, launch: &Launch) -> Result<StartedServer> {
        let Self { places, seen, folders, account, mounts, held } = self;
        let (log, output) = ServerLog::open(&folders.runtime)?;
        let errors = output.try_clone().map_err(Error::at("open", &places.log))?;
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        command.current_dir(&seen.temporary).env_clear().env("LC_ALL", "C");
        for name in ENVIRONMENT {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        let open = |path: &PathBuf| {
            File::options().write(true).open(path).map_err(Error::at("join the group", path))
        };
        let groups = launch.groups.iter().map(open).collect::<Result<_>>()?;
        let program = command.get_program().to_owned();
        let given = ProcessContext { account, groups, held, mounts };
        let process = ServerProcess::start(command, given)
            .map_err(Error::at("start", Path::new(&program)))?;
        Ok(StartedServer { places, folders, process, log })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::{PAYS, SERVES, SILENT, installation};

    /// A made-up server on an initialised folder, and its installation.
    fn initialised(does: &str) -> (ServerProgram, tempfile::TempDir, Launch) {
        let (program, folder) = installation(does);
        let launch = Launch { directory: folder.path().join("database"), ..Launch::default() };
        PrivateServer::initialise(&program, &launch).expect("it is installed");
        (program, folder, launch)
    }

    fn locked(launch: &Launch) -> Result<OwnedFd> {
        let folder = File::open(&launch.directory).expect("a folder");
        lock(folder.into(), &launch.directory, Duration::ZERO)
    }

    #[test]
    fn a_server_that_takes_too_long_to_answer_is_killed() {
        let (program, _folder, launch) = initialised(SILENT);
        let error = PrivateServer::start_within(&program, &launch, Duration::ZERO);
        let error = error.expect_err("it never answers");
        assert!(matches!(error, Error::Slow { .. }), "{error:?}");
        // It holds the folder no longer.
        drop(locked(&launch).expect("it is gone"));
    }

    #[test]
    fn a_server_that_does_not_stop_in_time_is_killed() {
        let (program, _folder, launch) = initialised(SERVES);
        let mut server = PrivateServer::start(&program, &launch).expect("it starts");
        server.process.signal(rustix::process::Signal::STOP);
        let error = server.stop_within(Duration::from_millis(50)).expect_err("it is stopped");
        assert!(matches!(error, Error::Unclean { .. }), "{error:?}");
        assert!(error.to_string().contains("killed after 0.05 s"), "{error}");
        assert!(!server.is_running());
    }

    #[test]
    fn a_server_that_pays_a_debt_while_it_is_being_stopped_is_waited_for() {
        let (program, _folder, launch) = initialised(PAYS);
        let stops: [fn(PrivateServer); 2] =
            [|server| server.stop().expect("it stops in order"), drop];
        for (before, stop) in stops.into_iter().enumerate() {
            let server = PrivateServer::start(&program, &launch).expect("it starts");
            let log = server.places.log.clone();
            let paid = || std::fs::read_to_string(&log).expect("a log").matches("paid").count();
            assert_eq!(paid(), before);
            stop(server);
            assert_eq!(paid(), before + 1);
        }
    }

    #[test]
    fn a_folder_that_is_in_use_is_refused() {
        let (program, _folder, launch) = initialised(SERVES);
        let server = PrivateServer::start(&program, &launch).expect("it starts");
        let error = locked(&launch).expect_err("a server has it");
        assert!(matches!(error, Error::Busy { .. }), "{error:?}");
        server.stop().expect("it stops in order");
        drop(locked(&launch).expect("it is free"));
    }

    #[test]
    fn two_installations_in_one_process_are_two_programs() {
        let (one, _one, launch) = initialised(SERVES);
        let (other, _other) = installation("made-up server 2.5\n--echo the other one");
        assert_eq!(one.find().expect("it is there").version, "1.5");
        assert_eq!(other.find().expect("it is there").version, "2.5");
        let error = PrivateServer::start(&other, &launch).expect_err("it serves nothing");
        assert!(error.to_string().contains("the other one"), "{error}");
        PrivateServer::start(&one, &launch).expect("it starts").stop().expect("it stops in order");
    }
}
