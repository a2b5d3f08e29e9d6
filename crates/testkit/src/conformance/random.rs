//! Random schemas, statements and values, small enough to collide often.

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::statement::{
    AccessPath, Action, Filter, RangeBound, ReadOrder, ReadScope, Set, TableRead, Yield,
};
use bakeoff_engines::{Schema, Statement, Value};

use crate::conformance::genes::Genes;
use crate::conformance::model::Cell;

/// Integer columns with this prefix stay small: they can be added to and summed.
const SMALL: &str = "small";

/// Characters of a text that is not indexed, and not of the longest kind.
const LONG: u32 = 700;

const DAYS: [&str; 5] = ["0001-01-01", "1969-12-31", "2000-02-29", "2024-11-30", "9999-12-31"];
const TIMES: [&str; 3] = ["00:00:00.000000", "12:34:56.000789", "23:59:59.999999"];

pub fn schema(genes: &[Vec<u32>]) -> Schema {
    let tables = genes.iter().enumerate();
    Schema { tables: tables.map(|(number, genes)| table(number, Genes::new(genes))).collect() }
}

fn table(number: usize, mut genes: Genes<'_>) -> Table {
    let mut table = Table::new(&format!("table {number}"));
    table = match genes.below(4) {
        0 => table.generated_key("id"),
        1 => table.key_column("key", Type::Int),
        2 => table.key_column("key", Type::STRING),
        _ => (0..=1 + genes.below(2)).fold(table, |table, part| {
            let kinds = [Type::Int, Type::STRING, Type::Date, Type::Timestamp, Type::Bool];
            table.key_column(&format!("key{part}"), *genes.pick(&kinds))
        }),
    };
    for column in 0..genes.below(5) {
        let (name, kind) = match genes.below(8) {
            0 | 1 => (SMALL, Type::Int),
            2 => ("wide", Type::Int),
            3 => ("text", *genes.pick(&[Type::STRING, Type::Text { most: 2 }])),
            4 => ("fraction", *genes.pick(&[Type::Real, Type::Decimal { digits: 10, scale: 2 }])),
            5 => ("flag", Type::Bool),
            6 => ("time", *genes.pick(&[Type::Date, Type::Timestamp])),
            _ => (
                "long",
                *genes.pick(&[Type::MediumText, Type::Text { most: LONG }, Type::MEDIUM_BLOB]),
            ),
        };
        // A name that needs quoting is still a name.
        let name = format!("{name} \"{column}\" select");
        table = match genes.below(2) {
            0 => table.column(&name, kind),
            _ => table.nullable(&name, kind),
        };
    }
    for _ in 0..genes.below(4) {
        table = index(table, &mut genes);
    }
    table
}

fn index(table: Table, genes: &mut Genes<'_>) -> Table {
    let mut columns = Vec::new();
    for _ in 0..=genes.below(3) {
        let column = &table.columns[table.columns.len() - 1 - genes.below(table.columns.len())];
        let may_be = !column.kind.is_long() && !column.kind.is_fractional();
        if may_be && !columns.contains(&column.name) {
            columns.push(column.name.clone());
        }
    }
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let name = format!("{}_{}", table.name, columns.join("_"));
    if columns.is_empty() || table.indexes.iter().any(|index| index.name == name) {
        return table;
    }
    match genes.once_in(3) {
        false => table.index(&columns),
        true => table.unique(&columns),
    }
}

/// Random statements, followed by one for each order of each table: [`scans`].
pub fn statements(schema: &Schema, genes: &[Vec<u32>]) -> Vec<Statement> {
    let random = genes.iter().map(|genes| action(schema, Genes::new(genes)));
    let named = |(number, action)| Statement { name: format!("statement {number}"), action };
    random.chain(scans(schema)).enumerate().map(named).collect()
}

/// Reads of all rows, along every path, both ways.
pub fn scans(schema: &Schema) -> Vec<Action> {
    let mut scans = Vec::new();
    for (number, table) in schema.tables.iter().enumerate() {
        let all: Vec<usize> = (0..table.columns.len()).collect();
        let paths = (0..table.indexes.len()).map(AccessPath::Index);
        for path in [AccessPath::Key].into_iter().chain(paths) {
            for order in [ReadOrder::Ascending, ReadOrder::Descending] {
                scans.push(Action::Read(TableRead {
                    order,
                    ..TableRead::by_prefix(number, path, 0, &all)
                }));
            }
        }
    }
    scans
}

fn action(schema: &Schema, mut genes: Genes<'_>) -> Action {
    let number = genes.below(schema.tables.len());
    let table = &schema.tables[number];
    match genes.below(8) {
        0 | 1 => Action::Insert { table: number },
        2 => Action::Upsert { table: number },
        3 => update(number, table, &mut genes),
        4 => Action::Delete { table: number },
        _ => Action::Read(read(number, table, &mut genes)),
    }
}

fn update(number: usize, table: &Table, genes: &mut Genes<'_>) -> Action {
    let mut set = Vec::new();
    for (column, about) in table.columns.iter().enumerate() {
        if !table.key.contains(&column) && !genes.once_in(3) {
            let adds = about.name.starts_with(SMALL) && genes.once_in(2);
            set.push(if adds { Set::Add(column) } else { Set::To(column) });
        }
    }
    let only_if = filters(table, genes);
    match set.is_empty() {
        true => Action::Delete { table: number },
        false => Action::Update { table: number, set, only_if },
    }
}

fn read(number: usize, table: &Table, genes: &mut Genes<'_>) -> TableRead {
    let choice = genes.below(1 + table.indexes.len());
    let (path, length) = match choice.checked_sub(1) {
        None => (AccessPath::Key, table.key.len()),
        Some(index) => (AccessPath::Index(index), table.indexes[index].columns.len()),
    };
    let listed = match genes.below(8) {
        0 => Some(ReadScope::Among(1 + genes.below(3))),
        1 => Some(ReadScope::Ranges(1 + genes.below(3))),
        _ => None,
    };
    let order = *genes.pick(&[ReadOrder::Any, ReadOrder::Ascending, ReadOrder::Descending]);
    let limited = listed.is_none() && order != ReadOrder::Any && genes.once_in(2);
    let filters = filters(table, genes);
    TableRead {
        table: number,
        path,
        scope: listed.unwrap_or_else(|| range(length, genes)),
        filters,
        order: if listed.is_some() { ReadOrder::Any } else { order },
        limit: limited.then(|| genes.below(4) as u32),
        yields: yields(table, genes),
        for_update: genes.once_in(4),
    }
}

fn range(length: usize, genes: &mut Genes<'_>) -> ReadScope {
    let equal = genes.below(length + 1);
    let bounds = [None, Some(RangeBound::Inclusive), Some(RangeBound::Exclusive)];
    let (from, to) = (*genes.pick(&bounds), *genes.pick(&bounds));
    match equal < length {
        true => ReadScope::Range { equal, from, to },
        false => ReadScope::Range { equal, from: None, to: None },
    }
}

fn filters(table: &Table, genes: &mut Genes<'_>) -> Vec<Filter> {
    let count = [0, 0, 1, 2][genes.below(4)];
    let mut filter =
        || Filter { column: genes.below(table.columns.len()), any_of: 1 + genes.below(2) };
    (0..count).map(|_| filter()).collect()
}

fn yields(table: &Table, genes: &mut Genes<'_>) -> Yield {
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let small: Vec<usize> = all
        .iter()
        .copied()
        .filter(|column| table.columns[*column].name.starts_with(SMALL))
        .collect();
    match genes.below(7) {
        0 if !small.is_empty() => Yield::Sum(*genes.pick(&small)),
        1 => Yield::Distinct(*genes.pick(&all)),
        2 => Yield::Sorted(*genes.pick(&all)),
        3 => Yield::Count(*genes.pick(&all)),
        4 => Yield::Columns(vec![*genes.pick(&all), *genes.pick(&all)]),
        _ => Yield::Columns(all),
    }
}

pub fn parameters(schema: &Schema, action: &Action, genes: &mut Genes<'_>) -> Vec<Cell> {
    match action {
        Action::Read(read) => {
            let table = &schema.tables[read.table];
            let path = match read.path {
                AccessPath::Key => &table.key,
                AccessPath::Index(index) => &table.indexes[index].columns,
            };
            let columns: Vec<usize> = match read.scope {
                ReadScope::Among(_) | ReadScope::Ranges(_) => {
                    vec![path[0]; read.scope.count_parameters()]
                }
                ReadScope::Range { equal, from, to } => {
                    let bounds = from.iter().chain(&to).map(|_| path[equal]);
                    path[..equal].iter().copied().chain(bounds).collect()
                }
            };
            conditions(table, columns.into_iter().chain(filtered(&read.filters)), genes)
        }
        Action::Insert { table } => {
            let table = &schema.tables[*table];
            let mut row = row(table, genes);
            if table.generated {
                row[table.key[0]] = Cell::Null;
            }
            row
        }
        Action::Upsert { table } => row(&schema.tables[*table], genes),
        Action::Update { table, set, only_if } => {
            let table = &schema.tables[*table];
            let set = set.iter().map(|set| match *set {
                Set::To(column) => stored(table, column, genes),
                Set::Add(_) => Cell::Int(genes.below(7) as i64 - 3),
            });
            let mut parameters: Vec<Cell> = set.collect();
            parameters.extend(table.key.iter().map(|column| cell(table, *column, genes)));
            parameters.extend(conditions(table, filtered(only_if), genes));
            parameters
        }
        Action::Delete { table } => {
            let table = &schema.tables[*table];
            table.key.iter().map(|column| cell(table, *column, genes)).collect()
        }
        Action::Sql(_) => Vec::new(),
    }
}

fn filtered(filters: &[Filter]) -> impl Iterator<Item = usize> {
    filters.iter().flat_map(|filter| std::iter::repeat_n(filter.column, filter.any_of))
}

/// A whole row, including keys.
pub fn row(table: &Table, genes: &mut Genes<'_>) -> Vec<Cell> {
    (0..table.columns.len()).map(|column| stored(table, column, genes)).collect()
}

/// Values to compare columns with; sometimes a null, which equals nothing.
fn conditions(
    table: &Table,
    columns: impl Iterator<Item = usize>,
    genes: &mut Genes<'_>,
) -> Vec<Cell> {
    columns
        .map(|column| match genes.once_in(12) {
            true => Cell::Null,
            false => cell(table, column, genes),
        })
        .collect()
}

fn stored(table: &Table, column: usize, genes: &mut Genes<'_>) -> Cell {
    match table.columns[column].nullable && genes.once_in(4) {
        true => Cell::Null,
        false => cell(table, column, genes),
    }
}

fn cell(table: &Table, column: usize, genes: &mut Genes<'_>) -> Cell {
    let about = &table.columns[column];
    match about.kind {
        Type::Int if table.generated && table.key == [column] => {
            Cell::Int(1 + genes.below(12) as i64)
        }
        Type::Int if about.name.starts_with(SMALL) => Cell::Int(genes.below(6) as i64 - 1),
        Type::Int => Cell::Int(*genes.pick(&[0, 1, 2, -1, 255, 256, -256, i64::MIN, i64::MAX])),
        Type::MediumText if genes.once_in(6) => Cell::Text("long ".repeat(4000)),
        Type::Text { most: LONG } if genes.once_in(6) => Cell::Text("日".repeat(LONG as usize)),
        Type::Text { most } => Cell::Text(text(genes).chars().take(most as usize).collect()),
        Type::MediumText => Cell::Text(text(genes)),
        Type::Real => Value::from(*genes.pick(&[0.0, 2.0, 0.1, -1.5, 1e308, 1e-300])).into(),
        Type::Decimal { .. } => {
            Value::from(*genes.pick(&[0.0, 2.0, 0.1, -1.5, 99_999_999.99])).into()
        }
        // Not UTF-8: MariaDB's answers don't tell that from text.
        Type::Bytes { .. } => Cell::Bytes([&[0xff], text(genes).as_bytes()].concat()),
        Type::Bool => Cell::Int(genes.below(2) as i64),
        Type::Date => Cell::Text((*genes.pick(&DAYS)).into()),
        Type::Timestamp => Cell::Text(format!("{} {}", genes.pick(&DAYS), genes.pick(&TIMES))),
    }
}

/// Empty, prefixes of one another, with bytes that could break an encoding of keys, and up to the
/// limit of an indexed text.
fn text(genes: &mut Genes<'_>) -> String {
    let texts = [
        "a",
        "",
        "aa",
        "ab",
        "b",
        "A",
        "é",
        "日本",
        "a ",
        "a\u{1}",
        "\u{1}",
        "\u{7f}",
        "\u{10ffff}",
    ];
    match genes.below(texts.len() + 2) {
        13 => "x".repeat(255),
        14 => "x".repeat(254) + "é",
        number => texts[number].into(),
    }
}
