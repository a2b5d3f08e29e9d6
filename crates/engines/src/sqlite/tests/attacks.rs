//! What a session's statements get besides rows: nothing. A workload's own SQL is a program.

use bakeoff_testkit::{AS_NOBODY, run_test_again};

use super::*;

/// In each, FILE is one that could be written.
const ATTACKS: [&str; 41] = [
    "ATTACH 'FILE' AS other",
    "ATTACH ':memory:' AS other",
    "DETACH main",
    "VACUUM",
    "VACUUM INTO 'FILE'",
    "PRAGMA writable_schema = ON",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA main.journal_mode = OFF",
    "PRAGMA journal_mode",
    "PRAGMA synchronous = OFF",
    "PRAGMA cache_size = -1000000",
    "PRAGMA temp_store_directory = '/tmp'",
    "PRAGMA trusted_schema = ON",
    "PRAGMA user_version = 7",
    "PRAGMA wal_checkpoint",
    "EXPLAIN PRAGMA journal_mode",
    "SELECT * FROM pragma_table_list",
    "SELECT count(*) FROM pragma_table_list",
    "SELECT 1 FROM rows, pragma_database_list",
    "SELECT journal_mode FROM Pragma_journal_mode",
    "SELECT (SELECT file FROM pragma_database_list)",
    "SELECT load_extension('FILE')",
    "SELECT LOAD_EXTENSION('FILE', 'entry')",
    "SELECT readfile('/etc/passwd')",
    "SELECT writefile('FILE', 'x')",
    "SELECT fts3_tokenizer('simple')",
    "CREATE TABLE other (id)",
    "CREATE TABLE other AS SELECT * FROM rows",
    "CREATE TEMP TABLE other (id)",
    "CREATE VIEW other AS SELECT 1",
    "CREATE TEMP TRIGGER t AFTER INSERT ON rows BEGIN SELECT 1; END",
    "CREATE TRIGGER t AFTER INSERT ON rows BEGIN SELECT 1; END",
    "CREATE INDEX other ON rows (size)",
    "CREATE VIRTUAL TABLE other USING dbstat(main)",
    "DROP TABLE rows",
    "ALTER TABLE rows RENAME TO other",
    "REINDEX",
    "ANALYZE",
    "DELETE FROM sqlite_schema",
    "UPDATE sqlite_sequence SET seq = 7",
    "INSERT INTO SQLITE_STAT1 VALUES ('rows', NULL, '1')",
];

/// What is no function of this SQLite can't be called by anybody, nor is its schema a table to change.
fn is_refusal(error: &rusqlite::Error) -> bool {
    let denied = error.sqlite_error_code() == Some(ErrorCode::AuthorizationForStatementDenied);
    let said = error.to_string();
    denied
        || ["not authorized", "no such function", "may not be modified"]
            .iter()
            .any(|word| said.contains(word))
}

#[test]
fn a_session_gets_no_file_no_pragma_and_no_schema() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = open(folder.path(), Durability::Strict);
    let (mut session, mut rows) = (database.open_client().expect("a session"), Rows::new());
    let row = [Value::Null, Value::Int(1), Value::Int(1)];
    session.run(1, &row, &mut rows).expect("a row");
    let file = folder.path().join("file");
    let text = |attack: &str| attack.replace("FILE", &file.display().to_string());
    let control = |connection: &Connection| {
        let ask = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, String>(0));
        [ask("PRAGMA journal_mode"), ask("SELECT group_concat(name) FROM sqlite_schema")]
    };
    let other = open_connection(&database.path, "FULL", &super::plain()).expect("a connection");
    other.execute_batch("ANALYZE").expect("statistics");
    let before = control(&other);
    for attack in ATTACKS {
        let connection = session.client.statements.borrow_owner();
        let answer = connection.execute_batch(&text(attack));
        assert!(answer.as_ref().is_err_and(is_refusal), "{attack}: {answer:?}");
        // Each session's own settings go on.
        session.begin(Access::Write).expect("begin");
        session.run(1, &row, &mut rows).expect("a row");
        session.commit().expect("commit");
    }
    assert!(!file.exists());
    assert_eq!(control(&other), before);
    let synchronous = ask_pragma(&session, "synchronous");
    assert_eq!((synchronous, ask_pragma(&session, "user_version")), (2, 1));
    // It was the authorizer that was in the way.
    other.execute_batch(&text("VACUUM INTO 'FILE'")).expect("an administrator may");
    assert!(file.exists());
}

#[test]
fn a_session_of_an_ordinary_user_gets_no_more() {
    run_test_again(
        &AS_NOBODY,
        "sqlite::tests::attacks::a_session_gets_no_file_no_pragma_and_no_schema",
    );
}

#[test]
fn what_reads_and_changes_rows_is_allowed() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = open(folder.path(), Durability::Strict);
    let session = database.open_client().expect("a session");
    let connection = session.client.statements.borrow_owner();
    let text = "BEGIN; SAVEPOINT s; INSERT INTO rows (kind, size) VALUES (1, 2), (3, 4) \
                ON CONFLICT DO NOTHING; UPDATE rows SET size = abs(size) + 1 WHERE kind = 1; \
                DELETE FROM rows WHERE kind = 3; RELEASE s; COMMIT; \
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) \
                SELECT upper(hex(i)), rank() OVER (ORDER BY i), json_object('i', i) FROM n, rows; \
                SELECT value FROM json_each('[1]'); SELECT name FROM sqlite_schema";
    connection.execute_batch(text).expect("rows");
    let sum = connection.query_row("SELECT sum(size) FROM rows", [], |row| row.get::<_, i64>(0));
    assert_eq!(sum.expect("a sum"), 3);
}
