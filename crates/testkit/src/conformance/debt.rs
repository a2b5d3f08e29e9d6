//! Checks an engine's debt while sessions are at work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::{Access, Action, Database, Debt, Engine, Error, Rows, Schema, Value};

use crate::conformance::{folder, statements, terms};

/// How long sessions work, and the pause between two looks.
const WORK: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(10);
const SESSIONS: i64 = 2;

/// The limit for at least half of the looks on a busy machine: a look that counts for long takes
/// longer.
const QUICK: Duration = Duration::from_secs(2);

/// Asks for the debt again and again on a separate thread, while sessions write: the call never
/// fails and takes hardly any time, and its counts never fall. After a drain it still answers, and
/// counts the cache misses that the engine declares.
pub fn says_what_it_owes_while_others_work(engine: &dyn Engine) {
    let folder = folder::of(engine);
    let statements = statements([Action::Upsert { table: 0 }]);
    let database =
        engine.open(folder.path(), &terms(engine), &schema(), &statements).expect("a database");
    let mut before = looked(&*database);
    let ended = AtomicBool::new(false);
    let mut took = thread::scope(|scope| {
        let looks = scope.spawn(|| {
            let mut took = Vec::new();
            // On a busy machine one look may take long.
            while !ended.load(Ordering::Relaxed) || took.len() < 3 {
                let start = Instant::now();
                let now = looked(&*database);
                took.push(start.elapsed());
                assert_follows(before.as_ref(), now.as_ref());
                before = now;
                thread::sleep(PAUSE);
            }
            took
        });
        let work = |number| {
            scope.spawn({
                let database = &*database;
                move || write(database, number)
            })
        };
        let workers: Vec<_> = (0..SESSIONS).map(work).collect();
        let worked: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        ended.store(true, Ordering::Relaxed);
        assert!(worked.iter().all(Result::is_ok), "a session failed");
        looks.join().expect("looks")
    });
    took.sort();
    let median = took[took.len() / 2];
    println!("{}: half of the looks take at most {median:?}", engine.about().name);
    assert!(median < QUICK, "half of the looks take {median:?} or longer");
    database.drain().expect("a drain");
    assert_follows(before.as_ref(), looked(&*database).as_ref());
    let counted: Vec<&str> = database.counters().into_iter().map(|(name, _)| name).collect();
    let named = database.cache_misses().iter().all(|name| counted.contains(name));
    assert!(named, "{:?} are not all in {counted:?}", database.cache_misses());
}

fn looked(database: &dyn Database) -> Option<Debt> {
    database.debt().expect("what it owes")
}

/// Asserts that one answer may follow the other.
pub fn assert_follows(before: Option<&Debt>, now: Option<&Debt>) {
    let (Some(before), Some(now)) = (before, now) else {
        assert_eq!(before.is_some(), now.is_some(), "what is owed is known now and then only");
        return;
    };
    let turns = |debt: &Debt| debt.turns.iter().map(|it| (it.name, it.done)).collect();
    let payments = |debt: &Debt| debt.payments.iter().map(|it| (it.name, it.count)).collect();
    never_fall(turns(before), turns(now));
    never_fall(payments(before), payments(now));
    for debt in &now.turns {
        assert!(debt.whole > 0, "nothing makes a whole turn: {debt:?}");
    }
    for (number, debt) in now.owed.iter().enumerate() {
        let others = &now.owed[..number];
        assert!(others.iter().all(|other| other.name != debt.name), "two are called {}", debt.name);
    }
    if before.has_turned_over() {
        assert!(now.has_turned_over(), "what has turned over has not any more: {now:?}");
    }
}

fn never_fall(before: Vec<(&str, u64)>, now: Vec<(&str, u64)>) {
    assert_eq!(before.len(), now.len(), "{before:?}, then {now:?}");
    for (before, now) in before.into_iter().zip(now) {
        assert!(before.0 == now.0 && before.1 <= now.1, "{before:?}, then {now:?}");
    }
}

fn schema() -> Schema {
    let things = Table::new("things")
        .key_column("id", Type::Int)
        .column("kind", Type::Int)
        .column("words", Type::STRING)
        .index(&["kind"]);
    Schema { tables: vec![things] }
}

/// Overwrites a session's own rows for as long as sessions work.
fn write(database: &dyn Database, number: i64) {
    let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
    let words = "words ".repeat(30);
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed() < WORK {
        count += 1;
        let row = [
            Value::Int(count % 500 * SESSIONS + number),
            Value::Int(count * 7919 % 1000),
            Value::Text(&words),
        ];
        let mut put = || {
            session.begin(Access::Write)?;
            session.run(0, &row, &mut rows)?;
            session.commit()
        };
        match put() {
            Ok(()) => {}
            Err(Error::Conflict(_)) => session.rollback().expect("a rollback"),
            Err(error) => panic!("{error}"),
        }
    }
}
