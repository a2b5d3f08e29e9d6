//! A private server that reads twice its limit.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use bakeoff_engines::mysql;
use bakeoff_lab::place::group::{LimitedGroup, ResourceLimit};
use bakeoff_servers::{Launch, PrivateServer};
use bakeoff_testkit::{in_time, needs};

use super::{Stage, can};

const LIMIT: u64 = 192 << 20;

/// Rows of 1000 bytes in a table of Aria's, which reads through the page cache.
const ROWS: u64 = 2 * LIMIT / 1000;

/// A server over data in a folder.
fn launch(directory: &Path, runtime: &Path, group: Option<&LimitedGroup>) -> Launch {
    let settings = [("aria_pagecache_buffer_size", "16M"), ("innodb_buffer_pool_size", "8M")];
    Launch {
        directory: directory.into(),
        runtime: Some(runtime.into()),
        settings: settings.map(|(name, value)| (name.into(), value.into())).into(),
        groups: group.iter().flat_map(|group| group.processes()).collect(),
    }
}

fn start(launch: &Launch) -> PrivateServer {
    PrivateServer::initialise(&mysql::SERVER, launch).unwrap();
    PrivateServer::start(&mysql::SERVER, launch).unwrap()
}

/// Runs a statement; its answer.
fn sql(server: &PrivateServer, statement: &str) -> String {
    let mut client = Command::new("mariadb");
    client.arg("--no-defaults").arg("--user=root").arg("--socket").arg(server.socket());
    client.args(["--batch", "--skip-column-names", "--execute", statement]);
    let output = client.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{statement}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// On one disk: what a reader is held to on all of them does not depend on who reads.
#[test]
fn a_server_is_held_on_a_disk_that_takes_no_time() {
    if !can(true) {
        return;
    }
    if needs(mysql::SERVER.find()).is_none() {
        return;
    }
    let places = super::folder();
    let runtime = |name: &str| {
        let folder = places.path().join(name);
        fs::create_dir(&folder).unwrap();
        folder
    };
    let stage = Stage::new("null", true, |data| {
        let server = start(&launch(data, &runtime("1"), None));
        sql(&server, "CREATE DATABASE d");
        sql(
            &server,
            "CREATE TABLE d.t (id INT, text CHAR(250)) ENGINE=Aria CHARSET utf32 ROW_FORMAT=FIXED",
        );
        let rows = format!("SELECT seq, 'text' FROM seq_1_to_{ROWS}");
        sql(&server, &format!("USE d; INSERT INTO d.t {rows}"));
        server.stop().unwrap();
    });
    let group = LimitedGroup::create(ResourceLimit::memory(LIMIT)).unwrap();
    let server = start(&launch(&stage.seen, &runtime("2"), Some(&group)));
    for list in group.processes() {
        let inside = fs::read_to_string(list).unwrap();
        assert!(inside.lines().any(|pid| pid == server.pid().to_string()), "{inside}");
    }
    for _ in 0..2 {
        in_time("a full group", |_| {
            let sum = sql(&server, "SELECT SUM(id + LENGTH(text)) FROM d.t");
            assert_eq!(sum.trim(), (ROWS * (ROWS + 1) / 2 + 16 * ROWS).to_string());
            stage.is_held_and_used(&group).then_some(())
        });
    }
    server.stop().unwrap();
}
