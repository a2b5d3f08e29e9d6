//! MariaDB's server: where it is installed, how it is started and stopped, and its plugins.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::servers::{
    InstalledServer, Launch, Review, ServerPlaces, ServerProduct, ServerProgram, Signal,
    to_spelling,
};

use super::review::REVIEW;

const LOOK: Duration = Duration::from_secs(1);
/// The protocol version, the first byte of a greeting; an error begins with another byte.
const GREETING: u8 = 10;

pub static MARIADB: ServerProgram = ServerProgram::from_kind(&MariaDbServer);

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

    fn usual_folders(&self) -> &'static [&'static str] {
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

    fn oldest_version(&self) -> (u32, u32) {
        (10, 6)
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
        let permanent =
            launch.settings.iter().filter(|(name, _)| to_spelling(name).starts_with("innodb_"));
        command.args(permanent.map(|(name, value)| format!("--{name}={value}")));
        command.arg(format_option("datadir", data)).arg(format_option("tmpdir", &places.temporary));
        // All of it is synced once, at the end.
        command.args(["--innodb-flush-method=nosync", "--innodb-flush-log-at-trx-commit=0"]);
    }

    fn serve(&self, command: &mut Command, places: &ServerPlaces, launch: &Launch) {
        command.args(["--no-defaults", "--skip-log-bin", "--skip-name-resolve"]);
        // The beginning of a name is not the name.
        command.arg("--loose-getopt-prefix-matching=OFF");
        command.args(launch.settings.iter().map(|(name, value)| format!("--{name}={value}")));
        command
            .arg(format_option("datadir", &places.data))
            .arg(format_option("tmpdir", &places.temporary));
        command.arg(format_option("socket", &places.socket));
        command.arg(format_option("pid-file", &places.runtime.join("pid")));
        // After all settings: the last one counts. SQL reads and writes files below /dev/null alone, where none
        // can be; what a load sends is allowed while it goes on, see [`super::rights`].
        command.args(["--skip-networking", "--secure-file-priv=/dev/null", "--local-infile=OFF"]);
    }

    /// The server reads all settings before it prints its help.
    fn try_settings(&self, command: &mut Command, settings: &[(String, String)]) {
        command.args(["--no-defaults", "--loose-getopt-prefix-matching=OFF"]);
        command.args(settings.iter().map(|(name, value)| format!("--{name}={value}")));
        command.args(["--verbose", "--help"]);
    }

    /// It has its messages and plugins below the folder that it was built for.
    fn relocate(&self, command: &mut Command, folder: &Path) {
        if folder.join("share").is_dir() {
            command.arg(format_option("basedir", folder));
        }
    }

    fn stop_signal(&self) -> Signal {
        Signal::TERM
    }

    fn answers(&self, places: &ServerPlaces) -> bool {
        let greeting = || {
            let mut stream = UnixStream::connect(&places.socket)?;
            stream.set_read_timeout(Some(LOOK))?;
            // The packet's length and number come first.
            let mut bytes = [0; 5];
            stream.read_exact(&mut bytes)?;
            std::io::Result::Ok(bytes[4])
        };
        greeting().is_ok_and(|first| first == GREETING)
    }
}

pub(super) fn find_plugin_folder(installed: &InstalledServer) -> PathBuf {
    let mut command = Command::new(&installed.server);
    command.args(["--no-defaults", "--verbose", "--help"]).stdin(Stdio::null());
    installed.relocate(&mut command);
    let said = command.output().map(|output| output.stdout).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let line = said.lines().find_map(|line| line.strip_prefix("plugin-dir "));
    line.map(str::trim).unwrap_or_default().into()
}

pub(super) fn check_plugin(folder: &Path, name: &str) -> Result<(), String> {
    let path = folder.join(format!("{name}.so"));
    if path.is_file() {
        return Ok(());
    }
    Err(format!(
        "MariaDB's plugin {name} is not installed: there is no {}; on Debian: apt-get install {}",
        path.display(),
        plugin_package(name)
    ))
}

pub(super) fn plugin_package(name: &str) -> String {
    format!("mariadb-plugin-{}", name.trim_start_matches("ha_"))
}

fn format_option(name: &str, path: &Path) -> OsString {
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
        check_plugin(folder.path(), "ha_rocksdb").expect("it is there");
        let error = check_plugin(folder.path(), "ha_spider").expect_err("it is not there");
        assert!(error.contains("apt-get install mariadb-plugin-spider"), "{error}");
        assert!(error.contains("/ha_spider.so"), "{error}");
    }
}
