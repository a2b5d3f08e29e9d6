//! What scripts make of answers: variables, lists, loops, rules, and errors at their places.

use bakeoff_engines::statement::Set;
use bakeoff_engines::{Action, find_level};
use bakeoff_workloads::OperationPaths;

use crate::stage::{Sent, Stage, to_files};

const SCHEMA: &str = "CREATE TABLE items (id BIGSERIAL PRIMARY KEY, name VARCHAR(20) NOT NULL, \
                      n INTEGER NOT NULL, note TEXT);\n\
                      CREATE TABLE log (id BIGSERIAL PRIMARY KEY, a BIGINT, b VARCHAR(40));";

/// Ten items, of which every third has the same `n`.
const ROWS: &str = "[rows]\nitems = 10\n[columns.items]\nname = \"text('item', :row)\"\nn = \":row % 3\"\n\
                    note = \"null(1, 'x')\"\n";

/// The only operation, run so many times by one client.
fn run_often(script: &str, times: usize) -> Vec<Sent> {
    let files = [("schema.sql", SCHEMA), ("workload.toml", ROWS), ("op.sql", script)];
    Stage::new(to_files("lab", &files)).record(0, 4, times, false).operations
}

/// What one operation sends, or its error.
#[track_caller]
fn run_once(script: &str) -> Result<Vec<String>, String> {
    let sent = run_often(script, 1).remove(0);
    match sent.error {
        None => Ok(sent.kept),
        Some(error) => Err(error),
    }
}

fn paths(rolled_back: u64, skipped: u64, unmatched: u64, begun_again: u64) -> OperationPaths {
    OperationPaths { rolled_back, skipped, unmatched, begun_again }
}

/// Some find the row below three, and raise it; those after them give up.
const RAISE: &str = "BEGIN;\nSELECT n FROM items WHERE id = 1 \\gset\n\
                     \\if :n < 3\nUPDATE items SET n = n + 1 WHERE id = 1;\nCOMMIT;\n\
                     \\else\nUPDATE items SET n = 99 WHERE id = 1;\nROLLBACK;\n\\endif\n\
                     SELECT n FROM items WHERE id = 99 \\gset none_ optional";

#[test]
fn a_script_that_gives_up_rolls_back_and_counts_it() {
    for (number, sent) in run_often(RAISE, 6).into_iter().enumerate() {
        let gives_up = number >= 3;
        assert_eq!(sent.error, None);
        assert_eq!(sent.undone.len(), usize::from(gives_up), "{sent:#?}");
        // What was rolled back wrote nothing, and the last statement reads.
        assert_eq!(sent.tally.transactions, u64::from(!gives_up));
        assert_eq!((sent.tally.retries, sent.tally.paths), (0, paths(gives_up.into(), 0, 1, 0)));
    }
}

/// What a conflict rolls back is no path of the script.
#[test]
fn conflicts_change_no_count_of_paths() {
    let files = [("schema.sql", SCHEMA), ("workload.toml", ROWS), ("op.sql", RAISE)];
    let sent = Stage::new(to_files("lab", &files)).record(0, 1, 20, true).operations;
    assert!(sent.iter().any(|it| it.tally.retries > 0) && sent.iter().all(|it| it.error.is_none()));
    let given_up = sent.iter().map(|it| it.tally.paths.rolled_back).sum::<u64>();
    assert_eq!(given_up, 17);
    assert!(sent.iter().all(|it| it.tally.paths.unmatched == 1), "{sent:#?}");
}

#[test]
fn one_row_is_wanted_unless_none_is_optional() {
    for (script, said) in [
        (
            "\\set x 1\nSELECT n FROM items WHERE id = 99 \\gset",
            "lab/op.sql:2:1: \\gset wants one row and gets none",
        ),
        ("SELECT n FROM items \\gset", "lab/op.sql:1:1: \\gset wants one row and gets 10"),
        (
            "BEGIN;\nUPDATE items SET n = 7 WHERE id = 1;\nSELECT n FROM items \\gset optional\nCOMMIT;",
            "lab/op.sql:3:1: \\gset wants one row and gets 10",
        ),
        (
            "SELECT n FROM items WHERE id = 1 \\gset\n\\assert :n = 1",
            "lab/op.sql:2:9: \\assert fails",
        ),
    ] {
        let told = run_once(script).unwrap_err();
        assert!(told.contains(said), "{script}: {told}");
    }
    let script = "SELECT n FROM items WHERE id = 3 \\gset i_\n\
                  SELECT n, note FROM items WHERE id = 99 \\gset none_ optional\n\
                  SELECT n, note FROM items WHERE id = 3 \\gset\n\
                  \\assert :i_n = 2 AND :none_n IS NULL AND :n = 2 AND :note IS NULL\n\
                  INSERT INTO log (a, b) VALUES (:i_n, :none_n);";
    assert_eq!(run_once(script).unwrap()[3], "op.sql:5 (NULL, 2, NULL)");
}

/// What went before is rolled back, and the next operation is none the worse.
#[test]
fn an_operation_that_fails_leaves_no_transaction_open() {
    let script = "\\set k :now\nBEGIN;\nUPDATE items SET n = n + 1 WHERE id = 1;\n\
                  SELECT n FROM items WHERE id = 1 \\gset\n\\assert :n > 1\nCOMMIT;";
    for sent in run_often(script, 3) {
        assert!(sent.error.unwrap().starts_with("lab/op.sql:5:9: "));
        assert_eq!((sent.kept.len(), sent.undone.len(), sent.undone[0].len()), (0, 1, 2));
    }
}

#[test]
fn a_row_that_is_there_is_an_error_is_skipped_or_is_drawn_again() {
    let insert = |rule: &str, id: &str| {
        format!(
            "\\on_duplicate {rule}\n\\set k {id}\nBEGIN;\nINSERT INTO log (a, b) VALUES (:k, 'x');\n\
                 INSERT INTO items (id, name, n) VALUES (:k, 'new', 1);\nCOMMIT;"
        )
    };
    let failed = run_once(&insert("fail", "1")).unwrap_err();
    assert!(failed.contains("lab/op.sql:5:1: "), "{failed}");
    let skipped = run_often(&insert("skip", "1"), 2).remove(1);
    assert_eq!((skipped.error, skipped.kept.len(), skipped.tally.transactions), (None, 0, 0));
    assert_eq!((skipped.undone.len(), skipped.tally.paths), (1, paths(0, 1, 0, 0)));
    let again = run_often(&insert("again", "random(1, 20)"), 5);
    assert!(again.iter().all(|it| it.error.is_none() && it.kept.len() == 2), "{again:#?}");
    let undone: Vec<&Sent> = again.iter().filter(|it| !it.undone.is_empty()).collect();
    assert!(undone.iter().all(|it| it.undone[0][0] != it.kept[0]), "other draws: {undone:#?}");
    assert!(!undone.is_empty());
    for sent in &again {
        let times = sent.undone.len() as u64;
        assert_eq!((sent.tally.retries, sent.tally.paths), (0, paths(0, 0, 0, times)));
    }
    let told = run_once(&insert("again", "1")).unwrap_err();
    assert!(told.contains("100 times"), "{told}");
}

/// What a script did before its transaction would be done twice.
#[test]
fn nothing_that_is_committed_is_run_again() {
    for script in [
        "INSERT INTO log (a, b) VALUES (1, 'x');\n\\on_duplicate again\nINSERT INTO items (id, name, n) VALUES (1, 'x', 1);",
        "\\on_duplicate again\nINSERT INTO log (a, b) VALUES (1, 'x');\nINSERT INTO items (id, name, n) VALUES (1, 'x', 1);",
        "\\repeat 2\n\\if :row_count = 1\n\\again\n\\endif\nUPDATE items SET n = n + 1 WHERE id = 1;\n\\end",
    ] {
        let files = [("schema.sql", SCHEMA), ("op.sql", script)];
        let told = bakeoff_application::Application::new(to_files("lab", &files));
        let told = told.err().unwrap_or_else(|| panic!("{script}")).to_string();
        assert!(told.contains("would run again what is committed"), "{told}");
    }
}

#[test]
fn lists_are_padded_and_gone_through() {
    let script = "SELECT id FROM items WHERE id <= 3 ORDER BY id \\lset ids\n\
                  SELECT n FROM items WHERE id IN (:ids[4]);\n\
                  SELECT n FROM items WHERE id IN (:ids[2]);\n\
                  SELECT id FROM items WHERE id > 99 \\lset none\n\
                  SELECT n FROM items WHERE id IN (:none[2]);\n\
                  \\each none i\nSELECT n FROM items WHERE id = :i;\n\\end\n\
                  \\each ids i\n\
                  \\if :i = 2\n\\repeat 2\nSELECT n, id FROM items WHERE id = :i;\n\\end\n\
                  \\elif :i = 3\nSELECT name FROM items WHERE id = :i;\n\\else\n\
                  \\repeat 0\nSELECT n FROM items WHERE id = :i;\n\\end\n\\endif\n\\end\n\
                  SELECT n, id, name FROM items WHERE id = :i;";
    let sent = run_once(script).unwrap();
    let expected = [
        "op.sql:1 (3)",
        "op.sql:2 (1, 2, 3, 3)",
        "op.sql:3 (1, 2)",
        "op.sql:4 (99)",
        "op.sql:5 (NULL, NULL)",
        "op.sql:12 (2)",
        "op.sql:12 (2)",
        "op.sql:15 (3)",
        "op.sql:22 (3)",
    ];
    assert_eq!(sent, expected);
}

/// A list that another operation filled, or a transaction that was run again, is not seen.
#[test]
fn a_list_begins_empty_in_each_operation() {
    let script = "\\if :row_count = 0 AND :now = '2026-01-01 00:00:00.000004'\n\
                  SELECT id FROM items WHERE id <= 2 ORDER BY id \\lset ids\n\\endif\n\
                  SELECT id, n FROM items WHERE id IN (:ids[2]);";
    let sent = run_often(script, 2);
    assert_eq!(sent[0].kept[1], "op.sql:4 (1, 2)", "{sent:#?}");
    assert_eq!(sent[1].kept, ["op.sql:4 (NULL, NULL)"]);
}

#[test]
fn rows_and_moments_are_counted() {
    let script = "UPDATE items SET n = 8 WHERE n = 0;\n\\assert :row_count = 4\n\
                  UPDATE items SET n = 0 WHERE n = 8;\n\
                  SELECT id FROM items WHERE id > 99;\n\\assert :row_count = 0\n\
                  SELECT id FROM items;\n\\assert :row_count = 10\n\
                  \\set a :items + :clients\nINSERT INTO log (a, b) VALUES (:a, :now);";
    let sent = run_often(script, 2);
    assert_eq!(sent[0].kept[4], "op.sql:9 (NULL, 14, 2026-01-01 00:00:00.000004)");
    assert_eq!(sent[1].kept[4], "op.sql:9 (NULL, 14, 2026-01-01 00:00:00.000008)");
}

#[test]
fn a_pick_has_the_values_that_were_loaded() {
    for distribution in ["", "zipf:0.9", "special:50:10"] {
        let script = format!(
            "\\pick i FROM items {distribution}\n\
             SELECT id, name, n, note FROM items WHERE id = :i_id \\gset r_\n\
             \\assert :r_name = :i_name AND :r_n = :i_n AND :i_note IS NULL AND :r_note IS NULL"
        );
        let sent = run_often(&script, 30);
        assert!(sent.iter().all(|it| it.error.is_none()), "{sent:#?}");
        let mut picked: Vec<_> = sent.iter().map(|it| &it.kept[0]).collect();
        picked.sort();
        picked.dedup();
        assert!(picked.len() > 2, "{picked:?}");
    }
}

#[test]
fn an_invariant_that_fails_is_told_with_its_first_rows() {
    let files = to_files(
        "lab",
        &[
            ("schema.sql", SCHEMA),
            ("workload.toml", ROWS),
            ("op.sql", "SELECT n FROM items WHERE id = 1;"),
            (
                "invariants.sql",
                "SELECT COUNT(*) FROM items WHERE n > 2;\n\
             SELECT id, name FROM items WHERE n < 0 ORDER BY id;\n\
             -- Nothing is no 0.\nSELECT SUM(a) FROM log;\nSELECT SUM(n) - 9 FROM items;\n\
             SELECT COUNT(*) - :items FROM items;\n\
             SELECT SUM(n) AS n FROM items \\gset\n\\set both 8 + 1\n\\assert :n = :both",
            ),
        ],
    );
    let change = Action::Update { table: 0, set: vec![Set::To(2)], only_if: Vec::new() };
    let stage = Stage::on(find_level("sqlite").unwrap(), files, vec![change]);
    let told = || stage.prepared.find_violations(&*stage.database).unwrap();
    let empty = "lab/invariants.sql:4:1: answers (NULL)";
    assert_eq!(told(), [empty]);
    for id in 1..=7 {
        assert_eq!(stage.run_added(0, &[(-1).into(), id.into()]), 1);
    }
    let rows = "(1, item0), (2, item1), (3, item2), (4, item3), (5, item4), …";
    let told = told();
    assert_eq!(told[..2], [format!("lab/invariants.sql:2:1: answers {rows}"), empty.into()]);
    assert!(
        told.len() == 4 && told[2].starts_with("lab/invariants.sql:5:1: answers (-"),
        "{told:?}"
    );
    assert_eq!(told[3], "lab/invariants.sql:9:9: \\assert fails");
}
