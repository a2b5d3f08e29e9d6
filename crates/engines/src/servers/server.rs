//! A server's life: its data folder initialised, started, stopped or killed.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bakeoff_folders::Dir;

use crate::servers::account::ServerAccount;
use crate::servers::launch::{Launch, ServerPlaces};
use crate::servers::lock::lock_folder;
use crate::servers::log::ServerLog;
use crate::servers::mounts::Mounts;
use crate::servers::places::{Folders, MountMode, short_path};
use crate::servers::process::{ProcessContext, ServerProcess};
use crate::servers::{Error, Result, ServerProduct, ServerProgram, sync};

const POLL: Duration = Duration::from_millis(10);
const INITIALISE: Duration = Duration::from_secs(300);
const GONE: Duration = Duration::from_secs(30);
/// The environment variables that a server gets: no others may change what it does.
const ENVIRONMENT: [&str; 3] = ["PATH", "LD_LIBRARY_PATH", "LD_PRELOAD"];
const DATA: &str = "data";
const FRESH: &str = "data.new";

#[derive(Debug)]
pub struct PrivateServer {
    kind: &'static dyn ServerProduct,
    places: ServerPlaces,
    process: ServerProcess,
    log: ServerLog,
    /// Clients may have no other way to the socket than this descriptor.
    _runtime: Dir,
}

impl PrivateServer {
    /// Initialises an empty data folder, with the settings that only count then, unless that was
    /// done before. What a killed attempt has left is removed first.
    pub fn initialise(program: &ServerProgram, launch: &Launch) -> Result<()> {
        let kind = program.kind();
        let stage = ServerStage::set(kind, launch)?;
        if stage.folders.data()?.is_some() {
            return Ok(());
        }
        let fresh = stage.folders.make_fresh(FRESH, &stage.account)?;
        let mut command = Command::new(&program.find_installed()?.initialiser);
        let data = stage.seen.directory.join(FRESH);
        kind.initialise(&mut command, &stage.seen, &data, launch);
        let StartedServer { folders, mut process, log, .. } = stage.start(command, launch)?;
        let status = process.wait(INITIALISE);
        if !status.is_some_and(|status| status.success()) {
            process.kill();
            let how = status.map_or("it takes too long".into(), |status| status.to_string());
            return Err(Error::Initialise { kind, how, log: log.read_tail() });
        }
        sync::sync_tree(&fresh)?;
        rustix::fs::renameat(&folders.directory, FRESH, &folders.directory, DATA)
            .map_err(|error| Error::at_path("name the new folder", fresh.path())(error.into()))?;
        folders.directory.sync().map_err(Error::from_folder)
    }

    /// Starts a server on initialised data and waits until it answers, for its
    /// [`ServerProduct::start_time`] at most. It waits
    /// first for what is left of a killed one.
    pub fn start(program: &ServerProgram, launch: &Launch) -> Result<Self> {
        Self::start_within(program, launch, program.kind().start_time())
    }

    fn start_within(program: &ServerProgram, launch: &Launch, limit: Duration) -> Result<Self> {
        let kind = program.kind();
        let stage = ServerStage::set(kind, launch)?;
        if let Some(data) = stage.folders.data()? {
            stage.account.give(&data)?;
        }
        for path in kind.stale_files(&stage.places) {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(Error::at_path("remove", &path)(error));
                }
                _ => {}
            }
        }
        let installed = program.find_installed()?;
        let mut command = Command::new(&installed.server);
        kind.serve(&mut command, &stage.seen, launch);
        installed.relocate(&mut command);
        let StartedServer { folders, places, process, log } = stage.start(command, launch)?;
        let mut server = Self { kind, places, process, log, _runtime: folders.runtime };
        let start = Instant::now();
        while !(kind.answers(&server.places)
            && kind.passes_test(&server.places, server.process.pid()))
        {
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

    /// If the socket's path is too long, it is reached through this process while the server
    /// exists.
    pub fn socket(&self) -> &Path {
        &self.places.socket
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub fn log(&self) -> String {
        self.log.read_tail()
    }

    pub fn is_running(&self) -> bool {
        self.process.is_running()
    }

    /// The socket is closed a moment before the last of the server is gone.
    pub fn ends_within(&self, limit: Duration) -> bool {
        self.process.ends_within(limit)
    }

    /// Clients' transactions are undone. A server that takes too long is killed.
    pub fn stop(mut self) -> Result<()> {
        self.stop_within(self.kind.stop_time())
    }

    fn stop_within(&mut self, limit: Duration) -> Result<()> {
        self.process.send_signal(self.kind.stop_signal());
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

    pub fn kill(mut self) {
        self.process.kill();
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        // Only `stop` and `is_running` report a server that has died.
        if self.is_running() {
            let _ = self.stop_within(self.kind.stop_time());
        }
    }
}

struct ServerStage {
    places: ServerPlaces,
    seen: ServerPlaces,
    folders: Folders,
    account: ServerAccount,
    mounts: Option<Mounts>,
    held: Vec<OwnedFd>,
}

struct StartedServer {
    places: ServerPlaces,
    folders: Folders,
    process: ServerProcess,
    log: ServerLog,
}

impl ServerStage {
    fn set(kind: &'static dyn ServerProduct, launch: &Launch) -> Result<Self> {
        launch.check_settings(kind)?;
        let mut places = ServerPlaces::from_launch(kind, launch)?;
        let view = MountMode::choose_view();
        let account = ServerAccount::choose_user(kind.user())?;
        let folders = Folders::make_all(&places, &account)?;
        let (seen, mut held) = view.seen_places(kind, &places, &folders, &account)?;
        let mounts = match view {
            MountMode::Mounted => Some(Mounts::from_folders(&folders.directory, &folders.runtime)),
            MountMode::Plain => None,
        };
        let directory = &places.directory;
        let mounts = mounts.transpose().map_err(Error::at_path("mount", directory))?;
        // By a descriptor from which nothing above the folder can be reached: the server inherits
        // it.
        let locked = match &mounts {
            Some(mounts) => mounts.data_folder(),
            None => File::open(directory).map(Into::into),
        };
        let locked = locked.map_err(Error::at_path("open", directory))?;
        let lock = lock_folder(locked, directory, GONE)?;
        let socket = kind.socket_name();
        places.socket =
            short_path(&places, &folders.runtime, &std::process::id().to_string()).join(socket);
        held.push(lock);
        Ok(Self { places, seen, folders, account, mounts, held })
    }

    fn start(self, mut command: Command, launch: &Launch) -> Result<StartedServer> {
        let Self { places, seen, folders, account, mounts, held } = self;
        let (log, output) = ServerLog::open(&folders.runtime)?;
        let errors = output.try_clone().map_err(Error::at_path("open", &places.log))?;
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        command.current_dir(&seen.temporary).env_clear().env("LC_ALL", "C");
        for name in ENVIRONMENT {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        let open = |path: &PathBuf| {
            File::options().write(true).open(path).map_err(Error::at_path("join the group", path))
        };
        let groups = launch.groups.iter().map(open).collect::<Result<_>>()?;
        let program = command.get_program().to_owned();
        let given = ProcessContext { account, groups, held, mounts };
        let process = ServerProcess::start(command, given)
            .map_err(Error::at_path("start", Path::new(&program)))?;
        Ok(StartedServer { places, folders, process, log })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::made_up::{PAYS, SERVES, SILENT, make_installation};

    /// A made-up server on an initialised folder, and its installation.
    fn initialised(does: &str) -> (ServerProgram, tempfile::TempDir, Launch) {
        let (program, folder) = make_installation(does);
        let launch = Launch { directory: folder.path().join("database"), ..Launch::default() };
        PrivateServer::initialise(&program, &launch).expect("it is installed");
        (program, folder, launch)
    }

    fn locked(launch: &Launch, patience: Duration) -> Result<OwnedFd> {
        let folder = File::open(&launch.directory).expect("a folder");
        lock_folder(folder.into(), &launch.directory, patience)
    }

    /// A child that another test starts in the meantime holds the lock until it executes its program.
    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn a_server_that_takes_too_long_to_answer_is_killed() {
        let (program, _folder, launch) = initialised(SILENT);
        let error = PrivateServer::start_within(&program, &launch, Duration::ZERO);
        let error = error.expect_err("it never answers");
        assert!(matches!(error, Error::Slow { .. }), "{error:?}");
        // It holds the folder no longer.
        drop(locked(&launch, PATIENCE).expect("it is gone"));
    }

    #[test]
    fn a_server_that_does_not_stop_in_time_is_killed() {
        let (program, _folder, launch) = initialised(SERVES);
        let mut server = PrivateServer::start(&program, &launch).expect("it starts");
        server.process.send_signal(rustix::process::Signal::STOP);
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
        let error = locked(&launch, Duration::ZERO).expect_err("a server has it");
        assert!(matches!(error, Error::Busy { .. }), "{error:?}");
        server.stop().expect("it stops in order");
        drop(locked(&launch, PATIENCE).expect("it is free"));
    }
}
