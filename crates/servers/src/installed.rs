//! Where servers are installed.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use crate::error::{Error, Result};
use crate::program::Program;

/// A server that is installed.
#[derive(Clone, Debug)]
pub struct Installed {
    /// Which server.
    pub program: Program,
    /// Its version, for instance `10.11.19`.
    pub version: String,
    /// The server's program.
    pub server: PathBuf,
    /// The program that initialises a data folder.
    pub initialiser: PathBuf,
    plugins: OnceLock<PathBuf>,
}

impl Program {
    /// Finds the server on this machine, once a process: in PATH, then where it is usually put.
    ///
    /// # Errors
    /// [`Error::Missing`] or [`Error::TooOld`].
    pub fn find(self) -> Result<&'static Installed> {
        static FOUND: [OnceLock<Installed>; 2] = [OnceLock::new(), OnceLock::new()];
        let found = &FOUND[self as usize];
        if let Some(installed) = found.get() {
            return Ok(installed);
        }
        let installed = self.find_in(&self.folders())?;
        Ok(found.get_or_init(|| installed))
    }

    fn folders(self) -> Vec<PathBuf> {
        let path = env::var_os("PATH").unwrap_or_default();
        let usual = self.kind().folders().iter().flat_map(|pattern| expand(pattern));
        env::split_paths(&path).chain(usual).collect()
    }

    fn find_in(self, folders: &[PathBuf]) -> Result<Installed> {
        let kind = self.kind();
        let [server, initialiser] = kind.executables();
        let locate = |executable, folders: &[PathBuf]| {
            let mut paths = folders.iter().map(|folder| folder.join(executable));
            let package = kind.package();
            let missing = Error::Missing { program: self, executable, package };
            paths.find(|path| path.is_file()).ok_or(missing)
        };
        let server = locate(server, folders)?;
        // Of several versions that are installed, the one that belongs to the server.
        let beside = fs::canonicalize(&server).unwrap_or_else(|_| server.clone());
        let beside = beside.parent().into_iter().map(Path::to_path_buf);
        let nearest: Vec<_> = beside.chain(folders.iter().cloned()).collect();
        let initialiser = locate(initialiser, &nearest)?;
        let said = said(&server, &["--version"])?;
        let version = version(&said).to_owned();
        let oldest = kind.oldest();
        if parts(&version) < oldest {
            return Err(Error::TooOld {
                program: self,
                version,
                executable: server,
                oldest: format!("{}.{}", oldest.0, oldest.1),
                package: kind.package(),
            });
        }
        Ok(Installed { program: self, version, server, initialiser, plugins: OnceLock::new() })
    }
}

impl Installed {
    /// Makes sure that a plugin is there, by the name that it is loaded by (`ha_rocksdb`).
    ///
    /// # Errors
    /// [`Error::Plugin`] when it is not.
    pub fn plugin(&self, name: &str) -> Result<()> {
        let file = format!("{name}.so");
        let path = self.plugins()?.join(file);
        if path.is_file() {
            return Ok(());
        }
        let package = format!("mariadb-plugin-{}", name.trim_start_matches("ha_"));
        Err(Error::Plugin { program: self.program, plugin: name.into(), path, package })
    }

    /// The folder that plugins are in, as the server has it.
    fn plugins(&self) -> Result<&Path> {
        if let Some(folder) = self.plugins.get() {
            return Ok(folder);
        }
        let said = said(&self.server, &["--no-defaults", "--verbose", "--help"])?;
        let line = said.lines().find_map(|line| line.strip_prefix("plugin-dir "));
        let folder = line.map(str::trim).unwrap_or_default().into();
        Ok(self.plugins.get_or_init(|| folder))
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

    /// A folder with a program that says this of its version, and one that would initialise.
    fn folder(program: Program, version: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let script = folder.path().join("script");
        fs::write(&script, format!("#!/bin/sh\necho '{version}'\n")).expect("room");
        for executable in program.kind().executables() {
            // By another process: a file that is open for writing here, or in a child that another
            // test is starting, could not be run.
            let mut install = Command::new("install");
            install.args(["-m", "755"]).arg(&script).arg(folder.path().join(executable));
            assert!(install.status().expect("it is on every system").success());
        }
        folder
    }

    #[test]
    fn what_is_not_installed_is_named_with_the_command_that_brings_it() {
        let empty = tempfile::tempdir().expect("a folder");
        let nowhere = Program::MariaDb.find_in(&[]).expect_err("there is no folder").to_string();
        assert!(nowhere.contains("no mariadbd"), "{nowhere}");
        assert!(nowhere.contains("apt-get install mariadb-server"), "{nowhere}");
        let empty = [empty.path().to_path_buf()];
        let error = Program::Postgres.find_in(&empty).expect_err("it is empty").to_string();
        assert!(error.contains("apt-get install postgresql"), "{error}");

        let half = folder(Program::Postgres, "postgres (PostgreSQL) 15.18");
        fs::remove_file(half.path().join("initdb")).expect("it is there");
        let half = [half.path().to_path_buf()];
        let error = Program::Postgres.find_in(&half).expect_err("half of it").to_string();
        assert!(error.contains("no initdb"), "{error}");
    }

    #[test]
    fn what_is_too_old_is_named_with_what_would_do() {
        let cases = [
            (Program::MariaDb, "mariadbd  Ver 10.5.29-MariaDB for Linux on x86_64", "10.5.29"),
            (Program::Postgres, "postgres (PostgreSQL) 12.22 (Debian 12.22-1)", "12.22"),
            (Program::Postgres, "no version at all", ""),
        ];
        for (program, said, version) in cases {
            let folder = folder(program, said);
            let error = program.find_in(&[folder.path().to_path_buf()]).expect_err("too old");
            assert!(matches!(&error, Error::TooOld { version: old, .. } if old == version));
            let (oldest, later) = program.kind().oldest();
            assert!(error.to_string().contains(&format!("{oldest}.{later} or later")), "{error}");
        }
    }

    #[test]
    fn what_is_new_enough_is_found_with_its_version() {
        let cases = [
            (Program::MariaDb, "mariadbd  Ver 10.6.0-MariaDB for Linux on x86_64", "10.6.0"),
            (Program::MariaDb, "mariadbd from 11.8.2-MariaDB, client 15.2 for Linux", "11.8.2"),
            (Program::Postgres, "postgres (PostgreSQL) 13.0", "13.0"),
            (Program::Postgres, "postgres (PostgreSQL) 19devel", "19"),
        ];
        for (program, said, version) in cases {
            let folder = folder(program, said);
            let found = program.find_in(&[folder.path().to_path_buf()]).expect("new enough");
            assert_eq!(found.version, version);
            assert_eq!(found.server.parent(), Some(folder.path()));
        }
    }

    #[test]
    fn a_plugin_is_found_where_the_server_says_or_its_package_is_named() {
        let plugins = tempfile::tempdir().expect("a folder");
        fs::write(plugins.path().join("ha_rocksdb.so"), "").expect("room");
        let said =
            format!("mariadbd Ver 10.11.1-MariaDB\nplugin-dir    {}/", plugins.path().display());
        let folder = folder(Program::MariaDb, &said);
        let found = Program::MariaDb.find_in(&[folder.path().to_path_buf()]).expect("new enough");
        found.plugin("ha_rocksdb").expect("it is there");
        let error = found.plugin("ha_spider").expect_err("it is not there").to_string();
        assert!(error.contains("apt-get install mariadb-plugin-spider"), "{error}");
        assert!(error.contains("/ha_spider.so"), "{error}");
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
