//! Which tables of a database that somebody else runs are dropped.

use super::*;
use crate::postgres::tables;
use crate::sql::TableMark;

/// A server, and a database on it that belongs to somebody.
fn somebodys() -> (TempDir, Box<dyn Database>, ExternalPostgres) {
    let folder = tempfile::tempdir().expect("a folder");
    let private = open(folder.path(), &OpenTerms::new(Durability::Strict)).expect("open");
    let mut administrator = administrator(folder.path());
    for text in ["CREATE ROLE owner LOGIN SUPERUSER", "CREATE DATABASE ours OWNER owner"] {
        administrator.batch_execute(text).expect(text);
    }
    let ours = elsewhere(&folder, "ours", "hidden");
    (folder, private, ours)
}

fn mark_of(name: &str) -> String {
    TableMark::new_mark(name, ["page"]).with_definition("another schema's").to_string()
}

#[test]
fn only_a_whole_mark_makes_a_table_ours_and_one_that_changed_meanwhile_is_kept() {
    if !installed() {
        return;
    }
    let (_folder, _private, ours) = somebodys();
    claims_alone(&ours);
    let mut owner = connect_admin(&ours.config, &ours.tls).expect("a connection");
    let mut run = |text: &str| owner.run(text);
    let reuse = reuse(&OpenTerms::new(Durability::Strict));
    let open = || ours.open(Path::new("/"), &reuse, &schema(), &statements()).map(drop);
    let refused = |why: &str| {
        let said = open().expect_err("it is theirs").to_string();
        assert!(said.contains(why), "{why:?} is not in: {said}");
    };
    let mark = mark_of("public.\"notes\"");
    for comment in ["made by bakeoffice staff", "made by bakeoff", &format!("{mark}, and staff")] {
        run("CREATE TABLE notes (page INT); INSERT INTO notes VALUES (7)");
        run(&format!("COMMENT ON TABLE notes IS '{comment}'"));
        refused("not made by bakeoff");
        run("DROP TABLE notes");
    }
    // What is no table, or a part of one, is theirs even with the mark.
    for (make, kind) in [
        ("CREATE VIEW notes AS SELECT 1 AS page", "VIEW"),
        ("CREATE MATERIALIZED VIEW notes AS SELECT 1 AS page", "MATERIALIZED VIEW"),
        ("CREATE SEQUENCE notes", "SEQUENCE"),
        ("CREATE TABLE notes (page INT) PARTITION BY LIST (page)", "TABLE"),
    ] {
        run(make);
        run(&format!("COMMENT ON {kind} notes IS '{mark}'"));
        refused("public.\"notes\"");
        run(&format!("DROP {kind} notes"));
    }
    // What depends on a table of ours and is theirs keeps all.
    run("CREATE TABLE \"a\"\"B\" (page INT)");
    run(&format!("COMMENT ON TABLE \"a\"\"B\" IS '{}'", mark_of("public.\"a\"\"B\"")));
    run("CREATE FUNCTION of_theirs(\"a\"\"B\") RETURNS int LANGUAGE sql AS 'SELECT 1'");
    refused("depend");
    run("DROP FUNCTION of_theirs");
    // The path of its owner leads elsewhere first; ours are made in the same place all the same.
    run("CREATE SCHEMA owner");
    open().expect("they are bakeoff's");
    let count =
        "SELECT count(*) FROM pg_tables WHERE schemaname = 'public' AND tablename = 'notes'";
    let mut owner = connect_admin(&ours.config, &ours.tls).expect("a connection");
    assert_eq!(owner.ask(count), 1);
}

#[test]
fn a_table_that_changed_after_it_was_looked_at_is_kept() {
    if !installed() {
        return;
    }
    let (_folder, _private, ours) = somebodys();
    let mut owner = connect_admin(&ours.config, &ours.tls).expect("a connection");
    let marks = ["notes", "others"].map(|name| (name, mark_of(&format!("public.\"{name}\""))));
    let marks = std::collections::BTreeMap::from(marks);
    let make = |name: &str| {
        let mark = &marks[name];
        format!("CREATE TABLE {name} (page INT); COMMENT ON TABLE {name} IS '{mark}'")
    };
    owner.batch_execute(&format!("{}; {}", make("notes"), make("others"))).expect("made");
    let looked = tables::list_relations(&mut owner).expect("tables");
    assert_eq!(looked.len(), 2);
    // Another table in its place, of the same comment even, or another comment.
    for change in [
        format!("DROP TABLE notes; {}; INSERT INTO notes VALUES (7)", make("notes")),
        "COMMENT ON TABLE notes IS 'the staff''s'".into(),
    ] {
        owner.batch_execute(&change).expect("changed");
        let mut transaction = owner.transaction().expect("a transaction");
        let said = tables::drop_ours(&mut transaction, &looked).expect_err("it has changed");
        assert!(said.to_string().contains("\"notes\" was changed"), "{said}");
        transaction.rollback().expect("rollback");
        assert_eq!(
            tables::list_relations(&mut owner).expect("tables").len(),
            2,
            "neither is dropped"
        );
    }
}

/// One bakeoff at a time claims a database.
fn claims_alone(ours: &ExternalPostgres) {
    let claim = ours.claim().expect("nobody uses it");
    let said = ours.claim().map(drop).expect_err("it is used").to_string();
    assert!(said.contains("another bakeoff is using this database"), "{said}");
    drop(claim);
    // The server learns of the end of a connection a moment after it.
    wait_until("a free database", || ours.claim().is_ok());
}
