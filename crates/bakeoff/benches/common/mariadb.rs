//! Private MariaDB servers, and the server's own client.

use std::path::Path;
use std::process::Command;

use bakeoff_engines::servers::{Launch, PrivateServer};
use bakeoff_engines::{Durability, OpenTerms, mysql};

/// A private server in an empty or a loaded folder, with the settings that bakeoff gives it at a level
/// of durability, and others after them.
pub fn serve(
    engine: &str,
    durability: Durability,
    others: &[(&str, &str)],
    directory: &Path,
) -> PrivateServer {
    let engine = bakeoff_engines::find_level(engine).expect("an engine");
    let settings = engine.settings(&OpenTerms::new(durability)).into_iter();
    let others = others.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let launch = Launch {
        directory: directory.into(),
        settings: settings.map(|setting| (setting.name, setting.value)).chain(others).collect(),
        ..Launch::default()
    };
    PrivateServer::initialise(&mysql::SERVER, &launch).expect("an initialised folder");
    let server = PrivateServer::start(&mysql::SERVER, &launch).expect("a server");
    // As whoever loads rows into a server of one's own has to.
    run(tool("mariadb", &server).args(["-e", "SET GLOBAL local_infile = ON"]));
    server
}

/// One of MariaDB's clients, as the server's administrator.
pub fn tool(name: &str, server: &PrivateServer) -> Command {
    let mut command = Command::new(name);
    command.args(["--no-defaults", "--user=root"]);
    command.arg(format!("--socket={}", server.socket().display()));
    command
}

/// Runs one to its end.
pub fn run(command: &mut Command) {
    let status = command.status().expect("MariaDB's clients are installed");
    assert!(status.success(), "{command:?}: {status}");
}
