//! Where nginx and php-fpm are installed, and whether they will do.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::super::super::server::WithPhp;

/// Where they usually are beside the folders of PATH: those of root's programs.
const USUAL: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/sbin"];
/// The first versions that will do.
const NGINX: (u32, u32) = (1, 20);
const PHP: (u32, u32) = (7, 4);

/// Both programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// nginx.
    pub nginx: PathBuf,
    /// php-fpm.
    pub php_fpm: PathBuf,
}

/// Looks for both.
///
/// # Errors
/// Which is missing, and what brings it.
pub fn find() -> Result<Found, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = USUAL.iter().map(PathBuf::from);
    let folders: Vec<PathBuf> = std::env::split_paths(&path).chain(usual).collect();
    let nginx =
        named(&folders, |name| name == "nginx").ok_or_else(|| missing("nginx", "nginx-light"))?;
    let php_fpm = named(&folders, |name| name == "php-fpm").or_else(|| {
        named(&folders, |name| {
            name.strip_prefix("php-fpm").is_some_and(|version| parts(version).0 > 0)
        })
    });
    Ok(Found { nginx, php_fpm: php_fpm.ok_or_else(|| missing("php-fpm", "php-fpm"))? })
}

fn missing(program: &str, package: &str) -> String {
    format!(
        "{program} is not installed: there is none in PATH, nor where it is usually put; install it, on \
         Debian by: apt-get install {package}"
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
    let Found { nginx, php_fpm } = find().map_err(|problem| vec![problem])?;
    let mut problems = Vec::new();
    let tried = [(&nginx, "nginx/", NGINX), (&php_fpm, "PHP ", PHP)];
    for (program, mark, oldest) in tried {
        problems.extend(too_old(program, mark, oldest).err());
    }
    let modules = said(&php_fpm, "-m").unwrap_or_default();
    if let Some((module, package)) = with.module()
        && !modules.lines().any(|line| line.trim() == module)
    {
        problems.push(format!(
            "php-fpm lacks {module}: install it, on Debian by: apt-get install {package}"
        ));
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Refuses a program whose version, which follows a mark, is before another one.
fn too_old(program: &Path, mark: &str, oldest: (u32, u32)) -> Result<(), String> {
    let text = said(program, "-v")?;
    let version = text.split_once(mark).map_or("", |(_, rest)| rest);
    let version = version.split_whitespace().next().unwrap_or_default();
    if parts(version) >= oldest {
        return Ok(());
    }
    let (program, (major, minor)) = (program.display(), oldest);
    Err(format!(
        "{program} is too old: it is `{version}`, and bakeoff needs {major}.{minor} or later"
    ))
}

/// What a program says to a flag, on either of its outputs.
fn said(program: &Path, flag: &str) -> Result<String, String> {
    let mut command = Command::new(program);
    command.arg(flag).env_clear().env("LC_ALL", "C").stdin(Stdio::null());
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
