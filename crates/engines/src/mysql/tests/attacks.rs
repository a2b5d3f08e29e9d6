//! What a session's user gets besides rows: nothing. A workload's own SQL is a program.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use bakeoff_testkit::{AS_NOBODY, folder_for_all, run_test_again};
use mysql::LocalInfileHandler;

use super::*;

/// Access is denied to a user, to a database, to a table, or for want of a right.
const DENIED: [u16; 6] = [1044, 1045, 1142, 1227, 1370, 1698];
/// The server takes no client's files.
const NO_LOCAL_FILES: u16 = 4166;
const SECURE_FILE_PRIV: u16 = 1290;

/// In each, {} is one that the server could write.
const ATTACKS: [&str; 36] = [
    "SELECT 1 INTO OUTFILE '{}'",
    "SELECT 1 INTO DUMPFILE '{}'",
    "EXECUTE IMMEDIATE 'SELECT 1 INTO OUTFILE ''{}'''",
    "LOAD DATA INFILE '/etc/passwd' INTO TABLE notes",
    "LOAD XML INFILE '/etc/passwd' INTO TABLE notes",
    "SET GLOBAL local_infile = ON",
    "SET GLOBAL general_log_file = '{}'",
    "SET GLOBAL event_scheduler = ON",
    "SET GLOBAL innodb_flush_log_at_trx_commit = 0",
    "SET SESSION sql_log_bin = OFF",
    "SET PASSWORD FOR root@localhost = PASSWORD('known')",
    "CREATE USER another",
    "CREATE OR REPLACE USER root@localhost",
    "ALTER USER root@localhost IDENTIFIED BY 'known'",
    "GRANT FILE ON *.* TO bakeoff_client@localhost",
    "GRANT ALL ON bakeoff.* TO bakeoff_client@localhost",
    "GRANT PROXY ON root@localhost TO bakeoff_client@localhost",
    "CREATE ROLE another",
    "INSTALL PLUGIN rocksdb SONAME 'ha_rocksdb.so'",
    "INSTALL SONAME 'ha_rocksdb'",
    "CREATE FUNCTION f RETURNS INTEGER SONAME 'f.so'",
    "CREATE FUNCTION f() RETURNS INTEGER RETURN 1",
    "CREATE PROCEDURE p() SELECT 1",
    "CREATE TRIGGER t BEFORE INSERT ON notes FOR EACH ROW SET NEW.id = 1",
    "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST '127.0.0.1')",
    "CHANGE MASTER TO MASTER_HOST = '127.0.0.1'",
    "SELECT * FROM mysql.global_priv",
    "CREATE DATABASE another",
    "CREATE TABLE another (id INT) DATA DIRECTORY = '/tmp'",
    "CREATE TEMPORARY TABLE another (id INT)",
    "ALTER TABLE notes COMMENT = 'mine'",
    "TRUNCATE notes",
    "DROP TABLE notes",
    "FLUSH TABLES",
    "BACKUP STAGE START",
    "SHUTDOWN",
];

#[track_caller]
fn find_refusal(client: &mut Conn, attack: &str) -> u16 {
    match client.query_drop(attack) {
        Err(mysql::Error::MySqlError(refusal)) => refusal.code,
        answer => panic!("{attack}: {answer:?}"),
    }
}

#[track_caller]
fn refuse(attacker: &mut Conn, attack: &str) {
    let code = find_refusal(attacker, attack);
    assert!(DENIED.contains(&code), "{attack}: {code}");
}

/// A client that sends its files if it is asked to.
fn refuse_local_files(mut client: Conn) {
    client.set_local_infile_handler(Some(LocalInfileHandler::new(|_, _| {
        panic!("the server asked for a file");
    })));
    let attack = "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE bakeoff.notes";
    assert_eq!(find_refusal(&mut client, attack), NO_LOCAL_FILES);
}

fn count_notes(database: &dyn Database) -> i64 {
    stranger(database).ask("SELECT COUNT(*) FROM notes")
}

#[test]
fn a_session_gets_no_file_no_setting_and_no_other_user() {
    if !installed(&INNODB) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let terms = OpenTerms::new(Durability::Strict);
    let database = open(&INNODB, folder.path(), &terms).expect("open");
    let mut loader = database.load(0).expect("a load");
    loader.row(&note(1)).expect("a row");
    loader.finish().expect("loaded");
    let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
    let mut administrator = administrator(folder.path());
    let theirs =
        "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'bakeoff_client'";
    assert_eq!(administrator.ask(theirs), 1, "a session is this user");
    let place = folder_for_all();
    fs::set_permissions(place.path(), Permissions::from_mode(0o777)).expect("a folder of ours");
    let file = place.path().join("file");
    let text = |attack: &str| attack.replace("{}", &file.display().to_string());
    let mut attacker = stranger(&*database);
    for attack in ATTACKS {
        refuse(&mut attacker, &text(attack));
    }
    let read: Option<Option<String>> =
        attacker.query_first("SELECT LOAD_FILE('/etc/passwd')").expect("an answer");
    assert_eq!(read, Some(None));
    refuse_local_files(attacker);
    // It is refused even to the administrator.
    administrator.run("USE bakeoff");
    for attack in [ATTACKS[0], ATTACKS[3]] {
        assert_eq!(find_refusal(&mut administrator, &text(attack)), SECURE_FILE_PRIV);
    }
    assert!(!file.exists());
    assert_eq!(session.run(INSERT, &note(2), &mut rows).expect("the server runs"), 1);
    assert_eq!(count_notes(&*database), 2);
}

#[test]
fn a_session_of_an_ordinary_users_server_gets_no_more() {
    let name = "mysql::tests::attacks::a_session_gets_no_file_no_setting_and_no_other_user";
    run_test_again(&AS_NOBODY, name);
}

/// A load that is given up ends as one that is finished does.
#[test]
fn a_server_takes_files_of_clients_while_loads_go_on() {
    if !installed(&INNODB) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let database = open(&INNODB, folder.path(), &OpenTerms::new(Durability::None)).expect("open");
    let mut administrator = administrator(folder.path());
    let mut is_on = || administrator.ask("SELECT @@GLOBAL.local_infile");
    assert_eq!(is_on(), 0);
    let mut loader = database.load(0).expect("a load");
    loader.row(&note(1)).expect("a row");
    assert_eq!(is_on(), 1);
    loader.finish().expect("loaded");
    assert_eq!((is_on(), count_notes(&*database)), (0, 1));
    let given_up = database.load(0).expect("a load");
    assert_eq!(is_on(), 1);
    drop(given_up);
    assert_eq!(is_on(), 0);
    refuse_local_files(super::administrator(folder.path()));
}

#[test]
fn an_image_has_the_user_and_one_that_is_more_or_less_is_made_anew() {
    if !installed(&INNODB) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let terms = OpenTerms::new(Durability::Strict);
    let mut rows = Rows::new();
    let changed = "SELECT json_value(priv, '$.password_last_changed') FROM mysql.global_priv \
                   WHERE user = 'bakeoff_client'";
    drop(open(&INNODB, folder.path(), &terms).expect("open"));
    for change in [
        "DO 0",
        "GRANT FILE ON *.* TO bakeoff_client@localhost",
        "GRANT CREATE ON bakeoff.* TO bakeoff_client@localhost",
        "SET PASSWORD FOR bakeoff_client@localhost = PASSWORD('x')",
        "DROP USER bakeoff_client@localhost",
    ] {
        let database = open(&INNODB, folder.path(), &terms).expect("open");
        let mut administrator = administrator(folder.path());
        administrator.run("UPDATE mysql.global_priv SET priv = \
                           json_set(priv, '$.password_last_changed', 7) WHERE user = 'bakeoff_client'");
        administrator.run("FLUSH PRIVILEGES");
        administrator.run(change);
        drop((administrator, database));
        let database = open(&INNODB, folder.path(), &terms).expect("open");
        let mut administrator = super::administrator(folder.path());
        assert_eq!(administrator.ask(changed) == 7, change == "DO 0", "{change}");
        let mut attacker = stranger(&*database);
        for attack in [ATTACKS[3], "CREATE TABLE another (id INT)"] {
            refuse(&mut attacker, attack);
        }
        let mut session = database.session().expect("a session");
        assert_eq!(session.run(READ, &[1.into()], &mut rows).expect("read"), 0, "{change}");
    }
}
