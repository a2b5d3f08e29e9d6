//! Sessions that work at the same time, one thread each.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use bakeoff_engines::{Access, Database, Engine, Error};

use crate::conformance::bank::{self, Teller};
use crate::conformance::model::cells;
use crate::conformance::terms;

const THREADS: usize = 4;
const ROUNDS: i64 = 60;

/// Opens a bank with this many accounts of one balance, and lets `body` work in it.
fn with_bank(engine: &dyn Engine, accounts: i64, balance: i64, body: impl FnOnce(&dyn Database)) {
    let folder = crate::conformance::folder::of(engine);
    let database = bank::open(engine, folder.path(), &terms(engine));
    let mut teller = Teller::new(&*database);
    for number in 0..accounts {
        teller.run(bank::PUT, &[number, balance]);
    }
    drop(teller);
    body(&*database);
    assert_eq!(database.check().expect("check"), Vec::<String>::new());
}

/// Runs `body` in several threads, with the thread's number and its session.
fn in_threads(database: &dyn Database, count: usize, body: impl Fn(i64, Teller<'_>) + Sync) {
    thread::scope(|scope| {
        for number in 0..count as i64 {
            let body = &body;
            scope.spawn(move || body(number, Teller::new(database)));
        }
    });
}

/// Clients that read a number and write it back, one higher, never overwrite each other's.
pub fn read_then_write_loses_no_increment(engine: &dyn Engine) {
    with_bank(engine, 1, 0, |database| {
        in_threads(database, THREADS, |_, mut teller| {
            for _ in 0..ROUNDS {
                let increment = |teller: &mut Teller<'_>| {
                    let balance = teller.try_int(bank::READ_FOR_UPDATE, &[0])?;
                    // Long enough for another client to come between.
                    thread::sleep(Duration::from_micros(20));
                    teller.try_run(bank::SET, &[balance + 1, 0])
                };
                teller.transaction(Access::Write, increment).expect("an increment");
            }
        });
        assert_eq!(Teller::new(database).int(bank::READ, &[0]), THREADS as i64 * ROUNDS);
    });
}

/// Clients that add to a number in one statement lose no addition.
pub fn adding_loses_no_increment(engine: &dyn Engine) {
    with_bank(engine, 2, 0, |database| {
        in_threads(database, THREADS, |number, mut teller| {
            for _ in 0..ROUNDS {
                if number % 2 == 0 {
                    assert_eq!(teller.run(bank::ADD, &[1, 0]), 1);
                } else {
                    let twice = |teller: &mut Teller<'_>| {
                        teller.try_run(bank::ADD, &[1, 1])?;
                        teller.try_run(bank::ADD, &[1, 0])
                    };
                    teller.transaction(Access::Write, twice).expect("two additions");
                }
            }
        });
        let mut teller = Teller::new(database);
        assert_eq!(teller.int(bank::READ, &[0]), THREADS as i64 * ROUNDS);
        assert_eq!(teller.int(bank::READ, &[1]), THREADS as i64 / 2 * ROUNDS);
    });
}

/// Money moves between accounts while readers add it up in two parts, and look at it along the
/// key and along the index.
pub fn transfers_keep_the_sum_in_every_snapshot(engine: &dyn Engine) {
    const ACCOUNTS: i64 = 8;
    const BALANCE: i64 = 100;
    with_bank(engine, ACCOUNTS, BALANCE, |database| {
        thread::scope(|scope| {
            let writers = scope.spawn(|| {
                in_threads(database, THREADS - 1, |number, mut teller| {
                    for round in 0..ROUNDS {
                        let from = (number + round) % ACCOUNTS;
                        let to = (3 * number + 7 * round) % ACCOUNTS;
                        transfer(&mut teller, from, to, 1 + round % 5);
                    }
                });
            });
            let mut teller = Teller::new(database);
            while !writers.is_finished() {
                look(&mut teller, ACCOUNTS * BALANCE, thread::yield_now);
            }
        });
        // Threads come between the two parts by chance, this transfer always does. Who can't roll back
        // may have it wait for the look's end.
        let (mut teller, mut other) = (Teller::new(database), Teller::new(database));
        let across = || transfer(&mut other, 0, ACCOUNTS - 1, 1);
        match engine.about().rolls_back {
            true => look(&mut teller, ACCOUNTS * BALANCE, across),
            false => look(&mut teller, ACCOUNTS * BALANCE, || ()),
        }
    });
}

fn transfer(teller: &mut Teller<'_>, from: i64, to: i64, amount: i64) {
    let body = |teller: &mut Teller<'_>| {
        let balance = teller.try_int(bank::READ_FOR_UPDATE, &[from])?;
        teller.try_run(bank::SET, &[balance - amount, from])?;
        teller.try_run(bank::ADD, &[amount, to])
    };
    teller.transaction(Access::Write, body).expect("a transfer");
}

/// Adds the accounts up in two parts. `between` is called once, even if the look is repeated.
fn look(teller: &mut Teller<'_>, total: i64, between: impl FnOnce()) {
    let mut between = Some(between);
    let body = |teller: &mut Teller<'_>| {
        let below = teller.try_int(bank::SUM_BELOW, &[4])?;
        between.take().into_iter().for_each(|between| between());
        let sum = below + teller.try_int(bank::SUM_FROM, &[4])?;
        teller.try_run(bank::BY_KEY, &[])?;
        let by_key: BTreeSet<_> = cells(&teller.rows).into_iter().collect();
        teller.try_run(bank::BY_BALANCE, &[])?;
        let by_balance: BTreeSet<_> = cells(&teller.rows).into_iter().collect();
        Ok((sum, by_key, by_balance))
    };
    let (sum, by_key, by_balance) = teller.transaction(Access::Read, body).expect("a look");
    assert_eq!(sum, total, "a snapshot holds half a transfer");
    assert_eq!(by_key, by_balance, "an index does not fit its table");
}

/// If clients add the same unique value at once, one succeeds.
pub fn one_of_many_wins_a_unique_value(engine: &dyn Engine) {
    const CODES: i64 = 20;
    with_bank(engine, 0, 0, |database| {
        let wins = Mutex::new(Vec::new());
        in_threads(database, THREADS, |number, mut teller| {
            for code in 0..CODES {
                let insert = |teller: &mut Teller<'_>| teller.new_ticket(code, number);
                match teller.transaction(Access::Write, insert) {
                    Ok(_) => wins.lock().expect("no panic").push(code),
                    Err(Error::Duplicate(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
        let mut wins = wins.into_inner().expect("no panic");
        wins.sort_unstable();
        assert_eq!(wins, (0..CODES).collect::<Vec<_>>(), "each code is won once");
        assert_eq!(Teller::new(database).run(bank::TICKETS_BY_KEY, &[]), CODES as u64);
    });
}

/// Generated keys are distinct, and grow within a client.
pub fn generated_keys_are_distinct_and_grow(engine: &dyn Engine) {
    with_bank(engine, 0, 0, |database| {
        let all = Mutex::new(BTreeSet::new());
        in_threads(database, THREADS, |number, mut teller| {
            let mut last = 0;
            for round in 0..ROUNDS {
                let insert =
                    |teller: &mut Teller<'_>| teller.new_ticket(number * ROUNDS + round, number);
                let key = teller.transaction(Access::Write, insert).expect("an insert");
                assert!(key > last, "{key} after {last}");
                last = key;
                assert!(all.lock().expect("no panic").insert(key), "{key} is given twice");
            }
            assert_eq!(teller.run(bank::TICKETS_OF_SHELF, &[number]), ROUNDS as u64);
        });
    });
}

/// One of two threads that wait for each other; a panic in one ends the wait of the other.
struct Meeting {
    here: Sender<()>,
    there: Receiver<()>,
}

impl Meeting {
    fn pair() -> (Self, Self) {
        let ((left, to_left), (right, to_right)) = (mpsc::channel(), mpsc::channel());
        (Self { here: left, there: to_right }, Self { here: right, there: to_left })
    }

    fn wait(&self) {
        let both = self.here.send(()).map_err(|_| ()).and(self.there.recv().map_err(|_| ()));
        both.expect("the other one, who has failed");
    }
}

/// A writer stops in the middle; others see the earlier state, and a reader that began before the
/// writer commits sees it to the end.
pub fn nobody_sees_unfinished_work(engine: &dyn Engine) {
    with_bank(engine, 2, 10, |database| {
        let (mine, writers) = Meeting::pair();
        // The closure's own values are dropped when it panics, before the scope waits for the
        // writer.
        thread::scope(move |scope| {
            scope.spawn(move || write_slowly(database, &writers));
            let mut reader = Teller::new(database);
            for after in [10, 100] {
                mine.wait();
                let seen = reader.int(bank::READ, &[0]);
                let tickets = reader.run(bank::TICKETS_OF_SHELF, &[1]);
                reader.session.begin(Access::Read).expect("begin");
                let first = reader.int(bank::READ, &[0]);
                mine.wait();
                mine.wait();
                let second = reader.int(bank::READ, &[0]);
                reader.session.commit().expect("commit");
                assert_eq!((seen, tickets), (10, 0), "unfinished work is seen");
                assert_eq!((first, second), (10, 10), "a snapshot changes");
                assert_eq!(reader.int(bank::READ, &[0]), after);
            }
            // Not before the last assertion: a panic above must end the writer's wait.
            drop(mine);
        });
    });
}

/// Rolls a transaction back, then commits one, and waits in the middle and after.
fn write_slowly(database: &dyn Database, reader: &Meeting) {
    let mut writer = Teller::new(database);
    for commits in [false, true] {
        writer.session.begin(Access::Write).expect("begin");
        writer.try_run(bank::ADD, &[90, 0]).expect("add");
        writer.new_ticket(1, 1).expect("a ticket");
        assert_eq!(writer.try_int(bank::READ, &[0]).expect("its own write"), 100);
        reader.wait(); // half done
        reader.wait(); // seen by nobody
        match commits {
            true => writer.session.commit().expect("commit"),
            false => writer.session.rollback().expect("rollback"),
        }
        reader.wait(); // ended
    }
}

/// Two withdraw from two accounts what only their sum allows, and only once.
pub fn rows_read_for_update_are_not_skewed(engine: &dyn Engine) {
    with_bank(engine, 2, 0, |database| {
        let mut teller = Teller::new(database);
        for _ in 0..ROUNDS / 2 {
            teller.run(bank::SET, &[1, 0]);
            teller.run(bank::SET, &[0, 1]);
            in_threads(database, 2, |number, mut teller| {
                let withdraw = |teller: &mut Teller<'_>| {
                    let both = teller.try_int(bank::READ_FOR_UPDATE, &[0])?
                        + teller.try_int(bank::READ_FOR_UPDATE, &[1])?;
                    if both > 0 {
                        thread::sleep(Duration::from_micros(20));
                        teller.try_run(bank::ADD, &[-1, number])?;
                    }
                    Ok(())
                };
                teller.transaction(Access::Write, withdraw).expect("a withdrawal");
            });
            let left = teller.int(bank::SUM_FROM, &[0]);
            assert_eq!(left, 0, "both took what only one could");
        }
    });
}

/// A session that is dropped in a transaction has no effect and holds no lock.
pub fn a_dropped_session_undoes_and_blocks_nobody(engine: &dyn Engine) {
    with_bank(engine, 1, 5, |database| {
        in_threads(database, THREADS, |number, mut teller| {
            for _ in 0..5 {
                let mut doomed = Teller::new(database);
                let begun = doomed.session.begin(Access::Write);
                if begun.is_ok() && doomed.try_run(bank::ADD, &[100, 0]).is_ok() {
                    // Dropped in any case, in a failed transaction or a good one.
                    let _ = doomed.new_ticket(7, number);
                }
                drop(doomed);
                teller.run(bank::ADD, &[1, 0]);
            }
        });
        let mut teller = Teller::new(database);
        assert_eq!(teller.int(bank::READ, &[0]), 5 + 5 * THREADS as i64);
        assert_eq!(teller.run(bank::TICKETS_BY_KEY, &[]), 0);
    });
}
