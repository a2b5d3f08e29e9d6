//! An engine that can't undo a transaction locks whole tables for it, so that a part of the suite is not
//! for it: this is what it answers instead.

use bakeoff_engines::{Access, Engine, Error};

use crate::bank::{self, Teller};
use crate::{Of, folder, on, terms};

/// The engines that it is for.
pub const OF: Of = |about| about.stores && !about.rolls_back;

#[test]
fn a_rollback_says_that_it_can_undo_nothing() {
    on(OF, says_that_it_can_undo_nothing);
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
