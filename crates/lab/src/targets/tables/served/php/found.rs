//! Where nginx and php-fpm are installed, and whether they will do.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use bakeoff_results::AppliedSetting;

use super::super::super::server::WithPhp;

/// Where they usually are beside the folders of PATH: those of root's programs.
const USUAL: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/sbin"];
/// The first versions that will do.
const NGINX: (u32, u32) = (1, 20);
const PHP: (u32, u32) = (7, 4);
/// What stands before the version in what nginx says of itself.
const NGINX_MARK: &str = "nginx/";
const PHP_MARK: &str = "PHP ";

/// Both programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackPrograms {
    /// nginx.
    pub nginx: PathBuf,
    /// php-fpm.
    pub php_fpm: PathBuf,
}

/// Looks for both.
///
/// # Errors
/// All that is missing, and what brings it.
pub fn find() -> Result<StackPrograms, String> {
    match looked_for(&folders()) {
        (Some(nginx), Some(php_fpm)) => Ok(StackPrograms { nginx, php_fpm }),
        (nginx, php_fpm) => Err(missing(nginx.is_some(), php_fpm.is_some())),
    }
}

/// The folders that programs are looked for in.
fn folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = USUAL.iter().map(PathBuf::from);
    std::env::split_paths(&path).chain(usual).collect()
}

/// nginx and php-fpm, each where it is there.
fn looked_for(folders: &[PathBuf]) -> (Option<PathBuf>, Option<PathBuf>) {
    let php_fpm = named(folders, |name| name == "php-fpm").or_else(|| {
        named(folders, |name| {
            name.strip_prefix("php-fpm").is_some_and(|version| parts(version).0 > 0)
        })
    });
    (named(folders, |name| name == "nginx"), php_fpm)
}

/// Which of both is missing, in one sentence with one command.
fn missing(has_nginx: bool, has_php_fpm: bool) -> String {
    let (programs, are, packages) = match (has_nginx, has_php_fpm) {
        (false, false) => ("nginx and php-fpm", "are", "nginx-light php-fpm"),
        (false, true) => ("nginx", "is", "nginx-light"),
        (true, _) => ("php-fpm", "is", "php-fpm"),
    };
    format!(
        "{programs} {are} not installed, neither in PATH nor where it is usually put; on Debian: \
         apt-get install {packages}"
    )
}

/// The program of such a name in the first folder that has one; of several there, the last by its name.
fn named(folders: &[PathBuf], is_it: impl Fn(&str) -> bool) -> Option<PathBuf> {
    folders.iter().find_map(|folder| {
        let entries = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
        let name = |path: &PathBuf| path.file_name()?.to_str().map(str::to_owned);
        entries.filter(|path| name(path).is_some_and(|name| is_it(&name)) && path.is_file()).max()
    })
}

/// Whether both are there, recent enough, and reach such a database; they are asked.
///
/// # Errors
/// All that is missing, each with what brings it.
pub fn ready(with: WithPhp) -> Result<(), Vec<String>> {
    let (nginx, php_fpm) = looked_for(&folders());
    let problems = problems(nginx.as_deref(), php_fpm.as_deref(), with);
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// All that is missing or too old.
fn problems(nginx: Option<&Path>, php_fpm: Option<&Path>, with: WithPhp) -> Vec<String> {
    let mut problems = Vec::new();
    if nginx.is_none() || php_fpm.is_none() {
        problems.push(missing(nginx.is_some(), php_fpm.is_some()));
    }
    for (program, mark, oldest) in [(nginx, NGINX_MARK, NGINX), (php_fpm, PHP_MARK, PHP)] {
        problems.extend(program.and_then(|program| too_old(program, mark, oldest).err()));
    }
    problems.extend(with.module().and_then(|(module, package)| lacks(php_fpm, module, package)));
    problems
}

/// That PHP lacks a module that a package brings; one that is missing itself will need it.
fn lacks(php_fpm: Option<&Path>, module: &str, package: &str) -> Option<String> {
    let Some(php_fpm) = php_fpm else {
        return Some(format!("php-fpm needs {module}, too; on Debian: apt-get install {package}"));
    };
    let modules = said(php_fpm, &["-m"]).unwrap_or_default();
    let has_it = modules.lines().any(|line| line.trim() == module);
    (!has_it).then(|| {
        format!("php-fpm lacks {module}: install it, on Debian by: apt-get install {package}")
    })
}

/// What is installed, as settings for the record; both programs are asked once by a process.
pub fn installed(with: WithPhp) -> Vec<AppliedSetting> {
    static ASKED: OnceLock<StackVersions> = OnceLock::new();
    let ask = || {
        find()
            .map_or_else(|_| StackVersions::default(), |found| StackVersions::from_programs(&found))
    };
    ASKED.get_or_init(ask).settings(with)
}

/// What both programs say of themselves, as far as they say it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct StackVersions {
    nginx: Option<String>,
    php: Option<String>,
    /// Whether PHP keeps scripts compiled.
    opcache: Option<String>,
    /// The version of the SQLite that PHP's processes have.
    sqlite: Option<String>,
}

impl StackVersions {
    /// Asks both.
    fn from_programs(found: &StackPrograms) -> Self {
        // Without the settings of the system's php.ini, as the pages are made; its extensions are there.
        let php = said(&found.php_fpm, &["-c", "/dev/null", "-i"]).unwrap_or_default();
        let of = |name: &str| told(&php, name);
        let version = of("PHP Version");
        let opcache = version.as_ref().map(|_| of("opcache.enable"));
        Self {
            nginx: version_of(&found.nginx, NGINX_MARK).ok().filter(|it| !it.is_empty()),
            opcache: opcache.map(|it| it.unwrap_or_else(|| "not installed".into())),
            php: version,
            sqlite: of("SQLite Library"),
        }
    }

    /// The same as settings of a stack before such a database.
    fn settings(&self, with: WithPhp) -> Vec<AppliedSetting> {
        let sqlite = self.sqlite.as_ref().filter(|_| with == WithPhp::Sqlite);
        let all = [
            ("nginx", self.nginx.as_ref(), "the version that is installed"),
            ("PHP", self.php.as_ref(), "the version that is installed"),
            (
                "opcache.enable",
                self.opcache.as_ref(),
                "as PHP is installed: whether it keeps scripts compiled",
            ),
            (
                "PHP's SQLite",
                sqlite,
                "it makes the pages in PHP's processes; bakeoff's own SQLite, whose version the engine \
                 has, loads and checks the data",
            ),
        ];
        let setting = |(name, value, reason): (&str, Option<&String>, &str)| {
            let (name, value) = (name.to_owned(), value?.clone());
            Some(AppliedSetting { name, value, reason: Some(reason.into()) })
        };
        all.into_iter().filter_map(setting).collect()
    }
}

/// The value of a line of what PHP tells of itself: `NAME => VALUE`, or with the value of the system's
/// configuration after it.
fn told(text: &str, name: &str) -> Option<String> {
    let value = |line: &str| -> Option<String> {
        let values = line.strip_prefix(name)?.strip_prefix(" => ")?;
        Some(values.split(" => ").next()?.trim().to_owned())
    };
    text.lines().find_map(value)
}

/// Refuses a program whose version, which follows a mark, is before another one.
fn too_old(program: &Path, mark: &str, oldest: (u32, u32)) -> Result<(), String> {
    let version = version_of(program, mark)?;
    if parts(&version) >= oldest {
        return Ok(());
    }
    let (program, (major, minor)) = (program.display(), oldest);
    Err(format!(
        "{program} is too old: it is `{version}`, and bakeoff needs {major}.{minor} or later"
    ))
}

/// The version that a program tells after a mark; empty where there is none.
fn version_of(program: &Path, mark: &str) -> Result<String, String> {
    let text = said(program, &["-v"])?;
    let version = text.split_once(mark).map_or("", |(_, rest)| rest);
    Ok(version.split_whitespace().next().unwrap_or_default().to_owned())
}

/// What a program says to flags, on either of its outputs.
fn said(program: &Path, flags: &[&str]) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(flags).env_clear().env("LC_ALL", "C").stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("{}: {error}", program.display()))?;
    let both = [output.stdout, output.stderr].concat();
    Ok(String::from_utf8_lossy(&both).into_owned())
}

/// The first two parts of a version.
fn parts(version: &str) -> (u32, u32) {
    let mut parts = version.split('.').map(|part| {
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        part[..end].parse().unwrap_or(0)
    });
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use bakeoff_testkit::write_script;

    use super::*;

    fn script(folder: &Path, name: &str, says: &str) -> PathBuf {
        let path = folder.join(name);
        write_script(&path, &format!("echo '{says}' >&2"));
        path
    }

    #[test]
    fn the_latest_of_several_versions_is_found() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["php-fpm7.4", "php-fpm8.2", "php-fpm.conf"] {
            script(folder.path(), name, "");
        }
        let folders = [PathBuf::from("/nowhere"), folder.path().to_owned()];
        let is_it =
            |name: &str| name.strip_prefix("php-fpm").is_some_and(|version| parts(version).0 > 0);
        assert_eq!(named(&folders, is_it), Some(folder.path().join("php-fpm8.2")));
        assert_eq!(named(&folders, |name| name == "nginx"), None);
    }

    #[test]
    fn all_that_is_missing_is_told_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let told = problems(None, None, WithPhp::Sqlite).join("; ");
        for package in ["apt-get install nginx-light php-fpm", "apt-get install php-sqlite3"] {
            assert!(told.contains(package), "{told}");
        }
        // Of a client that is brought along nothing is missing.
        assert_eq!(problems(None, None, WithPhp::Tarantool).len(), 1);
        let nginx = script(folder.path(), "nginx", "nginx version: nginx/1.18.0");
        let php_fpm = script(folder.path(), "php-fpm", "PHP 7.3.1 (fpm-fcgi)");
        let told = problems(Some(&nginx), Some(&php_fpm), WithPhp::MySql);
        let says = ["`1.18.0`", "`7.3.1`", "lacks pdo_mysql"];
        assert_eq!(told.len(), says.len(), "{told:?}");
        assert!(told.iter().zip(says).all(|(told, says)| told.contains(says)), "{told:?}");
        let told = problems(Some(&nginx), None, WithPhp::Tarantool);
        assert!(told[0].starts_with("php-fpm is not installed"), "{told:?}");
        let found = looked_for(&[folder.path().to_owned()]);
        assert_eq!(found, (Some(nginx), Some(php_fpm)));
    }

    #[test]
    fn what_is_installed_is_noted_and_sqlite_where_it_works_alone() {
        let folder = tempfile::tempdir().unwrap();
        let nginx = script(folder.path(), "nginx", "nginx version: nginx/1.22.1");
        let says = "PHP Version => 8.2.36\nopcache.enable => On => Off\nSQLite Library => 3.40.1";
        let php_fpm = script(folder.path(), "php-fpm", says);
        let installed =
            StackVersions::from_programs(&StackPrograms { nginx: nginx.clone(), php_fpm });
        let noted = |installed: &StackVersions, with| -> Vec<(String, String)> {
            installed.settings(with).into_iter().map(|it| (it.name, it.value)).collect()
        };
        let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let web = [("nginx", "1.22.1"), ("PHP", "8.2.36"), ("opcache.enable", "On")].map(pair);
        assert_eq!(noted(&installed, WithPhp::Postgres), web);
        let sqlite = [&web[..], &[pair(("PHP's SQLite", "3.40.1"))][..]].concat();
        assert_eq!(noted(&installed, WithPhp::Sqlite), sqlite);
        // Nothing is made up where nothing is said, and no opcache is not one that is on.
        let bare = script(folder.path(), "php-bare", "PHP Version => 8.2.36");
        let installed = StackVersions::from_programs(&StackPrograms { nginx, php_fpm: bare });
        assert_eq!(installed.opcache.as_deref(), Some("not installed"));
        assert_eq!(installed.sqlite, None);
        let mute = script(folder.path(), "mute", "");
        let installed =
            StackVersions::from_programs(&StackPrograms { nginx: mute.clone(), php_fpm: mute });
        assert_eq!(installed, StackVersions::default());
    }

    #[test]
    fn a_version_that_is_too_old_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let program = script(folder.path(), "nginx", "nginx version: nginx/1.18.0 (Ubuntu)");
        assert_eq!(too_old(&program, "nginx/", (1, 18)), Ok(()));
        let told = too_old(&program, "nginx/", NGINX).unwrap_err();
        assert!(told.contains("it is `1.18.0`, and bakeoff needs 1.20 or later"), "{told}");
        let told = too_old(&program, "PHP ", PHP).unwrap_err();
        assert!(told.contains("it is ``"), "{told}");
    }
}
