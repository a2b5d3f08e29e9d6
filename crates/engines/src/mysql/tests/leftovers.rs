//! Which tables of a database that somebody else runs are dropped.

use super::*;
use crate::mysql::tables;
use crate::sql::TableMark;

#[test]
fn only_a_whole_mark_makes_a_table_ours_and_one_that_changed_meanwhile_is_kept() {
    if !installed(&INNODB) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let terms = OpenTerms::new(Durability::Strict);
    let _private = open(&INNODB, folder, &terms).expect("open");
    let mut administrator = administer_elsewhere(folder);
    let mut run = |text: &str| administrator.run(text);
    let ours = elsewhere(folder, "ours", "hidden");
    claims_alone(&ours, &elsewhere(folder, "theirs", "hidden"));
    let reuse = reuse(&terms);
    let open = || ours.open(Path::new("/"), &reuse, &schema(), &statements()).map(drop);
    let mark_of = |name: &str| {
        TableMark::new_mark(name, ["page"]).with_definition("another schema's").to_string()
    };
    let mark = mark_of("notes");
    for comment in ["made by bakeoffice staff", "made by bakeoff", &format!("{mark}, and staff")] {
        run(&format!("CREATE TABLE ours.notes (page INT) COMMENT = '{comment}'"));
        run("INSERT INTO ours.notes VALUES (7)");
        let said = open().expect_err("it is theirs").to_string();
        assert!(said.contains("not made by bakeoff") && said.contains("notes"), "{said}");
        run("DROP TABLE ours.notes");
    }
    // A copy has the mark of what it is a copy of; one that was added to is not what was made.
    run(&format!("CREATE TABLE ours.notes (page INT) COMMENT = '{mark}'"));
    for change in ["CREATE TABLE ours.copy LIKE ours.notes", "ALTER TABLE ours.notes ADD own INT"] {
        run(change);
        let said = open().expect_err("it is theirs").to_string();
        assert!(said.contains("not made by bakeoff"), "{said}");
        run("DROP TABLE IF EXISTS ours.copy");
    }
    run("DROP TABLE ours.notes");
    // A view has the comment VIEW, whatever stands under it.
    run(&format!("CREATE TABLE ours.`a``b` (page INT) COMMENT = '{}'", mark_of("a`b")));
    run("CREATE VIEW ours.notes AS SELECT * FROM ours.`a``b`");
    assert!(open().expect_err("it is theirs").to_string().contains("notes"));
    run("DROP VIEW ours.notes");

    run("USE ours");
    run("CREATE TABLE notes (page INT)");
    run(&format!("ALTER TABLE notes COMMENT = '{mark}'"));
    let mut owner = Conn::new(ours.opts.clone()).expect("a connection");
    let looked = tables::list_tables(&mut owner).expect("tables");
    assert_eq!(looked.len(), 2);
    run("ALTER TABLE notes COMMENT = 'the staff''s own by now'");
    let said = tables::drop_ours(&mut owner, &looked).expect_err("it has changed").to_string();
    assert!(said.contains("notes was changed"), "{said}");
    assert_eq!(tables::list_tables(&mut owner).expect("tables").len(), 2, "neither is dropped");
    // Made again by another bakeoff: the mark has another number.
    let again = mark_of("notes");
    run(&format!("ALTER TABLE notes COMMENT = '{again}'"));
    tables::drop_ours(&mut owner, &looked).expect_err("it is another one's");
    run("INSERT INTO notes VALUES (7)");
    open().expect("both are bakeoff's");
    let left = tables::list_tables(&mut owner).expect("tables");
    assert_eq!(left.len(), 1, "its own alone: {left:?}");
}

/// One bakeoff at a time claims a database.
fn claims_alone(ours: &ExternalMariaDb, theirs: &ExternalMariaDb) {
    let claim = ours.claim().expect("nobody uses it");
    let said = ours.claim().map(drop).expect_err("it is used").to_string();
    assert!(said.contains("another bakeoff is using this database"), "{said}");
    drop(theirs.claim().expect("another database"));
    drop(claim);
    // The server learns of the end of a connection a moment after it.
    wait_until("a free database", || ours.claim().is_ok());
}
