//! PostgreSQL, with the settings it comes with.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use crate::server::{Client, Database, Home};

/// PostgreSQL, the newest that Debian's packages have put on the machine.
pub struct Postgres;

/// Where Debian puts its programs, in a folder for each version.
const VERSIONS: &str = "/usr/lib/postgresql";

impl Postgres {
    fn program(name: &str) -> PathBuf {
        let versions = std::fs::read_dir(VERSIONS).into_iter().flatten().flatten();
        let numbers = versions.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let newest = numbers.max().map_or_else(String::new, |version| version.to_string());
        Path::new(VERSIONS).join(newest).join("bin").join(name)
    }
}

impl Database for Postgres {
    fn user(&self) -> &'static str {
        "postgres"
    }

    fn programs(&self) -> Vec<PathBuf> {
        ["initdb", "postgres", "psql"].map(Self::program).to_vec()
    }

    fn prepare(&self, home: &Home) {
        let mut initdb = home.program(Self::program("initdb"));
        initdb.args(["--username=postgres", "--auth=trust", "--data-checksums", "--no-locale"]);
        home.run(initdb.arg("--pgdata").arg(&home.data));
    }

    fn server(&self, home: &Home) -> Command {
        let mut server = home.program(Self::program("postgres"));
        server.arg("-D").arg(&home.data).arg("-k").arg(&home.run);
        // Little memory, so that pages are read and written.
        server.args(["-c", "listen_addresses=", "-c", "shared_buffers=4MB"]);
        server
    }

    fn client(&self, home: &Home) -> Command {
        let mut client = home.program(Self::program("psql"));
        client.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]);
        client.args(["--set=ON_ERROR_STOP=1", "--username=postgres"]);
        client.arg("--host").arg(&home.run);
        client
    }

    /// A fast stop, which does not wait for clients.
    fn ending(&self) -> Signal {
        Signal::INT
    }

    fn load(&self, rows: u32, balance: u32) -> Vec<String> {
        vec![
            "CREATE EXTENSION amcheck;".into(),
            "CREATE TABLE account (id int PRIMARY KEY, branch int NOT NULL, \
             balance bigint NOT NULL, filler text NOT NULL);"
                .into(),
            "CREATE TABLE done (client int, n int, PRIMARY KEY (client, n));".into(),
            format!(
                "INSERT INTO account SELECT n, n % 97, {balance}, repeat(md5(n::text), 6) \
                 FROM generate_series(1, {rows}) n;"
            ),
            "CREATE INDEX branch ON account (branch);".into(),
            "VACUUM ANALYZE account;".into(),
        ]
    }

    fn transfer(&self, client: u32, n: u32, from: u32, to: u32) -> String {
        format!(
            "BEGIN; UPDATE account SET balance = balance - 1 WHERE id = {from}; \
             UPDATE account SET balance = balance + 1, branch = (branch + 1) % 97 WHERE id = {to}; \
             INSERT INTO done VALUES ({client}, {n}); COMMIT;"
        )
    }

    fn books(&self) -> String {
        "SELECT count(*), sum(balance) FROM account;".into()
    }

    fn indexed(&self) -> String {
        "SET enable_seqscan = off; SET enable_bitmapscan = off; \
         SELECT count(branch) FROM account WHERE branch >= 0; RESET ALL;"
            .into()
    }

    fn done(&self) -> String {
        "SELECT client, count(*), max(n) FROM done GROUP BY client ORDER BY client;".into()
    }

    fn content(&self) -> String {
        "SELECT md5(string_agg(account::text, ',' ORDER BY id)) FROM account; \
         SELECT md5(string_agg(done::text, ',' ORDER BY client, n)) FROM done;"
            .into()
    }

    /// All indexes against their tables, and the tables' pages.
    fn check(&self, client: &mut Client) {
        for index in ["account_pkey", "branch", "done_pkey"] {
            client.must(&format!("SELECT bt_index_parent_check('{index}', true);"));
        }
        for table in ["account", "done"] {
            let found = client.must(&format!("SELECT * FROM verify_heapam('{table}');"));
            assert!(found.is_empty(), "{table}: {found:?}");
        }
        let settings = client.must("SHOW fsync; SHOW data_checksums;");
        assert_eq!(settings, ["on", "on"]);
    }
}
