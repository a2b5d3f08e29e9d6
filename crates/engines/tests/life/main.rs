//! The engines' real servers, through the life that a trial gives them. Where a server is not
//! installed its tests are skipped, except in continuous integration.

mod client;
mod ends;
mod refusals;
mod safety;
mod settings;
mod starts;

use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use bakeoff_engines::{mysql, postgres};
use bakeoff_servers::Launch;
use bakeoff_testkit::{folder_for_all, is_root, needs};
use tempfile::TempDir;

/// A server that engines use.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Program {
    MariaDb,
    Postgres,
}

impl Deref for Program {
    type Target = bakeoff_servers::ServerProgram;

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

/// Every server.
const PROGRAMS: [Program; 2] = [Program::MariaDb, Program::Postgres];

/// A server's folder, and how it is launched in it.
struct Home {
    folder: TempDir,
    launch: Launch,
}

impl Home {
    /// A folder of its own.
    fn new() -> Self {
        let folder = folder_for_all();
        let directory = folder.path().join("database");
        Self { folder, launch: Launch { directory, ..Launch::default() } }
    }

    /// The same, with an initialised data folder: a copy, since each takes a second to be made.
    fn initialised(program: Program) -> Self {
        static MODELS: [OnceLock<PathBuf>; 2] = [OnceLock::new(), OnceLock::new()];
        let model = MODELS[program as usize].get_or_init(|| model(program));
        let home = Self::new();
        let mut copy = Command::new("cp");
        copy.args(["-a", "--"]).arg(model).arg(&home.launch.directory);
        assert!(copy.status().expect("it is on every system").success());
        home
    }

    /// Sets a setting.
    fn set(&mut self, name: &str, value: &str) {
        self.launch.settings.push((name.into(), value.into()));
    }
}

/// A data folder that is initialised once, and is removed when this program has ended.
fn model(program: Program) -> PathBuf {
    let home = Home::new();
    bakeoff_servers::PrivateServer::initialise(&program, &home.launch).expect("it is installed");
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

/// Runs one of these tests once more, by a root who is less: as a command makes it. Anybody else has
/// run it as it is.
fn again(less: &[&str], test: &str) {
    if !is_root() {
        return;
    }
    let place = folder_for_all();
    // Where this program is, nobody else may get to.
    let program = place.path().join("program");
    std::fs::copy(std::env::current_exe().expect("a test program"), &program).expect("room");
    let mut child = Command::new(less[0]);
    child.args(&less[1..]).arg(program).args(["--exact", test, "--nocapture"]);
    let output = child.output().expect("it starts");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// The servers that are installed.
fn installed() -> impl Iterator<Item = Program> {
    PROGRAMS.into_iter().filter(|program| needs(program.find()).is_some())
}
