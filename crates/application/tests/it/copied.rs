//! Rows that are copied from a database or its dump into an application's tables.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use bakeoff_application::{ApplicationFiles, CopiedRows, CopyRequest};
use bakeoff_engines::servers::{Launch, PrivateServer, ServerProgram};
use bakeoff_engines::{mysql, postgres};
use bakeoff_testkit::folder_for_all;
use bakeoff_workloads::{TextSource, Workload as _, WorkloadParameters};

use crate::stage::{Stage, compile, installed, to_files};

const SCHEMA: &str = "CREATE TABLE customers (id INTEGER PRIMARY KEY, code VARCHAR(5) NOT NULL UNIQUE, \
    email VARCHAR(40) NOT NULL, note TEXT);\n\
    CREATE TABLE orders (code VARCHAR(5) NOT NULL, n INTEGER NOT NULL, total NUMERIC(8, 2) NOT NULL, \
    paid BOOLEAN NOT NULL, placed TIMESTAMP NOT NULL, raw BLOB, PRIMARY KEY (code, n), \
    FOREIGN KEY (code) REFERENCES customers (code));";
const MASK: &str = "[columns.customers]\nemail = \"text('made', :row, '@example.org')\"\n";
/// A picked row is one that was loaded.
const PICK: &str = "\\pick c FROM customers\n\
    SELECT COUNT(*) AS same FROM customers WHERE id = :c_id AND email = :c_email AND code = :c_code \\gset\n\
    \\assert :same = 1";

/// Rows in another order than that of their keys. Each server has its own types and texts.
const MADE: [&str; 2] = [
    "CREATE TABLE customers (id INTEGER PRIMARY KEY, email VARCHAR(40) NOT NULL, \
     code VARCHAR(5) NOT NULL UNIQUE, note TEXT, unread INTEGER); \
     INSERT INTO customers VALUES (30, 'secret30@home', '00120', {text}, 7), \
     (4, 'secret4@home', '012', '', 7), (9, 'secret9@home', '12', NULL, NULL)",
    "CREATE TABLE orders (code VARCHAR(5) NOT NULL, n INTEGER NOT NULL, total NUMERIC(8, 2) NOT NULL, \
     paid {bool} NOT NULL, placed {time} NOT NULL, raw {bytes}, PRIMARY KEY (code, n), \
     FOREIGN KEY (code) REFERENCES customers (code)); \
     INSERT INTO orders VALUES ('12', 10, 1.50, {true}, '2020-02-29 23:59:59.5', NULL), \
     ('12', 9, 7.00, {false}, '2021-01-01 00:00:00', {raw}), \
     ('00120', 1, 12345.25, {true}, '2021-01-01 00:00:00', NULL)",
];

const WORDS: [[&str; 7]; 3] = [
    ["E'a\\tb\\n\\\\c''é'", "BOOLEAN", "TIMESTAMP", "BYTEA", "TRUE", "FALSE", "'\\x005c27ff'"],
    ["'a\\tb\\n\\\\c''é'", "BOOLEAN", "DATETIME(6)", "BLOB", "TRUE", "FALSE", "X'005c27ff'"],
    [
        "'a' || char(9) || 'b' || char(10) || '\\c''é'",
        "INTEGER",
        "TEXT",
        "BLOB",
        "1",
        "0",
        "X'005c27ff'",
    ],
];

/// In the order of keys: texts by their bytes.
const ROWS: [&str; 6] = [
    "Int(4) Text(\"012\") Text(\"made0@example.org\") Text(\"\")",
    "Int(9) Text(\"12\") Text(\"made1@example.org\") Null",
    "Int(30) Text(\"00120\") Text(\"made2@example.org\") Text(\"a\\tb\\n\\\\c'é\")",
    "Text(\"00120\") Int(1) Real(RealValue(12345.25)) Int(1) Text(\"2021-01-01 00:00:00.000000\") Null",
    "Text(\"12\") Int(9) Int(7) Int(0) Text(\"2021-01-01 00:00:00.000000\") Bytes([0, 92, 39, 255])",
    "Text(\"12\") Int(10) Real(RealValue(1.5)) Int(1) Text(\"2020-02-29 23:59:59.500000\") Null",
];

pub fn write_made(server: usize) -> String {
    let marks = ["{text}", "{bool}", "{time}", "{bytes}", "{true}", "{false}", "{raw}"];
    let made = MADE.join("; ");
    marks.iter().zip(WORDS[server]).fold(made, |text, (mark, word)| text.replace(mark, word))
}

fn shop() -> ApplicationFiles {
    let files = [("schema.sql", SCHEMA), ("workload.toml", MASK), ("browse.sql", PICK)];
    to_files("shop", &files)
}

/// The copied rows of a source, in a folder of their own, and what was told before.
struct Copy {
    copied: CopiedRows,
    told: String,
    _folder: tempfile::TempDir,
}

fn copy(files: &ApplicationFiles, source: &str) -> Result<Copy, String> {
    let folder = tempfile::tempdir().unwrap();
    let mut told = String::new();
    let request = CopyRequest::from_files(files).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let copied = request.copy_rows(source, &folder.path().join("rows"), &mut |what| told += what);
    let left = std::fs::read_dir(folder.path().join("rows")).map_or(0, Iterator::count);
    assert_eq!(left, usize::from(copied.is_ok()), "a failure leaves nothing");
    Ok(Copy { copied: copied?, told, _folder: folder })
}

fn list_rows(files: ApplicationFiles) -> Vec<String> {
    let application = compile(files);
    let text = TextSource::generate_short().into();
    let prepared = application.prepare(&WorkloadParameters::new("small", 1, text));
    let mut rows = Vec::new();
    for table in 0..2 {
        let mut take = |row: &[bakeoff_engines::Value<'_>]| {
            let values: Vec<String> = row.iter().map(|value| format!("{value:?}")).collect();
            rows.push(values.join(" "));
            Ok(())
        };
        prepared.rows(table, &mut take).unwrap();
    }
    rows
}

/// A source's rows are those of the test, its file is its user's alone, and no masked value is there.
#[track_caller]
fn assert_copied(source: &str) -> Copy {
    let mut files = shop();
    let copy = copy(&files, source).unwrap();
    let path = &copy.copied.path;
    let bytes = std::fs::read(path).unwrap();
    assert!(!bytes.windows(6).any(|part| part == b"secret"), "{source}");
    assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(copy.told.contains("email"), "{}", copy.told);
    files.copied = Some(copy.copied.clone());
    assert_eq!(list_rows(files.clone()), ROWS, "{source}");
    let described = compile(files.clone()).describe_rows().unwrap();
    assert!(described.contains(&format!("rm '{}'", path.display())), "{described}");
    for sent in Stage::new(files).record(0, 1, 20, false).operations {
        assert_eq!(sent.error, None, "{source}");
    }
    copy
}

/// Somebody's server, with a database that has tables.
pub struct SourceServer {
    server: PrivateServer,
    folder: tempfile::TempDir,
}

impl SourceServer {
    fn start(program: &'static ServerProgram, (name, value): (&str, &str)) -> Self {
        let folder = folder_for_all();
        let settings = vec![(name.into(), value.into())];
        let launch =
            Launch { directory: folder.path().join("server"), settings, ..Launch::default() };
        PrivateServer::initialise(program, &launch).unwrap();
        Self { server: PrivateServer::start(program, &launch).unwrap(), folder }
    }

    fn socket(&self) -> &Path {
        self.server.socket()
    }

    pub fn postgres(sql: &str) -> Option<Self> {
        installed("postgres")?;
        let started =
            Self::start(&postgres::SERVER, ("shared_preload_libraries", "pg_stat_statements"));
        started.run("psql", &["--no-psqlrc", "--quiet", "--dbname=postgres", "--command", sql]);
        Some(started)
    }

    pub fn mariadb(sql: &str) -> Option<Self> {
        installed("mariadb:innodb")?;
        let started = Self::start(&mysql::SERVER, ("performance_schema", "ON"));
        let sql = format!("CREATE DATABASE shop; USE shop; {sql}");
        started.run("mariadb", &["--execute", &sql]);
        Some(started)
    }

    /// What one of the server's own programs writes, as its administrator.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Vec<u8> {
        let mut command = Command::new(program);
        if program.starts_with('p') {
            command.arg("--host").arg(self.socket().parent().unwrap()).arg("--username=bakeoff");
        } else {
            command.args(["--no-defaults", "--user=root"]);
            command.arg(format!("--socket={}", self.socket().display()));
        }
        let output = command.args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    fn write_dump(&self, name: &str, program: &str, arguments: &[&str]) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, self.run(program, arguments)).unwrap();
        path
    }

    pub fn postgres_url(&self, user: &str) -> String {
        let folder = self.socket().parent().unwrap().display().to_string().replace('/', "%2F");
        format!("postgres://{user}@{folder}/postgres")
    }

    pub fn mariadb_url(&self, user: &str) -> String {
        format!("mysql://{user}@localhost/shop?socket={}", self.socket().display())
    }
}

/// The user may read the columns that are copied, and no other.
#[test]
fn a_database_and_its_dumps_give_the_same_rows_in_order_without_what_is_masked() {
    let rights = "; CREATE ROLE reader LOGIN; GRANT SELECT (id, code, note) ON customers TO reader; \
                  GRANT SELECT ON orders TO reader";
    if let Some(theirs) = SourceServer::postgres(&(write_made(0) + rights)) {
        let copy = assert_copied(&theirs.postgres_url("reader"));
        let estimates = ["customers: ", "orders: ", " MB", "; not email"];
        assert!(estimates.iter().all(|word| copy.told.contains(word)), "{}", copy.told);
        for more in [&[][..], &["--inserts"], &["--column-inserts", "--data-only"]] {
            let arguments = [&["--dbname=postgres"][..], more].concat();
            let path = theirs.write_dump("postgres.sql", "pg_dump", &arguments);
            assert!(Command::new("gzip").arg("--force").arg(&path).status().unwrap().success());
            let path = format!("{}.gz", path.display());
            // The order is the server's own, and so are the contents.
            assert_eq!(assert_copied(&path).copied.fingerprint, copy.copied.fingerprint);
        }
    }
    let rights = "; CREATE USER reader@localhost; GRANT SELECT (id, code, note) ON customers TO \
                  reader@localhost; GRANT SELECT ON orders TO reader@localhost";
    if let Some(theirs) = SourceServer::mariadb(&(write_made(1) + rights)) {
        assert_copied(&theirs.mariadb_url("reader"));
        let whole = to_files("shop", &[("schema.sql", SCHEMA)]);
        let told = copy(&whole, &theirs.mariadb_url("reader")).err().unwrap();
        let grant = "GRANT SELECT ON `customers` TO 'reader'@'localhost'";
        assert!(told.contains(grant) && !told.contains("orders"), "{told}");
        for more in [&["--hex-blob"][..], &["--complete-insert", "--skip-extended-insert"]] {
            let arguments = [&["shop"][..], more].concat();
            let path = theirs.write_dump("mariadb.sql", "mariadb-dump", &arguments);
            assert_copied(path.to_str().unwrap());
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let connection = rusqlite::Connection::open(folder.path().join("shop.sqlite")).unwrap();
    connection.execute_batch(&write_made(2)).unwrap();
    let output =
        Command::new("sqlite3").arg(folder.path().join("shop.sqlite")).arg(".dump").output();
    if let Ok(output) = output {
        let path = folder.path().join("sqlite.sql");
        std::fs::write(&path, output.stdout).unwrap();
        assert_copied(path.to_str().unwrap());
    }
}

#[test]
fn what_a_database_can_not_give_is_told_before_anything_is_kept() {
    let sql = "CREATE TABLE customers (id INTEGER, code TEXT, email TEXT, note TEXT); \
               CREATE TABLE orders (code TEXT, n TEXT, total NUMERIC, paid BOOLEAN, placed TEXT, raw BYTEA); \
               INSERT INTO customers VALUES (1, 'a', '', ''), (1, 'b', '', ''), (2, 'b', '', ''); \
               INSERT INTO orders VALUES ('c', '1', 1, TRUE, '2020-01-01', NULL), \
               ('a', 'x1', 1, TRUE, 'today', NULL); \
               CREATE ROLE reader LOGIN";
    let Some(theirs) = SourceServer::postgres(sql) else { return };
    theirs.run("psql", &["--dbname=postgres", "--command", "CREATE DATABASE nothing"]);
    let fails = |files: &ApplicationFiles, url: &str, said: &[&str]| {
        let told = copy(files, url).err().unwrap_or_else(|| panic!("{url} is copied"));
        assert!(said.iter().all(|word| told.contains(word)), "{told}");
    };
    let (files, url) = (shop(), theirs.postgres_url("bakeoff"));
    let grants = ["GRANT SELECT ON \"customers\" TO \"reader\"", "GRANT SELECT ON \"orders\""];
    fails(&files, &theirs.postgres_url("reader"), &grants);
    let types = [
        "orders.n of the row with code a, n x1: `x1` is no integer",
        "orders.placed of the row with code a, n x1: `today` is no time",
        "customers.id: 2 rows have 1",
        "customers.code: 2 rows have `b`",
    ];
    fails(&files, &url, &types);
    theirs.run(
        "psql",
        &[
            "--dbname=postgres",
            "--command",
            "DELETE FROM orders WHERE n = 'x1'; \
                         DELETE FROM customers WHERE code = 'b'",
        ],
    );
    fails(&files, &url, &["orders.code: `c` refers to no row of customers"]);
    let lacking = ["the source has no table customers", "no table orders", "under [rows]"];
    fails(&files, &url.replace("/postgres", "/nothing"), &lacking);
    fails(&files, &url.replace("/postgres", "/nowhere"), &["create the database first"]);
    let more = to_files(
        "shop",
        &[("schema.sql", &format!("{SCHEMA}\nCREATE TABLE more (id INTEGER PRIMARY KEY);"))],
    );
    fails(&more, &url, &["the source has no table more"]);
    let column = to_files("shop", &[("schema.sql", &SCHEMA.replace("note TEXT", "age INTEGER"))]);
    fails(&column, &url, &["customers can't be read: column \"age\" does not exist"]);
    // The server ends when it is told what will be read.
    let mut server = Some(theirs.server);
    let request = CopyRequest::from_files(&files).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut end = |_: &str| server.take().into_iter().for_each(PrivateServer::kill);
    let told = request.copy_rows(&url, folder.path(), &mut end).unwrap_err();
    assert!(told.contains("the server ended, or the connection broke"), "{told}");
    fails(&files, &url, &["no connection to the server"]);
}

const SMALL: &str = "CREATE TABLE a (id INTEGER PRIMARY KEY, n INTEGER NOT NULL);\n\
    CREATE TABLE b (id INTEGER PRIMARY KEY, a INTEGER REFERENCES a (id), t VARCHAR(3) UNIQUE);";

#[test]
fn a_dump_with_faults_is_refused_with_their_lines_and_columns() {
    let folder = tempfile::tempdir().unwrap();
    let head = "--\n-- PostgreSQL database dump\n--\nCREATE TABLE public.b (id integer, a integer, t text);\n";
    let tail = "\n--\n-- PostgreSQL database dump complete\n--\n";
    let rows = "COPY public.a (n, id) FROM stdin;\n5\t1\n6\t2\n\\.\n";
    let small = [("schema.sql", SMALL)];
    let fails = |dump: &[u8], said: &[&str]| {
        let path = folder.path().join("dump.sql");
        std::fs::write(&path, dump).unwrap();
        let told = copy(&to_files("small", &small), path.to_str().unwrap()).err();
        let told = told.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(dump)));
        assert!(said.iter().all(|word| told.contains(word)), "{told}");
        told
    };
    let copy_b = |lines: &str| format!("{head}{rows}COPY public.b (id, a, t) FROM stdin;\n{lines}");
    for (dump, said) in [
        (copy_b("1\t1\té\n2\t"), "dump.sql:11:1: the dump ends inside the rows of b"),
        (
            copy_b("1\t1\tx\n\\.\n"),
            "dump.sql:12:1: the dump has no end, which is `-- PostgreSQL database",
        ),
        (
            copy_b(&format!("1\t1\té\n2\té\tx\n\\.{tail}")),
            "dump.sql:11:3: b.a: `é` is no integer of 64 bits",
        ),
        (copy_b(&format!("1\t1\tlong\n\\.{tail}")), "dump.sql:10:5: b.t: column t holds at most 3"),
        (
            copy_b(&format!("1\t1\tx\n1\t2\ty\n\\.{tail}")),
            "dump.sql:11:1: b.id: 1 is there already, in line 10",
        ),
        (
            copy_b(&format!("1\t1\tx\n2\t2\tx\n\\.{tail}")),
            "dump.sql:11:1: b.t: `x` is there already, in line 10",
        ),
        (
            copy_b(&format!("1\t\\N\tx\n2\t3\ty\n\\.{tail}")),
            "dump.sql:11:1: b.a: 3 refers to no row of a",
        ),
        (copy_b(&format!("1\t1\n\\.{tail}")), "dump.sql:10:1: b: 2 values, and 3 columns"),
        (format!("{head}{tail}"), "the source has no table a"),
        (
            format!("{head}COPY a (id) FROM stdin;\n1\n\\.{tail}"),
            "dump.sql:6:1: a has no column n there",
        ),
        (
            "-- MySQL dump 10.19\nINSERT INTO `a` VALUES (1,2),(3,'it".into(),
            "dump.sql:2:36: the dump ends inside a text",
        ),
        (
            "-- MySQL dump 10.19\nINSERT INTO `a` VALUES (1,2),(3,4)".into(),
            "dump.sql:2:35: the dump ends inside a statement",
        ),
        (
            "-- MySQL dump 10.19\nINSERT INTO `a` VALUES (1,2);\n".into(),
            "which is `-- Dump completed",
        ),
        (
            "INSERT INTO a VALUES (1,NOW());".into(),
            "dump.sql:1:25: `NOW` is no value that bakeoff knows",
        ),
        ("INSERT INTO a VALUES (1,2 3);".into(), "dump.sql:1:27: here a `,` or `)` is missing"),
        ("PRAGMA foreign_keys=OFF;\nBEGIN;\nCREATE TABLE a(id, n);\n".into(), "which is `COMMIT;`"),
        // Rows of one table are never taken for another's.
        (
            format!(
                "{head}ALTER TABLE ONLY b ATTACH PARTITION b1 FOR VALUES IN (1);\n{rows}{tail}"
            ),
            "a table in partitions is read from a database alone",
        ),
        (
            format!("{head}CREATE TABLE auth.b (id integer);\n{rows}{tail}"),
            "here is a second table b: dump one schema or database alone",
        ),
        // Nobody writes so but to fill the stack.
        (
            format!("INSERT INTO a VALUES (1,{}", "_a ".repeat(100_000)),
            "is no value that bakeoff knows",
        ),
        (
            format!("INSERT INTO a VALUES (1,{}", "replace(".repeat(100_000)),
            "is no value that bakeoff knows",
        ),
        ("Dear all,\n".into(), "the dump ends inside a statement"),
        ("\n".into(), "has no table: give a dump as text"),
        ("PGDMP\u{1}".into(), "a dump of pg_dump in its own format; name a file of text"),
    ] {
        fails(dump.as_bytes(), &[said]);
    }
    // All are told, up to a bound.
    let lines: String = (0..50).map(|id| format!("{id}\tx\ty\n")).collect();
    let told =
        fails(copy_b(&format!("{lines}\\.{tail}")).as_bytes(), &["dump.sql:10:3", "dump.sql:29:4"]);
    assert!(told.lines().count() == 21 && told.ends_with("and more; mend these first"), "{told}");
    // Packed, and cut off.
    let path = folder.path().join("whole.sql");
    std::fs::write(&path, copy_b(&format!("{lines}\\.{tail}"))).unwrap();
    assert!(Command::new("gzip").arg(&path).status().unwrap().success());
    let packed = std::fs::read(folder.path().join("whole.sql.gz")).unwrap();
    fails(
        &packed[..packed.len() / 2],
        &["gzip data are broken or cut short", "make the dump again"],
    );
}

/// What the samples are drawn from is the rows as they were loaded, masked columns with them.
#[test]
fn rows_that_do_not_fit_into_the_sample_are_picked_as_they_were_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wide.sql");
    let rows = (0..300).rev().map(|id| format!("{id}\t{id}\t{}\n", "x".repeat(100_000)));
    let rows: String = rows.collect();
    std::fs::write(&path, format!("COPY customers (id, code, note) FROM stdin;\n{rows}\\.\n"))
        .unwrap();
    let toml = format!("{MASK}[rows]\norders = 0\n");
    let mut files =
        to_files("wide", &[("schema.sql", SCHEMA), ("workload.toml", &toml), ("browse.sql", PICK)]);
    let copy = copy(&files, path.to_str().unwrap()).unwrap();
    let sampled = copy.copied.tables[0].sampled;
    assert!((100..300).contains(&sampled), "{sampled}");
    files.copied = Some(copy.copied.clone());
    let record = Stage::new(files.clone()).record(0, 1, 200, false);
    assert!(record.operations.iter().all(|sent| sent.error.is_none()));
    // Who does not know the contents can't have them read.
    files.copied = Some(CopiedRows { fingerprint: "0".repeat(16), ..copy.copied });
    let told = bakeoff_application::Application::new(files).err().unwrap().to_string();
    assert!(told.contains("can't be read: other rows are there now"), "{told}");
}
