//! The reads of the workload `point`, written in Rust: what they cost without a script.

use std::sync::{Arc, LazyLock};

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::statement::TableRead;
use bakeoff_engines::{Action, Error, Result, Rows, Schema, Session, Statement};
use bakeoff_workloads::{
    Name, OperationTally, PreparedWorkload, RowsError, Take, TextSource, Workload, WorkloadClient,
    WorkloadParameters, WorkloadRandom, WorkloadScale, seed_stream, to_names,
};
use rand::RngExt;

const ROWS: i64 = 10_000;
const LONGEST: usize = 100;

static SCALES: LazyLock<[WorkloadScale; 1]> =
    LazyLock::new(|| [WorkloadScale::new("small", "10,000 rows of 100 bytes", 1_050_000)]);

pub struct ReadsInRust;

impl Workload for ReadsInRust {
    fn name(&self) -> &str {
        "reads-in-rust"
    }

    fn summary(&self) -> &str {
        "reads single rows by their keys"
    }

    fn scales(&self) -> &[WorkloadScale] {
        &*SCALES
    }

    fn operations(&self) -> Vec<Name> {
        to_names(["read"])
    }

    fn prepare(&self, parameters: &WorkloadParameters<'_>) -> Box<dyn PreparedWorkload> {
        let table =
            Table::new("points").key_column("id", Type::Int).column("content", Type::STRING);
        let read = Action::Read(TableRead::by_key(0, 1, &[1]));
        Box::new(PreparedReads {
            seed: parameters.seed,
            text: Arc::clone(&parameters.text),
            schema: Schema { tables: vec![table] },
            statements: vec![Statement { name: "read".into(), action: read }],
        })
    }
}

struct PreparedReads {
    seed: u64,
    text: Arc<TextSource>,
    schema: Schema,
    statements: Vec<Statement>,
}

impl PreparedWorkload for PreparedReads {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn rows(&self, _: usize, row: &mut Take<'_>) -> std::result::Result<(), RowsError> {
        let mut random = seed_stream(self.seed, 0);
        (1..=ROWS)
            .try_for_each(|id| row(&[id.into(), self.text.cut(&mut random, LONGEST).into()]))?;
        Ok(())
    }

    fn make_client(&self, number: usize, _: usize, seed: u64) -> Box<dyn WorkloadClient + '_> {
        Box::new(RustReader { random: seed_stream(seed, number as u64), rows: Rows::new() })
    }
}

struct RustReader {
    random: WorkloadRandom,
    rows: Rows,
}

impl WorkloadClient for RustReader {
    fn choose_operation(&mut self) -> usize {
        0
    }

    fn run_operation(
        &mut self,
        _: usize,
        session: &mut dyn Session,
        tally: &mut OperationTally,
    ) -> Result<()> {
        let id = self.random.random_range(1..=ROWS);
        match session.run(0, &[id.into()], &mut self.rows)? {
            0 => Err(Error::from_engine(format!("point {id} is missing"))),
            rows => {
                tally.rows += rows;
                Ok(())
            }
        }
    }
}
