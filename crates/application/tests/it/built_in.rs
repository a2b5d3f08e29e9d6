//! The workload `point`, which is a folder, and the folder `oltp` beside the workload of that name.

use bakeoff_application::{Application, ApplicationFiles, EXAMPLES, find_built_in};
use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::statement::TableRead;
use bakeoff_engines::{
    Access, Action, Result, Rows, Schema, Session, Statement, Value, find_level,
};
use bakeoff_workloads::{
    DeclaredLevels, OperationTally, PreparedWorkload, TextSource, Workload, WorkloadParameters,
};

use crate::stage::{Stage, compile};

/// Notes what is sent, and answers everything with so many rows.
struct ActionSession<'s> {
    statements: &'s [Statement],
    rows: u64,
    sent: Vec<String>,
    integers: Vec<i64>,
}

impl Session for ActionSession<'_> {
    fn begin(&mut self, access: Access) -> Result<()> {
        self.sent.push(format!("BEGIN {access:?}"));
        Ok(())
    }

    fn run(&mut self, number: usize, values: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        rows.reset(0);
        let shown: Vec<String> = values.iter().map(describe_value).collect();
        let action = &self.statements[number].action;
        self.sent.push(format!("{action:?} {}", shown.join(" ")));
        // How far a range goes is no draw.
        if let (Action::Read(_), [Value::Int(from), Value::Int(to)]) = (action, values) {
            self.sent.push(format!("from 0 to {}", to - from));
        }
        self.integers.extend(values.iter().filter_map(|value| match value {
            Value::Int(integer) => Some(*integer),
            _ => None,
        }));
        Ok(self.rows)
    }

    fn commit(&mut self) -> Result<()> {
        self.sent.push("COMMIT".into());
        Ok(())
    }

    fn rollback(&mut self) -> Result<()> {
        self.sent.push("ROLLBACK".into());
        Ok(())
    }
}

/// A value without what is drawn.
fn describe_value(value: &Value<'_>) -> String {
    match value {
        Value::Text(text) => text.replace(|letter: char| letter.is_ascii_digit(), "#"),
        Value::Int(_) => "integer".into(),
        other => format!("{other:?}"),
    }
}

fn prepare_workload(workload: &dyn Workload, levels: &[(&str, &str)]) -> Box<dyn PreparedWorkload> {
    let scale = workload.scales()[0].name.clone();
    let levels = levels.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned()));
    let levels: DeclaredLevels = levels.collect();
    let text = TextSource::generate_short().into();
    workload.prepare(&WorkloadParameters { levels, ..WorkloadParameters::new(&scale, 1, text) })
}

/// What a client sends in 200 operations, and the integers in it.
fn note_sent(prepared: &dyn PreparedWorkload, client: usize) -> (Vec<String>, Vec<i64>) {
    let (mut client, mut tally) = (prepared.make_client(client, 2, 1), OperationTally::default());
    let statements = prepared.statements();
    let mut session = ActionSession { statements, rows: 1, sent: Vec::new(), integers: Vec::new() };
    for _ in 0..200 {
        let operation = client.choose_operation();
        client.run_operation(operation, &mut session, &mut tally).unwrap();
    }
    (session.sent, session.integers)
}

fn find_files(name: &str) -> ApplicationFiles {
    EXAMPLES.iter().find(|example| example.name == name).unwrap().to_files()
}

fn find_example(name: &str) -> Application {
    compile(find_files(name))
}

#[test]
fn the_folder_oltp_sends_what_the_workload_oltp_sends() {
    let (folder, built_in) = (find_example("oltp"), find_built_in("oltp").unwrap());
    for test in ["point_select", "read_only", "write_only"] {
        let ours = prepare_workload(&folder, &[("mix", test)]);
        let theirs = prepare_workload(built_in, &[("test", test)]);
        for client in 0..2 {
            let ((ours, our_ids), (theirs, their_ids)) =
                (note_sent(&*ours, client), note_sent(&*theirs, client));
            assert_eq!(ours, theirs, "{test}");
            assert_eq!(our_ids.len(), their_ids.len(), "{test}");
        }
        let columns = |prepared: &dyn PreparedWorkload| {
            let table = &prepared.schema().tables[0];
            let indexes: Vec<_> = table.indexes.iter().map(|it| it.columns.clone()).collect();
            (table.columns.clone(), table.key.clone(), table.generated, indexes)
        };
        assert_eq!(columns(&*ours), columns(&*theirs));
    }
}

#[test]
fn point_reads_one_row_by_its_key() {
    let point = find_built_in("point").unwrap();
    let prepared = prepare_workload(point, &[]);
    let table = Table::new("points").key_column("id", Type::Int).column("content", Type::STRING);
    assert_eq!(*prepared.schema(), Schema { tables: vec![table] }, "it needs no audit");
    let read = Action::Read(TableRead::by_key(0, 1, &[1]));
    let (one, ids) = note_sent(&*prepared, 0);
    assert_eq!(one, vec![format!("{read:?} integer"); 200]);
    assert!(ids.iter().all(|id| (1..=10_000).contains(id)));
    // Uniform draws of two hundred leave none of ten parts empty.
    assert!((0..10).all(|part| ids.iter().any(|id| (id - 1) / 1_000 == part)), "{ids:?}");
    assert_ne!(ids, note_sent(&*prepared, 1).1, "each client has draws of its own");
    let levels = DeclaredLevels::default();
    let sizes = ["small", "large"].map(|scale| point.estimate_size(scale, &levels));
    assert_eq!(sizes, [1_050_000, 105_000_000]);
    assert_eq!(point.estimate_entries("large"), 1_000_000);
    assert_eq!(point.operations(), ["read"]);
    assert!(!point.reads_back() && !point.is_audited());
}

#[test]
fn a_point_that_is_missing_is_told_by_its_read_and_by_the_check() {
    for engine in ["sqlite", "lmdb"] {
        let delete = Action::Delete { table: 0 };
        let stage = Stage::on(find_level(engine).unwrap(), find_files("point"), vec![delete]);
        let told = || stage.prepared.find_violations(&*stage.database).unwrap();
        assert_eq!(told(), [""; 0], "{engine}");
        let mut sent = stage.record(0, 1, 100, false).operations.into_iter();
        assert!(sent.all(|it| it.error.is_none()), "{engine}");
        assert_eq!(stage.run_added(0, &[7.into()]), 1);
        assert_eq!(told(), ["point/invariants.sql:3:9: \\assert fails"], "{engine}");
    }

    let prepared = prepare_workload(&find_example("point"), &[]);
    let (mut client, mut tally) = (prepared.make_client(0, 1, 1), OperationTally::default());
    let statements = prepared.statements();
    let mut session = ActionSession { statements, rows: 0, sent: Vec::new(), integers: Vec::new() };
    let said = client.run_operation(0, &mut session, &mut tally).unwrap_err().to_string();
    assert!(said.contains("point/read.sql:3:9: \\assert fails"), "{said}");
}
