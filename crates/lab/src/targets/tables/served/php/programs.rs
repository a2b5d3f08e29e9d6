use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use bakeoff_results::AppliedSetting;

use super::super::super::server::PhpDatabase;

/// Where root's programs usually are, besides PATH.
const USUAL: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/sbin"];
const NGINX: (u32, u32) = (1, 20);
const PHP: (u32, u32) = (7, 4);
const NGINX_MARK: &str = "nginx/";
const PHP_MARK: &str = "PHP ";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackPrograms {
    pub nginx: PathBuf,
    pub php_fpm: PathBuf,
}

pub fn find_programs() -> Result<StackPrograms, String> {
    match looked_for(&search_folders()) {
        (Some(nginx), Some(php_fpm)) => Ok(StackPrograms { nginx, php_fpm }),
        (nginx, php_fpm) => Err(missing_text(nginx.is_some(), php_fpm.is_some())),
    }
}

fn search_folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = USUAL.iter().map(PathBuf::from);
    std::env::split_paths(&path).chain(usual).collect()
}

fn looked_for(folders: &[PathBuf]) -> (Option<PathBuf>, Option<PathBuf>) {
    let php_fpm = find_named(folders, |name| name == "php-fpm").or_else(|| {
        find_named(folders, |name| {
            name.strip_prefix("php-fpm").is_some_and(|version| version_parts(version).0 > 0)
        })
    });
    (find_named(folders, |name| name == "nginx"), php_fpm)
}

fn missing_text(has_nginx: bool, has_php_fpm: bool) -> String {
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

/// Takes the first folder with such a program; among several there, the last name.
fn find_named(folders: &[PathBuf], is_it: impl Fn(&str) -> bool) -> Option<PathBuf> {
    folders.iter().find_map(|folder| {
        let entries = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
        let name = |path: &PathBuf| path.file_name()?.to_str().map(str::to_owned);
        entries.filter(|path| name(path).is_some_and(|name| is_it(&name)) && path.is_file()).max()
    })
}

pub fn check_ready(with: PhpDatabase) -> Result<(), Vec<String>> {
    let (nginx, php_fpm) = looked_for(&search_folders());
    let problems = find_problems(nginx.as_deref(), php_fpm.as_deref(), with);
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn find_problems(nginx: Option<&Path>, php_fpm: Option<&Path>, with: PhpDatabase) -> Vec<String> {
    let mut problems = Vec::new();
    if nginx.is_none() || php_fpm.is_none() {
        problems.push(missing_text(nginx.is_some(), php_fpm.is_some()));
    }
    for (program, mark, oldest) in [(nginx, NGINX_MARK, NGINX), (php_fpm, PHP_MARK, PHP)] {
        problems.extend(program.and_then(|program| too_old(program, mark, oldest).err()));
    }
    problems.extend(
        with.module().and_then(|(module, package)| missing_module(php_fpm, module, package)),
    );
    problems
}

/// If PHP itself is missing, it will need the module, too.
fn missing_module(php_fpm: Option<&Path>, module: &str, package: &str) -> Option<String> {
    let Some(php_fpm) = php_fpm else {
        return Some(format!("php-fpm needs {module}, too; on Debian: apt-get install {package}"));
    };
    let modules = ask_program(php_fpm, &["-m"]).unwrap_or_default();
    let has_it = modules.lines().any(|line| line.trim() == module);
    (!has_it).then(|| {
        format!("php-fpm lacks {module}: install it, on Debian by: apt-get install {package}")
    })
}

pub fn installed_versions(with: PhpDatabase) -> Vec<AppliedSetting> {
    static ASKED: OnceLock<StackVersions> = OnceLock::new();
    let ask = || {
        find_programs()
            .map_or_else(|_| StackVersions::default(), |found| StackVersions::from_programs(&found))
    };
    ASKED.get_or_init(ask).settings(with)
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct StackVersions {
    nginx: Option<String>,
    php: Option<String>,
    opcache: Option<String>,
    sqlite: Option<String>,
}

impl StackVersions {
    fn from_programs(found: &StackPrograms) -> Self {
        // Without the system's php.ini, as for the pages; its extensions are there.
        let php = ask_program(&found.php_fpm, &["-c", "/dev/null", "-i"]).unwrap_or_default();
        let of = |name: &str| find_value(&php, name);
        let version = of("PHP Version");
        let opcache = version.as_ref().map(|_| of("opcache.enable"));
        Self {
            nginx: version_of(&found.nginx, NGINX_MARK).ok().filter(|it| !it.is_empty()),
            opcache: opcache.map(|it| it.unwrap_or_else(|| "not installed".into())),
            php: version,
            sqlite: of("SQLite Library"),
        }
    }

    fn settings(&self, with: PhpDatabase) -> Vec<AppliedSetting> {
        let sqlite = self.sqlite.as_ref().filter(|_| with == PhpDatabase::Sqlite);
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

/// `NAME => VALUE`, or with the system's value after it.
fn find_value(text: &str, name: &str) -> Option<String> {
    let value = |line: &str| -> Option<String> {
        let values = line.strip_prefix(name)?.strip_prefix(" => ")?;
        Some(values.split(" => ").next()?.trim().to_owned())
    };
    text.lines().find_map(value)
}

fn too_old(program: &Path, mark: &str, oldest: (u32, u32)) -> Result<(), String> {
    let version = version_of(program, mark)?;
    if version_parts(&version) >= oldest {
        return Ok(());
    }
    let (program, (major, minor)) = (program.display(), oldest);
    Err(format!(
        "{program} is too old: it is `{version}`, and bakeoff needs {major}.{minor} or later"
    ))
}

fn version_of(program: &Path, mark: &str) -> Result<String, String> {
    let text = ask_program(program, &["-v"])?;
    let version = text.split_once(mark).map_or("", |(_, rest)| rest);
    Ok(version.split_whitespace().next().unwrap_or_default().to_owned())
}

fn ask_program(program: &Path, flags: &[&str]) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(flags).env_clear().env("LC_ALL", "C").stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("{}: {error}", program.display()))?;
    let both = [output.stdout, output.stderr].concat();
    Ok(String::from_utf8_lossy(&both).into_owned())
}

fn version_parts(version: &str) -> (u32, u32) {
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
        let is_it = |name: &str| {
            name.strip_prefix("php-fpm").is_some_and(|version| version_parts(version).0 > 0)
        };
        assert_eq!(find_named(&folders, is_it), Some(folder.path().join("php-fpm8.2")));
        assert_eq!(find_named(&folders, |name| name == "nginx"), None);
    }

    #[test]
    fn all_that_is_missing_or_too_old_is_told_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let nginx = script(folder.path(), "nginx", "nginx version: nginx/1.18.0 (Ubuntu)");
        let php_fpm = script(folder.path(), "php-fpm", "PHP 7.3.1 (fpm-fcgi)");
        let (nginx, php_fpm) = (nginx.as_path(), php_fpm.as_path());
        for (nginx, php_fpm, with, says) in [
            (
                None,
                None,
                PhpDatabase::Sqlite,
                &["apt-get install nginx-light php-fpm", "apt-get install php-sqlite3"][..],
            ),
            // Of a client that is brought along nothing is missing.
            (None, None, PhpDatabase::Tarantool, &["nginx-light php-fpm"]),
            (
                Some(nginx),
                Some(php_fpm),
                PhpDatabase::MySql,
                &["it is `1.18.0`, and bakeoff needs 1.20 or later", "`7.3.1`", "lacks pdo_mysql"],
            ),
            (Some(nginx), None, PhpDatabase::Tarantool, &["php-fpm is not installed", "`1.18.0`"]),
        ] {
            let told = find_problems(nginx, php_fpm, with);
            assert_eq!(told.len(), says.len(), "{told:?}");
            assert!(told.iter().zip(says).all(|(told, says)| told.contains(says)), "{told:?}");
        }
        assert_eq!(too_old(nginx, "nginx/", (1, 18)), Ok(()));
        let told = too_old(nginx, "PHP ", PHP).unwrap_err();
        assert!(told.contains("it is ``"), "{told}");
        let found = looked_for(&[folder.path().to_owned()]);
        assert_eq!(found, (Some(nginx.to_owned()), Some(php_fpm.to_owned())));
    }

    #[test]
    fn what_is_installed_is_noted_and_sqlite_where_it_works_alone() {
        let folder = tempfile::tempdir().unwrap();
        let installed = |nginx: &str, php_fpm: &str| {
            let nginx = script(folder.path(), "nginx", nginx);
            let php_fpm = script(folder.path(), "php-fpm", php_fpm);
            StackVersions::from_programs(&StackPrograms { nginx, php_fpm })
        };
        let says = "PHP Version => 8.2.36\nopcache.enable => On => Off\nSQLite Library => 3.40.1";
        let whole = installed("nginx version: nginx/1.22.1", says);
        let web = [("nginx", "1.22.1"), ("PHP", "8.2.36"), ("opcache.enable", "On")];
        let sqlite = [&web[..], &[("PHP's SQLite", "3.40.1")]].concat();
        for (with, wanted) in [(PhpDatabase::Postgres, &web[..]), (PhpDatabase::Sqlite, &sqlite)] {
            let noted = whole.settings(with);
            let noted: Vec<_> = noted.iter().map(|it| (&*it.name, &*it.value)).collect();
            assert_eq!(noted, wanted);
        }
        // Nothing is made up where nothing is said, and no opcache is not one that is on.
        let bare = installed("", "PHP Version => 8.2.36");
        assert_eq!((bare.opcache.as_deref(), bare.sqlite), (Some("not installed"), None));
        assert_eq!(installed("", ""), StackVersions::default());
    }
}
