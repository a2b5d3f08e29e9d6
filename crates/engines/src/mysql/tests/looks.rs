//! What is seen of a server that somebody else runs, before anything is loaded.

use std::time::Duration;

use super::*;
use crate::external::fake::serve_bytes;

fn list_problems(url: &str) -> String {
    let there = ExternalMariaDb::new(url).expect("a URL");
    assert_eq!(there.check_level(Durability::Strict), Ok(()), "{url}");
    there.check_ready(&[], false).expect_err("something is in the way").join("\n")
}

fn to_packet(number: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).expect("it is short");
    [&[length, 0, 0, number], payload].concat()
}

/// The greeting of a server whose users log in by their passwords, if nothing else is said.
fn greet() -> Vec<u8> {
    // Protocol 4.1, long salts, and plugins; UTF-8.
    let (capabilities, status) = ([0x08, 0x82], [0x02, 0x00]);
    let parts: [&[u8]; 9] = [
        b"\x0a5.5.5-10.11.6-MariaDB\0\x07\0\0\0saltsalt\0",
        &capabilities,
        &[45],
        &status,
        &[0x08, 0x00],
        &[21],
        &[0; 10],
        b"saltsaltsalt\0",
        b"mysql_native_password\0",
    ];
    to_packet(0, &parts.concat())
}

#[test]
fn a_way_to_log_in_that_the_library_does_not_know_is_named() {
    let switch = |plugin: &str| {
        to_packet(2, &[b"\xfe", plugin.as_bytes(), b"\0saltsaltsaltsaltsalt\0"].concat())
    };
    for (answer, words) in [
        (switch("client_ed25519"), "`ed25519`, which bakeoff does not know"),
        (switch("dialog"), "`dialog`, which bakeoff does not know"),
        (switch("mysql_clear_password"), "`mysql_clear_password`, which"),
        // The library takes the first byte of an answer that has none.
        (to_packet(2, b""), "breaks the protocol"),
    ] {
        let port = serve_bytes(greet(), answer);
        let said = list_problems(&format!("mysql://u:word@127.0.0.1:{port}/d"));
        assert!(said.contains(words), "{said}");
    }
    let silent = OptsBuilder::new().ip_or_hostname(Some("127.0.0.1")).user(Some("u"));
    let silent = silent.tcp_port(serve_bytes(Vec::new(), Vec::new())).prefer_socket(false);
    let silent = login::connect(silent.read_timeout(Some(Duration::from_millis(50))));
    let said = error::no_connection(&silent.map(drop).expect_err("nobody answers"));
    assert!(said.contains("says nothing"), "{said}");
}

#[test]
fn what_would_stop_a_trial_is_said_before() {
    if !installed(&INNODB) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let _private = open(&INNODB, folder.path(), &OpenTerms::new(Durability::Strict)).expect("open");
    let mut administrator = administer_elsewhere(folder.path());
    administrator.run("CREATE USER plain@localhost IDENTIFIED BY 'hidden'");
    administrator.run("GRANT ALL ON ours.* TO plain@localhost");
    let socket = folder.path().join("server/socket").display().to_string();
    let said = |engine: &str, password: &str| {
        list_problems(&format!("mysql://plain{password}@localhost/ours?socket={socket}#{engine}"))
    };
    for (change, back, words) in [
        ("SET GLOBAL read_only = 1", "SET GLOBAL read_only = 0", "it takes no writes"),
        ("SET GLOBAL tx_read_only = 1", "SET GLOBAL tx_read_only = 0", "it takes no writes"),
        (
            "SET GLOBAL max_prepared_stmt_count = 0",
            "SET GLOBAL max_prepared_stmt_count = 9999",
            "raise max_prepared_stmt_count",
        ),
        (
            "ALTER USER plain@localhost WITH MAX_USER_CONNECTIONS 1",
            "ALTER USER plain@localhost WITH MAX_USER_CONNECTIONS 0",
            "max_user_connections",
        ),
    ] {
        administrator.run(change);
        let problems = said("InnoDB", ":hidden");
        assert!(problems.contains(words), "{change}: {problems}");
        administrator.run(back);
    }
    let problems = said("RocksDB", ":hidden");
    let missing = "no storage engine ROCKSDB";
    assert!(
        problems.contains(missing) && problems.contains("mariadb-plugin-rocksdb"),
        "{problems}"
    );
    assert!(said("InnoDB", "").contains("no password was given"));
}
