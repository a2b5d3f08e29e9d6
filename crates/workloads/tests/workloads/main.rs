//! The workloads, held against what they promise.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use bakeoff_engines::{Database, Durability, OpenTerms, Session, Statement, Value};
use bakeoff_workloads::{
    DeclaredLevels, OperationTally, PreparedWorkload, TextSource, WorkloadParameters,
};

mod ageing;
mod books;
mod conditioning;
mod draws;
mod invariants;
mod oltp;
mod php;
mod recorder;
mod rows;
mod statements;
mod text;
mod text_oltp;
mod vote;

/// The generated text of one seed, made once.
fn text() -> Arc<TextSource> {
    static TEXT: LazyLock<Arc<TextSource>> = LazyLock::new(|| Arc::new(TextSource::generate(1)));
    Arc::clone(&TEXT)
}

/// A workload at a scale, for seed 1.
fn prepare(workload: &str, scale: &str) -> Box<dyn PreparedWorkload> {
    prepare_at(workload, scale, &[])
}

/// The same at these levels of its own factors.
fn prepare_at(workload: &str, scale: &str, levels: &[(&str, &str)]) -> Box<dyn PreparedWorkload> {
    let owned = levels.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned()));
    let levels: DeclaredLevels = owned.collect();
    let parameters = WorkloadParameters { levels, ..WorkloadParameters::new(scale, 1, text()) };
    bakeoff_workloads::find_workload(workload).unwrap().prepare(&parameters)
}

/// Looks at each row of a table.
fn each_row(prepared: &dyn PreparedWorkload, table: usize, mut see: impl FnMut(&[Value<'_>])) {
    let mut look = |row: &[Value<'_>]| {
        see(row);
        Ok(())
    };
    prepared.rows(table, &mut look).unwrap();
}

/// A new database without rows; `more` statements follow the workload's own.
fn open(
    engine: &str,
    directory: &Path,
    prepared: &dyn PreparedWorkload,
    more: Vec<Statement>,
) -> Box<dyn Database> {
    let mut statements = prepared.statements().to_vec();
    statements.extend(more);
    let terms = OpenTerms::new(Durability::None);
    let engine = bakeoff_engines::find_level(engine).expect("the engine is registered");
    engine.open(directory, &terms, prepared.schema(), &statements).unwrap()
}

/// The same with its rows.
fn load(
    engine: &str,
    directory: &Path,
    prepared: &dyn PreparedWorkload,
    more: Vec<Statement>,
) -> Box<dyn Database> {
    let database = open(engine, directory, prepared, more);
    for table in 0..prepared.schema().tables.len() {
        let mut loader = database.load(table).unwrap();
        prepared.rows(table, &mut |row| loader.row(row)).unwrap();
        loader.finish().unwrap();
    }
    database
}

/// Has the only client do so many operations.
fn work(
    prepared: &dyn PreparedWorkload,
    session: &mut dyn Session,
    operations: usize,
) -> OperationTally {
    let (mut client, mut tally) = (prepared.make_client(0, 1, 3), OperationTally::default());
    for _ in 0..operations {
        let operation = client.choose_operation();
        client.run_operation(operation, session, &mut tally).unwrap();
    }
    tally
}
