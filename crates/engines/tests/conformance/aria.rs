//! Aria locks whole tables for a transaction and can't roll one back, so a part of the suite is
//! not for it: this is the rest, and what it answers instead.

use bakeoff_engines::{Access, Error};

use crate::bank::{self, Teller};
use crate::{TERMS, concurrency, folder, on, survival};

const NAME: &str = "mariadb:aria";

#[test]
fn acknowledged_commits_survive_a_kill() {
    let test = "aria::acknowledged_commits_survive_a_kill";
    on(NAME, |engine| survival::acknowledged_commits_survive_a_kill(engine, test));
}

#[test]
fn read_then_write_loses_no_increment() {
    on(NAME, concurrency::read_then_write_loses_no_increment);
}

#[test]
fn adding_loses_no_increment() {
    on(NAME, concurrency::adding_loses_no_increment);
}

#[test]
fn transfers_keep_the_sum_in_every_snapshot() {
    on(NAME, concurrency::transfers_keep_the_sum_in_every_snapshot);
}

#[test]
fn one_of_many_wins_a_unique_value() {
    on(NAME, concurrency::one_of_many_wins_a_unique_value);
}

#[test]
fn generated_keys_are_distinct_and_grow() {
    on(NAME, concurrency::generated_keys_are_distinct_and_grow);
}

#[test]
fn rows_read_for_update_are_not_skewed() {
    on(NAME, concurrency::rows_read_for_update_are_not_skewed);
}

#[test]
fn a_rollback_says_that_it_can_undo_nothing() {
    on(NAME, |engine| {
        let folder = folder::of(engine);
        let database = bank::open(engine, folder.path(), &TERMS);
        let mut teller = Teller::new(&*database);
        teller.session.begin(Access::Write).expect("begin");
        teller.session.rollback().expect("there is nothing to undo");
        teller.session.begin(Access::Write).expect("begin");
        teller.new_ticket(1, 1).expect("a ticket");
        let rolled_back = teller.session.rollback();
        assert!(matches!(rolled_back, Err(Error::Engine(_))), "{rolled_back:?}");
        assert_eq!(teller.run(bank::TICKETS_BY_KEY, &[]), 1, "the ticket stays");
        teller.session.begin(Access::Write).expect("the transaction has ended");
        teller.session.commit().expect("commit");
    });
}
