//! Where servers are installed.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use rustix::io::Errno;

use crate::account::ServerAccount;
use crate::error::{Error, Result};
use crate::kind::ServerProduct;
use crate::launch::spelling;

/// A server that can be started: its kind, and where it is looked for.
#[derive(Debug)]
pub struct ServerProgram {
    kind: &'static dyn ServerProduct,
    /// The folder of the installation; `None` for wherever one is usually put.
    folder: Option<PathBuf>,
    found: OnceLock<InstalledServer>,
}

/// A server that is installed.
#[derive(Clone, Debug)]
pub struct InstalledServer {
    /// Its kind.
    pub kind: &'static dyn ServerProduct,
    /// Its version, for instance `10.11.19`.
    pub version: String,
    /// The server's program.
    pub server: PathBuf,
    /// The program that initialises a data folder.
    pub initialiser: PathBuf,
    /// The folder that it was moved to with all that belongs to it, where somebody named one.
    base: Option<PathBuf>,
}

impl ServerProgram {
    /// The server of a kind that is found in PATH, then where it is usually put.
    pub const fn usual(kind: &'static dyn ServerProduct) -> Self {
        Self { kind, folder: None, found: OnceLock::new() }
    }

    /// The server of a kind in the folder of an installation, and nowhere else.
    pub const fn in_folder(kind: &'static dyn ServerProduct, folder: PathBuf) -> Self {
        Self { kind, folder: Some(folder), found: OnceLock::new() }
    }

    /// Its kind.
    pub fn kind(&self) -> &'static dyn ServerProduct {
        self.kind
    }

    /// Finds the server on this machine, once.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::NotThere`], [`Error::Foreign`] or [`Error::TooOld`].
    pub fn find(&self) -> Result<&InstalledServer> {
        if let Some(installed) = self.found.get() {
            return Ok(installed);
        }
        let installed = self.find_in(&self.folders())?;
        Ok(self.found.get_or_init(|| installed))
    }

    fn folders(&self) -> Vec<PathBuf> {
        if let Some(folder) = &self.folder {
            return self.kind.subfolders().iter().map(|below| folder.join(below)).collect();
        }
        let path = env::var_os("PATH").unwrap_or_default();
        let usual = self.kind.folders().iter().flat_map(|pattern| expand(pattern));
        env::split_paths(&path).chain(usual).collect()
    }

    fn find_in(&self, folders: &[PathBuf]) -> Result<InstalledServer> {
        let kind = self.kind;
        let [server, initialiser] = kind.executables();
        let locate = |executable, folders: &[PathBuf]| {
            let mut paths = folders.iter().map(|folder| folder.join(executable));
            paths.find(|path| path.is_file()).ok_or_else(|| self.missing(executable))
        };
        let server = locate(server, folders)?;
        // Of several versions that are installed, the one that belongs to the server.
        let beside = fs::canonicalize(&server).unwrap_or_else(|_| server.clone());
        let beside = beside.parent().into_iter().map(Path::to_path_buf);
        let nearest: Vec<_> = beside.chain(folders.iter().cloned()).collect();
        let initialiser = locate(initialiser, &nearest)?;
        let said = said(&server, &["--version"]).map_err(|error| self.not_run(&server, error))?;
        let version = version(&said).to_owned();
        let oldest = kind.oldest();
        if parts(&version) < oldest {
            return Err(Error::TooOld {
                kind,
                version,
                executable: server,
                oldest: format!("{}.{}", oldest.0, oldest.1),
                package: kind.package(),
            });
        }
        let base =
            self.folder.as_ref().and_then(|_| Some(server.parent()?.parent()?.to_path_buf()));
        Ok(InstalledServer { kind, version, server, initialiser, base })
    }

    /// Why a server's program could not be run.
    fn not_run(&self, server: &Path, error: Error) -> Error {
        let kind = self.kind;
        match error {
            Error::System { ref source, .. }
                if source.raw_os_error() == Some(Errno::NOEXEC.raw_os_error()) =>
            {
                Error::Foreign { kind, executable: server.into(), package: kind.package() }
            }
            other => other,
        }
    }

    fn missing(&self, executable: &'static str) -> Error {
        let kind = self.kind;
        let Some(folder) = self.folder.clone() else {
            return Error::Missing { kind, executable, package: kind.package() };
        };
        let below = kind.subfolders().iter().copied().filter(|below| !below.is_empty());
        let subfolders = below.collect::<Vec<_>>().join(", ");
        Error::NotThere { kind, executable, folder, subfolders }
    }
}

impl InstalledServer {
    /// Adds to a whole command of the server's what has it find its own files where it is installed.
    pub fn relocate(&self, command: &mut Command) {
        if let Some(base) = &self.base {
            self.kind.relocate(command, base);
        }
    }

    /// Has the server read settings, as the user that it runs as, without any data.
    ///
    /// # Errors
    /// What it says of the first that it does not know, or whose value it does not take.
    pub fn try_settings(&self, settings: &[(String, String)]) -> Result<()> {
        let mut command = Command::new(&self.server);
        command.env_clear().env("LC_ALL", "C").current_dir("/").stdin(Stdio::null());
        self.kind.try_settings(&mut command, settings);
        self.relocate(&mut command);
        if let Some((uid, gid)) = ServerAccount::choose(self.kind.user())?.ids() {
            command.uid(uid.as_raw()).gid(gid.as_raw());
        }
        let output = command.output().map_err(Error::at("run", &self.server))?;
        let said = String::from_utf8_lossy(&output.stderr);
        match self.complaint(&said, settings, output.status.success()) {
            Some(complaint) => Err(Error::Complains { kind: self.kind, complaint }),
            None => Ok(()),
        }
    }

    /// The first complaint in what the program said. Where the program ended well, the first that names a
    /// setting: it complains of other things, too, that it lacks.
    fn complaint(
        &self,
        said: &str,
        settings: &[(String, String)],
        ended_well: bool,
    ) -> Option<String> {
        let names: Vec<_> = settings.iter().map(|(name, _)| spelling(name)).collect();
        let mut complaints = said.lines().filter_map(|line| {
            let words = self.kind.complaints().iter().find_map(|mark| line.split_once(mark))?.1;
            Some(words.trim())
        });
        let names_one = |words: &&str| {
            let words = spelling(words);
            names.iter().any(|name| words.contains(name))
        };
        let found = if ended_well { complaints.find(names_one) } else { complaints.next() };
        let silent = || (!ended_well).then_some("it ended without a word");
        found.or_else(silent).map(ToOwned::to_owned)
    }
}

/// What a program says on its output.
fn said(program: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let Output { stdout, .. } = output.map_err(Error::at("run", program))?;
    Ok(String::from_utf8_lossy(&stdout).into_owned())
}

/// The folders that a pattern with at most one `*` stands for, highest version first.
fn expand(pattern: &str) -> Vec<PathBuf> {
    let Some((before, after)) = pattern.split_once('*') else { return vec![pattern.into()] };
    let (parent, prefix) = before.rsplit_once('/').unwrap_or(("", before));
    let names = fs::read_dir(parent).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<_> = names.filter(|name| name.starts_with(prefix)).collect();
    names.sort_by_key(|name| std::cmp::Reverse(parts(&name[prefix.len()..])));
    let after = after.trim_start_matches('/');
    names.iter().map(|name| Path::new(parent).join(name).join(OsStr::new(after))).collect()
}

/// The version in what a server says of itself: `mariadbd  Ver 10.11.19-MariaDB for …`.
fn version(said: &str) -> &str {
    let mut words = said.split_whitespace();
    let word = words.find(|word| word.starts_with(|first: char| first.is_ascii_digit()));
    let word = word.unwrap_or_default();
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    &word[..end]
}

/// A version's first two numbers.
fn parts(version: &str) -> (u32, u32) {
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::{MADE_UP, installation};

    #[test]
    fn what_is_not_installed_is_named_with_the_command_that_brings_it() {
        let empty = tempfile::tempdir().expect("a folder");
        let usual = ServerProgram::usual(&MADE_UP);
        let nowhere = usual.find_in(&[]).expect_err("there is no folder").to_string();
        assert!(nowhere.contains("no made-up in PATH"), "{nowhere}");
        assert!(nowhere.contains("apt-get install made-up-server"), "{nowhere}");
        let folders = [empty.path().to_path_buf()];
        let error = usual.find_in(&folders).expect_err("it is empty").to_string();
        assert!(error.contains("apt-get install made-up-server"), "{error}");

        let (program, half) = installation("made-up 1.5");
        fs::remove_file(half.path().join("made-up-init")).expect("it is there");
        let error = program.find().expect_err("half of it").to_string();
        assert!(error.contains("no made-up-init"), "{error}");
    }

    #[test]
    fn an_installation_is_looked_for_in_its_folder_and_nowhere_else() {
        let (flat, folder) = installation("made-up 1.5");
        assert_eq!(flat.find().expect("it is there").server, folder.path().join("made-up"));
        let (_, deep) = installation("made-up 1.6");
        let bin = deep.path().join("opt/bin");
        fs::create_dir_all(&bin).expect("room");
        for name in MADE_UP.executables() {
            fs::rename(deep.path().join(name), bin.join(name)).expect("room");
        }
        let program = ServerProgram::in_folder(&MADE_UP, deep.path().join("opt"));
        let found = program.find().expect("it is there");
        assert_eq!((&found.server, &*found.version), (&bin.join("made-up"), "1.6"));
        let mut command = Command::new(&found.server);
        found.relocate(&mut command);
        let told: Vec<_> = command.get_envs().map(|(_, value)| value.map(Path::new)).collect();
        assert_eq!(told, [Some(&*deep.path().join("opt"))]);
        // It is in PATH and in the folder above, and in neither of the two.
        let program = ServerProgram::in_folder(&MADE_UP, folder.path().join("lib"));
        let error = program.find().expect_err("there is no such folder").to_string();
        for part in ["no made-up of MadeUp in", "/lib:", "(bin)"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn what_is_too_old_is_named_with_what_would_do() {
        let cases = [("made-up  Ver 1.3.29-x for Linux on x86_64", "1.3.29"), ("no version", "")];
        for (said, version) in cases {
            let (program, _folder) = installation(said);
            let error = program.find().expect_err("too old");
            assert!(matches!(&error, Error::TooOld { version: old, .. } if old == version));
            assert!(error.to_string().contains("1.4 or later"), "{error}");
        }
    }

    #[test]
    fn a_program_for_another_processor_is_told_with_what_brings_one_for_this_machine() {
        let (program, folder) = installation("made-up 1.5");
        let server = folder.path().join(MADE_UP.executables()[0]);
        // The head of an ELF program of 64 bits, highest byte first, for a processor that there is not.
        let mut head = [0; 64];
        head[..7].copy_from_slice(b"\x7fELF\x02\x02\x01");
        head[17..20].copy_from_slice(&[2, 0xff, 0xff]);
        let written = folder.path().join("head");
        fs::write(&written, head).expect("room");
        // By another process, as scripts are: a file that is open for writing here could not be run.
        let mut install = Command::new("install");
        install.args(["-m", "755"]).arg(&written).arg(&server);
        assert!(install.status().expect("it is on every system").success());
        let error = program.find().expect_err("it is for another machine");
        assert!(matches!(&error, Error::Foreign { executable, .. } if *executable == server));
        let said = error.to_string();
        for part in ["another kind of processor", "apt-get install made-up-server"] {
            assert!(said.contains(part), "{said}");
        }
    }

    #[test]
    fn what_is_new_enough_is_found_with_its_version() {
        let cases = [
            ("made-up  Ver 1.4.0-x for Linux on x86_64", "1.4.0"),
            ("made-up from 11.8.2-x, client 15.2 for Linux", "11.8.2"),
            ("postgres (PostgreSQL) 13.0", "13.0"),
            ("postgres (PostgreSQL) 19devel", "19"),
        ];
        for (said, version) in cases {
            let (program, folder) = installation(said);
            let found = program.find().expect("new enough");
            assert_eq!(found.version, version);
            assert_eq!(found.server.parent(), Some(folder.path()));
        }
    }

    #[test]
    fn the_newest_of_several_versions_counts() {
        let parent = tempfile::tempdir().expect("a folder");
        for version in ["9.6", "17", "15", "other"] {
            fs::create_dir_all(parent.path().join(version).join("bin")).expect("room");
        }
        let found = expand(&format!("{}/*/bin", parent.path().display()));
        let expected = ["17", "15", "9.6", "other"];
        let expected = expected.map(|version| parent.path().join(version).join("bin"));
        assert_eq!(found, expected);
        assert_eq!(expand("/usr/sbin"), [Path::new("/usr/sbin")]);
        assert!(expand("/no/such/*/bin").is_empty());
    }
}
