use bakeoff_engines::Schema;
use bakeoff_engines::schema::Type;
use bakeoff_engines::sql::Dialect;
use bakeoff_engines::statement::{
    AccessPath, Filter, RangeBound, ReadOrder, ReadScope, Set, TableRead, Yield,
};
use proptest::prelude::*;

use super::*;
use crate::sql::{ParameterSource, SqlLiteral, compile_statement};
use crate::{Mistakes, SourcePlace};

const SCHEMA: &str = "
CREATE TABLE products (id SERIAL PRIMARY KEY, name VARCHAR(99) NOT NULL, stock INTEGER NOT NULL,
    price NUMERIC(8, 2), shop INTEGER, sold BOOLEAN DEFAULT FALSE);
CREATE INDEX ON products (shop, stock);
CREATE INDEX ON products (stock);
CREATE TABLE hits (day INTEGER, page VARCHAR(20), n INTEGER NOT NULL, note TEXT, PRIMARY KEY (day, page));
CREATE TABLE days (day DATE PRIMARY KEY, at TIMESTAMP);
CREATE TABLE pairs (a INTEGER, b INTEGER, PRIMARY KEY (a, b));
";

fn read_schema() -> SqlSchema {
    let place = SourcePlace::from_file("schema.sql");
    SqlSchema::from_text(SCHEMA, &place, &mut Mistakes::default())
}

fn fit(schema: &SqlSchema, text: &str) -> Result<FittedStatement, String> {
    let mut mistakes = Mistakes::default();
    let compiled = compile_statement(text, &SourcePlace::from_file("a.sql"), schema, &mut mistakes);
    let compiled = compiled.unwrap_or_else(|| panic!("{text}\n{mistakes}"));
    compiled.fitted.ok_or_else(|| compiled.why_not.unwrap_or_default())
}

/// Parameters as they are written.
fn write_sources(parameters: &[ParameterSource]) -> String {
    let write = |source: &ParameterSource| match source {
        ParameterSource::Named { name, .. } => name.clone(),
        ParameterSource::Negated { name, .. } => format!("-{name}"),
        ParameterSource::Element { name, number, .. } => format!("{name}[{number}]"),
        ParameterSource::Literal(SqlLiteral::Null) => "NULL".into(),
        ParameterSource::Literal(SqlLiteral::Bool(bool)) => bool.to_string(),
        ParameterSource::Literal(SqlLiteral::Int(int)) => int.to_string(),
        ParameterSource::Literal(SqlLiteral::Decimal(text)) => text.clone(),
        ParameterSource::Literal(SqlLiteral::Text(text)) => format!("'{text}'"),
    };
    parameters.iter().map(write).collect::<Vec<_>>().join(" ")
}

fn check_fits(text: &str, action: Action, parameters: &str) {
    let fitted = fit(&read_schema(), text).unwrap_or_else(|why| panic!("{text}\n{why}"));
    assert_eq!(
        (fitted.action, write_sources(&fitted.parameters).as_str()),
        (action, parameters),
        "{text}"
    );
}

fn check_read(text: &str, read: TableRead, parameters: &str) {
    check_fits(text, Action::Read(read), parameters);
}

fn range(
    path: AccessPath,
    equal: usize,
    from: Option<RangeBound>,
    to: Option<RangeBound>,
) -> TableRead {
    let scope = ReadScope::Range { equal, from, to };
    TableRead { scope, ..TableRead::by_prefix(0, path, equal, &[0]) }
}

#[test]
fn reads_go_along_a_key_or_an_index() {
    let (key, shop, stock) = (AccessPath::Key, AccessPath::Index(0), AccessPath::Index(1));
    let (inclusive, exclusive) = (Some(RangeBound::Inclusive), Some(RangeBound::Exclusive));
    let one = |column, any_of| vec![Filter { column, any_of }];
    let ascending = |read| TableRead { order: ReadOrder::Ascending, ..read };
    check_read(
        "SELECT * FROM products p WHERE p.id = :x",
        TableRead::by_key(0, 1, &[0, 1, 2, 3, 4, 5]),
        "x",
    );
    check_read("SELECT id FROM products", range(key, 0, None, None), "");
    check_read(
        "SELECT id FROM products WHERE shop = :s AND stock > 5 AND stock <= :t",
        range(shop, 1, exclusive, inclusive),
        "s 5 t",
    );
    check_read(
        "SELECT id FROM products WHERE stock = 1 AND (shop = -2) LIMIT 3",
        TableRead { limit: Some(3), ..range(shop, 2, None, None) },
        "-2 1",
    );
    check_read(
        "SELECT id FROM products WHERE stock BETWEEN 1 AND :b AND sold = TRUE",
        TableRead { filters: one(5, 1), ..range(stock, 0, inclusive, inclusive) },
        "1 b true",
    );
    check_read(
        "SELECT id FROM products WHERE id > 1 AND shop = 2",
        TableRead { filters: one(4, 1), ..range(key, 0, exclusive, None) },
        "1 2",
    );
    check_read(
        "SELECT id FROM products WHERE shop = 1 ORDER BY stock DESC, id DESC",
        TableRead { order: ReadOrder::Descending, ..range(shop, 1, None, None) },
        "1",
    );
    check_read(
        "SELECT id FROM products WHERE shop = 1 ORDER BY shop DESC, stock",
        ascending(range(shop, 1, None, None)),
        "1",
    );
    check_read(
        "SELECT id FROM products ORDER BY stock LIMIT 5",
        TableRead { limit: Some(5), ..ascending(range(stock, 0, None, None)) },
        "",
    );
    check_read(
        "SELECT id AS n FROM products WHERE name = 'é' ORDER BY n FOR UPDATE",
        TableRead { filters: one(1, 1), for_update: true, ..ascending(range(key, 0, None, None)) },
        "'é'",
    );
    check_read(
        "SELECT id FROM products WHERE price IN (1.50, 2) ",
        TableRead { filters: one(3, 2), ..range(key, 0, None, None) },
        "1.50 2",
    );
    check_read(
        "SELECT id FROM products WHERE shop IN (:l[2], NULL)",
        TableRead { scope: ReadScope::Among(3), ..range(shop, 0, None, None) },
        "l[0] l[1] NULL",
    );
    check_read(
        "SELECT id FROM products WHERE (id BETWEEN 1 AND 2 OR id BETWEEN :a AND :b) AND stock = 0",
        TableRead { scope: ReadScope::Ranges(2), filters: one(2, 1), ..range(key, 0, None, None) },
        "1 2 a b 0",
    );
}

#[test]
fn days_and_times_are_texts_of_one_form() {
    let fitted =
        fit(&read_schema(), "INSERT INTO days VALUES ('2024-02-29', '2024-02-29 23:59:59.000000')");
    assert!(fitted.is_ok(), "{fitted:?}");
    let why = fit(&read_schema(), "SELECT at FROM days WHERE day = '2024-2-29'").unwrap_err();
    assert_eq!(why, "`'2024-2-29'` has another type than day");
}

#[test]
fn computed_reads_fit_where_the_contract_means_the_same() {
    let (key, shop) = (AccessPath::Key, AccessPath::Index(0));
    let yields = |yields, read| TableRead { yields, ..read };
    let all = || range(key, 0, None, None);
    check_read(
        "SELECT COUNT(*) AS n FROM products WHERE shop = 1",
        yields(Yield::Count(0), range(shop, 1, None, None)),
        "1",
    );
    check_read("SELECT COUNT(price) FROM products", yields(Yield::Count(3), all()), "");
    check_read("SELECT COALESCE(SUM(stock), 0) FROM products", yields(Yield::Sum(2), all()), "");
    check_read(
        "SELECT DISTINCT name FROM products ORDER BY name",
        yields(Yield::Distinct(1), all()),
        "",
    );
    check_read(
        "SELECT name FROM products WHERE shop = 1 ORDER BY name",
        yields(Yield::Sorted(1), range(shop, 1, None, None)),
        "1",
    );
    check_read(
        "SELECT shop FROM products WHERE shop IN (1, 2) ORDER BY shop",
        TableRead {
            scope: ReadScope::Among(2),
            yields: Yield::Sorted(4),
            ..range(shop, 0, None, None)
        },
        "1 2",
    );
    let limited = TableRead { limit: Some(9), order: ReadOrder::Descending, ..all() };
    check_read(
        "SELECT COUNT(id) FROM (SELECT id FROM products ORDER BY id DESC LIMIT 9) AS f",
        yields(Yield::Count(0), limited),
        "",
    );
}

#[test]
fn writes_of_one_row_fit() {
    let insert = || Action::Insert { table: 0 };
    check_fits(
        "INSERT INTO products (stock, name, sold) VALUES (:s, 'x', :t) RETURNING id AS n",
        insert(),
        "NULL 'x' s NULL NULL t",
    );
    check_fits(
        "INSERT INTO products VALUES (NULL, :n, 1, 2.5, NULL, FALSE)",
        insert(),
        "NULL n 1 2.5 NULL false",
    );
    check_fits(
        "INSERT INTO hits (n, page, day) VALUES (0, :p, NOW())",
        Action::Insert { table: 1 },
        "now p 0 NULL",
    );
    let upsert = "INSERT INTO hits VALUES (:d, :p, :n, :t) ON CONFLICT (page, day) DO UPDATE SET note = excluded.note, n = excluded.n";
    check_fits(upsert, Action::Upsert { table: 1 }, "d p n t");
    check_fits(
        "INSERT INTO pairs VALUES (1, 2) ON DUPLICATE KEY UPDATE a = VALUES(a)",
        Action::Upsert { table: 3 },
        "1 2",
    );
    let price = Action::Update { table: 0, set: vec![Set::Add(3)], only_if: Vec::new() };
    check_fits("UPDATE products SET price = price - 0.50 WHERE id = 1", price, "-0.50 1");
    let update = |set, only_if| Action::Update { table: 0, set, only_if };
    check_fits(
        "UPDATE products SET stock = stock - 1, name = :n WHERE id = :id AND shop IN (1, 2)",
        update(vec![Set::Add(2), Set::To(1)], vec![Filter { column: 4, any_of: 2 }]),
        "-1 n id 1 2",
    );
    check_fits(
        "UPDATE products p SET stock = p.stock - :x, shop = CURRENT_TIMESTAMP WHERE p.id = 7",
        update(vec![Set::Add(2), Set::To(4)], vec![]),
        "-x now 7",
    );
    check_fits("DELETE FROM hits WHERE page = :p AND day = :d", Action::Delete { table: 1 }, "d p");
}

#[test]
fn what_is_no_action_is_told_in_words() {
    let schema = read_schema();
    for (text, why) in [
        ("SELECT p.id FROM products p JOIN hits ON n = id", "a join"),
        ("SELECT n FROM hits, pairs", "a join"),
        ("SELECT shop, count(*) FROM products GROUP BY shop", "GROUP BY"),
        (
            "SELECT id FROM products WHERE name > 'a'",
            "`name > 'a'` is no equality, and no key or index has that column next",
        ),
        (
            "UPDATE products SET stock = stock - 1 WHERE id = 1 AND stock > 0",
            "`stock > 0` is no equality",
        ),
        ("SELECT id FROM products WHERE shop = 1 OR stock = 2", "OR"),
        (
            "SELECT id FROM products ORDER BY name LIMIT 1",
            "ORDER BY is not the order of a key or an index",
        ),
        ("SELECT id FROM products ORDER BY shop, stock DESC", "ORDER BY is not"),
        (
            "SELECT name FROM products WHERE id IN (1, 2) ORDER BY id",
            "`id IN (1, 2)` with ORDER BY or LIMIT",
        ),
        ("SELECT SUM(stock) FROM products", "write COALESCE(SUM(column), 0)"),
        ("SELECT COALESCE(SUM(name), 0) FROM products", "something else than a column of numbers"),
        ("SELECT stock + 1 FROM products", "in the list of columns"),
        ("SELECT max(stock) FROM products", "MAX() is computed"),
        ("SELECT id FROM products WHERE id = '5'", "`'5'` has another type than id"),
        ("SELECT id FROM products WHERE id = stock", "`stock` is no parameter or plain value"),
        ("SELECT id FROM products WHERE id = 1 + 1", "is computed"),
        ("SELECT id FROM products LIMIT 1 OFFSET 5", "OFFSET"),
        ("SELECT id FROM products LIMIT :n", "no plain number"),
        ("SELECT id FROM products WHERE shop IS NULL", "IS"),
        ("SELECT DISTINCT shop, stock FROM products", "DISTINCT of several columns"),
        ("SELECT 1", "it reads no table"),
        ("INSERT INTO pairs VALUES (1, 2), (3, 4)", "several rows"),
        ("INSERT INTO pairs VALUES (1, 2) ON CONFLICT DO NOTHING", "DO NOTHING"),
        ("INSERT INTO pairs SELECT 1, 2", "without VALUES"),
        (
            "INSERT INTO hits VALUES (1, 'a', 1, NULL) ON CONFLICT (day, page) DO UPDATE SET n = hits.n + 1",
            "sets n to another value",
        ),
        ("UPDATE hits SET n = 1 WHERE day = 1", "page is not given"),
        ("UPDATE hits SET day = 1 WHERE day = 1 AND page = 'x'", "day is in the key"),
        ("UPDATE hits SET n = 1", "a change of all rows"),
        ("DELETE FROM pairs WHERE a = 1 AND b = 2 AND a = 3", "DELETE with `a = 3`"),
        ("SELECT id FROM products WHERE id IN (SELECT n FROM hits)", "a subquery"),
        ("BEGIN", "begins or ends a transaction"),
    ] {
        let said = fit(&schema, text).expect_err(text);
        assert!(said.contains(why), "{text}\n{said}");
    }
}

/// A schema of engines as if it had been read.
fn with_sources(schema: Schema) -> SqlSchema {
    use crate::sql::schema_file::{ColumnSource, TableSource};
    let place = SourcePlace::from_file("schema.sql");
    let kind = |kind| match kind {
        Type::Text { most } => Type::Text { most },
        Type::MediumText => Type::MediumText,
        _ => Type::Int,
    };
    let source = |table: &Table| TableSource {
        place: place.clone(),
        columns: (table.columns.iter())
            .map(|column| ColumnSource {
                place: place.clone(),
                kind: kind(column.kind),
                default: None,
            })
            .collect(),
        checks: Vec::new(),
        is_partial: false,
    };
    let tables = schema.tables.iter().map(source).collect();
    SqlSchema { schema, tables, references: Vec::new() }
}

/// Draws small numbers.
struct Draws<'g>(std::slice::Iter<'g, u8>);

impl Draws<'_> {
    fn below(&mut self, end: usize) -> usize {
        usize::from(*self.0.next().unwrap_or(&0)) % end
    }
}

fn random_table(mut draws: Draws<'_>) -> Table {
    let table = Table::new("a \"table\" 1");
    let table = match draws.below(3) {
        0 => table.generated_key("id"),
        1 => table.key_column("key 'k'", Type::STRING),
        _ => table.key_column("key", Type::Int).key_column("date", Type::STRING),
    };
    let table = table.column("small \"1\" select", Type::Int).nullable("small2", Type::Int);
    let table = table.column("order", Type::STRING).nullable("long", Type::MediumText);
    let mut table = table;
    for _ in 0..draws.below(4) {
        let mut columns: Vec<&str> = Vec::new();
        let names: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
        for _ in 0..=draws.below(3) {
            let name = &names[draws.below(names.len() - 1)];
            if !columns.contains(&name.as_str()) {
                columns.push(name);
            }
        }
        table = if draws.below(3) == 0 { table.unique(&columns) } else { table.index(&columns) };
    }
    table
}

fn random_filters(table: &Table, draws: &mut Draws<'_>) -> Vec<Filter> {
    let count = [0, 0, 1, 2][draws.below(4)];
    (0..count)
        .map(|_| Filter { column: draws.below(table.columns.len()), any_of: 1 + draws.below(2) })
        .collect()
}

fn random_read(table: &Table, draws: &mut Draws<'_>) -> TableRead {
    let choice = draws.below(1 + table.indexes.len());
    let (path, length) = match choice.checked_sub(1) {
        None => (AccessPath::Key, table.key.len()),
        Some(index) => (AccessPath::Index(index), table.indexes[index].columns.len()),
    };
    let listed = match draws.below(6) {
        0 => Some(ReadScope::Among(1 + draws.below(3))),
        1 => Some(ReadScope::Ranges(1 + draws.below(3))),
        _ => None,
    };
    let equal = draws.below(length + 1);
    let bounds = [None, Some(RangeBound::Inclusive), Some(RangeBound::Exclusive)];
    let [from, to] = [0, 1].map(|_| bounds[draws.below(3)].filter(|_| equal < length));
    let order = [ReadOrder::Any, ReadOrder::Ascending, ReadOrder::Descending][draws.below(3)];
    let column = draws.below(table.columns.len());
    TableRead {
        table: 0,
        path,
        order: if listed.is_some() { ReadOrder::Any } else { order },
        limit: (listed.is_none() && order != ReadOrder::Any && draws.below(2) == 0)
            .then(|| draws.below(4) as u32),
        scope: listed.unwrap_or(ReadScope::Range { equal, from, to }),
        filters: random_filters(table, draws),
        yields: match draws.below(6) {
            0 => {
                Yield::Sum(table.columns.iter().position(|column| column.name == "small2").unwrap())
            }
            1 => Yield::Distinct(column),
            2 => Yield::Sorted(column),
            3 => Yield::Count(column),
            4 => Yield::Columns(vec![column, column]),
            _ => Yield::Columns((0..table.columns.len()).collect()),
        },
        for_update: draws.below(3) == 0,
    }
}

fn random_action(table: &Table, mut draws: Draws<'_>) -> Action {
    match draws.below(8) {
        0 => Action::Insert { table: 0 },
        1 => Action::Upsert { table: 0 },
        2 => Action::Delete { table: 0 },
        3 => {
            let free: Vec<usize> =
                (0..table.columns.len()).filter(|it| !table.key.contains(it)).collect();
            let mut set = vec![Set::To(free[draws.below(free.len())])];
            if set != [Set::To(free[0])] {
                set.push(Set::Add(free[0]));
            }
            Action::Update { table: 0, set, only_if: random_filters(table, &mut draws) }
        }
        _ => Action::Read(random_read(table, &mut draws)),
    }
}

/// A read without its path: what it means, with its parameters at the columns.
#[derive(Debug, PartialEq)]
struct ReadMeaning {
    conditions: Vec<String>,
    /// The columns of its order that don't equal a value.
    order: Vec<(usize, bool)>,
    yields: String,
    limit: Option<u32>,
}

fn describe_read(table: &Table, read: &TableRead, parameters: &[String]) -> ReadMeaning {
    let path = match read.path {
        AccessPath::Key => &table.key,
        AccessPath::Index(index) => &table.indexes[index].columns,
    };
    let mut parameters = parameters.iter();
    let mut take =
        |count: usize| parameters.by_ref().take(count).cloned().collect::<Vec<_>>().join(" ");
    let (mut conditions, mut fixed) = (Vec::new(), Vec::new());
    match read.scope {
        ReadScope::Range { equal, from, to } => {
            for column in &path[..equal] {
                conditions.push(format!("{column} = {}", take(1)));
                fixed.push(*column);
            }
            from.iter().for_each(|bound| {
                conditions.push(format!("{} from {bound:?} {}", path[equal], take(1)))
            });
            to.iter().for_each(|bound| {
                conditions.push(format!("{} to {bound:?} {}", path[equal], take(1)))
            });
        }
        ReadScope::Among(1) => {
            conditions.push(format!("{} = {}", path[0], take(1)));
            fixed.push(path[0]);
        }
        ReadScope::Among(count) => conditions.push(format!("{} in {}", path[0], take(count))),
        ReadScope::Ranges(1) => {
            conditions.push(format!("{} from Inclusive {}", path[0], take(1)));
            conditions.push(format!("{} to Inclusive {}", path[0], take(1)));
        }
        ReadScope::Ranges(count) => {
            conditions.push(format!("{} within {}", path[0], take(2 * count)))
        }
    }
    for Filter { column, any_of } in &read.filters {
        let sign = if *any_of == 1 { "=" } else { "in" };
        conditions.push(format!("{column} {sign} {}", take(*any_of)));
        fixed.extend((*any_of == 1).then_some(*column));
    }
    conditions.sort();
    let descending = read.order == ReadOrder::Descending;
    let rest = table.key.iter().filter(|column| !path.contains(column));
    let natural = path.iter().chain(rest).filter(|column| !fixed.contains(column));
    let mut order: Vec<_> = natural.map(|column| (*column, descending)).collect();
    let sorted = matches!(
        read.yields,
        Yield::Sorted(_) | Yield::Distinct(_) | Yield::Sum(_) | Yield::Count(_)
    );
    if read.order == ReadOrder::Any || sorted && read.limit.is_none() {
        order.clear();
    }
    let mut yields = format!("{:?}", read.yields);
    // One row has any order.
    let single = table.key.iter().all(|column| fixed.contains(column));
    if let (Yield::Sorted(column), None) = (&read.yields, read.limit) {
        yields = format!("Columns([{column}])");
        order.extend((!fixed.contains(column)).then_some((*column, false)));
    }
    if single {
        order.clear();
    }
    ReadMeaning { conditions, order, yields, limit: read.limit }
}

fn check_same(table: &Table, expected: &Action, found: &FittedStatement, locks: bool) {
    let numbers: Vec<String> =
        (1..=found.parameters.len()).map(|number| format!("p{number}")).collect();
    let sources: Vec<String> =
        found.parameters.iter().map(|source| write_sources(std::slice::from_ref(source))).collect();
    let (Action::Read(expected), Action::Read(found)) = (expected, &found.action) else {
        assert_eq!((expected, numbers), (&found.action, sources));
        return;
    };
    let mut wanted = describe_read(table, expected, &numbers);
    let mut given = describe_read(table, found, &sources);
    // An order beyond the wanted one does no harm.
    let (long, short) = (given.order.len(), wanted.order.len());
    assert!(short == 0 || long > 0, "{wanted:?}\n{given:?}");
    given.order.truncate(short);
    wanted.order.truncate(long);
    assert_eq!(wanted, given);
    assert_eq!(found.for_update, expected.for_update && locks);
}

/// The text with `:p1` for the first parameter.
fn name_parameters(dialect: Dialect, text: &str, count: usize) -> String {
    let mut named = text.to_string();
    for number in (1..=count).rev() {
        named = named.replace(&format!("${number}"), &format!(":p{number}"));
    }
    if dialect == Dialect::Sqlite {
        let parts: Vec<&str> = text.split('?').collect();
        named = parts[0].into();
        (1..parts.len()).for_each(|number| named += &format!(":p{number}{}", parts[number]));
    }
    named
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_text_of_an_action_is_that_action(
        tables in proptest::collection::vec(any::<u8>(), 20),
        actions in proptest::collection::vec(any::<u8>(), 30),
    ) {
        let table = random_table(Draws(tables.iter()));
        let action = random_action(&table, Draws(actions.iter()));
        let schema = with_sources(Schema { tables: vec![table.clone()] });
        for dialect in [Dialect::Sqlite, Dialect::Postgres] {
            let text = dialect.statement_text(&schema.schema, &action).unwrap();
            if text.contains("nextval") {
                continue;
            }
            match fit(&schema, &name_parameters(dialect, &text, 30)) {
                Ok(fitted) => check_same(&table, &action, &fitted, dialect == Dialect::Postgres),
                // All rows would be read.
                Err(why) => prop_assert!(why.ends_with("with ORDER BY or LIMIT"), "{}\n{}", text, why),
            }
        }
    }
}
