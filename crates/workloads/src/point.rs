//! The workload `point`: reads by key. On the engine that does nothing it measures the harness.

use std::sync::{Arc, LazyLock};

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::statement::{AccessPath, TableRead, Yield};
use bakeoff_engines::{Action, Database, Error, Result, Rows, Schema, Session, Statement};
use rand::RngExt;

use crate::{
    DeclaredStatements, FigureOfMerit, Name, OperationCounts, OperationTally, PreparedWorkload,
    RowsError, Scales, Take, TextSource, Workload, WorkloadClient, WorkloadParameters,
    WorkloadRandom, WorkloadScale, seed_stream, to_names,
};

pub struct PointWorkload;

static SCALES: LazyLock<Scales<i64, 2>> = LazyLock::new(|| {
    Scales::new([
        (WorkloadScale::new("small", "10,000 rows of 100 bytes", 1_050_000), 10_000),
        (WorkloadScale::new("large", "1,000,000 rows of 100 bytes", 105_000_000), 1_000_000),
    ])
});

const LONGEST: usize = 100;

impl Workload for PointWorkload {
    fn name(&self) -> &str {
        "point"
    }

    fn summary(&self) -> &str {
        "reads single rows by their keys"
    }

    fn scales(&self) -> &[WorkloadScale] {
        SCALES.all()
    }

    fn estimate_entries(&self, scale: &str) -> u64 {
        SCALES.find_data(scale) as u64
    }

    fn operations(&self) -> Vec<Name> {
        to_names(["read"])
    }

    fn figure_of_merit(&self) -> FigureOfMerit {
        FigureOfMerit::Operations
    }

    fn counts(&self) -> OperationCounts {
        OperationCounts { rows: true, bytes: false }
    }

    fn prepare(&self, parameters: &WorkloadParameters<'_>) -> Box<dyn PreparedWorkload> {
        let table =
            Table::new("points").key_column("id", Type::Int).column("content", Type::STRING);
        let mut statements = DeclaredStatements::default();
        let read = statements.add("point by id", Action::Read(TableRead::by_key(0, 1, &[1])));
        let sum =
            TableRead { yields: Yield::Sum(0), ..TableRead::by_prefix(0, AccessPath::Key, 0, &[]) };
        let sum = statements.add("sum of ids", Action::Read(sum));
        Box::new(Points {
            count: SCALES.find_data(parameters.scale),
            seed: parameters.seed,
            text: Arc::clone(&parameters.text),
            schema: Schema { tables: vec![table] },
            statements: statements.into_vec(),
            read,
            sum,
        })
    }
}

struct Points {
    count: i64,
    seed: u64,
    text: Arc<TextSource>,
    schema: Schema,
    statements: Vec<Statement>,
    read: usize,
    sum: usize,
}

impl PreparedWorkload for Points {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn rows(&self, _: usize, row: &mut Take<'_>) -> std::result::Result<(), RowsError> {
        let mut random = seed_stream(self.seed, 0);
        (1..=self.count)
            .try_for_each(|id| row(&[id.into(), self.text.cut(&mut random, LONGEST).into()]))?;
        Ok(())
    }

    /// No client changes the number of rows.
    fn find_violations(&self, database: &dyn Database) -> Result<Vec<String>> {
        let mut rows = Rows::new();
        database.session()?.run(self.sum, &[], &mut rows)?;
        let (sum, all) =
            (rows.get_int(0, 0).unwrap_or_default(), self.count * (self.count + 1) / 2);
        let wrong = || format!("the ids of its rows add up to {sum} instead of {all}");
        Ok((sum != all).then(wrong).into_iter().collect())
    }

    fn make_client(&self, number: usize, _: usize, seed: u64) -> Box<dyn WorkloadClient + '_> {
        Box::new(PointClient {
            count: self.count,
            read: self.read,
            random: seed_stream(seed, number as u64),
            rows: Rows::new(),
        })
    }
}

struct PointClient {
    count: i64,
    read: usize,
    random: WorkloadRandom,
    rows: Rows,
}

impl WorkloadClient for PointClient {
    fn choose_operation(&mut self) -> usize {
        0
    }

    fn run_operation(
        &mut self,
        _: usize,
        session: &mut dyn Session,
        tally: &mut OperationTally,
    ) -> Result<()> {
        let id = self.random.random_range(1..=self.count);
        match session.run(self.read, &[id.into()], &mut self.rows)? {
            0 => Err(Error::from_engine(format!("point {id} is missing"))),
            rows => {
                tally.rows += rows;
                Ok(())
            }
        }
    }
}
