//! What an engine keeps in memory holds everything after `warm`, if it fits.

use std::path::Path as FilePath;
use std::time::Duration;

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::statement::{AccessPath, TableRead};
use bakeoff_engines::{Action, Database, Engine, Rows, Schema, Statement, Value};

use crate::{folder, terms};

const ROWS: i64 = 3000;
/// Every so many rows have a text that no page holds.
const LONG: i64 = 50;

/// How often the engines that count it had to fetch a page, or a block, into their memory.
const FETCHES: [&str; 3] =
    ["Innodb_buffer_pool_reads", "Rocksdb_block_cache_miss", "blocks read into shared buffers"];

/// Opens an engine again on a table with indexes of which no query needs all, warms it, and reads
/// every row by its key and by every index: an engine that counts what it fetches fetches nothing.
pub fn is_warm_when_all_was_read(engine: &dyn Engine) {
    let folder = folder::of(engine);
    let (schema, statements, mut terms) = (schema(), statements(), terms(engine));
    if engine.about().name == "postgres" {
        // Its own work on tables that were filled, a minute later at most, fetches pages, too.
        terms.settings.push(("autovacuum".into(), "off".into()));
    }
    let open =
        |folder: &FilePath| engine.open(folder, &terms, &schema, &statements).expect("a database");
    fill(&*open(folder.path()));
    // What there is to fetch once it is warm; `None` where that is not counted.
    let fetched = || {
        let database = open(folder.path());
        database.warm().expect("warm");
        let before = settled(&*database)?;
        read_all(&*database);
        Some(settled(&*database)? - before)
    };
    // PostgreSQL's and RocksDB's own tables are not among those that were read. What a session before has
    // fetched may be told late on a busy machine, but not every time.
    let is_warm = |fetched: &u64| *fetched < 20;
    let tried: Vec<u64> = (0..3).map_while(|_| fetched().filter(|it| !is_warm(it))).collect();
    assert!(tried.len() < 3, "{tried:?} fetches by {}", engine.about().name);
}

/// The count when it has come to rest: PostgreSQL's sessions add theirs when they have ended.
fn settled(database: &dyn Database) -> Option<u64> {
    let mut counts = vec![fetches(database)?];
    while counts.len() < 4 {
        std::thread::sleep(Duration::from_millis(500));
        let now = fetches(database)?;
        if counts[0] != now {
            counts.clear();
        }
        counts.push(now);
    }
    Some(counts[0])
}

fn fetches(database: &dyn Database) -> Option<u64> {
    let mut counters = database.counters().into_iter();
    counters.find(|(name, _)| FETCHES.contains(name)).map(|(_, count)| count)
}

fn schema() -> Schema {
    let things = Table::new("things")
        .generated_key("id")
        .column("kind", Type::STRING)
        .column("owner", Type::Int)
        .nullable("parent", Type::Int)
        .column("words", Type::MediumText)
        .index(&["kind"])
        .index(&["owner"])
        .index(&["owner", "kind"])
        .index(&["parent"]);
    // Every column is in an index, so that none needs the rows themselves.
    let links = Table::new("links")
        .generated_key("id")
        .column("thing", Type::Int)
        .column("kind", Type::STRING)
        .index(&["thing"])
        .index(&["thing", "kind"])
        .index(&["kind", "thing"]);
    Schema { tables: vec![things, links] }
}

/// By key, and by each index.
fn statements() -> Vec<Statement> {
    let schema = schema();
    let mut statements = Vec::new();
    for (number, table) in schema.tables.iter().enumerate() {
        let every: Vec<usize> = (0..table.columns.len()).collect();
        let paths = (0..table.indexes.len())
            .map(|index| (AccessPath::Index(index), &table.indexes[index].columns));
        for (path, columns) in std::iter::once((AccessPath::Key, &table.key)).chain(paths) {
            let read = TableRead::range(number, path, columns.len(), &every);
            statements.push(Statement { name: "read".into(), action: Action::Read(read) });
        }
    }
    statements
}

/// The row of a table by its number.
fn row(table: usize, id: i64, words: &str) -> Vec<Value<'_>> {
    // Told apart, and in an order of its own.
    let mixed = id * 7919 % ROWS;
    let text = &words[mixed as usize % 50..][..200];
    match table {
        0 => {
            let long = if id % LONG == 0 { words } else { "short" };
            let parent = if id % 10 == 0 { Value::Int(mixed) } else { Value::Null };
            vec![id.into(), text.into(), mixed.into(), parent, long.into()]
        }
        _ => vec![id.into(), mixed.into(), text.into()],
    }
}

fn words() -> String {
    (0..6000)
        .map(|number: u64| format!("{:x} ", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .collect()
}

fn fill(database: &dyn Database) {
    let words = words();
    for table in 0..2 {
        let mut loader = database.load(table).expect("a load");
        (1..=ROWS).try_for_each(|id| loader.row(&row(table, id, &words))).expect("rows");
        loader.finish().expect("loaded");
    }
    database.drain().expect("drained");
}

fn read_all(database: &dyn Database) {
    let (words, schema) = (words(), schema());
    let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
    let mut statement = 0;
    for (number, table) in schema.tables.iter().enumerate() {
        let paths = table.indexes.iter().map(|index| &index.columns);
        for columns in std::iter::once(&table.key).chain(paths) {
            for id in 1..=ROWS {
                let row = row(number, id, &words);
                let values: Vec<_> = columns.iter().map(|column| row[*column]).collect();
                // No row is equal to a null; and texts are shared by many.
                if values.contains(&Value::Null)
                    || columns.len() == 1 && id > 50 && matches!(values[0], Value::Text(_))
                {
                    continue;
                }
                session.run(statement, &values, &mut rows).expect("a read");
                assert!(!rows.is_empty(), "row {id} of {} by {columns:?}", table.name);
            }
            statement += 1;
        }
    }
}
