//! The workload `jobs`: a queue in a table. Clients add jobs and take the oldest, as background
//! workers do, or only look.

use std::sync::Arc;

use bakeoff::engines::schema::{Table, Type};
use bakeoff::engines::statement::ReadOrder;
use bakeoff::engines::{Result, Rows, Schema, Session, Statement, Value};
use bakeoff::factor::Declared;
use bakeoff::workloads::{
    DeclaredLevels, DeclaredStatements, Name, OperationTally, PreparedWorkload, RowsError, Take,
    TextSource, TransactionEnd, Workload, WorkloadClient, WorkloadParameters, WorkloadScale,
    on_table, run_transaction, to_names,
};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

pub struct Jobs;

static SCALES: [WorkloadScale; 1] = [WorkloadScale::new("small", "1,000 jobs that wait", 116_000)];

const JOBS: u64 = 1000;

const WAITING: i64 = 0;
const TAKEN: i64 = 1;

const OPERATIONS: [&str; 3] = ["add", "take", "look"];
const LOOK: usize = 2;

#[derive(Clone, Copy)]
struct JobStatements {
    add: usize,
    oldest: usize,
    take: usize,
    peek: usize,
}

static PAYLOAD: Declared = Declared {
    name: "payload",
    summary: "bytes of text that each job carries",
    syntax: "1 to 65536",
    default: "100",
    canonical: &|text| match text.parse::<usize>() {
        Ok(bytes @ 1..=65_536) => Ok(bytes.to_string()),
        _ => Err(format!("`{text}` is not a size of a payload\nvalid: 1 to 65536 bytes")),
    },
};

fn payload_bytes(levels: &DeclaredLevels) -> usize {
    levels.level_of(&PAYLOAD).parse().expect("a checked level")
}

static MIX: Declared = Declared {
    name: "mix",
    summary: "what clients do: `work` adds and takes jobs, `look` only reads the oldest that waits",
    syntax: "work or look",
    default: "work",
    canonical: &|text| match text {
        "work" | "look" => Ok(text.to_owned()),
        _ => Err(format!("`{text}` is not a mix\nvalid: work or look")),
    },
};

impl Workload for Jobs {
    fn name(&self) -> &str {
        "jobs"
    }

    fn summary(&self) -> &str {
        "a queue: clients add jobs and take the oldest that waits"
    }

    fn scales(&self) -> &[WorkloadScale] {
        &SCALES
    }

    fn factors(&self) -> Vec<&'static Declared> {
        vec![&PAYLOAD, &MIX]
    }

    fn estimate_size(&self, _: &str, levels: &DeclaredLevels) -> u64 {
        JOBS * (16 + payload_bytes(levels) as u64)
    }

    fn operations(&self) -> Vec<Name> {
        to_names(OPERATIONS)
    }

    fn reads_back(&self) -> bool {
        true
    }

    fn prepare(&self, parameters: &WorkloadParameters<'_>) -> Box<dyn PreparedWorkload> {
        let table = Table::new("jobs")
            .generated_key("id")
            .column("state", Type::Int)
            .column("payload", Type::MediumText)
            .index(&["state"]);
        let schema = Schema { tables: vec![table] };
        let jobs = on_table(&schema, "jobs");
        let peek =
            jobs.read_by_index(&["state"], 1).order(ReadOrder::Ascending).limit(1).columns(&["id"]);
        let mut statements = DeclaredStatements::default();
        let asks = JobStatements {
            add: statements.add("add a job", jobs.insert()),
            oldest: statements.add("the oldest job", peek.clone().for_update()),
            take: statements.add("take a job", jobs.update(&["state"])),
            peek: statements.add("the oldest job, as it is", peek),
        };
        Box::new(JobQueue {
            payload: payload_bytes(&parameters.levels),
            looks: parameters.levels.level_of(&MIX) == "look",
            seed: parameters.seed,
            text: Arc::clone(&parameters.text),
            statements: statements.into_vec(),
            schema,
            asks,
        })
    }
}

struct JobQueue {
    payload: usize,
    looks: bool,
    seed: u64,
    text: Arc<TextSource>,
    schema: Schema,
    statements: Vec<Statement>,
    asks: JobStatements,
}

impl PreparedWorkload for JobQueue {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn has_operation(&self, operation: usize) -> bool {
        (operation == LOOK) == self.looks
    }

    fn rows(&self, _: usize, row: &mut Take<'_>) -> std::result::Result<(), RowsError> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        (1..=JOBS as i64).try_for_each(|id| {
            let payload = self.text.cut(&mut random, self.payload);
            row(&[id.into(), WAITING.into(), payload.into()])
        })?;
        Ok(())
    }

    fn make_client(&self, number: usize, _: usize, seed: u64) -> Box<dyn WorkloadClient + '_> {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_add(number as u64));
        Box::new(QueueClient { queue: self, random, rows: Rows::new() })
    }
}

/// The parameters of `take` by name: an update has the new values first, then the key.
struct TakeParameters {
    state: i64,
    job: i64,
}

impl TakeParameters {
    fn in_order(&self) -> [Value<'static>; 2] {
        [self.state.into(), self.job.into()]
    }
}

struct QueueClient<'q> {
    queue: &'q JobQueue,
    random: Xoshiro256PlusPlus,
    rows: Rows,
}

impl WorkloadClient for QueueClient<'_> {
    fn choose_operation(&mut self) -> usize {
        if self.queue.looks { LOOK } else { self.random.random_range(0..LOOK) }
    }

    fn run_operation(
        &mut self,
        operation: usize,
        session: &mut dyn Session,
        tally: &mut OperationTally,
    ) -> Result<()> {
        let (rows, asks) = (&mut self.rows, self.queue.asks);
        if operation == LOOK {
            return session.run(asks.peek, &[WAITING.into()], rows).map(drop);
        }
        if operation == 0 {
            let payload = self.queue.text.cut(&mut self.random, self.queue.payload);
            return run_transaction(session, tally, |session| {
                session.run(asks.add, &[Value::Null, WAITING.into(), payload.into()], rows)?;
                Ok(TransactionEnd::Commit(()))
            });
        }
        run_transaction(session, tally, |session| {
            // The queue is empty.
            if session.run(asks.oldest, &[WAITING.into()], rows)? == 0 {
                return Ok(TransactionEnd::Rollback(()));
            }
            let job = rows.get_int(0, 0).expect("a job has a number");
            let parameters = TakeParameters { state: TAKEN, job };
            session.run(asks.take, &parameters.in_order(), rows)?;
            Ok(TransactionEnd::Commit(()))
        })
    }
}

#[cfg(test)]
mod tests {
    use bakeoff::engines::sqlite::SQLITE;
    use bakeoff::engines::{Durability, Engine as _, OpenTerms};

    use super::*;

    #[test]
    fn its_size_is_that_of_its_rows_at_every_payload() {
        for payload in ["1", "100", "65536"] {
            let levels = DeclaredLevels::from_iter([(PAYLOAD.name.to_owned(), payload.to_owned())]);
            let text = Arc::new(TextSource::generate(1));
            let parameters = WorkloadParameters {
                levels: levels.clone(),
                ..WorkloadParameters::new("small", 1, text)
            };
            let mut bytes = 0;
            Jobs.prepare(&parameters)
                .rows(0, &mut |row| {
                    let size =
                        |value: &Value<'_>| if let Value::Text(it) = value { it.len() } else { 8 };
                    bytes += row.iter().map(size).sum::<usize>() as u64;
                    Ok(())
                })
                .expect("rows");
            let wanted = Jobs.estimate_size("small", &levels);
            // A text ends with a word.
            assert!(bytes <= wanted && bytes > wanted / 2, "{bytes} of {wanted} at {payload}");
        }
        assert_eq!(Jobs.estimate_size("small", &DeclaredLevels::default()), Jobs.scales()[0].bytes);
    }

    #[test]
    fn each_take_takes_the_oldest_job_that_waits() {
        const TAKE: usize = 1;
        let text = Arc::new(TextSource::generate_short());
        let prepared = Jobs.prepare(&WorkloadParameters::new("small", 1, text));
        let folder = tempfile::tempdir().unwrap();
        let terms = OpenTerms::new(Durability::None);
        let (schema, statements) = (prepared.schema(), prepared.statements());
        let database = SQLITE.open(folder.path(), &terms, schema, statements).unwrap();
        let mut session = database.session().unwrap();
        let number = |name: &str| statements.iter().position(|it| it.name == name).unwrap();
        let (add, peek) = (number("add a job"), number("the oldest job, as it is"));
        let (mut rows, mut client) = (Rows::new(), prepared.make_client(0, 1, 1));
        for _ in 0..2 {
            let job = [Value::Null, WAITING.into(), "work".into()];
            session.run(add, &job, &mut rows).unwrap();
        }
        let mut oldest = Vec::new();
        for _ in 0..3 {
            session.run(peek, &[WAITING.into()], &mut rows).unwrap();
            oldest.push(rows.get_int(0, 0));
            let mut tally = OperationTally::default();
            client.run_operation(TAKE, &mut *session, &mut tally).unwrap();
        }
        assert_eq!(oldest, [Some(1), Some(2), None]);
    }
}
