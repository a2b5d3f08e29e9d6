//! MariaDB's server: where it is installed, how it is started and stopped, and its plugins.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use bakeoff_servers::{
    InstalledServer, Launch, Review, ServerPlaces, ServerProduct, ServerProgram, Signal, spelling,
};

use super::review::REVIEW;

/// How long one look at the socket may take.
const LOOK: Duration = Duration::from_secs(1);
/// The version of the protocol, the first byte of a greeting; an error begins with another one.
const GREETING: u8 = 10;

/// The server that is found where one is usually put.
pub static MARIADB: ServerProgram = ServerProgram::usual(&MariaDbServer);

/// The kind of server that MariaDB is.
#[derive(Debug)]
pub(super) struct MariaDbServer;

impl ServerProduct for MariaDbServer {
    fn name(&self) -> &'static str {
        "MariaDB"
    }

    fn package(&self) -> &'static str {
        "mariadb-server"
    }

    fn user(&self) -> &'static str {
        "mysql"
    }

    fn executables(&self) -> [&'static str; 2] {
        ["mariadbd", "mariadb-install-db"]
    }

    fn folders(&self) -> &'static [&'static str] {
        &[
            "/usr/sbin",
            "/usr/bin",
            "/usr/libexec",
            "/usr/local/sbin",
            "/usr/local/bin",
            "/usr/local/mysql/bin",
            "/usr/local/mysql/scripts",
            "/opt/mariadb*/bin",
        ]
    }

    fn subfolders(&self) -> &'static [&'static str] {
        &["bin", "sbin", "scripts", "libexec", ""]
    }

    fn oldest(&self) -> (u32, u32) {
        (10, 6)
    }

    fn socket(&self) -> &'static str {
        "socket"
    }

    fn separator(&self) -> Option<char> {
        Some(':')
    }

    fn stale(&self, places: &ServerPlaces) -> Vec<PathBuf> {
        vec![places.socket.clone()]
    }

    fn review(&self) -> &'static Review {
        &REVIEW
    }

    fn complaints(&self) -> &'static [&'static str] {
        &["[ERROR] "]
    }

    fn initialise(
        &self,
        command: &mut Command,
        places: &ServerPlaces,
        data: &Path,
        launch: &Launch,
    ) {
        command.arg("--no-defaults");
        command.args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
        command.arg("--skip-name-resolve");
        // The size of a page and the like are for good.
        let permanent =
            launch.settings.iter().filter(|(name, _)| spelling(name).starts_with("innodb_"));
        command.args(permanent.map(|(name, value)| format!("--{name}={value}")));
        command.arg(option("datadir", data)).arg(option("tmpdir", &places.temporary));
        // All of it is synced once, at the end.
        command.args(["--innodb-flush-method=nosync", "--innodb-flush-log-at-trx-commit=0"]);
    }

    fn serve(&self, command: &mut Command, places: &ServerPlaces, launch: &Launch) {
        command.args(["--no-defaults", "--skip-log-bin", "--skip-name-resolve"]);
        // The beginning of a name is not the name.
        command.arg("--loose-getopt-prefix-matching=OFF");
        command.args(launch.settings.iter().map(|(name, value)| format!("--{name}={value}")));
        command.arg(option("datadir", &places.data)).arg(option("tmpdir", &places.temporary));
        command.arg(option("socket", &places.socket));
        command.arg(option("pid-file", &places.runtime.join("pid")));
        // After all settings: the last one counts.
        command.arg("--skip-networking");
    }

    /// It reads all settings before it prints its help.
    fn try_settings(&self, command: &mut Command, settings: &[(String, String)]) {
        command.args(["--no-defaults", "--loose-getopt-prefix-matching=OFF"]);
        command.args(settings.iter().map(|(name, value)| format!("--{name}={value}")));
        command.args(["--verbose", "--help"]);
    }

    /// Its messages and its plugins are below the folder that it was built for, unless it is told of
    /// another one.
    fn relocate(&self, command: &mut Command, folder: &Path) {
        if folder.join("share").is_dir() {
            command.arg(option("basedir", folder));
        }
    }

    fn stop(&self) -> Signal {
        Signal::TERM
    }

    fn answers(&self, places: &ServerPlaces) -> bool {
        let greeting = || {
            let mut stream = UnixStream::connect(&places.socket)?;
            stream.set_read_timeout(Some(LOOK))?;
            // The packet's length and number come before it.
            let mut bytes = [0; 5];
            stream.read_exact(&mut bytes)?;
            std::io::Result::Ok(bytes[4])
        };
        greeting().is_ok_and(|first| first == GREETING)
    }
}

/// The folder of its plugins, as the server has it.
pub(super) fn plugins(installed: &InstalledServer) -> PathBuf {
    let mut command = Command::new(&installed.server);
    command.args(["--no-defaults", "--verbose", "--help"]).stdin(Stdio::null());
    installed.relocate(&mut command);
    let said = command.output().map(|output| output.stdout).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let line = said.lines().find_map(|line| line.strip_prefix("plugin-dir "));
    line.map(str::trim).unwrap_or_default().into()
}

/// Makes sure that a plugin is in that folder, by the name that it is loaded by (`ha_rocksdb`).
///
/// # Errors
/// What is missing, and the command that brings it.
pub(super) fn plugin(folder: &Path, name: &str) -> Result<(), String> {
    let path = folder.join(format!("{name}.so"));
    if path.is_file() {
        return Ok(());
    }
    Err(format!(
        "MariaDB's plugin {name} is not installed: there is no {}; on Debian: apt-get install {}",
        path.display(),
        package(name)
    ))
}

/// Debian's package of a plugin.
fn package(name: &str) -> String {
    format!("mariadb-plugin-{}", name.trim_start_matches("ha_"))
}

fn option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(format!("--{name}="));
    option.push(path);
    option
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_is_there_or_its_package_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("ha_rocksdb.so"), "").expect("room");
        plugin(folder.path(), "ha_rocksdb").expect("it is there");
        let error = plugin(folder.path(), "ha_spider").expect_err("it is not there");
        assert!(error.contains("apt-get install mariadb-plugin-spider"), "{error}");
        assert!(error.contains("/ha_spider.so"), "{error}");
    }
}
