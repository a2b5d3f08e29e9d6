//! What a session's role gets besides rows: nothing. A workload's own SQL is a program.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use bakeoff_testkit::{AS_NOBODY, folder_for_all, run_test_again};

use super::*;

const DENIED: &str = "42501";

/// In each, FILE is one that the server could write, and OTHER the administrator's connection.
const ATTACKS: [&str; 46] = [
    // It reads what the server writes: else the server's pipe may break first.
    "COPY (SELECT 1) TO PROGRAM 'cat > FILE'",
    "COPY notes FROM PROGRAM 'touch FILE'",
    "DO $$BEGIN EXECUTE 'COPY (SELECT 1) TO PROGRAM ''cat > FILE'''; END$$",
    "COPY (SELECT 1) TO 'FILE'",
    "COPY notes (text) FROM '/etc/passwd'",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_read_file('postgresql.conf')",
    "SELECT pg_read_binary_file('/etc/passwd')",
    "SELECT pg_ls_dir('/')",
    "SELECT pg_stat_file('/etc/passwd')",
    "SELECT * FROM pg_hba_file_rules",
    "SELECT lo_import('/etc/passwd')",
    "SELECT lo_export(lo_create(0), 'FILE')",
    "SELECT rolpassword FROM pg_authid",
    "SET ROLE bakeoff",
    "SET SESSION AUTHORIZATION bakeoff",
    "SET LOCAL ROLE pg_execute_server_program",
    "DO $$BEGIN SET ROLE bakeoff; END$$",
    "ALTER ROLE bakeoff_client SUPERUSER",
    "ALTER ROLE bakeoff_client CREATEROLE",
    "ALTER ROLE bakeoff PASSWORD 'known'",
    "CREATE ROLE another LOGIN",
    "GRANT bakeoff TO bakeoff_client",
    "GRANT pg_execute_server_program TO bakeoff_client",
    "CREATE EXTENSION dblink",
    "CREATE EXTENSION citext",
    "CREATE FOREIGN DATA WRAPPER elsewhere",
    "CREATE SUBSCRIPTION elsewhere CONNECTION 'host=/' PUBLICATION x WITH (connect = false)",
    "ALTER SYSTEM SET archive_command = 'touch FILE'",
    "ALTER DATABASE postgres SET work_mem = '1MB'",
    "SET session_preload_libraries = 'FILE'",
    "SET fsync = off",
    "LOAD 'FILE'",
    "SELECT pg_reload_conf()",
    "SELECT pg_terminate_backend(OTHER)",
    "CHECKPOINT",
    "CREATE DATABASE another",
    "CREATE SCHEMA another",
    "CREATE TABLE another (id int)",
    "CREATE TEMPORARY TABLE another (id int)",
    "CREATE FUNCTION public.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE TRIGGER t BEFORE INSERT ON notes EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    "ALTER TABLE notes ADD other int",
    "COMMENT ON TABLE notes IS 'mine'",
    "TRUNCATE notes",
    "DROP TABLE notes",
];

fn refuse(attacker: &mut PostgresClient, attack: &str) {
    let failure = attacker.batch_execute(attack).expect_err(attack);
    let code = failure.code().map(SqlState::code);
    // Who may set it, if anybody: a start of the server.
    let late = attack.starts_with("SET fsync") && code == Some("55P02");
    assert!(code == Some(DENIED) || late, "{attack}: {failure:?}");
}

#[test]
fn a_session_gets_no_file_no_program_and_no_other_role() {
    if !installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let database = open(folder.path(), &OpenTerms::new(Durability::Strict)).expect("open");
    let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
    let mut administrator = administrator(folder.path());
    let theirs = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'bakeoff_client'";
    assert_eq!(administrator.ask(theirs), 1, "a session is this role");
    let place = folder_for_all();
    fs::set_permissions(place.path(), Permissions::from_mode(0o777)).expect("a folder of ours");
    let file = place.path().join("file");
    let text = |attack: &str, other: i64| {
        attack.replace("FILE", &file.display().to_string()).replace("OTHER", &other.to_string())
    };
    let other = administrator.ask("SELECT pg_backend_pid()::bigint");
    let mut attacker = stranger(&*database);
    for attack in ATTACKS {
        refuse(&mut attacker, &text(attack, other));
    }
    attacker.run("RESET ROLE; RESET SESSION AUTHORIZATION; SET ROLE NONE");
    let role = "SELECT count(*) FROM pg_roles WHERE rolname = current_user AND \
                rolname = session_user AND rolname = 'bakeoff_client' AND NOT rolsuper";
    assert_eq!(attacker.ask(role), 1);
    assert!(!file.exists());
    assert_eq!(session.run(INSERT, &note(1), &mut rows).expect("the server runs"), 1);
    // It was the role that was in the way.
    administrator.run(&text(ATTACKS[0], 0));
    assert!(file.exists());
}

#[test]
fn a_session_of_an_ordinary_users_server_gets_no_more() {
    let name = "postgres::tests::attacks::a_session_gets_no_file_no_program_and_no_other_role";
    run_test_again(&AS_NOBODY, name);
}

#[test]
fn an_image_has_the_role_and_one_that_is_more_or_less_is_made_anew() {
    if !installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let terms = OpenTerms::new(Durability::Strict);
    let number = "SELECT oid::bigint FROM pg_roles WHERE rolname = 'bakeoff_client'";
    let mut rows = Rows::new();
    drop(open(folder.path(), &terms).expect("open"));
    for change in [
        "",
        "GRANT pg_read_server_files TO bakeoff_client",
        "ALTER ROLE bakeoff_client SUPERUSER",
        "GRANT CREATE ON SCHEMA public TO PUBLIC",
        "GRANT TRIGGER ON notes TO bakeoff_client",
        "ALTER ROLE bakeoff_client SET synchronous_commit = off",
        "DROP OWNED BY bakeoff_client; DROP ROLE bakeoff_client",
    ] {
        let database = open(folder.path(), &terms).expect("open");
        let mut administrator = administrator(folder.path());
        let before = administrator.ask(number);
        administrator.run(change);
        drop((administrator, database));
        let database = open(folder.path(), &terms).expect("open");
        let mut administrator = super::administrator(folder.path());
        assert_eq!(administrator.ask(number) == before, change.is_empty(), "{change}");
        let mut attacker = stranger(&*database);
        for attack in ["COPY notes (text) FROM '/etc/passwd'", "CREATE TABLE another (id int)"] {
            refuse(&mut attacker, attack);
        }
        let mut session = database.session().expect("a session");
        assert_eq!(session.run(READ, &[1.into()], &mut rows).expect("read"), 0, "{change}");
    }
}
