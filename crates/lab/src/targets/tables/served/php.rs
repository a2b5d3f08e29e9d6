//! nginx and php-fpm before a database: started with files of their own in a folder of their own, on Unix
//! sockets, and always stopped.

mod files;
mod found;

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bakeoff_engines::{DatabaseAddress, Listens};
use bakeoff_workloads::site::Script;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, getppid, kill_process, kill_process_group,
    set_parent_process_death_signal, waitid,
};

use self::files::PhpDataSource;
use super::super::server::WithPhp;
use crate::TrialError;

pub use self::found::{find, installed, ready};

/// How long they may take to answer for the first time, and to end.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(10);
/// How much of a log is told.
const TOLD: usize = 2000;
/// What the log of php-fpm has of each worker that has ended by itself.
const DIED: &str = " exited ";
/// Kills two groups of processes as soon as its input ends: when who started them is gone, however that was.
const GUARD: &str = "read -r end; kill -KILL \"-$1\" \"-$2\" 2>/dev/null";

/// nginx and php-fpm that are running.
pub struct Stack {
    nginx: Child,
    php: Child,
    /// Ends both when this process is gone.
    guard: Option<Child>,
    log: PathBuf,
}

/// Where a stack has its files, and the control groups that its processes belong into.
pub struct StackPlace<'a> {
    /// The folder: it is empty.
    pub folder: &'a Path,
    /// The same folder by a short path that all processes of this user may take, for sockets.
    pub short: &'a Path,
    /// Those of nginx.
    pub nginx: &'a [PathBuf],
    /// Those of php-fpm.
    pub php: &'a [PathBuf],
}

impl Stack {
    /// Starts both, and waits until they answer.
    ///
    /// # Errors
    /// They are not installed, or don't start: with the last lines of their logs.
    pub fn start(
        room: &StackPlace<'_>,
        script: &Script,
        source: &PhpDataSource,
        gzip: bool,
    ) -> Result<Self, TrialError> {
        let found = find().map_err(TrialError::User)?;
        let failed = |what: &str| {
            let what = what.to_owned();
            move |error: io::Error| TrialError::place(&what, error)
        };
        let is_root = rustix::process::geteuid().is_root();
        let short = room.short.display().to_string();
        // A password and sockets are in it.
        let only_owner = fs::set_permissions(room.folder, Permissions::from_mode(0o700));
        only_owner.map_err(failed("the folder of the web stack"))?;
        for (name, text) in [
            ("page.php", script.text.to_owned()),
            ("store.php", include_str!("php/store.php").to_owned()),
            ("settings.php", files::settings(script, source)),
            ("nginx.conf", files::nginx(&short, is_root, gzip)),
            ("php-fpm.conf", files::php_fpm(&short, is_root)),
            ("php.ini", files::PHP_INI.to_owned()),
        ] {
            fs::write(room.folder.join(name), text).map_err(failed("a file of the web stack"))?;
        }
        let log = room.folder.join("php.log");
        let mut command = Command::new(&found.php_fpm);
        command.arg("-F").arg("-y").arg(room.short.join("php-fpm.conf"));
        command.arg("-c").arg(room.short.join("php.ini"));
        if is_root {
            // Its workers are root's, too: they reach a socket that is a database's user's alone.
            command.arg("-R");
        }
        let said = |name: &str| File::create(room.folder.join(name));
        let php = begin(command, room.php, said("php.out")).map_err(failed("php-fpm"))?;
        let mut command = Command::new(&found.nginx);
        command.arg("-c").arg(room.short.join("nginx.conf")).arg("-p").arg(room.short);
        command.arg("-e").arg(room.short.join("nginx.log"));
        let nginx = match begin(command, room.nginx, said("nginx.out")) {
            Ok(nginx) => nginx,
            Err(error) => {
                let mut php = php;
                end(&mut php);
                return Err(failed("nginx")(error));
            }
        };
        let mut stack = Self { nginx, php, guard: None, log };
        stack.guard = Some(guard(&stack).map_err(failed("what ends the web stack"))?);
        stack.answers(room)?;
        Ok(stack)
    }

    /// Waits until a page that asks no database is answered.
    fn answers(&self, room: &StackPlace<'_>) -> Result<(), TrialError> {
        let socket = room.short.join("web.sock");
        let start = Instant::now();
        while !is_ready(&socket) {
            let mut both = [("nginx", &self.nginx), ("php-fpm", &self.php)].into_iter();
            let how = match both.find(|(_, child)| has_ended(child)) {
                Some((name, _)) => format!("{name} has ended while it was starting"),
                None if start.elapsed() > PATIENCE => {
                    format!("nginx and php-fpm do not answer within {} s", PATIENCE.as_secs())
                }
                None => {
                    std::thread::sleep(PAUSE);
                    continue;
                }
            };
            let logs = ["nginx.out", "nginx.log", "php.out", "php.log"];
            let told: String = logs.iter().map(|name| tail(&room.folder.join(name))).collect();
            return Err(TrialError::Engine(format!("{how}; it said:\n{}", told.trim())));
        }
        Ok(())
    }

    /// The process of nginx.
    pub fn nginx(&self) -> u32 {
        self.nginx.id()
    }

    /// The process of php-fpm, whose workers are its children.
    pub fn php(&self) -> u32 {
        self.php.id()
    }

    /// How many of PHP's workers have died so far: nobody asked them to end.
    pub fn died(&self) -> u64 {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        log.lines().filter(|line| line.contains("child ") && line.contains(DIED)).count() as u64
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // Whoever asks comes through nginx.
        end(&mut self.nginx);
        end(&mut self.php);
        if let Some(mut guard) = self.guard.take() {
            let _ = guard.kill();
            let _ = guard.wait();
        }
    }
}

/// Starts a program in a group of processes of its own and in control groups; what it says is kept.
fn begin(mut command: Command, groups: &[PathBuf], said: io::Result<File>) -> io::Result<Child> {
    let said = said?;
    let open = |path: &PathBuf| File::options().write(true).open(path);
    let groups: Vec<File> = groups.iter().map(open).collect::<io::Result<_>>()?;
    command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said);
    command.env_clear().env("LC_ALL", "C").process_group(0);
    let parent = getpid();
    // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            for group in &groups {
                rustix::io::write(group, b"0")?;
            }
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have died before the line above took effect.
            if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
        });
    }
    command.spawn()
}

/// Starts what ends both when this process is gone: the death of a parent does not reach the workers.
fn guard(stack: &Stack) -> io::Result<Child> {
    let mut command = Command::new("sh");
    command.args(["-c", GUARD, "sh"]).arg(stack.nginx().to_string()).arg(stack.php().to_string());
    command.env_clear().stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.process_group(0).spawn()
}

/// Whether one has ended; it is not waited for by that.
fn has_ended(child: &Child) -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(Pid::from_child(child)), look), Ok(None))
}

/// Stops one with all its workers, in order or else by force.
fn end(child: &mut Child) {
    let pid = Pid::from_child(child);
    let _ = kill_process(pid, Signal::TERM);
    let start = Instant::now();
    while !has_ended(child) && start.elapsed() < PATIENCE {
        std::thread::sleep(PAUSE);
    }
    // Of one that has died the workers may be there still; its group has no other member. Nobody has waited
    // for it yet, so that its number is nobody else's.
    let _ = kill_process_group(pid, Signal::KILL);
    let _ = child.wait();
}

/// Whether a page that asks no database is answered.
fn is_ready(socket: &Path) -> bool {
    let asked = || -> io::Result<String> {
        let mut stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    asked().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("ready"))
}

/// The last lines of a log.
fn tail(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = &text[text.len().saturating_sub(TOLD)..];
    String::from_utf8_lossy(text).into_owned()
}

/// How PHP reaches a database; `first` are the statements that come first on each connection.
///
/// # Errors
/// It has no socket or file, or a path that PDO can't be given.
pub fn source(
    with: WithPhp,
    address: &DatabaseAddress,
    first: Vec<String>,
) -> Result<PhpDataSource, TrialError> {
    let unknown = || TrialError::process("the database is nowhere where PHP could reach it");
    let (user, password, dsn) = match address {
        DatabaseAddress::Files(path) => {
            (String::new(), String::new(), format!("sqlite:{}", path.display()))
        }
        DatabaseAddress::Server(server) => {
            let Listens::Socket(socket) = &server.listens else { return Err(unknown()) };
            let name = &server.database;
            let dsn = match with {
                WithPhp::MySql => format!("mysql:unix_socket={};dbname={name}", whole(socket)?),
                WithPhp::Postgres => {
                    let folder = whole(socket.parent().ok_or_else(unknown)?)?;
                    // As libpq has a value with spaces.
                    let folder = folder.replace('\\', "\\\\").replace('\'', "\\'");
                    format!("pgsql:host='{folder}';port=5432;dbname={name}")
                }
                WithPhp::Tarantool => format!("store:{}", socket.display()),
                WithPhp::Sqlite => return Err(unknown()),
            };
            let password = server.password.as_ref().map_or("", |it| it.reveal());
            (server.user.clone(), password.to_owned(), dsn)
        }
    };
    Ok(PhpDataSource { dsn, user, password, first })
}

/// A path as a part of the name of a data source of PDO's, whose parts end at semicolons.
fn whole(path: &Path) -> Result<String, TrialError> {
    let text = path.display().to_string();
    match text.contains(';') {
        true => Err(TrialError::User(format!(
            "PHP can't reach a socket whose path has a semicolon: {text}; run bakeoff elsewhere"
        ))),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_engines::ServerAddress;

    use super::*;

    #[test]
    fn a_path_is_whole_in_the_name_of_a_data_source_or_refused() {
        let dsn = |with, socket: &str| {
            let address = DatabaseAddress::Server(ServerAddress {
                listens: Listens::Socket(socket.into()),
                user: "bakeoff".into(),
                password: None,
                database: "d".into(),
            });
            source(with, &address, Vec::new()).map(|source| source.dsn)
        };
        assert_eq!(
            dsn(WithPhp::Postgres, r"/my b\c'd/.s.PGSQL.5432").unwrap(),
            r"pgsql:host='/my b\\c\'d';port=5432;dbname=d"
        );
        assert_eq!(
            dsn(WithPhp::MySql, "/my b/sock").unwrap(),
            "mysql:unix_socket=/my b/sock;dbname=d"
        );
        for with in [WithPhp::Postgres, WithPhp::MySql] {
            let told = dsn(with, "/a;b/sock").unwrap_err().to_string();
            assert!(told.contains("a semicolon: /a;b"), "{told}");
        }
    }
}
