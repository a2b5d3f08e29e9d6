//! The particulars of a server of the user's own, by its commands.

use std::env;
use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::ioctl_fionbio;
use rustix::process::{Pid, kill_process_group};

use crate::Durability;
use crate::servers::{
    Launch, Review, ServerAccount, ServerPlaces, ServerProduct, ServerUser, Signal,
};

use super::{OwnServerCommands, locate_program};

/// Settings of a launch, by which it says what it stands for.
pub const LEVEL: &str = "level";
pub const MEMORY: &str = "memory";

/// How long one test, or the question for its version, may take.
const TEST_TIME: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(5);

static REVIEW: Review =
    Review { reserved: "", trusted: &[], harmless: "", prefixes: &[], abbreviates: false };

#[derive(Debug)]
pub struct OwnServerProduct(pub &'static OwnServerCommands);

impl OwnServerProduct {
    pub fn find_executable(&self) -> Result<PathBuf, String> {
        let OwnServerCommands { folder, start, .. } = self.0;
        let program = locate_program(folder, &start[0]);
        let candidates: Vec<PathBuf> = match program.is_absolute() {
            true => vec![program],
            false => {
                let path = env::var_os("PATH").unwrap_or_default();
                env::split_paths(&path).map(|folder| folder.join(&program)).collect()
            }
        };
        let found = candidates.into_iter().find(|path| path.is_file());
        found.ok_or_else(|| format!("no program {} is there, or in PATH", start[0]))
    }

    /// The first line that the version's command prints.
    pub fn ask_version(&self) -> String {
        let mut command = self.make_command(&self.0.version);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let said = run_soon(command).unwrap_or_default();
        let line = said.lines().next().unwrap_or_default().trim();
        if line.is_empty() { "unknown".into() } else { line.chars().take(100).collect() }
    }

    /// As the server's user: never with more rights.
    fn make_command(&self, words: &[String]) -> Command {
        let mut command = Command::new(locate_program(&self.0.folder, &words[0]));
        command.args(&words[1..]).env_clear().env("LC_ALL", "C").current_dir("/");
        command.envs(env::var_os("PATH").map(|path| ("PATH", path)));
        if let Ok(Some((uid, gid))) =
            ServerAccount::choose_user(&self.0.user).map(|account| account.ids())
        {
            command.uid(uid.as_raw()).gid(gid.as_raw());
        }
        command
    }
}

fn fill_word(word: &str, places: &ServerPlaces, memory: &str) -> String {
    let path = |path: &Path| path.display().to_string();
    word.replace("{data}", &path(&places.data))
        .replace("{socket}", &path(&places.socket))
        .replace("{tmp}", &path(&places.temporary))
        .replace("{memory}", memory)
}

impl ServerProduct for OwnServerProduct {
    fn name(&self) -> &'static str {
        &self.0.name
    }

    fn package(&self) -> &'static str {
        ""
    }

    fn user(&self) -> &'static str {
        &self.0.user
    }

    fn executables(&self) -> [&'static str; 2] {
        [&self.0.start[0], "true"]
    }

    fn usual_folders(&self) -> &'static [&'static str] {
        &[]
    }

    fn subfolders(&self) -> &'static [&'static str] {
        &[]
    }

    fn oldest_version(&self) -> (u32, u32) {
        (0, 0)
    }

    fn socket_name(&self) -> &'static str {
        "socket"
    }

    fn stale_files(&self, places: &ServerPlaces) -> Vec<PathBuf> {
        vec![places.socket.clone()]
    }

    fn review(&self) -> &'static Review {
        &REVIEW
    }

    fn complaint_marks(&self) -> &'static [&'static str] {
        &[]
    }

    fn initialise(&self, _: &mut Command, _: &ServerPlaces, _: &Path, _: &Launch) {}

    fn serve(&self, command: &mut Command, places: &ServerPlaces, launch: &Launch) {
        let given = |name: &str| {
            let found = launch.settings.iter().find(|(setting, _)| setting == name);
            found.map_or("", |(_, value)| value)
        };
        let level = Durability::from_name(given(LEVEL)).and_then(|it| self.0.levels.get(&it));
        let arguments = level.map_or(&[][..], |level| &level.arguments);
        let words = self.0.start[1..].iter().chain(arguments);
        command.args(words.map(|word| fill_word(word, places, given(MEMORY))));
    }

    fn try_settings(&self, _: &mut Command, _: &[(String, String)]) {}

    fn stop_signal(&self) -> Signal {
        self.0.stop
    }

    fn answers(&self, places: &ServerPlaces) -> bool {
        UnixStream::connect(&places.socket).is_ok()
    }

    /// Beside the server: as its user, and where it sees its socket.
    fn passes_test(&self, places: &ServerPlaces, pid: u32) -> bool {
        let Some(test) = &self.0.test else { return true };
        let Ok(user) = ServerUser::of_server(pid) else { return false };
        let socket = match &user {
            Some(user) => user.find_socket(&places.socket),
            None => places.socket.clone(),
        };
        let socket = socket.display().to_string();
        let mut command = Command::new(locate_program(&self.0.folder, &test[0]));
        command.args(test[1..].iter().map(|word| word.replace("{socket}", &socket)));
        command.env_clear().env("LC_ALL", "C").current_dir("/");
        command.envs(env::var_os("PATH").map(|path| ("PATH", path)));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
        unsafe {
            command.pre_exec(move || user.as_ref().map_or(Ok(()), ServerUser::become_user));
        }
        run_soon(command).is_some()
    }

    fn start_time(&self) -> Duration {
        self.0.start_period
    }

    fn stop_time(&self) -> Duration {
        self.0.grace
    }
}

/// What it has printed, if it ends well in time. Otherwise it is ended, with its group.
fn run_soon(mut command: Command) -> Option<String> {
    const MOST_READ: usize = 4096;
    let mut child = command.process_group(0).stdin(Stdio::null()).spawn().ok()?;
    let group = Pid::from_child(&child);
    let started = Instant::now();
    let mut ended = None;
    while ended.is_none() && started.elapsed() < TEST_TIME {
        thread::sleep(LOOK);
        ended = child.try_wait().ok()?;
    }
    // Also what it has started: nobody waits for its end.
    let _ = kill_process_group(group, Signal::KILL);
    let Some(status) = ended else {
        let _ = child.wait();
        return None;
    };
    let mut said = vec![0; MOST_READ];
    let read = match &mut child.stdout {
        Some(pipe) => {
            ioctl_fionbio(&*pipe, true).ok()?;
            pipe.read(&mut said).unwrap_or(0)
        }
        None => 0,
    };
    said.truncate(read);
    status.success().then(|| String::from_utf8_lossy(&said).into_owned())
}
