use bakeoff_engines::{
    Access, Action, Database, Error, Result, Rows, Schema, Session, Statement, Value,
};
use bakeoff_workloads::{OperationTally, PreparedWorkload, WorkloadClient};

use super::canonical;
use super::generated_keys::{self, Ids, TableColumn};
use super::{AnsweredOperation, ImageAnswers, MOST_OPERATIONS, MOST_STATEMENTS, RecordedAnswer};

/// The run of operations ends after this many failures in a row.
const MOST_FAILURES: u32 = 10;

/// Questions besides statements; numbered after them.
const BESIDE: [&str; 3] = ["begin", "commit", "rollback"];
const BEGIN: usize = 0;
const COMMIT: usize = 1;
const ROLLBACK: usize = 2;

pub struct AnswersRequest<'a> {
    pub prepared: &'a dyn PreparedWorkload,
    pub operations: &'a dyn Fn(usize) -> String,
    pub work: String,
    pub seed: u64,
}

pub fn collect_answers(asked: AnswersRequest<'_>, database: &dyn Database) -> Result<ImageAnswers> {
    let AnswersRequest { prepared, operations, work, seed } = asked;
    let (schema, statements) = (prepared.schema(), prepared.statements());
    let mut session = ListeningSession::new(database.session()?, schema, statements);
    let mut client = prepared.make_client(0, 1, seed);
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
        let operation = client.choose_operation();
        failures = match perform_operation(&mut *client, operation, &mut session) {
            Ok(()) => 0,
            Err(_) => failures + 1,
        };
        let answers = std::mem::take(&mut session.answers);
        asked += answers.len() as u64;
        told.operations.push(AnsweredOperation { name: operations(operation), answers });
    }
    Ok(told)
}

fn perform_operation(
    client: &mut dyn WorkloadClient,
    operation: usize,
    session: &mut ListeningSession<'_>,
) -> Result<()> {
    client.run_operation(operation, session, &mut OperationTally::default())
}

struct ListeningSession<'a> {
    inner: Box<dyn Session + 'a>,
    statements: Vec<KnownStatement<'a>>,
    ids: Ids,
    answers: Vec<RecordedAnswer>,
    open: bool,
    began: (usize, usize),
    rows: Rows,
}

struct KnownStatement<'a> {
    action: &'a Action,
    parameters: Vec<TableColumn>,
    answered: Vec<Option<TableColumn>>,
    generates: Option<usize>,
}

impl<'a> KnownStatement<'a> {
    fn from_action(schema: &Schema, action: &'a Action) -> Self {
        let generates = match action {
            Action::Insert { table } => Some(*table).filter(|it| schema.tables[*it].generated),
            _ => None,
        };
        let parameters = generated_keys::parameter_columns(schema, action);
        Self {
            action,
            parameters,
            answered: generated_keys::answered_columns(schema, action),
            generates,
        }
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

    fn mark(&mut self) {
        self.began = (self.answers.len(), self.ids.count());
    }

    /// A conflict is no error: the engine may ask to repeat a transaction at any time, so its
    /// answers are dropped.
    fn record_error(&mut self, statement: usize, error: &Error) {
        if matches!(error, Error::Conflict(_)) {
            let (answers, keys) = self.began;
            self.answers.truncate(answers);
            self.ids.forget_after(keys);
            return;
        }
        let (text, said) = (canonical::describe_error(error).to_owned(), Some(error.to_string()));
        self.answers.push(RecordedAnswer { statement, text, said, rows: Vec::new() });
    }

    fn ask_session(
        &mut self,
        what: usize,
        ask: impl FnOnce(&mut (dyn Session + 'a)) -> Result<()>,
    ) -> Result<()> {
        let answer = ask(&mut *self.inner);
        let statement = self.statements.len() + what;
        answer.inspect_err(|error| self.record_error(statement, error))
    }

    fn hand_on(&mut self, statement: usize, rows: &mut Rows) {
        let KnownStatement { action, answered, generates, .. } = &self.statements[statement];
        rows.reset(self.rows.width());
        for row in 0..self.rows.len() {
            for (at, value) in self.rows.row(row).enumerate() {
                let column = answered.get(at).copied().flatten();
                rows.push(match (generates, value) {
                    (Some(table), Value::Int(key)) => Value::Int(self.ids.add_key(*table, key)),
                    _ => self.ids.for_client(value, column),
                });
            }
        }
        if canonical::is_unordered(action) {
            canonical::sort_rows(rows);
        }
    }
}

impl Session for ListeningSession<'_> {
    fn begin(&mut self, access: Access) -> Result<()> {
        self.mark();
        self.open = true;
        self.ask_session(BEGIN, |session| session.begin(access))
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
        let count = answer.inspect_err(|error| self.record_error(statement, error))?;
        self.hand_on(statement, rows);
        let text = canonical::format_answer(self.statements[statement].action, count, rows);
        let rows = canonical::keep_rows(&text, rows);
        self.answers.push(RecordedAnswer { statement, text, said: None, rows });
        Ok(count)
    }

    fn commit(&mut self) -> Result<()> {
        self.open = false;
        self.ask_session(COMMIT, |session| session.commit())
    }

    fn rollback(&mut self) -> Result<()> {
        self.open = false;
        self.ask_session(ROLLBACK, |session| session.rollback())
    }
}
