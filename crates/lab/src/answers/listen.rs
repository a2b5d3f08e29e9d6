//! Listens to what an engine answers a client: a session around the engine's.

use bakeoff_engines::{
    Access, Action, Database, Error, Result, Rows, Schema, Session, Statement, Value,
};
use bakeoff_workloads::{OperationTally, PreparedWorkload, WorkloadClient};

use super::canonical;
use super::ids::{self, Ids, TableColumn};
use super::{AnsweredOperation, ImageAnswers, MOST_OPERATIONS, MOST_STATEMENTS, RecordedAnswer};

/// After so many operations in a row that failed no other is asked for.
const MOST_FAILURES: u32 = 10;

/// What is asked beside statements, in the order of their numbers after those.
const BESIDE: [&str; 3] = ["begin", "commit", "rollback"];
const BEGIN: usize = 0;
const COMMIT: usize = 1;
const ROLLBACK: usize = 2;

/// What is asked.
pub struct AnswersRequest<'a> {
    /// The workload at its levels.
    pub prepared: &'a dyn PreparedWorkload,
    /// The names of all of its operations.
    pub operations: &'a dyn Fn(usize) -> String,
    /// What [`ImageAnswers::work`] is to be.
    pub work: String,
    /// Seeds what the client does.
    pub seed: u64,
}

/// Has one client do its operations on a database, and says what it was answered.
///
/// # Errors
/// The engine's own where it gives no session; what fails later is an answer.
pub fn listen(asked: AnswersRequest<'_>, database: &dyn Database) -> Result<ImageAnswers> {
    let AnswersRequest { prepared, operations, work, seed } = asked;
    let (schema, statements) = (prepared.schema(), prepared.statements());
    let mut session = ListeningSession::new(database.session()?, schema, statements);
    let mut client = prepared.client(0, 1, seed);
    let names = statements.iter().map(|statement| statement.name.as_str()).chain(BESIDE);
    let mut told = ImageAnswers {
        work,
        statements: names.map(str::to_owned).collect(),
        operations: Vec::new(),
    };
    let (mut asked, mut failures) = (0, 0);
    while told.operations.len() < MOST_OPERATIONS
        && asked < MOST_STATEMENTS
        && failures < MOST_FAILURES
    {
        let operation = client.choose();
        failures = match perform(&mut *client, operation, &mut session) {
            Ok(()) => 0,
            Err(_) => failures + 1,
        };
        let answers = std::mem::take(&mut session.answers);
        asked += answers.len() as u64;
        told.operations.push(AnsweredOperation { name: operations(operation), answers });
    }
    Ok(told)
}

fn perform(
    client: &mut dyn WorkloadClient,
    operation: usize,
    session: &mut ListeningSession<'_>,
) -> Result<()> {
    client.perform(operation, session, &mut OperationTally::default())
}

/// A session whose answers are kept.
struct ListeningSession<'a> {
    inner: Box<dyn Session + 'a>,
    statements: Vec<KnownStatement<'a>>,
    ids: Ids,
    /// Of the operation under way.
    answers: Vec<RecordedAnswer>,
    /// Whether a transaction is open, and how many answers and generated keys there were when it began.
    open: bool,
    began: (usize, usize),
    /// What the engine answers, before keys have their stand-ins.
    rows: Rows,
}

/// A statement, and the columns of what goes into it and comes out of it.
struct KnownStatement<'a> {
    action: &'a Action,
    parameters: Vec<TableColumn>,
    answered: Vec<Option<TableColumn>>,
    /// The table whose rows it adds, where that generates their keys.
    generates: Option<usize>,
}

impl<'a> KnownStatement<'a> {
    fn from_action(schema: &Schema, action: &'a Action) -> Self {
        let generates = match action {
            Action::Insert { table } => Some(*table).filter(|it| schema.tables[*it].generated),
            _ => None,
        };
        let parameters = ids::parameters(schema, action);
        Self { action, parameters, answered: ids::answered(schema, action), generates }
    }
}

impl<'a> ListeningSession<'a> {
    fn new(inner: Box<dyn Session + 'a>, schema: &Schema, statements: &'a [Statement]) -> Self {
        let known =
            |statement: &'a Statement| KnownStatement::from_action(schema, &statement.action);
        Self {
            inner,
            statements: statements.iter().map(known).collect(),
            ids: Ids::from_schema(schema),
            answers: Vec::new(),
            open: false,
            began: (0, 0),
            rows: Rows::new(),
        }
    }

    /// What is answered from here on counts for nothing after a conflict.
    fn mark(&mut self) {
        self.began = (self.answers.len(), self.ids.count());
    }

    /// Keeps an error. A conflict is none: the engine may want a transaction again whenever it likes, and
    /// what it answered in this one counts for nothing.
    fn failed(&mut self, statement: usize, error: &Error) {
        if matches!(error, Error::Conflict(_)) {
            let (answers, keys) = self.began;
            self.answers.truncate(answers);
            self.ids.forget_after(keys);
            return;
        }
        let (text, said) = (canonical::error(error).to_owned(), Some(error.to_string()));
        self.answers.push(RecordedAnswer { statement, text, said });
    }

    /// Asks for something that is no statement.
    fn beside(
        &mut self,
        what: usize,
        ask: impl FnOnce(&mut (dyn Session + 'a)) -> Result<()>,
    ) -> Result<()> {
        let answer = ask(&mut *self.inner);
        let statement = self.statements.len() + what;
        answer.inspect_err(|error| self.failed(statement, error))
    }

    /// Hands the client what the engine has answered, with the stand-ins of keys.
    fn hand_on(&mut self, statement: usize, rows: &mut Rows) {
        let KnownStatement { action, answered, generates, .. } = &self.statements[statement];
        rows.reset(self.rows.width());
        for row in 0..self.rows.len() {
            for (at, value) in self.rows.row(row).enumerate() {
                let column = answered.get(at).copied().flatten();
                rows.push(match (generates, value) {
                    (Some(table), Value::Int(key)) => Value::Int(self.ids.give(*table, key)),
                    _ => self.ids.for_client(value, column),
                });
            }
        }
        if canonical::is_unordered(action) {
            canonical::sort(rows);
        }
    }
}

impl Session for ListeningSession<'_> {
    fn begin(&mut self, access: Access) -> Result<()> {
        self.mark();
        self.open = true;
        self.beside(BEGIN, |session| session.begin(access))
    }

    fn run(&mut self, statement: usize, parameters: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        if !self.open {
            self.mark();
        }
        let columns = &self.statements[statement].parameters;
        let column = |at: usize| columns.get(at).copied();
        let parameters: Vec<Value<'_>> = parameters
            .iter()
            .enumerate()
            .map(|(at, value)| self.ids.for_engine(*value, column(at)))
            .collect();
        let answer = self.inner.run(statement, &parameters, &mut self.rows);
        let count = answer.inspect_err(|error| self.failed(statement, error))?;
        self.hand_on(statement, rows);
        let text = canonical::answer(self.statements[statement].action, count, rows);
        self.answers.push(RecordedAnswer { statement, text, said: None });
        Ok(count)
    }

    fn commit(&mut self) -> Result<()> {
        self.open = false;
        self.beside(COMMIT, |session| session.commit())
    }

    fn rollback(&mut self) -> Result<()> {
        self.open = false;
        self.beside(ROLLBACK, |session| session.rollback())
    }
}
