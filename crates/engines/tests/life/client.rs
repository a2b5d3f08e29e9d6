//! Asks servers something through their own client programs.

use std::process::{Command, Output, Stdio};

use bakeoff_servers::PrivateServer;

use crate::Program;

/// Runs SQL; the answer's rows, or what the client complains of.
pub fn ask(program: Program, server: &PrivateServer, sql: &str) -> Result<String, String> {
    let mut client = match program {
        Program::MariaDb => {
            let mut client = Command::new("mariadb");
            client.args(["--no-defaults", "--user=root", "--batch", "--skip-column-names"]);
            client.arg(format!("--socket={}", server.socket().display()));
            client.arg(format!("--execute={sql}"));
            client
        }
        Program::Postgres => {
            let folder = server.socket().parent().expect("a socket is in a folder");
            let mut client = Command::new("psql");
            client.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]);
            client.args(["--username=bakeoff", "--dbname=postgres", "--set=ON_ERROR_STOP=1"]);
            client.arg("--host").arg(folder).arg("--command").arg(sql);
            client
        }
    };
    let output = client.stdin(Stdio::null()).output().expect("the client comes with the server");
    let Output { status, stdout, stderr } = output;
    if status.success() {
        Ok(String::from_utf8_lossy(&stdout).trim().into())
    } else {
        Err(String::from_utf8_lossy(&stderr).into_owned())
    }
}

/// Runs SQL that can't fail.
pub fn must(program: Program, server: &PrivateServer, sql: &str) -> String {
    ask(program, server, sql).unwrap_or_else(|said| panic!("{program}: {sql}: {said}"))
}

/// SQL that makes a table of one number in a schema of its own.
pub fn table() -> &'static str {
    "CREATE SCHEMA test; CREATE TABLE test.t (n INT PRIMARY KEY); INSERT INTO test.t VALUES (1);"
}

/// SQL that shows the value of a setting.
pub fn setting(program: Program, name: &str) -> String {
    match program {
        Program::MariaDb => format!("SELECT @@{name}"),
        Program::Postgres => format!("SHOW {name}"),
    }
}
