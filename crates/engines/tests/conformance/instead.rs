//! What engines do that a part of the suite is not for.

use bakeoff_engines::{Access, Debt, Engine, Error, Value};

use crate::bank::{self, Teller};
use crate::{Of, folder, on, terms};

/// It measures the harness.
pub const FORGETFUL: Of = |about| !about.stores;

/// It locks whole tables for a transaction, and can't undo it.
pub const IRREVOCABLE: Of = |about| about.stores && !about.rolls_back;

#[test]
fn who_stores_nothing_answers_and_owes_as_documented() {
    on(FORGETFUL, makes_up_what_it_answers);
}

fn makes_up_what_it_answers(engine: &dyn Engine) {
    let folder = tempfile::tempdir().expect("a folder");
    let database = bank::open(engine, folder.path(), &terms(engine));
    let mut teller = Teller::new(&*database);
    teller.session.begin(Access::Write).expect("begin");
    assert_eq!(teller.run(bank::TICKETS_BY_KEY, &[]), 1, "one row, when there is no limit");
    assert_eq!(teller.rows.row(0).collect::<Vec<_>>(), vec![Value::Int(1); 3]);
    let first = teller.new_ticket(1, 1).expect("a ticket");
    assert_eq!(teller.new_ticket(1, 1).expect("another"), first + 1, "nothing ever clashes");
    assert_eq!(teller.run(bank::ADD, &[1, 1]), 1, "an update changes one row");
    teller.session.commit().expect("commit");
    let left = std::fs::read_dir(folder.path()).expect("the folder").count();
    assert_eq!(left, 0, "nothing is stored");
    assert_eq!(database.debt().expect("known"), Some(Debt::default()));
}

#[test]
fn a_rollback_says_that_it_can_undo_nothing() {
    on(IRREVOCABLE, says_that_it_can_undo_nothing);
}

fn says_that_it_can_undo_nothing(engine: &dyn Engine) {
    let folder = folder::of(engine);
    let database = bank::open(engine, folder.path(), &terms(engine));
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
}
