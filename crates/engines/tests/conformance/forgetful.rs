//! An engine that stores nothing measures the harness, so that the suite is not for it: this is what it
//! answers instead.

use bakeoff_engines::{Access, Engine, Value};

use crate::bank::{self, Teller};
use crate::{Of, on, terms};

/// The engines that it is for.
pub const OF: Of = |about| !about.stores;

#[test]
fn answers_as_documented() {
    on(OF, makes_up_what_it_answers);
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
}
