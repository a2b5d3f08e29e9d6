//! MariaDB.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use super::Kind;
use crate::launch::{Launch, Places, spelling};
use crate::settings::{self, Review};

/// How long one look at the socket may take.
const LOOK: Duration = Duration::from_secs(1);
/// The version of the protocol, the first byte of a greeting; an error begins with another one.
const GREETING: u8 = 10;

pub struct MariaDb;

impl Kind for MariaDb {
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

    fn oldest(&self) -> (u32, u32) {
        (10, 6)
    }

    fn socket(&self) -> &'static str {
        "socket"
    }

    fn separator(&self) -> Option<char> {
        Some(':')
    }

    fn stale(&self, places: &Places) -> Vec<PathBuf> {
        vec![places.socket.clone()]
    }

    fn review(&self) -> &'static Review {
        &settings::mariadb::REVIEW
    }

    fn initialise(&self, command: &mut Command, places: &Places, data: &Path, launch: &Launch) {
        command.arg("--no-defaults");
        command.args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
        command.arg("--skip-name-resolve");
        // The size of a page and the like are for good.
        let lasting =
            launch.settings.iter().filter(|(name, _)| spelling(name).starts_with("innodb_"));
        command.args(lasting.map(|(name, value)| format!("--{name}={value}")));
        command.arg(option("datadir", data)).arg(option("tmpdir", &places.temporary));
        // All of it is synced once, at the end.
        command.args(["--innodb-flush-method=nosync", "--innodb-flush-log-at-trx-commit=0"]);
    }

    fn serve(&self, command: &mut Command, places: &Places, launch: &Launch) {
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

    fn stop(&self) -> Signal {
        Signal::TERM
    }

    fn answers(&self, places: &Places) -> bool {
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

fn option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(format!("--{name}="));
    option.push(path);
    option
}
