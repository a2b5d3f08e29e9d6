//! Values of every type, at their edges, are read as they were written, on every engine alike.

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::statement::{AccessPath, Filter, Set, TableRead, Yield};
use bakeoff_engines::{Action, Database, Engine, Error, Rows, Schema, Session, Value};

use crate::conformance::{folder, statements, terms};

const WIDTH: usize = 9;
type TypedRow = [Value<'static>; WIDTH];

const INSERT: usize = 0;
const UPSERT: usize = 1;
const UPDATE: usize = 2;
const BY_KEY: usize = 3;
const BY_DAY: usize = 4;
const BY_TIME: usize = 5;
const BY_FLAG: usize = 6;
const BY_NUMBERS: usize = 7;
const DISTINCT_REALS: usize = 8;
const SORTED_PRICES: usize = 9;
const INSERT_DAY: usize = 10;
const DAY_BY_KEY: usize = 11;

const REAL: usize = 2;
const PRICE: usize = 3;

fn schema() -> Schema {
    let things = Table::new("things")
        .key_column("id", Type::Int)
        .nullable("whole", Type::Int)
        .nullable("real_number", Type::Real)
        .nullable("price", Type::Decimal { digits: 10, scale: 2 })
        .nullable("flag", Type::Bool)
        .nullable("day", Type::Date)
        .nullable("moment", Type::Timestamp)
        .nullable("title", Type::STRING)
        .nullable("image", Type::Bytes { most: 256 })
        .index(&["flag"])
        .index(&["day"])
        .index(&["moment"]);
    let days = Table::new("days")
        .key_column("day", Type::Date)
        .key_column("moment", Type::Timestamp)
        .key_column("flag", Type::Bool)
        .column("price", Type::Decimal { digits: 4, scale: 0 });
    Schema { tables: vec![things, days] }
}

fn actions() -> Vec<Action> {
    let every: Vec<usize> = (0..WIDTH).collect();
    let by = |index| Action::Read(TableRead::by_prefix(0, AccessPath::Index(index), 1, &[0]));
    let numbers = [REAL, PRICE].map(|column| Filter { column, any_of: 2 }).to_vec();
    let all = TableRead::by_prefix(0, AccessPath::Key, 0, &[0]);
    let yields = |yields| Action::Read(TableRead { yields, ..all.clone() });
    vec![
        Action::Insert { table: 0 },
        Action::Upsert { table: 0 },
        Action::Update { table: 0, set: (1..WIDTH).map(Set::To).collect(), only_if: Vec::new() },
        Action::Read(TableRead::by_key(0, 1, &every)),
        by(1),
        by(2),
        by(0),
        Action::Read(TableRead { filters: numbers, ..all.clone() }),
        yields(Yield::Distinct(REAL)),
        yields(Yield::Sorted(PRICE)),
        Action::Insert { table: 1 },
        Action::Read(TableRead::by_key(1, 3, &[0, 1, 2, 3])),
    ]
}

/// Every byte; not UTF-8, as MariaDB's answers don't tell that from text.
static EVERY_BYTE: [u8; 256] = {
    let (mut bytes, mut at) = ([0; 256], 0);
    while at < 256 {
        bytes[at] = at as u8;
        at += 1;
    }
    bytes
};

/// Rows by their keys: whole numbers, doubles, prices, truth, days, times, texts and bytes at their
/// edges.
fn rows() -> Vec<TypedRow> {
    let row = |id: i64, whole: i64, real: f64, price: f64, flag: i64, time: [&'static str; 3]| {
        let [day, moment, title] = time.map(Value::Text);
        let image = EVERY_BYTE[if id % 2 == 0 { 0 } else { 255 }..].into();
        [id.into(), whole.into(), real.into(), price.into(), flag.into(), day, moment, title, image]
    };
    let first = ["0001-01-01", "0001-01-01 00:00:00.000000", ""];
    let last = ["9999-12-31", "9999-12-31 23:59:59.999999", "日本 ' \" \\ \t\n"];
    let leap = ["2000-02-29", "2000-02-29 12:34:56.000789", "a "];
    let before = ["1969-12-31", "1969-12-31 23:59:59.999999", "\u{10ffff}"];
    let mut rows = vec![
        row(1, i64::MIN, 1e308, 99_999_999.99, 0, first),
        row(2, i64::MAX, -0.0, -99_999_999.99, 1, last),
        row(3, 0, 0.1, 0.01, 1, leap),
        row(4, -1, -1e308, 2.0, 0, before),
        row(5, 1, 1e-307, 0.1, 0, leap),
        row(6, 255, 9_007_199_254_740_993.0, 1.5, 1, first),
        row(7, 256, 123_456.789_012_345_67, -0.05, 1, last),
        row(8, 65_536, 1e19, 12_345_678.9, 0, before),
    ];
    let mut null = [Value::Null; WIDTH];
    null[0] = 9.into();
    rows.push(null);
    rows
}

/// What fits is loaded, inserted, replaced and set, and is read by its key, by indexes, by filters,
/// in the order of its numbers, and again after a reopening.
pub fn keeps_every_type(engine: &dyn Engine) {
    let folder = folder::of(engine);
    let (schema, statements, terms) = (schema(), statements(actions()), terms(engine));
    let open = || engine.open(folder.path(), &terms, &schema, &statements).expect("a database");
    let database = open();
    let rows = rows();
    let (loaded, others) = rows.split_at(4);
    load(&*database, loaded);
    let mut session = database.session().expect("a session");
    for (at, row) in others.iter().enumerate() {
        write(&mut *session, at, row);
    }
    keeps_days(&mut *session);
    is_there(&mut *session, &rows);
    rounds_decimals(&mut *session);
    refuses_misfits(&mut *session);
    is_there(&mut *session, &rows);
    drop(session);
    drop(database);
    let database = open();
    is_there(&mut *database.session().expect("a session"), &rows);
    assert_eq!(database.check().expect("a check"), Vec::<String>::new());
}

fn load(database: &dyn Database, rows: &[TypedRow]) {
    let mut loader = database.load(0).expect("a load");
    rows.iter().for_each(|row| loader.row(row).expect("a row that fits"));
    loader.finish().expect("the end of the load");
}

/// By an insert, an upsert, or an update of an empty row.
fn write(session: &mut dyn Session, how: usize, row: &TypedRow) {
    let mut rows = Rows::new();
    let mut run = |statement, parameters: &[Value<'_>]| {
        assert_eq!(session.run(statement, parameters, &mut rows).expect("it fits"), 1);
    };
    match how % 3 {
        0 => run(INSERT, row),
        1 => run(UPSERT, row),
        _ => {
            let mut empty = [Value::Null; WIDTH];
            empty[0] = row[0];
            run(INSERT, &empty);
            let mut parameters = *row;
            parameters.rotate_left(1);
            run(UPDATE, &parameters);
        }
    }
}

fn is_there(session: &mut dyn Session, wanted: &[TypedRow]) {
    let mut rows = Rows::new();
    for row in wanted {
        assert_eq!(session.run(BY_KEY, &[row[0]], &mut rows).expect("a read"), 1);
        assert_eq!(rows.row(0).collect::<Vec<_>>(), row);
        for (statement, column) in [(BY_FLAG, 4), (BY_DAY, 5), (BY_TIME, 6)] {
            let same = wanted.iter().filter(|other| other[column] == row[column]);
            let same: Vec<_> =
                same.map(|row| row[0]).filter(|_| row[column] != Value::Null).collect();
            session.run(statement, &[row[column]], &mut rows).expect("a read");
            assert_eq!(sorted(&rows), same, "{:?}", row[column]);
        }
        let filters = [row[REAL], 7.5.into(), row[PRICE], 7.5.into()];
        session.run(BY_NUMBERS, &filters, &mut rows).expect("a read");
        let same: Vec<_> = Some(row[0]).into_iter().filter(|_| row[REAL] != Value::Null).collect();
        assert_eq!(sorted(&rows), same, "{filters:?}");
    }
    for (statement, column) in [(DISTINCT_REALS, REAL), (SORTED_PRICES, PRICE)] {
        session.run(statement, &[], &mut rows).expect("a read");
        let mut all: Vec<_> = wanted.iter().map(|row| row[column]).collect();
        all.sort();
        assert_eq!((0..rows.len()).map(|row| rows.get(row, 0)).collect::<Vec<_>>(), all);
    }
}

fn sorted(rows: &Rows) -> Vec<Value<'_>> {
    let mut cells: Vec<_> = (0..rows.len()).map(|row| rows.get(row, 0)).collect();
    cells.sort();
    cells
}

/// Days, times and truth are keys, too.
fn keeps_days(session: &mut dyn Session) {
    let mut rows = Rows::new();
    let row =
        ["2024-02-29".into(), "2024-02-29 00:00:00.000001".into(), 1.into(), Value::Int(9999)];
    assert_eq!(session.run(INSERT_DAY, &row, &mut rows).expect("it fits"), 1);
    assert_eq!(rows.row(0).collect::<Vec<_>>(), row[..1], "the key's first column");
    let again = session.run(INSERT_DAY, &row, &mut rows);
    assert!(matches!(again, Err(Error::Duplicate(_))), "{again:?}");
    assert_eq!(session.run(DAY_BY_KEY, &row[..3], &mut rows).expect("a read"), 1);
    assert_eq!(rows.row(0).collect::<Vec<_>>(), row);
    let other = [row[0], row[1], 0.into()];
    assert_eq!(session.run(DAY_BY_KEY, &other, &mut rows).expect("a read"), 0);
}

/// A price has two digits after the point, whoever stores it.
fn rounds_decimals(session: &mut dyn Session) {
    let mut rows = Rows::new();
    let kept = 3.into();
    for (given, rounded) in [
        (1.005, 1.01),
        (17.991_000_000_000_003, 17.99),
        (-1.005, -1.01),
        (0.995, 1.0),
        (1e-9, 0.0),
        // As it was.
        (0.01, 0.01),
    ] {
        session.run(BY_KEY, &[kept], &mut rows).expect("a read");
        let mut row: Vec<_> = rows.row(0).skip(1).collect();
        row.push(kept);
        row[PRICE - 1] = given.into();
        let mut answer = Rows::new();
        session.run(UPDATE, &row, &mut answer).expect("it fits");
        session.run(BY_KEY, &[kept], &mut answer).expect("a read");
        assert_eq!(answer.get(0, PRICE), rounded.into(), "{given}");
    }
}

/// As no engine would refuse it alike.
fn refuses_misfits(session: &mut dyn Session) {
    let mut rows = Rows::new();
    for (column, misfits) in [
        (1, vec![0.5.into()]),
        (REAL, vec![f64::NAN.into(), Value::Int(i64::MAX), "1".into()]),
        (PRICE, vec![100_000_000.into(), 99_999_999.995.into(), "1".into()]),
        (4, vec![2.into(), "t".into()]),
        (5, vec!["2023-02-29".into(), "2023-1-1".into(), "0000-00-00".into(), 1.into()]),
        (6, vec!["2023-01-01 00:00:00".into(), "2023-01-01".into(), 1.into()]),
        (7, vec![1.into(), 0.5.into(), b"\xff".as_slice().into()]),
        // A text is a misfit, too, where answers tell it from bytes.
        (8, vec![1.into(), 0.5.into(), [255; 257].as_slice().into()]),
    ] {
        for misfit in misfits {
            let mut row = [Value::Null; WIDTH];
            (row[0], row[column]) = (1000.into(), misfit);
            let answer = session.run(INSERT, &row, &mut rows);
            assert!(matches!(answer, Err(Error::Usage(_))), "{misfit:?}: {answer:?}");
        }
    }
}
