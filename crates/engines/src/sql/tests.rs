use super::*;
use crate::Error;
use crate::statement::{
    AccessPath, Filter, RangeBound, ReadOrder, ReadScope, Set, TableRead, Yield,
};

fn schema() -> Schema {
    let members = Table::new("members")
        .generated_key("id")
        .column("user", Type::Int)
        .nullable("project", Type::Int)
        .unique(&["user", "project"]);
    let flags =
        Table::new("a \"flag\"").key_column("name", Type::STRING).key_column("day", Type::Int);
    let prices = Table::new("prices")
        .key_column("day", Type::Date)
        .column("time", Type::Timestamp)
        .column("price", Type::Decimal { digits: 10, scale: 2 })
        .nullable("weight", Type::Real)
        .column("sold", Type::Bool)
        .index(&["time", "sold"]);
    Schema { tables: vec![members, flags, prices] }
}

/// A range of members with filters, an order and a limit.
fn range() -> TableRead {
    TableRead {
        scope: ReadScope::Range { equal: 1, from: Some(RangeBound::Exclusive), to: None },
        filters: vec![Filter { column: 0, any_of: 2 }],
        order: ReadOrder::Descending,
        limit: Some(3),
        ..TableRead::by_prefix(0, AccessPath::Index(0), 1, &[0])
    }
}

fn prices(column: usize) -> TableRead {
    TableRead { yields: Yield::Sum(column), ..TableRead::by_key(2, 1, &[]) }
}

/// Statements of every kind, each with its name.
fn actions() -> Vec<(&'static str, Action)> {
    let read = TableRead::by_key(0, 1, &[1]);
    let locked = TableRead { for_update: true, ..read.clone() };
    let limited = TableRead { limit: Some(3), ..TableRead::by_key(0, 1, &[]) };
    let with = |yields, read: &TableRead| TableRead { yields, ..read.clone() };
    let ranges = TableRead {
        scope: ReadScope::Ranges(2),
        yields: Yield::Count(2),
        ..TableRead::by_prefix(0, AccessPath::Key, 0, &[])
    };
    let filters = vec![Filter { column: 1, any_of: 1 }];
    let filtered = TableRead { filters: filters.clone(), ..ranges.clone() };
    let reads = [
        ("a range", range()),
        ("the sum of a range", with(Yield::Sum(2), &range())),
        ("a row within one of several ranges", ranges),
        ("the same with a filter", filtered),
        ("a row to be updated", locked.clone()),
        ("its sum, with the row locked inside", with(Yield::Sum(2), &locked)),
        ("what is distinct", with(Yield::Distinct(2), &read)),
        ("the first three, sorted", with(Yield::Sorted(2), &limited)),
    ];
    let writes = [
        (
            "an update marks what it sets before its key",
            Action::Update { table: 0, set: vec![Set::To(1), Set::Add(2)], only_if: filters },
        ),
        ("an insert numbers a row that has no number", Action::Insert { table: 0 }),
        ("an upsert replaces the row of its key alone", Action::Upsert { table: 0 }),
        ("an upsert of a key", Action::Upsert { table: 1 }),
        (
            "what is added to a decimal and to a double",
            Action::Update { table: 2, set: vec![Set::Add(2), Set::Add(3)], only_if: Vec::new() },
        ),
        ("the sum of decimals", Action::Read(prices(2))),
        ("the sum of doubles", Action::Read(prices(3))),
    ];
    reads.map(|(name, read)| (name, Action::Read(read))).into_iter().chain(writes).collect()
}

/// The dialects' texts, which `statements.sql` has.
#[test]
fn the_texts_of_all_dialects_are_known() {
    const DIALECTS: [Dialect; 3] = [Dialect::Sqlite, Dialect::MySql, Dialect::Postgres];
    let schema = schema();
    let mut text = String::new();
    let mut add = |name: &str, of: &dyn Fn(Dialect) -> String| {
        text += &format!("-- {name}\n");
        DIALECTS.iter().for_each(|dialect| text += &format!("{};\n", of(*dialect)));
    };
    for table in &schema.tables {
        add(&format!("the table {}", table.name), &|dialect| dialect.create_table(table));
    }
    let (table, index) = (&schema.tables[0], &schema.tables[0].indexes[0]);
    add("an index", &|dialect| dialect.create_index(table, index));
    add("an index less", &|dialect| dialect.drop_index(table, index));
    for (name, action) in actions() {
        add(name, &|dialect| dialect.statement_text(&schema, &action).expect("a text"));
    }
    let added = ["ADD UNIQUE INDEX `members_user_project` (`user`, `project`)"];
    assert_eq!(Dialect::MySql.add_indexes(table), added);
    assert_eq!(text, include_str!("tests/statements.sql"), "{text}");
}

#[test]
fn what_means_nothing_is_refused() {
    let sets_nothing = Action::Update { table: 0, set: Vec::new(), only_if: Vec::new() };
    let too_far = Action::Read(TableRead::by_prefix(0, AccessPath::Key, 2, &[0]));
    for action in [sets_nothing, too_far] {
        for dialect in [Dialect::Sqlite, Dialect::MySql, Dialect::Postgres] {
            let answer = dialect.statement_text(&schema(), &action);
            assert!(matches!(answer, Err(Error::Usage(_))), "{answer:?}");
        }
    }
}
