//! What each engine owes grows with the work, has turned over in time, and is paid by a drain. Where a
//! user may have less of it, there is less, so that it takes seconds.

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::{
    Access, Action, Database, Debt, Durability, Engine, OpenTerms, Rows, Schema, Statement, Value,
    fjall, lmdb, mysql, postgres, sqlite,
};
use bakeoff_testkit::conformance::debt::assert_follows;
use bakeoff_testkit::conformance::folder;
use bakeoff_testkit::{PATIENCE, Since, needs};

/// An engine, and what its debts are tried with.
struct Trial {
    engine: &'static dyn Engine,
    settings: &'static [(&'static str, &'static str)],
    /// Bytes of a row.
    row: usize,
    /// What grows with the work, and is paid by a drain.
    paid: &'static [&'static str],
    /// What is counted as it is paid.
    payments: &'static [&'static str],
}

const TRIALS: [Trial; 7] = [
    Trial {
        engine: &sqlite::SQLITE,
        settings: &[],
        row: 2000,
        paid: &["log not checkpointed"],
        payments: &["log reset"],
    },
    Trial { engine: &lmdb::Lmdb::USUAL, settings: &[], row: 2000, paid: &[], payments: &[] },
    Trial {
        engine: &fjall::Fjall::USUAL,
        settings: &[],
        row: 200_000,
        paid: &["active memtables"],
        payments: &["memtable flush", "compaction"],
    },
    Trial {
        engine: &mysql::INNODB,
        settings: &[("innodb_log_file_size", "4M")],
        row: 2000,
        paid: &["checkpoint age", "dirty pages"],
        payments: &["checkpoint"],
    },
    Trial {
        engine: &mysql::ROCKSDB,
        settings: &[(
            "rocksdb_default_cf_options",
            "write_buffer_size=256k;level0_file_num_compaction_trigger=2",
        )],
        row: 2000,
        paid: &["memtables", "files in level 0", "level 0"],
        payments: &["memtable flush", "compaction"],
    },
    Trial {
        engine: &mysql::ARIA,
        settings: &[("aria_checkpoint_interval", "1"), ("aria_checkpoint_log_activity", "0")],
        row: 2000,
        paid: &["page cache blocks not flushed"],
        payments: &["checkpoint"],
    },
    Trial {
        engine: &postgres::POSTGRES,
        settings: &[
            ("max_wal_size", "32MB"),
            ("min_wal_size", "32MB"),
            ("checkpoint_completion_target", "0"),
            ("autovacuum_naptime", "1"),
        ],
        row: 2000,
        paid: &["log since the last checkpoint", "dead rows"],
        payments: &["checkpoint", "automatic vacuum"],
    },
];

/// Rows that are overwritten again and again.
const ROWS: i64 = 500;
const IN_A_TRANSACTION: i64 = 10;

#[test]
fn each_debt_grows_turns_over_and_is_paid() {
    for trial in &TRIALS {
        if needs(trial.engine.available()).is_some() {
            turns_over(trial);
        }
    }
}

fn open(folder: &std::path::Path, trial: &Trial) -> Box<dyn Database> {
    let things = Table::new("things")
        .key_column("id", Type::Int)
        .column("kind", Type::Int)
        .column("words", Type::MediumText)
        .index(&["kind"]);
    let schema = Schema { tables: vec![things] };
    let put = Statement { name: "put".into(), action: Action::Upsert { table: 0 } };
    let mut terms = OpenTerms::new(Durability::None);
    terms.settings =
        trial.settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    trial.engine.open(folder, &terms, &schema, &[put]).expect("a database")
}

fn turns_over(trial: &Trial) {
    let name = trial.engine.about().name;
    let folder = folder::of(trial.engine);
    let database = open(folder.path(), trial);
    let looked = || database.debt().expect("what it owes").expect("it is known");
    let fresh = looked();
    assert!(!fresh.has_turned_over(), "{name} has done nothing: {fresh:?}");
    let (mut seen, mut most) = (fresh.clone(), fresh.clone());
    let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
    let (since, mut number) = (Since::now(), 0);
    while !seen.has_turned_over() {
        // Each row is stored by it: on a busy machine they take a while.
        assert!(!since.at_least(PATIENCE * 5), "{name} after {number} rows: {seen:?}");
        session.begin(Access::Write).expect("begin");
        for _ in 0..IN_A_TRANSACTION {
            number += 1;
            let words = words(number, trial.row);
            let row = [Value::Int(number % ROWS), Value::Int(number % 77), Value::Text(&words)];
            session.run(0, &row, &mut rows).expect("a row");
        }
        session.commit().expect("commit");
        let now = looked();
        assert_follows(Some(&seen), Some(&now));
        more(&mut most, &now);
        seen = now;
    }
    println!("{name}: {number} rows: {seen:?}");
    for payment in trial.payments {
        let count = seen.payments.iter().find(|it| it.name == *payment).map(|it| it.count);
        assert!(count.is_some_and(|count| count > 0), "{name}, {payment}: {seen:?}");
    }
    drop(session);
    is_paid(trial, &*database, &fresh, &most);
}

/// Text that can't be made smaller, and differs from row to row.
fn words(number: i64, length: usize) -> String {
    let mut state = number as u64 + 1;
    let letter = |_| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        char::from(b'0' + (state >> 58) as u8)
    };
    (0..length).map(letter).collect()
}

/// Keeps the most of each that was owed.
fn more(most: &mut Debt, now: &Debt) {
    for (most, now) in most.owed.iter_mut().zip(&now.owed) {
        most.amount = most.amount.max(now.amount);
    }
}

fn amount(debt: &Debt, name: &str) -> u64 {
    debt.owed.iter().find(|it| it.name == name).unwrap_or_else(|| panic!("{name}: {debt:?}")).amount
}

/// After a drain less is owed than there was at the most, by far. What a server tells may be a second old.
fn is_paid(trial: &Trial, database: &dyn Database, fresh: &Debt, most: &Debt) {
    let name = trial.engine.about().name;
    for debt in trial.paid {
        let (before, then) = (amount(fresh, debt), amount(most, debt));
        assert!(then > before, "{name}: {debt} has not grown: {before}, {then}");
    }
    database.drain().expect("a drain");
    let left = || {
        let now = database.debt().expect("what it owes").expect("it is known");
        let owes = |debt: &&&str| amount(&now, debt) > amount(most, debt) / 4;
        trial.paid.iter().filter(owes).count()
    };
    bakeoff_testkit::wait_until(&format!("{name} has paid"), || left() == 0);
}
