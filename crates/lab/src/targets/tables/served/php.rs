//! Runs nginx and php-fpm before a database, with files in one private folder, on Unix sockets.
//! They are always stopped.

mod files;
mod programs;

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bakeoff_engines::{DatabaseAddress, ListenAddress};
use bakeoff_workloads::site::Script;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, getppid, kill_process, kill_process_group,
    set_parent_process_death_signal, waitid,
};

use self::files::PhpDataSource;
use super::super::server::PhpDatabase;
use crate::TrialError;

pub use self::programs::{check_ready, find_programs, installed_versions};

/// For the first answer, and for ending.
const STACK_TIMEOUT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(10);
const TOLD: usize = 2000;
/// Stands in php-fpm's log for each worker that ended by itself.
const DIED: &str = " exited ";
/// Kills two process groups when its input ends, which is when the starter is gone, for whatever
/// reason.
const GUARD: &str = "read -r end; kill -KILL \"-$1\" \"-$2\" 2>/dev/null";

pub struct Stack {
    nginx: Child,
    php: Child,
    guard: Option<Child>,
    log: PathBuf,
}

pub struct StackPlace<'a> {
    pub folder: &'a Path,
    /// The same folder by a short path for sockets.
    pub short: &'a Path,
    pub nginx: &'a [PathBuf],
    pub php: &'a [PathBuf],
}

impl Stack {
    pub fn start(
        room: &StackPlace<'_>,
        script: &Script,
        source: &PhpDataSource,
        gzip: bool,
    ) -> Result<Self, TrialError> {
        let found = find_programs().map_err(TrialError::User)?;
        let failed = |what: &str| {
            let what = what.to_owned();
            move |error: io::Error| TrialError::place_error(&what, error)
        };
        let is_root = rustix::process::geteuid().is_root();
        let short = room.short.display().to_string();
        // The file has a password, the folder sockets.
        let only_owner = fs::set_permissions(room.folder, Permissions::from_mode(0o700));
        only_owner.map_err(failed("the folder of the web stack"))?;
        for (name, text) in [
            ("page.php", script.text.to_owned()),
            ("store.php", include_str!("php/store.php").to_owned()),
            ("settings.php", files::script_settings(script, source)),
            ("nginx.conf", files::nginx_config(&short, is_root, gzip)),
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
            // Its workers run as root, too: they reach a socket that only a database's user may
            // use.
            command.arg("-R");
        }
        let said = |name: &str| File::create(room.folder.join(name));
        let php = spawn_program(command, room.php, said("php.out")).map_err(failed("php-fpm"))?;
        let mut command = Command::new(&found.nginx);
        command.arg("-c").arg(room.short.join("nginx.conf")).arg("-p").arg(room.short);
        command.arg("-e").arg(room.short.join("nginx.log"));
        let nginx = match spawn_program(command, room.nginx, said("nginx.out")) {
            Ok(nginx) => nginx,
            Err(error) => {
                let mut php = php;
                end_program(&mut php);
                return Err(failed("nginx")(error));
            }
        };
        let mut stack = Self { nginx, php, guard: None, log };
        stack.guard = Some(spawn_guard(&stack).map_err(failed("what ends the web stack"))?);
        stack.answers(room)?;
        Ok(stack)
    }

    fn answers(&self, room: &StackPlace<'_>) -> Result<(), TrialError> {
        let socket = room.short.join("web.sock");
        let start = Instant::now();
        while !is_ready(&socket) {
            let mut both = [("nginx", &self.nginx), ("php-fpm", &self.php)].into_iter();
            let how = match both.find(|(_, child)| has_ended(child)) {
                Some((name, _)) => format!("{name} has ended while it was starting"),
                None if start.elapsed() > STACK_TIMEOUT => {
                    format!("nginx and php-fpm do not answer within {} s", STACK_TIMEOUT.as_secs())
                }
                None => {
                    std::thread::sleep(PAUSE);
                    continue;
                }
            };
            let logs = ["nginx.out", "nginx.log", "php.out", "php.log"];
            let told: String = logs.iter().map(|name| log_tail(&room.folder.join(name))).collect();
            return Err(TrialError::Engine(format!("{how}; it said:\n{}", told.trim())));
        }
        Ok(())
    }

    pub fn nginx(&self) -> u32 {
        self.nginx.id()
    }

    /// PHP's main process; its children are the workers.
    pub fn php(&self) -> u32 {
        self.php.id()
    }

    pub fn count_dead_workers(&self) -> u64 {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        log.lines().filter(|line| line.contains("child ") && line.contains(DIED)).count() as u64
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // End nginx first: requests come through it.
        end_program(&mut self.nginx);
        end_program(&mut self.php);
        if let Some(mut guard) = self.guard.take() {
            let _ = guard.kill();
            let _ = guard.wait();
        }
    }
}

/// Runs it in its own process group and in control groups; keeps its output.
fn spawn_program(
    mut command: Command,
    groups: &[PathBuf],
    said: io::Result<File>,
) -> io::Result<Child> {
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

/// Ends both when this process is gone: a parent's death does not reach the workers.
fn spawn_guard(stack: &Stack) -> io::Result<Child> {
    let mut command = Command::new("sh");
    command.args(["-c", GUARD, "sh"]).arg(stack.nginx().to_string()).arg(stack.php().to_string());
    command.env_clear().stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.process_group(0).spawn()
}

fn has_ended(child: &Child) -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(Pid::from_child(child)), look), Ok(None))
}

fn end_program(child: &mut Child) {
    let pid = Pid::from_child(child);
    let _ = kill_process(pid, Signal::TERM);
    let start = Instant::now();
    while !has_ended(child) && start.elapsed() < STACK_TIMEOUT {
        std::thread::sleep(PAUSE);
    }
    // Its workers may still be there; its group has no other member. Nobody has waited for it, so
    // its number can't be reused.
    let _ = kill_process_group(pid, Signal::KILL);
    let _ = child.wait();
}

fn is_ready(socket: &Path) -> bool {
    let asked = || -> io::Result<String> {
        let mut stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(STACK_TIMEOUT))?;
        stream.write_all(b"GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    asked().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("ready"))
}

fn log_tail(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = &text[text.len().saturating_sub(TOLD)..];
    String::from_utf8_lossy(text).into_owned()
}

/// `first` are the first statements on each connection.
pub fn data_source(
    with: PhpDatabase,
    address: &DatabaseAddress,
    first: Vec<String>,
) -> Result<PhpDataSource, TrialError> {
    let unknown = || TrialError::process_error("the database is nowhere where PHP could reach it");
    let (user, password, dsn) = match address {
        DatabaseAddress::Files(path) => {
            (String::new(), String::new(), format!("sqlite:{}", path.display()))
        }
        DatabaseAddress::Server(server) => {
            let ListenAddress::Socket(socket) = &server.listens else { return Err(unknown()) };
            let name = &server.database;
            let dsn = match with {
                PhpDatabase::MySql => {
                    format!("mysql:unix_socket={};dbname={name}", quote_path(socket, ";")?)
                }
                PhpDatabase::Postgres => {
                    let folder = quote_path(socket.parent().ok_or_else(unknown)?, ";,")?;
                    // As libpq quotes a value with spaces.
                    let folder = folder.replace('\\', "\\\\").replace('\'', "\\'");
                    format!("pgsql:host='{folder}';port=5432;dbname={name}")
                }
                PhpDatabase::Tarantool => format!("store:{}", socket.display()),
                PhpDatabase::Sqlite => return Err(unknown()),
            };
            let password = server.password.as_ref().map_or("", |it| it.reveal());
            (server.user.clone(), password.to_owned(), dsn)
        }
    };
    Ok(PhpDataSource { dsn, user, password, first })
}

/// A path can't have `ends`: the parts of a PDO data source end at semicolons, libpq's hosts at
/// commas, too.
fn quote_path(path: &Path, ends: &str) -> Result<String, TrialError> {
    let text = path.display().to_string();
    match text.chars().find(|letter| ends.contains(*letter)) {
        Some(end) => Err(TrialError::User(format!(
            "PHP can't reach a socket whose path has the character {end}: {text}; run bakeoff elsewhere"
        ))),
        None => Ok(text),
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
                listens: ListenAddress::Socket(socket.into()),
                user: "bakeoff".into(),
                password: None,
                database: "d".into(),
            });
            data_source(with, &address, Vec::new()).map(|source| source.dsn)
        };
        assert_eq!(
            dsn(PhpDatabase::Postgres, r"/my b\c'd/.s.PGSQL.5432").unwrap(),
            r"pgsql:host='/my b\\c\'d';port=5432;dbname=d"
        );
        assert_eq!(
            dsn(PhpDatabase::MySql, "/my b/sock").unwrap(),
            "mysql:unix_socket=/my b/sock;dbname=d"
        );
        for (with, end) in
            [(PhpDatabase::Postgres, ';'), (PhpDatabase::Postgres, ','), (PhpDatabase::MySql, ';')]
        {
            let told = dsn(with, &format!("/a{end}b/sock")).unwrap_err().to_string();
            assert!(told.contains(&format!("the character {end}: /a{end}b")), "{told}");
        }
    }
}
