//! The engines' real servers, through the life that a trial gives them. Where a server is not
//! installed its tests are skipped, except in continuous integration.

mod journeys;
mod refusals;
mod safety;
mod settings;

use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use bakeoff_engines::servers::{Error, Launch, PrivateServer};
use bakeoff_engines::{mysql, postgres};
use bakeoff_testkit::{folder_for_all, needs};
use tempfile::TempDir;

/// A server that engines use.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Program {
    MariaDb,
    Postgres,
}

impl Deref for Program {
    type Target = bakeoff_engines::servers::ServerProgram;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::MariaDb => &mysql::SERVER,
            Self::Postgres => &postgres::SERVER,
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.kind().name())
    }
}

/// SQL that makes a table of one number in a schema of its own.
const TABLE: &str =
    "CREATE SCHEMA test; CREATE TABLE test.t (n INT PRIMARY KEY); INSERT INTO test.t VALUES (1);";

impl Program {
    /// Has the server's own client run SQL; the answer's rows, or what it complains of.
    fn ask(self, server: &PrivateServer, sql: &str) -> Result<String, String> {
        let mut client = match self {
            Self::MariaDb => {
                let mut client = Command::new("mariadb");
                client.args(["--no-defaults", "--user=root", "--batch", "--skip-column-names"]);
                client.arg(format!("--socket={}", server.socket().display()));
                client.arg(format!("--execute={sql}"));
                client
            }
            Self::Postgres => {
                let folder = server.socket().parent().expect("a socket is in a folder");
                let mut client = Command::new("psql");
                client.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]);
                client.args(["--username=bakeoff", "--dbname=postgres", "--set=ON_ERROR_STOP=1"]);
                client.arg("--host").arg(folder).arg("--command").arg(sql);
                client
            }
        };
        let output =
            client.stdin(Stdio::null()).output().expect("the client comes with the server");
        let Output { status, stdout, stderr } = output;
        if status.success() {
            Ok(String::from_utf8_lossy(&stdout).trim().into())
        } else {
            Err(String::from_utf8_lossy(&stderr).into_owned())
        }
    }

    /// SQL that shows the value of a setting.
    fn show(self, name: &str) -> String {
        match self {
            Self::MariaDb => format!("SELECT @@{name}"),
            Self::Postgres => format!("SHOW {name}"),
        }
    }
}

/// Every server.
const PROGRAMS: [Program; 2] = [Program::MariaDb, Program::Postgres];

/// A server's folder, and how it is launched in it.
struct Home {
    program: Program,
    folder: TempDir,
    launch: Launch,
}

impl Home {
    /// A folder of its own.
    fn new(program: Program) -> Self {
        let folder = folder_for_all();
        let directory = folder.path().join("database");
        Self { program, folder, launch: Launch { directory, ..Launch::default() } }
    }

    /// The same, with an initialised data folder: a copy, since each takes a second to be made.
    fn initialised(program: Program) -> Self {
        static MODELS: [OnceLock<PathBuf>; 2] = [OnceLock::new(), OnceLock::new()];
        let model = MODELS[program as usize].get_or_init(|| model(program));
        let home = Self::new(program);
        let mut copy = Command::new("cp");
        copy.args(["-a", "--"]).arg(model).arg(&home.launch.directory);
        assert!(copy.status().expect("it is on every system").success());
        home
    }

    fn initialise(&self) {
        PrivateServer::initialise(&self.program, &self.launch).expect("it is installed");
    }

    fn start(&self) -> PrivateServer {
        PrivateServer::start(&self.program, &self.launch)
            .unwrap_or_else(|error| panic!("{}: {error}", self.program))
    }

    /// What is said when it can't start.
    fn refused(&self) -> Error {
        PrivateServer::start(&self.program, &self.launch).expect_err("it can't start")
    }

    fn ask(&self, server: &PrivateServer, sql: &str) -> Result<String, String> {
        self.program.ask(server, sql)
    }

    /// Has it run SQL that can't fail.
    fn must(&self, server: &PrivateServer, sql: &str) -> String {
        self.ask(server, sql).unwrap_or_else(|said| panic!("{}: {sql}: {said}", self.program))
    }

    fn set(&mut self, name: &str, value: &str) {
        self.launch.settings.push((name.into(), value.into()));
    }
}

/// A data folder that is initialised once, and is removed when this program has ended.
fn model(program: Program) -> PathBuf {
    let home = Home::new(program);
    home.initialise();
    let folder = home.folder.keep();
    // Its input ends with this program, however that ends.
    let mut remover = Command::new("sh");
    remover
        .args(["-c", "trap '' INT; read -r end; rm -rf -- \"$0\""])
        .arg(folder)
        .stdin(Stdio::piped());
    std::mem::forget(remover.spawn().expect("it is on every system").stdin);
    home.launch.directory
}

/// The servers that are installed.
fn installed() -> impl Iterator<Item = Program> {
    PROGRAMS.into_iter().filter(|program| needs(program.find_installed()).is_some())
}
