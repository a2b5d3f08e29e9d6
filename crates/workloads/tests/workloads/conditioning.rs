//! What conditions a database leaves it as large as it was.

use bakeoff_engines::{Database, Rows, Value};
use bakeoff_workloads::{OperationTally, PreparedWorkload, WORKLOADS};

use crate::books::whole_tables;
use crate::{load, prepare};

/// The rows of all tables, and their bytes.
fn size(prepared: &dyn PreparedWorkload, database: &dyn Database) -> (f64, f64) {
    let (mut session, mut rows) = (database.session().unwrap(), Rows::new());
    let (mut count, mut bytes) = (0, 0);
    for (number, table) in prepared.schema().tables.iter().enumerate() {
        session.run(prepared.statements().len() + number, &[], &mut rows).unwrap();
        count += rows.len();
        for row in 0..rows.len() {
            bytes += (0..table.columns.len())
                .map(|column| match rows.get(row, column) {
                    Value::Null => 0,
                    Value::Int(_) | Value::Real(_) => 8,
                    Value::Text(text) => text.len(),
                    Value::Bytes(bytes) => bytes.len(),
                })
                .sum::<usize>();
        }
    }
    (count as f64, bytes as f64)
}

/// How the rows and bytes change when a client does 2,000 operations after so many others.
fn growth(workload: &str, after: usize, conditions: bool) -> (f64, f64) {
    let scale = bakeoff_workloads::find_workload(workload).unwrap().scales()[0].name.clone();
    let prepared = prepare(workload, &scale);
    let folder = tempfile::tempdir().unwrap();
    let database = load("sqlite", folder.path(), &*prepared, whole_tables(&*prepared));
    let mut client =
        if conditions { prepared.make_conditioner(0, 1, 3) } else { prepared.make_client(0, 1, 3) };
    let mut size_after = |operations| {
        let (mut session, mut tally) = (database.session().unwrap(), OperationTally::default());
        for _ in 0..operations {
            let chosen = client.choose_operation();
            client.run_operation(chosen, &mut *session, &mut tally).unwrap();
        }
        drop(session);
        size(&*prepared, &*database)
    };
    let (before, after) = (size_after(after), size_after(2_000));
    (after.0 / before.0 - 1.0, after.1 / before.1 - 1.0)
}

#[test]
fn conditioning_leaves_the_data_as_large_as_they_were() {
    for workload in WORKLOADS {
        let name = workload.name();
        // The ledger begins empty, and fills the slots that its clients have.
        let first = if name == "ledger" { 1_000 } else { 0 };
        let (rows, bytes) = growth(name, first, true);
        assert!(rows.abs() < 0.1 && bytes.abs() < 0.1, "{name}: rows {rows:+}, bytes {bytes:+}");
    }
    let (rows, bytes) = growth("redmine", 0, false);
    assert!(rows > 0.5 && bytes > 0.5, "a plain client adds: rows {rows:+}, bytes {bytes:+}");
}
