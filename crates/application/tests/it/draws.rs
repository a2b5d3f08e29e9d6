//! Each client sends the same, whatever other clients, conflicts and engines do.

use std::thread;

use crate::stage::{Record, Stage, installed, to_files};

const SCHEMA: &str = "CREATE TABLE hot (id INTEGER PRIMARY KEY, n BIGINT NOT NULL);\n\
                      CREATE TABLE gate (id INTEGER PRIMARY KEY, shut INTEGER NOT NULL);\n\
                      CREATE TABLE log (id BIGSERIAL PRIMARY KEY, client BIGINT, b VARCHAR(40));";
const ROWS: &str = "[rows]\nhot = 1\ngate = 10\n[columns.hot]\nn = 0\n[columns.gate]\nshut = 0\n\
                    [mix.all]\nadd = 5\nread = 3\ntwice = 2\n";

const ADD: &str = "\\set d random(1, 1000000)\nBEGIN;\n\\set e random(1, 1000000)\n\
                   SELECT n FROM hot WHERE id = 1 FOR UPDATE;\n\
                   UPDATE hot SET n = n + :d WHERE id = 1;\n\\set f random_zipfian(1, 1000, 1.1)\n\
                   \\set b text(:e, '-', :f, '-', :now)\n\
                   INSERT INTO log (client, b) VALUES (:client_id, :b);\nCOMMIT;";
const TWICE: &str = "SELECT id FROM gate WHERE id <= 3 ORDER BY id \\lset ids\n\\repeat random(1, 3)\n\
                     BEGIN;\nUPDATE gate SET shut = 0 WHERE id IN (:ids[3]);\n\
                     SELECT id FROM gate WHERE id > 8 ORDER BY id \\lset ids\n\
                     UPDATE hot SET n = n + :x WHERE id = 1;\nCOMMIT;\n\\end";

fn hot() -> Vec<(&'static str, String)> {
    vec![
        ("schema.sql", SCHEMA.into()),
        ("workload.toml", ROWS.into()),
        ("add.sql", ADD.into()),
        ("read.sql", "\\pick g FROM gate\nSELECT shut FROM gate WHERE id = :g_id;".into()),
        ("twice.sql", format!("\\set x random(1, 99)\n{TWICE}")),
    ]
}

fn stage(engine: &str) -> Option<Stage> {
    let engine = installed(engine)?;
    let texts = hot();
    let texts: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, &**text)).collect();
    Some(Stage::on(engine, to_files("hot", &texts), Vec::new()))
}

const CLIENTS: usize = 4;
const TIMES: usize = 40;

/// All clients at once.
fn record_all(stage: &Stage, conflicts: bool) -> Vec<Record> {
    thread::scope(|scope| {
        let record = |client| move || stage.record(client, CLIENTS, TIMES, conflicts);
        let clients: Vec<_> = (0..CLIENTS).map(|client| scope.spawn(record(client))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    })
}

fn assert_same(name: &str, record: &Record, alone: &Record) {
    for (number, (sent, expected)) in record.operations.iter().zip(&alone.operations).enumerate() {
        assert_eq!(sent.error, None, "{name}, {number}");
        assert_eq!(sent.operation, expected.operation, "{name}, {number}");
        assert_eq!(sent.kept, expected.kept, "{name}, {number}");
        // Each try begins as the one that was committed.
        for undone in &sent.undone {
            let goes_on = |kept: &[String]| kept.starts_with(undone);
            let begins = (0..=sent.kept.len()).any(|at| goes_on(&sent.kept[at..]));
            assert!(begins, "{name}, {number}: {undone:?} of {:?}", sent.kept);
        }
    }
    assert_eq!(record.operations.len(), alone.operations.len());
}

#[test]
fn a_client_sends_the_same_beside_others_and_after_conflicts() {
    let stage_alone = stage("sqlite").unwrap();
    let alone: Vec<Record> =
        (0..CLIENTS).map(|client| stage_alone.record(client, CLIENTS, TIMES, false)).collect();
    assert_ne!(alone[0].kept(), alone[1].kept(), "each has draws of its own");
    for engine in ["sqlite", "mariadb:innodb", "postgres"] {
        let Some(stage) = stage(engine) else { continue };
        for conflicts in [false, true] {
            let all = record_all(&stage, conflicts);
            for (record, alone) in all.iter().zip(&alone) {
                assert_same(engine, record, alone);
            }
            let retries: u64 =
                all.iter().flat_map(|it| &it.operations).map(|it| it.tally.retries).sum();
            assert!(!conflicts || retries > 50, "{engine}: {retries}");
        }
    }
}

/// What an operation draws after it began again has no part in the next one's draws.
#[test]
fn an_operation_that_begins_again_changes_its_own_draws_alone() {
    let script = "\\set k random(1, 10)\n\\set d random(1, 1000000)\nBEGIN;\n\
                  SELECT shut FROM gate WHERE id = :k \\gset\n\\if :shut = 1\n\\again\n\\endif\n\
                  UPDATE hot SET n = n + :d WHERE id = 1;\nCOMMIT;";
    let record = |shut: &str| {
        let rows = format!(
            "[rows]\nhot = 1\ngate = 10\n[columns.hot]\nn = 0\n[columns.gate]\nshut = \"{shut}\"\n"
        );
        let files = [("schema.sql", SCHEMA), ("workload.toml", &*rows), ("op.sql", script)];
        Stage::new(to_files("hot", &files)).record(0, 1, 60, false)
    };
    let (open, half) = (record("0"), record(":row % 2"));
    let pairs = || open.operations.iter().zip(&half.operations);
    for (open, half) in pairs() {
        match half.undone.first() {
            None => assert_eq!(open.kept, half.kept),
            Some(first) => {
                assert_eq!(open.kept[0], first[0], "its first draws are the same");
                assert_ne!(open.kept[1], half.kept[1], "later ones are others");
            }
        }
    }
    let begun_again = pairs().filter(|(_, half)| !half.undone.is_empty()).count();
    assert!((15..45).contains(&begun_again), "{begun_again}");
}
