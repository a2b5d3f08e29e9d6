//! The workloads, held against what they promise.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use bakeoff_engines::{Database, Durability, OpenTerms, Statement};
use bakeoff_workloads::{PreparedWorkload, TextSource, WorkloadParameters};

mod ageing;
mod books;
mod conditioning;
mod invariants;
mod oltp;
mod php;
mod rows;
mod statements;
mod text;
mod text_oltp;
mod vote;

/// The generated text of one seed, made once.
fn text() -> Arc<TextSource> {
    static TEXT: LazyLock<Arc<TextSource>> = LazyLock::new(|| Arc::new(TextSource::generated(1)));
    Arc::clone(&TEXT)
}

/// A workload at a scale, for seed 1.
fn prepare(workload: &str, scale: &str) -> Box<dyn PreparedWorkload> {
    bakeoff_workloads::find(workload).unwrap().prepare(&WorkloadParameters::new(scale, 1, text()))
}

/// Loads a workload into a new database; `more` statements follow the workload's own.
fn load(
    engine: &str,
    directory: &Path,
    prepared: &dyn PreparedWorkload,
    more: Vec<Statement>,
) -> Box<dyn Database> {
    let mut statements = prepared.statements().to_vec();
    statements.extend(more);
    let terms = OpenTerms::new(Durability::None);
    let engine = bakeoff_engines::find(engine).expect("the engine is registered");
    let database = engine.open(directory, &terms, prepared.schema(), &statements).unwrap();
    for table in 0..prepared.schema().tables.len() {
        let mut loader = database.load(table).unwrap();
        prepared.rows(table, &mut |row| loader.row(row)).unwrap();
        loader.finish().unwrap();
    }
    database
}
