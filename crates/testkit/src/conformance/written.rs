//! Statements in SQL that users write: engines with SQL answer them alike, the others refuse them.

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::statement::{Set, TableRead, Yield};
use bakeoff_engines::{
    Access, Action, Engine, Error, Rows, Schema, Session, SqlText, Statement, Value,
};

use crate::conformance::{folder, statements, terms};

const JOIN: usize = 0;
const SUBQUERY: usize = 1;
const RETURNING: usize = 2;
const UPSERT: usize = 3;
const RAISE: usize = 4;
const COMPUTED: usize = 5;
const CUSTOMER: usize = 6;
const SUM: usize = 7;
const ADD: usize = 8;

fn schema() -> Schema {
    let price = Type::Decimal { digits: 10, scale: 2 };
    let customers = Table::new("customers").generated_key("id").column("name", Type::STRING);
    let orders = Table::new("orders")
        .generated_key("id")
        .column("customer", Type::Int)
        .column("total", price)
        .column("day", Type::Date)
        .nullable("paid", Type::Bool)
        .index(&["customer"]);
    Schema { tables: vec![customers, orders] }
}

/// A text with `?` for its parameters.
fn written(line: u32, why: &str, writes: bool, text: &str) -> SqlText {
    let mut parts = text.split('?');
    let first = parts.next().unwrap_or_default().to_owned();
    let postgres =
        parts.zip(1..).fold(first, |text, (part, number)| format!("{text}${number}{part}"));
    SqlText {
        sqlite: text.into(),
        mysql: text.into(),
        postgres,
        place: format!("buy.sql:{line}"),
        why: why.into(),
        writes,
        parameters: text.matches('?').count(),
    }
}

fn texts() -> Vec<SqlText> {
    let join = "SELECT customers.name, COUNT(*), SUM(orders.total), MAX(orders.day) FROM orders \
                JOIN customers ON customers.id = orders.customer WHERE orders.day >= ? \
                GROUP BY customers.name ORDER BY customers.name";
    let subquery = "SELECT name FROM customers WHERE id IN \
                    (SELECT customer FROM orders WHERE total > ? AND paid = ?) ORDER BY name";
    let returning = "INSERT INTO orders (customer, total, day, paid) VALUES (?, ?, ?, ?) \
                     RETURNING id, total, day, paid";
    let upsert = "INSERT INTO customers (id, name) VALUES (?, ?) ";
    let upsert = SqlText {
        mysql: format!("{upsert}ON DUPLICATE KEY UPDATE name = VALUES(name)"),
        ..written(
            4,
            "an upsert of some columns",
            true,
            &format!("{upsert}ON CONFLICT (id) DO UPDATE SET name = excluded.name"),
        )
    };
    let raise = "UPDATE orders SET total = total * ? WHERE customer = ?";
    let computed = "SELECT 1.50, 2, 'x', NULL";
    vec![
        written(1, "a join", false, join),
        written(2, "a subquery", false, subquery),
        written(3, "an insert of some columns", true, returning),
        upsert,
        written(5, "an update of many rows", true, raise),
        written(6, "a computed row", false, computed),
    ]
}

fn actions() -> Vec<Action> {
    let mut actions: Vec<_> = texts().into_iter().map(Action::Sql).collect();
    let sum = TableRead { yields: Yield::Sum(2), ..TableRead::by_key(1, 0, &[]) };
    let add = Action::Update { table: 1, set: vec![Set::Add(2)], only_if: Vec::new() };
    actions.extend([Action::Insert { table: 0 }, Action::Read(sum), add]);
    actions
}

/// Joins, subqueries, inserts that answer and upserts do what they say. Bad SQL is refused with its
/// places when the database is opened. An engine without SQL says so, and refuses sums of fractions.
pub fn runs_what_users_write(engine: &dyn Engine) {
    let folder = folder::of(engine);
    let (schema, statements, terms) = (schema(), statements(actions()), terms(engine));
    if let Some(check) = engine.statement_check() {
        let refused = |statement: &Statement| check(&schema, statement).err();
        let said: Vec<_> = statements.iter().map(refused).collect();
        let join = "a join; only engines with SQL run it";
        assert_eq!(said[JOIN].as_deref(), Some(join));
        assert_eq!(said[CUSTOMER], None);
        for fractional in [SUM, ADD] {
            let said = said[fractional].as_deref().unwrap_or_default();
            assert!(said.starts_with("total holds numbers with fractions"), "{said}");
        }
        let opened = engine.open(folder.path(), &terms, &schema, &statements[JOIN..=JOIN]);
        let Err(Error::Usage(said)) = opened.map(drop) else { panic!("a join was planned") };
        assert_eq!(said, format!("buy.sql:1: {join}"));
        return;
    }
    let bad = [
        Action::Sql(written(7, "bad", false, "SELECT nothing FROM customers")),
        Action::Sql(written(8, "good", false, "SELECT name FROM customers")),
        Action::Sql(written(9, "bad", true, "DELETE FROM nowhere WHERE id = ?")),
        Action::Sql(SqlText { parameters: 2, ..texts()[JOIN].clone() }),
    ];
    let opened = engine.open(folder.path(), &terms, &schema, &super::statements(bad));
    let Err(Error::Usage(said)) = opened.map(drop) else { panic!("bad SQL was prepared") };
    let lines: Vec<_> = said.lines().collect();
    let begins = ["buy.sql:7: ", "buy.sql:9: ", "buy.sql:1: "];
    assert!(
        lines.len() == 3 && lines.iter().zip(begins).all(|(it, as_)| it.starts_with(as_)),
        "{said}"
    );
    assert!(lines[0].contains("nothing") && lines[1].contains("nowhere"), "{said}");
    assert!(lines[2].ends_with("it takes 1 parameters, and gets 2"), "{said}");
    let database = engine.open(folder.path(), &terms, &schema, &statements).expect("a database");
    let mut session = database.session().expect("a session");
    buys(&mut *session);
    reports(&mut *session);
    keeps_to_its_transaction(&mut *session);
}

fn answered(rows: &Rows) -> Vec<Vec<Value<'_>>> {
    (0..rows.len()).map(|row| rows.row(row).collect()).collect()
}

fn buys(session: &mut dyn Session) {
    let mut rows = Rows::new();
    for (id, name) in [(1, "ann"), (2, "bob"), (2, "ben"), (3, "eve")] {
        let parameters = [Value::Int(id), name.into()];
        let changed = session.run(UPSERT, &parameters, &mut rows).expect("an upsert");
        // MariaDB counts a replaced row twice.
        assert!(matches!(changed, 1 | 2) && rows.width() == 0, "{changed}");
    }
    let orders: [(i64, f64, &str, Value<'_>); 5] = [
        (1, 10.10, "2024-01-01", 1.into()),
        (1, 20.20, "2024-02-29", 0.into()),
        (1, 0.2, "2024-01-02", Value::Null),
        (2, 99_999_999.99, "2023-12-31", 1.into()),
        (2, 5.0, "2024-12-31", 1.into()),
    ];
    for (number, (customer, total, day, paid)) in (1..).zip(orders) {
        let parameters = [customer.into(), total.into(), day.into(), paid];
        assert_eq!(session.run(RETURNING, &parameters, &mut rows).expect("an insert"), 1);
        assert_eq!(answered(&rows), [[Value::Int(number), total.into(), day.into(), paid]]);
    }
}

fn reports(session: &mut dyn Session) {
    let mut rows = Rows::new();
    assert_eq!(session.run(JOIN, &["2024-01-01".into()], &mut rows).expect("a join"), 2);
    let ann = [Value::from("ann"), 3.into(), 30.5.into(), "2024-02-29".into()];
    let ben = [Value::from("ben"), 1.into(), 5.into(), "2024-12-31".into()];
    assert_eq!(answered(&rows), [ann, ben]);
    let with = |rows: &mut Rows, session: &mut dyn Session, above: f64, paid: i64| {
        session.run(SUBQUERY, &[above.into(), paid.into()], rows).expect("a subquery")
    };
    assert_eq!(with(&mut rows, session, 10.1, 0), 1);
    assert_eq!(answered(&rows), [["ann".into()]]);
    assert_eq!(with(&mut rows, session, 1e6, 0), 0);
    assert_eq!(rows.width(), 1);
    assert_eq!(session.run(RAISE, &[1.5.into(), 1.into()], &mut rows).expect("an update"), 3);
    assert_eq!(rows.width(), 0);
    assert_eq!(session.run(RAISE, &[1.into(), 1.into()], &mut rows).expect("found"), 3);
    assert_eq!(session.run(RAISE, &[2.into(), 7.into()], &mut rows).expect("nothing"), 0);
    assert_eq!(session.run(ADD, &[0.25.into(), 3.into()], &mut rows).expect("a sum"), 1);
    assert_eq!(session.run(SUM, &[], &mut rows).expect("a sum"), 1);
    let Value::Real(sum) = rows.get(0, 0) else { panic!("{:?}", rows.get(0, 0)) };
    assert!((sum.get() - 100_000_050.99).abs() < 0.001, "{sum:?}");
    session.run(COMPUTED, &[], &mut rows).expect("a row");
    assert_eq!(answered(&rows), [[1.5.into(), 2.into(), "x".into(), Value::Null]]);
}

fn keeps_to_its_transaction(session: &mut dyn Session) {
    let mut rows = Rows::new();
    session.begin(Access::Read).expect("a transaction");
    assert_eq!(session.run(JOIN, &["2024-01-01".into()], &mut rows).expect("a join"), 2);
    let refused = session.run(RAISE, &[1.into(), 1.into()], &mut rows);
    assert!(matches!(refused, Err(Error::Usage(_))), "{refused:?}");
    session.rollback().expect("nothing was written");
    session.begin(Access::Write).expect("a transaction");
    assert_eq!(session.run(RAISE, &[2.into(), 1.into()], &mut rows).expect("an update"), 3);
    assert_eq!(session.run(JOIN, &["2024-01-01".into()], &mut rows).expect("a join"), 2);
    session.commit().expect("a commit");
    let few = session.run(JOIN, &[], &mut rows);
    assert!(matches!(few, Err(Error::Usage(_))), "{few:?}");
}
