//! Finds installed servers.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use rustix::io::Errno;

use crate::servers::account::ServerAccount;
use crate::servers::error::{Error, Result};
use crate::servers::kind::ServerProduct;
use crate::servers::launch::to_spelling;

#[derive(Debug)]
pub struct ServerProgram {
    kind: &'static dyn ServerProduct,
    folder: Option<PathBuf>,
    found: OnceLock<InstalledServer>,
}

#[derive(Clone, Debug)]
pub struct InstalledServer {
    pub kind: &'static dyn ServerProduct,
    pub version: String,
    pub server: PathBuf,
    pub initialiser: PathBuf,
    /// The named folder that it was moved to with all its files.
    base: Option<PathBuf>,
}

impl ServerProgram {
    /// The server in PATH, or where it is usually installed.
    pub const fn from_kind(kind: &'static dyn ServerProduct) -> Self {
        Self { kind, folder: None, found: OnceLock::new() }
    }

    pub const fn in_folder(kind: &'static dyn ServerProduct, folder: PathBuf) -> Self {
        Self { kind, folder: Some(folder), found: OnceLock::new() }
    }

    /// A server that was found by other means.
    pub fn from_installed(installed: InstalledServer) -> Self {
        let kind = installed.kind;
        Self { kind, folder: None, found: OnceLock::from(installed) }
    }

    pub fn kind(&self) -> &'static dyn ServerProduct {
        self.kind
    }

    pub fn find_installed(&self) -> Result<&InstalledServer> {
        if let Some(installed) = self.found.get() {
            return Ok(installed);
        }
        let installed = self.find_in(&self.candidate_folders())?;
        Ok(self.found.get_or_init(|| installed))
    }

    fn candidate_folders(&self) -> Vec<PathBuf> {
        if let Some(folder) = &self.folder {
            return self.kind.subfolders().iter().map(|below| folder.join(below)).collect();
        }
        let path = env::var_os("PATH").unwrap_or_default();
        let usual = self.kind.usual_folders().iter().flat_map(|pattern| expand_pattern(pattern));
        env::split_paths(&path).chain(usual).collect()
    }

    fn find_in(&self, folders: &[PathBuf]) -> Result<InstalledServer> {
        let kind = self.kind;
        let [server, initialiser] = kind.executables();
        let locate = |executable, folders: &[PathBuf]| {
            let mut paths = folders.iter().map(|folder| folder.join(executable));
            paths.find(|path| path.is_file()).ok_or_else(|| self.missing_error(executable))
        };
        let server = locate(server, folders)?;
        // If several versions are installed: the one beside the server.
        let beside = fs::canonicalize(&server).unwrap_or_else(|_| server.clone());
        let beside = beside.parent().into_iter().map(Path::to_path_buf);
        let nearest: Vec<_> = beside.chain(folders.iter().cloned()).collect();
        let initialiser = locate(initialiser, &nearest)?;
        let said =
            ask_output(&server, &["--version"]).map_err(|error| self.not_run(&server, error))?;
        let version = parse_version(&said).to_owned();
        let oldest = kind.oldest_version();
        if version_numbers(&version) < oldest {
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

    fn missing_error(&self, executable: &'static str) -> Error {
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
    pub fn new(
        kind: &'static dyn ServerProduct,
        version: String,
        server: PathBuf,
        initialiser: PathBuf,
    ) -> Self {
        Self { kind, version, server, initialiser, base: None }
    }

    pub fn relocate(&self, command: &mut Command) {
        if let Some(base) = &self.base {
            self.kind.relocate(command, base);
        }
    }

    /// The server reads settings as the user that it runs as, without data.
    pub fn try_settings(&self, settings: &[(String, String)]) -> Result<()> {
        let mut command = Command::new(&self.server);
        command.env_clear().env("LC_ALL", "C").current_dir("/").stdin(Stdio::null());
        self.kind.try_settings(&mut command, settings);
        self.relocate(&mut command);
        if let Some((uid, gid)) = ServerAccount::choose_user(self.kind.user())?.ids() {
            command.uid(uid.as_raw()).gid(gid.as_raw());
        }
        let output = command.output().map_err(Error::at_path("run", &self.server))?;
        let said = String::from_utf8_lossy(&output.stderr);
        match self.find_complaint(&said, settings, output.status.success()) {
            Some(complaint) => Err(Error::Complains { kind: self.kind, complaint }),
            None => Ok(()),
        }
    }

    /// The first complaint. If the program ended well: the first that names a setting, since it
    /// also complains about missing other things.
    fn find_complaint(
        &self,
        said: &str,
        settings: &[(String, String)],
        ended_well: bool,
    ) -> Option<String> {
        let names: Vec<_> = settings.iter().map(|(name, _)| to_spelling(name)).collect();
        let mut complaints = said.lines().filter_map(|line| {
            let words =
                self.kind.complaint_marks().iter().find_map(|mark| line.split_once(mark))?.1;
            Some(words.trim())
        });
        let names_one = |words: &&str| {
            let words = to_spelling(words);
            names.iter().any(|name| words.contains(name))
        };
        let found = if ended_well { complaints.find(names_one) } else { complaints.next() };
        let silent = || (!ended_well).then_some("it ended without a word");
        found.or_else(silent).map(ToOwned::to_owned)
    }
}

fn ask_output(program: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let Output { status, stdout, .. } = output.map_err(Error::at_path("run", program))?;
    if !status.success() {
        let what = format!("{} {}", program.display(), arguments.join(" "));
        return Err(Error::System { what, source: io::Error::other(format!("{status}")) });
    }
    Ok(String::from_utf8_lossy(&stdout).into_owned())
}

fn expand_pattern(pattern: &str) -> Vec<PathBuf> {
    let Some((before, after)) = pattern.split_once('*') else { return vec![pattern.into()] };
    let (parent, prefix) = before.rsplit_once('/').unwrap_or(("", before));
    let names = fs::read_dir(parent).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<_> = names.filter(|name| name.starts_with(prefix)).collect();
    names.sort_by_key(|name| std::cmp::Reverse(version_numbers(&name[prefix.len()..])));
    let after = after.trim_start_matches('/');
    names.iter().map(|name| Path::new(parent).join(name).join(OsStr::new(after))).collect()
}

fn parse_version(said: &str) -> &str {
    let mut words = said.split_whitespace();
    let word = words.find(|word| word.starts_with(|first: char| first.is_ascii_digit()));
    let word = word.unwrap_or_default();
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    &word[..end]
}

fn version_numbers(version: &str) -> (u32, u32) {
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use bakeoff_testkit::write_script;

    use super::*;
    use crate::servers::made_up::{MADE_UP, make_installation};

    #[test]
    fn what_is_not_installed_is_named_with_the_command_that_brings_it() {
        let empty = tempfile::tempdir().expect("a folder");
        let usual = ServerProgram::from_kind(&MADE_UP);
        let nowhere = usual.find_in(&[]).expect_err("there is no folder").to_string();
        assert!(nowhere.contains("no made-up in PATH"), "{nowhere}");
        assert!(nowhere.contains("apt-get install made-up-server"), "{nowhere}");
        let folders = [empty.path().to_path_buf()];
        let error = usual.find_in(&folders).expect_err("it is empty").to_string();
        assert!(error.contains("apt-get install made-up-server"), "{error}");

        let (program, half) = make_installation("made-up 1.5");
        fs::remove_file(half.path().join("made-up-init")).expect("it is there");
        let error = program.find_installed().expect_err("half of it").to_string();
        assert!(error.contains("no made-up-init"), "{error}");
    }

    #[test]
    fn an_installation_is_looked_for_in_its_folder_and_nowhere_else() {
        let (flat, folder) = make_installation("made-up 1.5");
        assert_eq!(
            flat.find_installed().expect("it is there").server,
            folder.path().join("made-up")
        );
        let (_, deep) = make_installation("made-up 1.6");
        let bin = deep.path().join("opt/bin");
        fs::create_dir_all(&bin).expect("room");
        for name in MADE_UP.executables() {
            fs::rename(deep.path().join(name), bin.join(name)).expect("room");
        }
        let program = ServerProgram::in_folder(&MADE_UP, deep.path().join("opt"));
        let found = program.find_installed().expect("it is there");
        assert_eq!((&found.server, &*found.version), (&bin.join("made-up"), "1.6"));
        let mut command = Command::new(&found.server);
        found.relocate(&mut command);
        let told: Vec<_> = command.get_envs().map(|(_, value)| value.map(Path::new)).collect();
        assert_eq!(told, [Some(&*deep.path().join("opt"))]);
        // It is in PATH and in the folder above, and in neither of the two.
        let program = ServerProgram::in_folder(&MADE_UP, folder.path().join("lib"));
        let error = program.find_installed().expect_err("there is no such folder").to_string();
        for part in ["no made-up of MadeUp in", "/lib:", "(bin)"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_program_that_is_killed_before_it_tells_its_version_is_not_too_old() {
        for (ends, said) in [("kill -9 $$", "--version: signal: 9"), ("exit 3", "exit status: 3")] {
            let (program, folder) = make_installation("made-up 1.5");
            write_script(&folder.path().join(MADE_UP.executables()[0]), ends);
            let error = program.find_installed().expect_err("it ended").to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn a_program_for_another_processor_is_told_with_what_brings_one_for_this_machine() {
        let (program, folder) = make_installation("made-up 1.5");
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
        let error = program.find_installed().expect_err("it is for another machine");
        assert!(matches!(&error, Error::Foreign { executable, .. } if *executable == server));
        let said = error.to_string();
        for part in ["another kind of processor", "apt-get install made-up-server"] {
            assert!(said.contains(part), "{said}");
        }
    }

    #[test]
    fn a_version_is_found_and_has_to_be_new_enough() {
        for (said, version, will_do) in [
            ("made-up  Ver 1.4.0-x for Linux on x86_64", "1.4.0", true),
            ("made-up from 11.8.2-x, client 15.2 for Linux", "11.8.2", true),
            ("postgres (PostgreSQL) 13.0", "13.0", true),
            ("postgres (PostgreSQL) 19devel", "19", true),
            ("made-up  Ver 1.3.29-x for Linux on x86_64", "1.3.29", false),
            ("no version", "", false),
        ] {
            let (program, _folder) = make_installation(said);
            match program.find_installed() {
                Ok(found) => assert_eq!((&*found.version, true), (version, will_do), "{said}"),
                Err(error) => {
                    assert!(error.to_string().contains("1.4 or later"), "{error}");
                    let Error::TooOld { version: old, .. } = error else { panic!("{error:?}") };
                    assert_eq!((&*old, false), (version, will_do), "{said}");
                }
            }
        }
    }

    #[test]
    fn the_newest_of_several_versions_counts() {
        let parent = tempfile::tempdir().expect("a folder");
        for version in ["9.6", "17", "15", "other"] {
            fs::create_dir_all(parent.path().join(version).join("bin")).expect("room");
        }
        let found = expand_pattern(&format!("{}/*/bin", parent.path().display()));
        let expected = ["17", "15", "9.6", "other"];
        let expected = expected.map(|version| parent.path().join(version).join("bin"));
        assert_eq!(found, expected);
        assert_eq!(expand_pattern("/usr/sbin"), [Path::new("/usr/sbin")]);
        assert!(expand_pattern("/no/such/*/bin").is_empty());
    }
}
