//! The workload `redmine`: an issue tracker as Redmine 5.0 uses its database, statement for
//! statement, at the sizes of the article of 2017 that compared MyRocks with InnoDB.

use std::sync::{Arc, LazyLock};

use bakeoff_engines::{Database, Result, Schema, Statement, Value};

use crate::{
    Name, PreparedWorkload, RowsError, Scales, Take, TextSource, Workload, WorkloadClient,
    WorkloadParameters, WorkloadScale, seed_stream, to_names,
};

mod client;
mod conditioner;
mod configuration;
mod invariants;
mod people;
mod rows;
mod saves;
mod schema;
mod statements;

use client::RedmineClient;
use conditioner::RedmineConditioner;
use people::RedmineSize;
use statements::Ask;

type Put<'a> = &'a mut dyn FnMut(&[Value<'_>]) -> Result<()>;

const SECOND: i64 = 1_000_000;
/// 2012-01-01, when the first issue was created.
const BEGINNING: i64 = 1_325_376_000 * SECOND;
/// 2017-01-01, long after the last comment: when clients start.
const END: i64 = 1_483_228_800 * SECOND;

pub struct Redmine;

/// An issue has 5,700 bytes with its comments, watchers and share of all other rows.
static SCALES: LazyLock<Scales<RedmineSize, 3>> = LazyLock::new(|| {
    let scale = |name: &'static str, [users, projects, issues]: [i64; 3], summary| {
        let summary = format!("{summary} with 10 comments each").into();
        let scale = WorkloadScale { name: name.into(), summary, bytes: 5_700 * issues as u64 };
        (scale, RedmineSize { users, projects, issues })
    };
    Scales::new([
        scale("small", [30, 13, 1_000], "30 users, 13 projects, 1,000 issues"),
        scale("large", [1_000, 120, 10_000], "1,000 users, 120 projects, 10,000 issues"),
        scale("giant", [10_000, 1_200, 100_000], "10,000 users, 1,200 projects, 100,000 issues"),
    ])
});

impl Workload for Redmine {
    fn name(&self) -> &str {
        "redmine"
    }

    fn summary(&self) -> &str {
        "an issue tracker: people create issues, comment on them and process their own"
    }

    fn scales(&self) -> &[WorkloadScale] {
        SCALES.all()
    }

    /// The last number is of tables that are alike at each scale.
    fn estimate_entries(&self, scale: &str) -> u64 {
        let RedmineSize { users, projects, issues } = SCALES.find_data(scale);
        (4 * users + 113 * projects + 98 * issues + 2_772) as u64
    }

    fn operations(&self) -> Vec<Name> {
        to_names(["create_issue", "process_issues"])
    }

    fn prepare(&self, parameters: &WorkloadParameters<'_>) -> Box<dyn PreparedWorkload> {
        let size = SCALES.find_data(parameters.scale);
        let schema = schema::declare_schema();
        let mut statements = Ask::declare(&schema);
        let sums = invariants::declare_sums(&schema, &mut statements);
        let statements = statements.into_vec();
        let numbers = (0..=size.users).map(|number| number.to_string()).collect();
        let (seed, text) = (parameters.seed, Arc::clone(&parameters.text));
        Box::new(Tracker { size, seed, text, schema, statements, sums, numbers })
    }
}

struct Tracker {
    size: RedmineSize,
    seed: u64,
    text: Arc<TextSource>,
    schema: Schema,
    statements: Vec<Statement>,
    sums: [usize; 4],
    numbers: Vec<String>,
}

impl Tracker {
    fn make_person(&self, number: usize, clients: usize, seed: u64) -> RedmineClient<'_> {
        let random = seed_stream(seed, number as u64);
        let first = number + (seed % 2) as usize;
        RedmineClient::new(self.size, &self.text, &self.numbers, random, (number, clients), first)
    }
}

impl PreparedWorkload for Tracker {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn rows(&self, table: usize, row: &mut Take<'_>) -> std::result::Result<(), RowsError> {
        let random = seed_stream(self.seed, table as u64);
        Ok(rows::write_rows(&self.schema.tables[table].name, &self.size, &self.text, random, row)?)
    }

    fn find_violations(&self, database: &dyn Database) -> Result<Vec<String>> {
        invariants::find_broken(database, self.sums)
    }

    fn make_client(
        &self,
        number: usize,
        clients: usize,
        seed: u64,
    ) -> Box<dyn WorkloadClient + '_> {
        Box::new(self.make_person(number, clients, seed))
    }

    fn make_conditioner(
        &self,
        number: usize,
        clients: usize,
        seed: u64,
    ) -> Box<dyn WorkloadClient + '_> {
        Box::new(RedmineConditioner::new(self.make_person(number, clients, seed)))
    }
}
