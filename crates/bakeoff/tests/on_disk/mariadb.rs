//! MariaDB, with InnoDB or MyRocks.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::server::{Client, Database, Home};

/// MariaDB with one of its storage engines.
pub struct MariaDb {
    engine: &'static str,
    /// `innodb_flush_log_at_trx_commit`.
    flush: u8,
}

impl MariaDb {
    pub const INNODB: Self = Self { engine: "InnoDB", flush: 1 };
    /// Writes the log at each commit and leaves its sync to a timer, which does not strike within a test.
    pub const INNODB_RELAXED: Self = Self { engine: "InnoDB", flush: 2 };
    pub const MYROCKS: Self = Self { engine: "ROCKSDB", flush: 1 };
    const SERVER: &'static str = "/usr/sbin/mariadbd";
    const INSTALL: &'static str = "/usr/bin/mariadb-install-db";
    const CLIENT: &'static str = "/usr/bin/mariadb";
    const ROCKSDB: &'static str = "/usr/lib/mysql/plugin/ha_rocksdb.so";
}

/// Direct I/O by the kernel's asynchronous calls.
const INNODB: [&str; 2] = ["--innodb-flush-method=O_DIRECT", "--innodb-use-native-aio=ON"];
const MYROCKS: [&str; 5] = [
    "--plugin-load-add=ha_rocksdb.so",
    "--rocksdb-flush-log-at-trx-commit=1",
    "--rocksdb-use-direct-reads=ON",
    "--rocksdb-use-direct-io-for-flush-and-compaction=ON",
    "--rocksdb-db-write-buffer-size=1M",
];

impl MariaDb {
    /// A server that starts removes what it takes for temporary files of its own in the second.
    fn folders(home: &Home) -> [OsString; 2] {
        [option("--datadir=", &home.data), option("--tmpdir=", &home.run)]
    }
}

fn option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}

impl Database for MariaDb {
    fn user(&self) -> &'static str {
        "mysql"
    }

    fn programs(&self) -> Vec<PathBuf> {
        let rocksdb = (self.engine == "ROCKSDB").then_some(Self::ROCKSDB);
        let programs = [Self::SERVER, Self::INSTALL, Self::CLIENT].into_iter().chain(rocksdb);
        programs.map(PathBuf::from).collect()
    }

    fn prepare(&self, home: &Home) {
        let mut install = home.program(Self::INSTALL);
        install.arg("--no-defaults").args(Self::folders(home));
        install.args(["--auth-root-authentication-method=normal", "--skip-name-resolve"]);
        home.run(install.args(INNODB));
    }

    fn server(&self, home: &Home) -> Command {
        let mut server = home.program(Self::SERVER);
        server.arg("--no-defaults").args(Self::folders(home));
        server.arg(option("--socket=", &home.run.join("socket")));
        server.arg(option("--pid-file=", &home.run.join("pid")));
        server.args(["--skip-networking", "--transaction-isolation=READ-COMMITTED"]);
        server.args(INNODB);
        server.arg(format!("--innodb-flush-log-at-trx-commit={}", self.flush));
        // Seconds, the most that it takes.
        server.arg("--innodb-flush-log-at-timeout=2700");
        server.args(if self.flush == 1 {
            // So little memory that pages are read and written.
            ["--innodb-buffer-pool-size=8M", "--innodb-log-file-buffering=OFF"]
        } else {
            // So much that no page that is written takes the log with it. A log that is written
            // directly would be on the disk all the same.
            ["--innodb-buffer-pool-size=64M", "--innodb-log-file-buffering=ON"]
        });
        if self.engine == "ROCKSDB" {
            server.args(MYROCKS);
        }
        server
    }

    fn client(&self, home: &Home) -> Command {
        let mut client = home.program(Self::CLIENT);
        client.args(["--no-defaults", "--user=root", "--database=test"]);
        client.args(["--batch", "--skip-column-names", "--unbuffered", "--skip-reconnect"]);
        client.arg(option("--socket=", &home.run.join("socket")));
        client
    }

    fn load(&self, rows: u32, balance: u32) -> Vec<String> {
        let engine = self.engine;
        let flush = |at: u8| format!("SET GLOBAL innodb_flush_log_at_trx_commit = {at};");
        vec![
            // What is loaded is on the disk, whatever becomes of the rest.
            flush(1),
            format!(
                "CREATE TABLE account (id INT PRIMARY KEY, branch INT NOT NULL, \
                 balance BIGINT NOT NULL, filler VARCHAR(200) NOT NULL, KEY branch (branch)) \
                 ENGINE={engine};"
            ),
            format!(
                "CREATE TABLE done (client INT, n INT, PRIMARY KEY (client, n)) ENGINE={engine};"
            ),
            format!(
                "INSERT INTO account SELECT seq, seq % 97, {balance}, REPEAT(MD5(seq), 6) \
                 FROM seq_1_to_{rows};"
            ),
            flush(self.flush),
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
        "SELECT COUNT(*), SUM(balance) FROM account FORCE INDEX (PRIMARY);".into()
    }

    fn indexed(&self) -> String {
        "SELECT COUNT(*) FROM account FORCE INDEX (branch) WHERE branch >= 0;".into()
    }

    fn done(&self) -> String {
        "SELECT client, COUNT(*), MAX(n) FROM done GROUP BY client ORDER BY client;".into()
    }

    fn content(&self) -> String {
        "SELECT SUM(CRC32(CONCAT_WS(',', id, branch, balance, filler))) FROM account; \
         SELECT SUM(CRC32(CONCAT_WS(',', client, n))) FROM done;"
            .into()
    }

    fn check(&self, client: &mut Client) {
        // What transactions that were undone have left is no finding.
        client.must("SET GLOBAL innodb_max_purge_lag_wait = 0;");
        let found = client.must("CHECK TABLE account, done EXTENDED;");
        assert!(found.len() == 2 && found.iter().all(|row| row.ends_with("\tOK")), "{found:?}");
        let engine = client.must(
            "SELECT DISTINCT engine FROM information_schema.tables WHERE table_schema = 'test';",
        );
        assert_eq!(engine, [self.engine]);
        // A server that can't have what it was told to use goes on without.
        let used = client.must("SELECT @@innodb_flush_method, @@innodb_use_native_aio;");
        assert_eq!(used, ["O_DIRECT\t1"]);
    }
}
