//! A server of the user's own: commands say how it is started, tested and stopped. Only programs
//! reach it, since nobody here knows what it speaks.

mod product;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use crate::served::ServedData;
use crate::servers::{
    InstalledServer, Launch, PrivateServer, ServerProgram, Signal, find_open_port,
};
use crate::{
    Database, DatabaseAddress, Durability, Engine, EngineDescription, EngineHome, Error,
    ListenAddress, Loader, OpenTerms, Promise, Result, Runs, Schema, ServerAddress, Session,
    Setting, Statement, files,
};

use product::{LEVEL, MEMORY, OwnServerProduct};

/// How a server is started, tested and stopped. A command is a program and its arguments; `{data}`,
/// `{socket}`, `{tmp}` and `{memory}` in them stand for its folder of data, its Unix socket, its
/// folder of temporary files, and its limit of memory in bytes (0: none).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnServerCommands {
    /// The engine's name.
    pub name: String,
    /// The application's folder: a program with a slash is a path from there.
    pub folder: PathBuf,
    /// Runs it as a foreground process.
    pub start: Vec<String>,
    /// Ends with exit code 0 once the server is ready; without it the server is ready when its
    /// socket takes a connection.
    pub test: Option<Vec<String>>,
    /// How long it may take to be ready.
    pub start_period: Duration,
    /// Asks it to stop in order.
    pub stop: Signal,
    /// How long it may take to stop.
    pub grace: Duration,
    /// Prints its version in the first line.
    pub version: Vec<String>,
    /// The user that it runs as where bakeoff is root.
    pub user: String,
    /// The levels that it gives.
    pub levels: BTreeMap<Durability, OwnServerLevel>,
}

/// What gives a level, by the application's own word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnServerLevel {
    /// Arguments after those of the start.
    pub arguments: Vec<String>,
    /// See [`Promise::window`].
    pub within: Option<Duration>,
}

/// The program of a command: one with a slash is a path from the folder, any other is looked up in
/// `PATH`.
pub fn locate_program(folder: &Path, program: &str) -> PathBuf {
    let path = Path::new(program);
    match program.contains('/') {
        true => folder.join(path.strip_prefix(".").unwrap_or(path)),
        false => path.to_owned(),
    }
}

/// The engine of such commands.
#[derive(Debug)]
pub struct OwnServer {
    commands: &'static OwnServerCommands,
    product: &'static OwnServerProduct,
    promises: [Promise; 3],
    version: OnceLock<String>,
}

impl OwnServer {
    /// It lives as long as the process.
    pub fn from_commands(commands: OwnServerCommands) -> &'static Self {
        let commands: &'static OwnServerCommands = Box::leak(Box::new(commands));
        let product = Box::leak(Box::new(OwnServerProduct(commands)));
        let promises = Durability::ALL.map(|level| commands.describe_promise(level));
        Box::leak(Box::new(Self { commands, product, promises, version: OnceLock::new() }))
    }

    fn make_program(&self) -> &'static ServerProgram {
        let server = locate_program(&self.commands.folder, &self.commands.start[0]);
        // An empty folder is all that is known of its data.
        let installed =
            InstalledServer::new(self.product, self.version(), server, PathBuf::from("true"));
        Box::leak(Box::new(ServerProgram::from_installed(installed)))
    }
}

impl OwnServerCommands {
    fn describe_promise(&self, durability: Durability) -> Promise {
        let Some(level) = self.levels.get(&durability) else {
            return Promise::lacking(durability, "[server.durability] has no arguments for it");
        };
        let settings = match &level.arguments[..] {
            [] => "no arguments of its own".to_owned(),
            some => some.join(" "),
        };
        let source = "claimed by the application's workload.toml: only power cuts try it";
        let promise = Promise::new(durability, settings.leak(), source);
        match level.within {
            Some(window) => promise.within(window),
            None => promise,
        }
    }
}

impl Engine for OwnServer {
    fn about(&self) -> EngineDescription {
        EngineDescription {
            name: &self.commands.name,
            summary: "a server of the application's own, which its programs alone reach",
            promises: self.promises,
            home: EngineHome::Server,
            stores: true,
            rolls_back: false,
            packages: &[],
        }
    }

    fn version(&self) -> String {
        self.version.get_or_init(|| self.product.ask_version()).clone()
    }

    fn takes_settings(&self) -> bool {
        false
    }

    fn available(&self) -> std::result::Result<(), String> {
        self.product.find_executable().map(drop)
    }

    fn statement_check(&self) -> Option<Runs> {
        Some(|_, _| {
            let why = "only programs of its application reach it; for power cuts write `audit = \"./audit.py\"` into \
                       [program]";
            Err(why.into())
        })
    }

    /// The strongest: a weaker level may keep nothing of what a stop leaves.
    fn loads_at(&self) -> Option<Durability> {
        self.commands.levels.keys().next_back().copied()
    }

    fn settings(&self, terms: &OpenTerms) -> Vec<Setting> {
        let level = self.commands.levels.get(&terms.durability);
        let arguments = level.map(|level| level.arguments.join(" ")).unwrap_or_default();
        vec![Setting::new("arguments", arguments, "the application gives them for this level")]
    }

    fn open(
        &self,
        directory: &Path,
        terms: &OpenTerms,
        _: &Schema,
        _: &[Statement],
    ) -> Result<Box<dyn Database>> {
        self.check_level(terms.durability).map_err(Error::Usage)?;
        let memory = terms.memory_bytes.unwrap_or(0).to_string();
        let launch = Launch {
            directory: directory.into(),
            runtime: terms.runtime.clone(),
            settings: vec![(LEVEL.into(), terms.durability.name().into()), (MEMORY.into(), memory)],
            groups: terms.groups.clone(),
        };
        let program = self.make_program();
        PrivateServer::initialise(program, &launch).map_err(Error::from_engine)?;
        let server = PrivateServer::start(program, &launch).map_err(Error::from_engine)?;
        let open = OwnServerDatabase(ServedData::new(server, directory));
        match open.find_fault() {
            None => Ok(Box::new(open)),
            Some(fault) => Err(Error::from_engine(fault)),
        }
    }
}

struct OwnServerDatabase(ServedData);

impl OwnServerDatabase {
    fn find_fault(&self) -> Option<String> {
        let address = find_open_port(self.0.server.pid())?;
        Some(format!(
            "the server listens on {address}, where other machines may reach it: have it listen on its socket \
             alone, or on 127.0.0.1"
        ))
    }
}

fn unreachable_error() -> Error {
    Error::Usage("only programs of its application reach this server".into())
}

impl Database for OwnServerDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Err(unreachable_error())
    }

    fn load(&self, _: usize) -> Result<Box<dyn Loader + '_>> {
        Err(unreachable_error())
    }

    fn warm(&self) -> Result<()> {
        Ok(())
    }

    /// What it has written; what else it owes nobody knows.
    fn drain(&self) -> Result<()> {
        files::sync_all(&self.0.folder)
    }

    fn check(&self) -> Result<Vec<String>> {
        Ok(self.find_fault().into_iter().collect())
    }

    fn server(&self) -> Option<u32> {
        Some(self.0.server.pid())
    }

    fn address(&self) -> Option<DatabaseAddress> {
        Some(DatabaseAddress::Server(ServerAddress {
            listens: ListenAddress::Socket(self.0.server.socket().to_owned()),
            user: String::new(),
            password: None,
            database: String::new(),
        }))
    }
}
