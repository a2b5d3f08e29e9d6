//! After `warm`, an engine's cache holds everything, if it fits.

use std::path::Path as FilePath;
use std::time::Duration;

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::statement::{AccessPath, TableRead};
use bakeoff_engines::{Action, Database, Engine, Rows, Schema, Value};

use crate::conformance::{folder, statements, terms};

const ROWS: i64 = 3000;
/// One row in this many has a text that no page holds.
const LONG: i64 = 50;

/// The counters of engines that count fetches of a page or a block into their memory.
const FETCHES: [&str; 3] =
    ["Innodb_buffer_pool_reads", "Rocksdb_block_cache_miss", "blocks read into shared buffers"];

/// Opens an engine again on a table with indexes of which no query needs all, warms it, and reads
/// every row by its key and by every index: an engine that counts fetches fetches nothing.
pub fn is_warm_when_all_was_read(engine: &dyn Engine) {
    let folder = folder::of(engine);
    let (schema, mut terms) = (schema(), terms(engine));
    let statements = statements(paths(&schema).into_iter().map(|(_, _, action)| action));
    if engine.about().name == "postgres" {
        // An engine's own work on filled tables, up to a minute later, fetches pages, too.
        terms.settings.push(("autovacuum".into(), "off".into()));
    }
    let open =
        |folder: &FilePath| engine.open(folder, &terms, &schema, &statements).expect("a database");
    fill(&*open(folder.path()));
    // Fetches after warming; `None` if they are not counted.
    let fetched = || {
        let database = open(folder.path());
        database.warm().expect("warm");
        let before = settled(&*database)?;
        read_all(&*database);
        Some(settled(&*database)? - before)
    };
    // PostgreSQL's and RocksDB's own tables were not read. On a busy machine, fetches of an earlier
    // session may be reported late, but not every time.
    let is_warm = |fetched: &u64| *fetched < 20;
    let tried: Vec<u64> = (0..3).map_while(|_| fetched().filter(|it| !is_warm(it))).collect();
    assert!(tried.len() < 3, "{tried:?} fetches by {}", engine.about().name);
}

/// The count when it has settled: PostgreSQL's sessions add theirs when they have ended.
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

/// Of each table its columns by its key and by each index, and the statement that reads by these.
fn paths(schema: &Schema) -> Vec<(usize, &[usize], Action)> {
    let mut paths = Vec::new();
    for (number, table) in schema.tables.iter().enumerate() {
        let every: Vec<usize> = (0..table.columns.len()).collect();
        let indexes = table.indexes.iter().zip(0..);
        let indexes = indexes.map(|(index, at)| (AccessPath::Index(at), &index.columns[..]));
        for (path, columns) in [(AccessPath::Key, &table.key[..])].into_iter().chain(indexes) {
            let read = TableRead::by_prefix(number, path, columns.len(), &every);
            paths.push((number, columns, Action::Read(read)));
        }
    }
    paths
}

fn row(table: usize, id: i64, words: &str) -> Vec<Value<'_>> {
    // Distinct, and in an unsorted order.
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
    for (statement, (table, columns, _)) in paths(&schema).into_iter().enumerate() {
        for id in 1..=ROWS {
            let row = row(table, id, &words);
            let values: Vec<_> = columns.iter().map(|column| row[*column]).collect();
            // No row equals a null; and many rows share a text.
            if values.contains(&Value::Null)
                || columns.len() == 1 && id > 50 && matches!(values[0], Value::Text(_))
            {
                continue;
            }
            session.run(statement, &values, &mut rows).expect("a read");
            assert!(!rows.is_empty(), "row {id} of table {table} by {columns:?}");
        }
    }
}
