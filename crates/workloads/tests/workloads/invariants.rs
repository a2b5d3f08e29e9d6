//! What rows must be whatever clients did: it holds after their work, and a row that is otherwise is found.

use bakeoff_engines::statement::Set;
use bakeoff_engines::{Action, Rows, Statement, Value};

use crate::{load, prepare, work};

/// A workload, what one row is damaged in (table, column), the row's key, and what is said then.
const DAMAGES: [(&str, (&str, &str), i64, &str); 4] = [
    ("redmine", ("issues", "root_id"), 7, "the ids of all issues add up to "),
    ("redmine", ("issues", "rgt"), 7, "the sum of `lft`"),
    (
        "ledger",
        ("accounts", "balance"),
        7,
        "the accounts hold 64000001 together instead of 64000000",
    ),
    ("vote", ("entries", "rating"), 7, " votes, and its sessions have cast "),
];

#[test]
fn invariants_hold_after_clients_have_worked_and_tell_of_a_row_that_is_otherwise() {
    for (workload, (table, column), key, wanted) in DAMAGES {
        let prepared = prepare(workload, "small");
        let tables = &prepared.schema().tables;
        let table = tables.iter().position(|it| it.name == table).unwrap();
        let column = tables[table].column_number(column);
        let action = Action::Update { table, set: vec![Set::Add(column)], only_if: Vec::new() };
        let damage = Statement { name: "damage".into(), action };
        let folder = tempfile::tempdir().unwrap();
        let database = load("sqlite", folder.path(), &*prepared, vec![damage]);
        work(&*prepared, &mut *database.session().unwrap(), 20);
        assert_eq!(prepared.find_violations(&*database).unwrap(), [""; 0], "{workload}");
        let number = prepared.statements().len();
        let values = [Value::Int(1), Value::Int(key)];
        let changed = database.session().unwrap().run(number, &values, &mut Rows::new()).unwrap();
        assert_eq!(changed, 1, "{workload}");
        let broken = prepared.find_violations(&*database).unwrap();
        assert!(broken.len() == 1 && broken[0].contains(wanted), "{workload}: {broken:?}");
    }
}
