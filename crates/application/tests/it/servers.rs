//! What servers answer and refuse, as scripts and their users see it.

use bakeoff_engines::{Durability, Engine, OpenTerms};
use bakeoff_testkit::folder_for_all;
use bakeoff_workloads::{TextSource, Workload as _, WorkloadParameters};

use crate::stage::{Sent, Stage, compile, installed, to_files};

const ENGINES: [&str; 3] = ["sqlite", "mariadb:innodb", "postgres"];

const SCHEMA: &str = "CREATE TABLE items (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL, \
                      paid BOOLEAN NOT NULL, n INTEGER NOT NULL, note TEXT);\n\
                      CREATE TABLE log (id INTEGER PRIMARY KEY, a BIGINT);";
const ROWS: &str = "[rows]\nitems = 10\nlog = 0\n[columns.items]\npaid = \":row % 2 = 0\"\n\
                    n = \":row\"\nnote = \"null(1, 'x')\"\n";

fn record(engine: &dyn Engine, script: &str, times: usize) -> Vec<Sent> {
    let files = [("schema.sql", SCHEMA), ("workload.toml", ROWS), ("op.sql", script)];
    Stage::on(engine, to_files("lab", &files), Vec::new()).record(0, 1, times, false).operations
}

/// Why an engine takes no operation of a script.
fn find_refusal(engine: &dyn Engine, script: &str) -> Option<String> {
    let files = [("schema.sql", SCHEMA), ("workload.toml", ROWS), ("op.sql", script)];
    let application = compile(to_files("lab", &files));
    let text = TextSource::generate_short().into();
    let prepared = application.prepare(&WorkloadParameters::new("small", 1, text));
    let (folder, terms) = (folder_for_all(), OpenTerms::new(Durability::None));
    let opened = engine.open(folder.path(), &terms, prepared.schema(), prepared.statements());
    opened.err().map(|error| error.to_string())
}

#[test]
fn a_boolean_is_true_or_false_on_each_engine() {
    let script = "\\set k random(1, 10)\n\
                  SELECT paid, n > 4 AS big FROM items WHERE id = :k \\gset\n\
                  \\if :paid AND NOT :big\nSELECT 1 AS paid_and_small;\n\
                  \\elif :paid\nSELECT 1 AS paid;\n\
                  \\elif :big IS TRUE\nSELECT 1 AS big;\n\
                  \\else\nSELECT 1 AS neither;\n\\endif\n\
                  \\assert :paid = (:k % 2) AND (:paid = true OR :paid = false)";
    // Rows 1, 3, 5 are paid and small; 7, 9 paid; 6, 8, 10 big.
    let branch = |k: i64| match (k % 2, k) {
        (1, ..=5) => "op.sql:4 ()",
        (1, _) => "op.sql:6 ()",
        (_, 6..) => "op.sql:8 ()",
        _ => "op.sql:10 ()",
    };
    for engine in ENGINES.into_iter().filter_map(installed) {
        let mut seen = std::collections::BTreeSet::new();
        for sent in record(engine, script, 60) {
            assert_eq!(sent.error, None);
            let k = sent.kept[0].trim_start_matches("op.sql:2 (").trim_end_matches(')');
            assert_eq!(sent.kept[1], branch(k.parse().unwrap()), "{k}");
            seen.insert(sent.kept[1].clone());
        }
        assert_eq!(seen.len(), 4, "{seen:?}");
    }
}

/// `||` joins texts, and LIKE tells upper from lower case.
#[test]
fn texts_are_joined_and_searched_alike_on_each_engine() {
    let count = |letter: &str| {
        format!(
            "SELECT COUNT(*) AS hits FROM items WHERE 'aXb' LIKE '%' || '{letter}' || '%' \\gset\n\
             \\assert :hits = {}\n",
            if letter == "X" { 10 } else { 0 }
        )
    };
    let script = count("X") + &count("x") + "\\set today date(:now)\n\\assert :today <= :now";
    for engine in ENGINES.into_iter().filter_map(installed) {
        let sent = record(engine, &script, 1);
        assert_eq!(sent[0].error, None, "{}", engine.about().name);
    }
}

/// The place, and the server's own message: no type of a library, and no SQL state.
#[test]
fn a_server_s_error_is_told_at_its_place_in_its_own_words() {
    let missing =
        "UPDATE items SET name = (SELECT i.note FROM items i WHERE i.id = 2) WHERE id = 1;";
    let twice = "INSERT INTO log (id, a) SELECT id, n FROM items WHERE id = 1;";
    let words = [
        ["NOT NULL constraint failed: items.name", "UNIQUE constraint failed: log.id"],
        ["Column 'name' cannot be null", "Duplicate entry '1' for key 'PRIMARY'"],
        ["null value in column \"name\"", "duplicate key value violates unique constraint"],
    ];
    for (name, [of_null, of_key]) in ENGINES.into_iter().zip(words) {
        let Some(engine) = installed(name) else { continue };
        let told = record(engine, missing, 1).remove(0).error.unwrap();
        assert!(told.starts_with(&format!("lab/op.sql:1:1: {of_null}")), "{told}");
        let told = record(engine, twice, 2).remove(1).error.unwrap();
        assert!(told.starts_with(&format!("duplicate: lab/op.sql:1:1: {of_key}")), "{told}");
    }
}

#[test]
fn a_returning_that_a_server_has_not_is_refused_with_what_to_write() {
    for (script, mariadb_takes) in [
        ("UPDATE items SET n = n + 1 WHERE id = :client_id RETURNING n \\gset optional", false),
        ("SELECT 1;\nDELETE FROM items WHERE id = :client_id RETURNING n, name;", true),
        ("INSERT INTO items VALUES (99, 'x', TRUE, 1, 'y') RETURNING name, n \\gset", true),
    ] {
        for name in ENGINES {
            let Some(engine) = installed(name) else { continue };
            let told = find_refusal(engine, script);
            match name.starts_with("mariadb") && !mariadb_takes {
                false => assert_eq!(told, None, "{name}: {script}"),
                true => {
                    let told = told.unwrap();
                    let begins = "lab/op.sql:1: the server has no UPDATE … RETURNING: read the row";
                    assert!(told.starts_with(begins) && told.contains("`-- mysql:`"), "{told}");
                }
            }
        }
    }
}
