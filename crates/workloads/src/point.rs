//! The workload `point`: one read by key at a time. It does so little that, on the engine that
//! does nothing, it measures the harness.

use std::sync::Arc;

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::statement::Read;
use bakeoff_engines::{Action, Error, Result, Rows, Schema, Session, Statement, Value};
use rand::RngExt;

use crate::{
    Client, Name, Parameters, Prepared, Random, Scale, Tally, Text, Workload, names, stream,
};

/// See the module.
pub struct Point;

static SCALES: [Scale; 2] = [
    Scale::new("small", "10,000 rows of 100 bytes", 1_050_000),
    Scale::new("large", "1,000,000 rows of 100 bytes", 105_000_000),
];

/// Bytes of a row's text, at most: it ends with a word.
const LONGEST: usize = 100;

impl Workload for Point {
    fn name(&self) -> &str {
        "point"
    }

    fn summary(&self) -> &str {
        "reads single rows by their keys"
    }

    fn scales(&self) -> &[Scale] {
        &SCALES
    }

    fn operations(&self) -> Vec<Name> {
        names(["read"])
    }

    fn prepare(&self, parameters: &Parameters<'_>) -> Box<dyn Prepared> {
        let count = match parameters.scale {
            "small" => 10_000,
            "large" => 1_000_000,
            scale => panic!("point has no scale {scale}"),
        };
        let table = Table::new("points").key_column("id", Type::Int).column("content", Type::Text);
        let read = Action::Read(Read::by_key(0, 1, &[1]));
        Box::new(Points {
            count,
            seed: parameters.seed,
            text: Arc::clone(&parameters.text),
            schema: Schema { tables: vec![table] },
            statements: vec![Statement { name: "point by id".into(), action: read }],
        })
    }
}

struct Points {
    count: i64,
    seed: u64,
    text: Arc<Text>,
    schema: Schema,
    statements: Vec<Statement>,
}

impl Prepared for Points {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn rows(&self, _: usize, row: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<()> {
        let mut random = stream(self.seed, 0);
        (1..=self.count)
            .try_for_each(|id| row(&[id.into(), self.text.cut(&mut random, LONGEST).into()]))
    }

    fn client(&self, number: usize, _: usize, seed: u64) -> Box<dyn Client + '_> {
        Box::new(Reader {
            count: self.count,
            random: stream(seed, number as u64),
            rows: Rows::new(),
        })
    }
}

struct Reader {
    count: i64,
    random: Random,
    rows: Rows,
}

impl Client for Reader {
    fn choose(&mut self) -> usize {
        0
    }

    fn perform(&mut self, _: usize, session: &mut dyn Session, _: &mut Tally) -> Result<()> {
        let id = self.random.random_range(1..=self.count);
        match session.run(0, &[id.into()], &mut self.rows)? {
            0 => Err(Error::engine(format!("point {id} is missing"))),
            _ => Ok(()),
        }
    }
}
