//! Private database servers and their clients, as processes that never outlive the test.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;

use bakeoff_testkit::{PATIENCE, children, ended_within, folder_for_all, is_root, wait_until};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tempfile::TempDir;

/// The line after each answer.
pub const ANSWERED: &str = "answered";

/// A database that comes with a server and a client program.
pub trait Database: Sync {
    /// The user that the server runs as when the test is root's.
    fn user(&self) -> &'static str;

    /// Programs that it can't do without.
    fn programs(&self) -> Vec<PathBuf>;

    /// Makes the data folder.
    fn prepare(&self, home: &Home);

    /// How the server is started.
    fn server(&self, home: &Home) -> Command;

    /// How a client is started: it takes statements from its input, a line each, writes answers a
    /// line a row, and ends at the first error.
    fn client(&self, home: &Home) -> Command;

    /// The signal that ends the server in order.
    fn ending(&self) -> Signal {
        Signal::TERM
    }

    /// A statement whose answer is the line [`ANSWERED`].
    fn answered(&self) -> &'static str {
        "SELECT 'answered';"
    }

    /// Statements that make a table `account(id, branch, balance, filler)` with an index on
    /// `branch`, and an empty one, `done(client, n)`; and load `rows` accounts with ids from 1.
    fn load(&self, rows: u32, balance: u32) -> Vec<String>;

    /// One transaction: moves 1 from the account with the smaller id to the other one, gives that
    /// the next branch, and notes that `client` has done its `n`-th.
    fn transfer(&self, client: u32, n: u32, from: u32, to: u32) -> String;

    /// Asks for the number of accounts and the sum of balances.
    fn books(&self) -> String;

    /// Asks for the number of accounts as the index on `branch` has it.
    fn indexed(&self) -> String;

    /// Asks for each client that has done any: its number, how many transactions are noted, and which is
    /// the last.
    fn done(&self) -> String;

    /// Asks for what is the same only if all that is in both tables is.
    fn content(&self) -> String;

    /// Has the database check itself. Panics when it found something.
    fn check(&self, client: &mut Client);
}

/// Where one server lives.
pub struct Home {
    /// Its data folder, on the disk.
    pub data: PathBuf,
    /// Sockets, logs and scripts, not on the disk.
    pub run: PathBuf,
    user: Option<&'static str>,
    _folder: TempDir,
}

impl Home {
    /// Makes a home with an empty data folder `data` in `disk`.
    pub fn new(database: &dyn Database, disk: &Path) -> Self {
        let folder = folder_for_all();
        let (data, run) = (disk.join("data"), folder.path().join("run"));
        let user = is_root().then(|| database.user());
        let home = Self { data, run, user, _folder: folder };
        let mut make = Command::new("install");
        make.args(["-d", "-m", "700"]);
        if let Some(user) = user {
            make.args(["-o", user]);
        }
        finish(make.args([&home.data, &home.run]), None);
        // The machine's administrator made it long ago.
        for folder in [home.data.as_path(), disk] {
            File::open(folder).and_then(|folder| folder.sync_all()).expect("a folder of ours");
        }
        home
    }

    /// A program that runs as the server's user, and is killed when this thread ends.
    pub fn program(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]);
        if let Some(user) = self.user {
            command.args(["--init-groups", "--reuid", user, "--regid", user]);
        }
        command.arg("--").arg(program).current_dir(&self.run).stdin(Stdio::null());
        command
    }

    /// Runs a program to its end. Panics when it fails.
    pub fn run(&self, command: &mut Command) {
        finish(command, Some(&self.log()));
    }

    /// The server's log, and that of what prepares it.
    pub fn log(&self) -> PathBuf {
        self.run.join("log")
    }
}

impl Drop for Home {
    /// What the server has said is told with what has failed.
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{}", tail(&self.log()));
        }
    }
}

/// However long it takes: a database is made by hundreds of statements.
fn finish(command: &mut Command, log: Option<&Path>) {
    if let Some(log) = log {
        write_to(command, log);
    }
    let status = command.status().expect("it is installed");
    let said = log.map(tail).unwrap_or_default();
    assert!(status.success(), "{command:?}: {status}\n{said}");
}

fn write_to(command: &mut Command, log: &Path) {
    let file = File::options().create(true).append(true).open(log).expect("a log");
    command.stdout(file.try_clone().expect("a descriptor")).stderr(file);
}

fn tail(log: &Path) -> String {
    let text = String::from_utf8_lossy(&fs::read(log).unwrap_or_default()).into_owned();
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}

/// Waits until a server has ended, which first writes to its disk what it has put off; one that does not in time is
/// killed.
fn wait(child: &mut Child) -> Option<std::process::ExitStatus> {
    let ended = ended_within(10 * PATIENCE, child);
    if ended.is_none() {
        let _ = child.kill();
    }
    ended
}

/// A server that runs. It is killed when this is dropped.
pub struct Server<'a> {
    database: &'a dyn Database,
    home: &'a Home,
    child: Child,
}

impl<'a> Server<'a> {
    /// Starts a server and waits until it answers.
    pub fn start(database: &'a dyn Database, home: &'a Home) -> Self {
        let mut command = database.server(home);
        write_to(&mut command, &home.log());
        let child = command.spawn().expect("the server is installed");
        let mut server = Self { database, home, child };
        wait_until("an answer of the server", || {
            let ended = server.child.try_wait().expect("a child of ours");
            assert!(ended.is_none(), "the server ended: {ended:?}");
            server.client().ask("").is_some()
        });
        server
    }

    /// A new client.
    pub fn client(&self) -> Client {
        Client::start(self.database, self.home)
    }

    /// Ends the server in order.
    pub fn stop(mut self) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, self.database.ending()).expect("a child of ours");
        let ended = wait(&mut self.child);
        let said = tail(&self.home.log());
        assert!(ended.is_some_and(|status| status.success()), "it ended: {ended:?}\n{said}");
    }

    /// Kills the server and all processes that it started.
    pub fn kill(self) {
        drop(self);
    }

    /// Which database it is.
    pub fn database(&self) -> &'a dyn Database {
        self.database
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        // Stopped, it starts no others meanwhile.
        let _ = kill_process(Pid::from_child(&self.child), Signal::STOP);
        let children = children(self.child.id()).into_iter();
        let children: Vec<_> =
            children.filter_map(|child| Pid::from_raw(child.cast_signed())).collect();
        let _ = self.child.kill();
        let _ = self.child.wait();
        for child in &children {
            let _ = kill_process(*child, Signal::KILL);
        }
        // One that waits for its disk ends when that has answered.
        if !thread::panicking() {
            wait_until("the end of the server's processes", || {
                children.iter().all(|child| test_kill_process(*child).is_err())
            });
        }
    }
}

/// A client process. It is killed when this is dropped.
pub struct Client {
    answered: &'static str,
    child: Child,
    input: ChildStdin,
    output: Receiver<String>,
    log: PathBuf,
}

impl Client {
    fn start(database: &dyn Database, home: &Home) -> Self {
        let mut command = database.client(home);
        let log = home.run.join("client-log");
        write_to(&mut command, &log);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.expect("the client is installed");
        let input = child.stdin.take().expect("piped");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let (sender, output) = channel();
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { answered: database.answered(), child, input, output, log }
    }

    /// Runs a statement and returns the rows of its answer. None when the client has ended. It may be one that loads
    /// or checks all rows.
    pub fn ask(&mut self, statement: &str) -> Option<Vec<String>> {
        writeln!(self.input, "{statement}\n{}", self.answered).ok()?;
        let mut rows = Vec::new();
        loop {
            match self.output.recv_timeout(10 * PATIENCE) {
                Ok(line) if line == ANSWERED => return Some(rows),
                Ok(line) => rows.push(line),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => panic!("no answer in time to {statement}"),
            }
        }
    }

    /// Runs a statement that can't fail.
    pub fn must(&mut self, statement: &str) -> Vec<String> {
        let rows = self.ask(statement);
        rows.unwrap_or_else(|| panic!("{statement}\n{}", tail(&self.log)))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
