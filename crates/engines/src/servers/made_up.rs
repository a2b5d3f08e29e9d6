//! A kind of server that is a script, for tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use bakeoff_testkit::{folder_for_all, write_script};

use crate::servers::launch::{Launch, ServerPlaces};
use crate::servers::settings::Review;
use crate::servers::{ServerProduct, ServerProgram, Signal};

#[derive(Debug)]
pub struct MadeUp;

pub static MADE_UP: MadeUp = MadeUp;

pub const SERVES: &str = "made-up server 1.5\n\
    --trap 'exit 0' TERM; : > \"$1\"; while :; do sleep 0.01; done";

pub const SILENT: &str = "made-up server 1.5\n--while :; do sleep 0.01; done";

pub const PAYS: &str = "made-up server 1.5\n\
    --trap 'sleep 0.3; echo paid; exit 0' TERM; : > \"$1\"; while :; do sleep 0.01; done";

static REVIEW: Review =
    Review { reserved: "", trusted: &[], harmless: "", prefixes: &[], abbreviates: false };

impl ServerProduct for MadeUp {
    fn name(&self) -> &'static str {
        "MadeUp"
    }

    fn package(&self) -> &'static str {
        "made-up-server"
    }

    fn user(&self) -> &'static str {
        "made-up"
    }

    fn executables(&self) -> [&'static str; 2] {
        ["made-up", "made-up-init"]
    }

    fn usual_folders(&self) -> &'static [&'static str] {
        &["/opt/made-up-*/bin"]
    }

    fn subfolders(&self) -> &'static [&'static str] {
        &["bin", ""]
    }

    fn oldest_version(&self) -> (u32, u32) {
        (1, 4)
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
        &["[ERROR] ", "PANIC: "]
    }

    fn initialise(&self, _: &mut Command, _: &ServerPlaces, _: &Path, _: &Launch) {}

    fn serve(&self, command: &mut Command, places: &ServerPlaces, _: &Launch) {
        command.arg(&places.socket);
    }

    fn relocate(&self, command: &mut Command, folder: &Path) {
        command.env("MADE_UP", folder);
    }

    fn try_settings(&self, command: &mut Command, settings: &[(String, String)]) {
        command.args(settings.iter().map(|(name, value)| format!("{name}={value}")));
    }

    fn stop_signal(&self) -> Signal {
        Signal::TERM
    }

    fn answers(&self, places: &ServerPlaces) -> bool {
        places.socket.exists()
    }
}

/// A server that says the text before `--` of its version and does what follows it; and a program
/// that initialises. Every user may run them.
pub fn make_installation(said: &str) -> (ServerProgram, tempfile::TempDir) {
    let folder = folder_for_all();
    let (version, does) = said.split_once("\n--").unwrap_or((said, ""));
    let text = format!("[ \"$1\" = --version ] && {{ echo '{version}'; exit; }}\n{does}");
    let [server, initialiser] = MADE_UP.executables();
    write_script(&folder.path().join(server), &text);
    write_script(&folder.path().join(initialiser), "exit 0");
    (ServerProgram::in_folder(&MADE_UP, folder.path().into()), folder)
}
