//! Workloads whose rows can't be had.

use bakeoff::engines::schema::{Table, Type};
use bakeoff::engines::{Schema, Statement};
use bakeoff::workloads::{
    Name, PreparedWorkload, RowsError, SourceError, Take, Workload, WorkloadClient,
    WorkloadParameters, WorkloadScale, to_names,
};

/// What is wrong with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Where they come from fails half way.
    Fails,
    /// There is none.
    Empty,
    /// One is too long.
    TooLong,
}

/// A workload with a fault, by its name.
pub struct Faulty(&'static str, Fault);

/// Every one of them.
pub static ALL: [Faulty; 3] = [
    Faulty("fails", Fault::Fails),
    Faulty("empty", Fault::Empty),
    Faulty("too-long", Fault::TooLong),
];

static SCALES: [WorkloadScale; 1] = [WorkloadScale::new("only", "a few rows", 100)];

impl Workload for Faulty {
    fn name(&self) -> &'static str {
        self.0
    }

    fn summary(&self) -> &'static str {
        "has no rows to load"
    }

    fn scales(&self) -> &'static [WorkloadScale] {
        &SCALES
    }

    fn operations(&self) -> Vec<Name> {
        to_names(["nothing"])
    }

    fn prepare(&self, _: &WorkloadParameters<'_>) -> Box<dyn PreparedWorkload> {
        let table =
            Table::new("notes").key_column("id", Type::Int).column("title", Type::Text { most: 5 });
        Box::new(Notes { schema: Schema { tables: vec![table] }, fault: self.1 })
    }
}

struct Notes {
    schema: Schema,
    fault: Fault,
}

impl PreparedWorkload for Notes {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statements(&self) -> &[Statement] {
        &[]
    }

    fn rows(&self, _: usize, row: &mut Take<'_>) -> Result<(), RowsError> {
        if self.fault == Fault::Empty {
            return Ok(());
        }
        row(&[1.into(), "first".into()])?;
        if self.fault == Fault::TooLong {
            row(&[2.into(), "second".into()])?;
        }
        Err(SourceError::new("the file ends here").in_file("notes.csv".as_ref()).at_line(2).into())
    }

    fn make_client(&self, _: usize, _: usize, _: u64) -> Box<dyn WorkloadClient + '_> {
        unreachable!("nothing was loaded")
    }
}
