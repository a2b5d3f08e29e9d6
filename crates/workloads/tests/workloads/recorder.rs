//! A session that notes what is sent, and can be told to fail.

use bakeoff_engines::{Access, Error, Result, Rows, Session, Value};
use bakeoff_workloads::{OperationTally, PreparedWorkload, WorkloadClient};

pub struct Recorder<'a> {
    inner: Box<dyn Session + 'a>,
    names: Vec<String>,
    /// `BEGIN Read`, a statement by its name, `COMMIT`, `ROLLBACK`.
    pub sent: Vec<String>,
    pub runs: Vec<StatementRun>,
    /// What the last statement answered.
    pub answer: Rows,
    /// How many commits end in a conflict from now on.
    pub conflicts: u32,
    /// How many updates of a status find that somebody else has saved the issue.
    pub stale: u32,
    /// A statement that is always answered as at first.
    pub frozen: Option<&'static str>,
    first: Option<Rows>,
}

/// A statement's number and parameters, how many rows it answered with, and the first cell.
pub struct StatementRun {
    pub number: usize,
    pub integers: Vec<i64>,
    pub texts: Vec<String>,
    pub count: u64,
    pub first: String,
}

impl<'a> Recorder<'a> {
    pub fn new(prepared: &dyn PreparedWorkload, inner: Box<dyn Session + 'a>) -> Self {
        let names = prepared.statements().iter().map(|statement| statement.name.clone()).collect();
        let (sent, runs, answer) = (Vec::new(), Vec::new(), Rows::new());
        let (conflicts, stale, frozen, first) = (0, 0, None, None);
        Self { inner, names, sent, runs, answer, conflicts, stale, frozen, first }
    }

    /// Performs an operation and returns what it sent.
    pub fn record(
        &mut self,
        client: &mut dyn WorkloadClient,
        operation: usize,
    ) -> (Vec<String>, OperationTally) {
        let mut tally = OperationTally::default();
        client.run_operation(operation, self, &mut tally).unwrap();
        (std::mem::take(&mut self.sent), tally)
    }
}

impl Session for Recorder<'_> {
    fn begin(&mut self, access: Access) -> Result<()> {
        self.sent.push(format!("BEGIN {access:?}"));
        self.inner.begin(access)
    }

    fn run(&mut self, number: usize, parameters: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let name = &self.names[number];
        self.sent.push(name.clone());
        if self.stale > 0 && name.starts_with("update issue: status") {
            self.stale -= 1;
            rows.reset(0);
            return Ok(0);
        }
        let count = self.inner.run(number, parameters, rows)?;
        if self.frozen == Some(&**name) {
            *rows = self.first.get_or_insert_with(|| rows.clone()).clone();
        }
        let (mut integers, mut texts) = (Vec::new(), Vec::new());
        for parameter in parameters {
            match parameter {
                Value::Int(integer) => integers.push(*integer),
                Value::Text(text) => texts.push((*text).to_owned()),
                Value::Null | Value::Real(_) | Value::Bytes(_) => {}
            }
        }
        let first = if rows.is_empty() { String::new() } else { format!("{:?}", rows.get(0, 0)) };
        self.runs.push(StatementRun { number, integers, texts, count, first });
        self.answer = rows.clone();
        Ok(count)
    }

    fn commit(&mut self) -> Result<()> {
        if self.conflicts > 0 {
            self.conflicts -= 1;
            self.inner.rollback()?;
            return Err(Error::Conflict("made up by the test".into()));
        }
        self.sent.push("COMMIT".into());
        self.inner.commit()
    }

    fn rollback(&mut self) -> Result<()> {
        self.sent.push("ROLLBACK".into());
        self.inner.rollback()
    }
}
