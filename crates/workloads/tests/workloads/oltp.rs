//! What the tests of `oltp` send, held against what sysbench sends to the same server.

use std::path::Path;
use std::process::Command;

use bakeoff_testkit::needs;
use bakeoff_workloads::PreparedWorkload;
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

use crate::recorder::Recorder;
use crate::{load, prepare_at, work};

/// It at these levels, with 10,000 rows.
fn prepare(levels: &[(&str, &str)]) -> Box<dyn PreparedWorkload> {
    prepare_at("oltp", "10k", levels)
}

const READS: &str = "point_selects point_selects point_selects point_selects point_selects \
    point_selects point_selects point_selects point_selects point_selects simple_ranges sum_ranges \
    order_ranges distinct_ranges";
const WRITES: &str = "index_updates non_index_updates deletes inserts";

/// Each test, what its script sends, and whether that is a transaction of several statements.
const TESTS: [(&str, &[&str], bool); 10] = [
    ("point_select", &["point_selects"], false),
    ("read_only", &[READS], true),
    ("read_write", &[READS, WRITES], true),
    ("write_only", &[WRITES], true),
    ("update_index", &["index_updates"], false),
    ("update_non_index", &["non_index_updates"], false),
    ("insert", &["inserts"], false),
    ("delete", &["deletes"], false),
    ("select_random_points", &["random_points"], false),
    ("select_random_ranges", &["random_ranges"], false),
];

#[test]
fn each_test_sends_the_statements_of_its_script() {
    for (test, statements, several) in TESTS {
        for transaction in ["on", "off"] {
            let prepared = prepare(&[("test", test), ("transaction", transaction)]);
            let folder = tempfile::tempdir().unwrap();
            let database = load("lmdb", folder.path(), &*prepared, Vec::new());
            let mut recorder = Recorder::new(&*prepared, database.session().unwrap());
            assert_eq!(work(&*prepared, &mut recorder, 1).retries, 0, "{test}");
            let wanted = match several && transaction == "on" {
                true => [&["BEGIN"], statements, &["COMMIT"]].concat(),
                false => statements.to_vec(),
            };
            let sent = recorder.sent.join(" ").replace(" Read", "").replace(" Write", "");
            assert_eq!(sent, wanted.join(" "), "{test}");
        }
    }
}

/// A statement without what may differ: quotes, spaces, how a transaction begins, how a range is
/// written, numbers and texts. How far a range goes stays.
fn normal(statement: &str) -> String {
    let mut text = String::new();
    let mut characters = statement.chars().peekable();
    let mut last = ' ';
    while let Some(character) = characters.next() {
        let in_a_name = last.is_ascii_alphanumeric();
        last = character;
        match character {
            '\'' => {
                characters.by_ref().take_while(|next| *next != '\'').for_each(drop);
                text.push('?');
            }
            '0'..='9' if !in_a_name => {
                text.extend(['#', character]);
                while let Some(digit) = characters.next_if(char::is_ascii_digit) {
                    text.push(digit);
                }
                text.push(';');
            }
            '`' | ' ' | '\n' => {}
            other => text.push(other.to_ascii_lowercase()),
        }
    }
    let same = [
        ("starttransactionwithconsistentsnapshot,readonly", "begin"),
        ("starttransaction", "begin"),
        ("id>=?andid<=?", "idbetween?and?"),
        ("cast(coalesce(sum(k),?)assigned)", "sum(k)"),
        // The number that the server is to give.
        ("values(null,", "values(?,"),
    ];
    same.iter().fold(without_numbers(&text), |text, (ours, theirs)| text.replace(ours, theirs))
}

/// A statement whose numbers are marked, `#5;`, with `?` in their places, and behind the end of a range how far it
/// is from its beginning.
fn without_numbers(marked: &str) -> String {
    let mut parts = marked.split('#');
    let mut text = parts.next().unwrap_or_default().to_owned();
    let mut before = 0;
    for part in parts {
        let (number, rest) = part.split_once(';').expect("a marked number");
        let number: i64 = number.parse().expect("a number");
        let ends_a_range = text.ends_with("between?and") || text.ends_with(">=?andid<=");
        text.push('?');
        if ends_a_range {
            text += &format!("+{}", number - before);
        }
        text += rest;
        before = number;
    }
    text
}

#[test]
fn statements_are_told_apart_by_how_far_their_ranges_go() {
    let theirs = normal("SELECT c FROM sbtest1 WHERE id BETWEEN 5 AND 104");
    assert_eq!(theirs, "selectcfromsbtest1whereidbetween?and?+99");
    let ours =
        |to: i64| normal(&format!("SELECT `c` FROM `sbtest1` WHERE `id` >= 7 AND `id` <= {to}"));
    assert_eq!(ours(106), theirs);
    assert_ne!(ours(107), theirs);
    let several = |to: i64| {
        normal(&format!(
            "SELECT COUNT(k) FROM sbtest1 WHERE k BETWEEN 1 AND 6 OR k BETWEEN 8 AND {to}"
        ))
    };
    assert_eq!(several(13), "selectcount(k)fromsbtest1wherekbetween?and?+5orkbetween?and?+5");
    assert_ne!(several(14), several(13));
}

/// What clients have a server execute, in order, while `work` runs. Nobody else is at work.
fn logged(administrator: &mut Conn, work: impl FnOnce()) -> Vec<String> {
    let mut ask = |text: &str| administrator.query_drop(text).unwrap();
    ask("SET GLOBAL log_output = 'TABLE'");
    ask("TRUNCATE mysql.general_log");
    ask("SET GLOBAL general_log = ON");
    work();
    ask("SET GLOBAL general_log = OFF");
    let all = "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log \
               WHERE command_type IN ('Query', 'Execute') AND thread_id <> CONNECTION_ID()";
    let all: Vec<String> = administrator.query(all).unwrap();
    let first = |text: &String| text.starts_with("SET ") || text.starts_with("SELECT @@");
    all.into_iter().filter(|text| !first(text)).collect()
}

/// The first parameter of each point select.
fn ids(log: &[String]) -> Vec<i64> {
    let point = |text: &String| {
        let text = text.replace(['`', ' '], "");
        text.strip_prefix("SELECTcFROMsbtest1WHEREid=").and_then(|id| id.parse().ok())
    };
    log.iter().filter_map(point).collect()
}

fn sysbench(socket: &Path, test: &str, keys: &str, events: usize) {
    let script = if test.starts_with("select_") { test.into() } else { format!("oltp_{test}") };
    let output = Command::new("sysbench")
        .args([&*script, "--threads=1", "--time=0", "--tables=1", "--table-size=10000"])
        .args([format!("--events={events}"), format!("--rand-type={keys}")])
        // The same in every run, as ours are.
        .args(["--mysql-user=root", "--mysql-db=bakeoff", "--rand-seed=29"])
        .args([format!("--mysql-socket={}", socket.display()), "run".into()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// Pearson's statistic of two samples in 50 parts of the keys, by its degrees of freedom: about 1 where
/// both come from one distribution.
fn misfit(ours: &[i64], theirs: &[i64]) -> f64 {
    assert_eq!(ours.len(), theirs.len());
    let parts = |ids: &[i64]| {
        let mut parts = [0.0; 50];
        ids.iter().for_each(|id| parts[(*id as usize - 1) * 50 / 10_000] += 1.0);
        parts
    };
    let both = std::iter::zip(parts(ours), parts(theirs)).filter(|(one, other)| one + other > 9.0);
    let each = both.map(|(one, other)| (one - other) * (one - other) / (one + other));
    let each: Vec<f64> = each.collect();
    each.iter().sum::<f64>() / (each.len() as f64 - 1.0)
}

/// Has both work on one server, and hands their logs over.
fn side_by_side(levels: &[(&str, &str)], transactions: usize) -> Option<[Vec<String>; 2]> {
    let there =
        Command::new("sysbench").arg("--version").output().is_ok_and(|it| it.status.success());
    needs(there.then_some(()).ok_or("sysbench is missing: apt-get install sysbench"))?;
    needs(bakeoff_engines::find_level("mariadb:innodb").unwrap().available())?;
    let (prepared, folder) = (prepare(levels), tempfile::tempdir().unwrap());
    let database = load("mariadb:innodb", folder.path(), &*prepared, Vec::new());
    let socket = folder.path().join("server/socket");
    let options = OptsBuilder::new().socket(Some(socket.display().to_string())).user(Some("root"));
    let mut administrator = Conn::new(options).unwrap();
    let level = |wanted: &str| levels.iter().find(|(name, _)| *name == wanted).unwrap().1;
    let theirs = logged(&mut administrator, || {
        sysbench(&socket, level("test"), level("keys"), transactions)
    });
    let ours = logged(&mut administrator, || {
        work(&*prepared, &mut *database.session().unwrap(), transactions);
    });
    Some([ours, theirs])
}

#[test]
#[ignore = "slow: make test-slow"]
fn a_server_is_sent_what_sysbench_sends() {
    for (test, ..) in TESTS {
        let Some(logs) = side_by_side(&[("test", test), ("keys", "special")], 5) else { return };
        let [ours, theirs] = logs.map(|log| log.iter().map(|it| normal(it)).collect::<Vec<_>>());
        assert!(theirs.len() >= 5, "{test}: {theirs:?}");
        assert_eq!(ours, theirs, "{test}");
    }
}

/// `zipf` is not among them: sysbench 1.0.20 has no such distribution.
#[test]
#[ignore = "slow: make test-slow"]
fn keys_are_spread_as_those_of_sysbench() {
    let mut all = Vec::new();
    for keys in ["special", "uniform", "gaussian", "pareto"] {
        let Some(logs) = side_by_side(&[("test", "point_select"), ("keys", keys)], 10_000) else {
            return;
        };
        let [ours, theirs] = logs.map(|log| ids(&log));
        assert_eq!(ours.len(), 10_000, "{keys}");
        let misfit = misfit(&ours, &theirs);
        assert!(misfit < 1.8, "{keys}: {misfit}");
        all.push(theirs);
    }
    // Distributions that differ are told apart.
    assert!(misfit(&all[0], &all[1]) > 10.0);
}
