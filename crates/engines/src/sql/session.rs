//! Sessions of SQL engines: the state of a transaction, and the declared statements.

use std::borrow::Cow;

use super::Dialect;
use crate::statement::{Action, ColumnAssignments, SqlText};
use crate::{Access, Error, Result, Rows, Schema, Session, Statement, Value};

/// The declared statements: their texts, what a session plans for each, and what their parameters
/// have to fit.
pub(crate) struct SqlStatements<P> {
    dialect: Dialect,
    pub texts: Vec<String>,
    plans: Vec<P>,
    stored: Vec<ColumnAssignments>,
    written: Vec<Option<SqlText>>,
}

impl<P> SqlStatements<P> {
    pub fn new(
        dialect: Dialect,
        schema: &Schema,
        statements: &[Statement],
        plan: impl Fn(&Schema, &Action) -> P,
    ) -> Result<Self> {
        let actions = || statements.iter().map(|statement| &statement.action);
        Ok(Self {
            dialect,
            texts: actions()
                .map(|action| dialect.statement_text(schema, action))
                .collect::<Result<_>>()?,
            plans: actions().map(|action| plan(schema, action)).collect(),
            stored: actions()
                .map(|action| ColumnAssignments::from_action(schema, action))
                .collect(),
            written: actions()
                .map(|action| match action {
                    Action::Sql(text) => Some(text.clone()),
                    _ => None,
                })
                .collect(),
        })
    }

    /// Whether a user wrote one of them, so that an engine may refuse it.
    pub fn has_written(&self) -> bool {
        self.written.iter().any(Option::is_some)
    }

    /// Prepares all of them. What a user wrote and the engine refuses is told together, each with
    /// its place.
    pub fn prepare_each<T>(
        &self,
        mut prepare: impl FnMut(&str, Option<&SqlText>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let (mut prepared, mut refused) = (Vec::new(), Vec::new());
        for (number, text) in self.texts.iter().enumerate() {
            let written = self.written.get(number).and_then(Option::as_ref);
            match (prepare(text, written), written) {
                (Ok(statement), _) => prepared.push(statement),
                (Err(Error::Usage(why)), Some(SqlText { place, .. })) => {
                    refused.push(format!("{place}: {why}"));
                }
                (Err(Error::Engine(why)), Some(SqlText { place, .. })) => {
                    refused.push(format!("{place}: {why}"));
                }
                (Err(error), _) => return Err(error),
            }
        }
        match refused.is_empty() {
            true => Ok(prepared),
            false => Err(Error::Usage(refused.join("\n"))),
        }
    }

    pub fn len(&self) -> usize {
        self.plans.len()
    }

    pub fn find_plan(&self, number: usize) -> Result<&P> {
        let plan = self.plans.get(number);
        plan.ok_or_else(|| Error::Usage(format!("there is no statement {number}")))
    }

    /// The parameters as their columns hold them.
    pub fn round_parameters<'p, 'v>(
        &self,
        number: usize,
        parameters: &'p [Value<'v>],
    ) -> Cow<'p, [Value<'v>]> {
        self.stored[number].round_parameters(parameters)
    }

    pub fn check_parameters(&self, number: usize, parameters: &[Value<'_>]) -> Result<()> {
        match self.dialect {
            Dialect::MySql => self.stored[number].fits_text_as_bytes(parameters),
            Dialect::Sqlite | Dialect::Postgres => self.stored[number].fits(parameters),
        }
    }
}

impl SqlText {
    /// Checks how many parameters the engine has found in it.
    pub(crate) fn check_count(&self, found: usize) -> Result<()> {
        let given = self.parameters;
        if found == given {
            return Ok(());
        }
        Err(Error::Usage(format!("it takes {found} parameters, and gets {given}")))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransactionState {
    Idle,
    Reading,
    Writing,
    Failed,
}

impl TransactionState {
    pub fn check_statement(self, writes: bool) -> Result<()> {
        match self {
            Self::Failed => Err(Error::Usage("a statement after an error".into())),
            Self::Reading if writes => Err(Error::Usage("a write in a reading transaction".into())),
            Self::Idle | Self::Reading | Self::Writing => Ok(()),
        }
    }
}

/// A connection that runs statements. [`SqlSession`] calls it only as the state allows.
pub(crate) trait SqlClient {
    fn begin(&mut self, access: Access) -> Result<()>;

    /// Has to call [`TransactionState::check_statement`].
    fn run(
        &mut self,
        state: TransactionState,
        number: usize,
        parameters: &[Value<'_>],
        rows: &mut Rows,
    ) -> Result<u64>;

    /// After an error the transaction is undone.
    fn commit(&mut self, access: Access) -> Result<()>;

    fn rollback(&mut self) -> Result<()>;
}

pub(crate) struct SqlSession<C> {
    pub client: C,
    state: TransactionState,
}

impl<C> SqlSession<C> {
    pub fn new(client: C) -> Self {
        Self { client, state: TransactionState::Idle }
    }
}

impl<C: SqlClient> Session for SqlSession<C> {
    fn begin(&mut self, access: Access) -> Result<()> {
        if self.state != TransactionState::Idle {
            self.state = TransactionState::Failed;
            return Err(Error::Usage("begin inside a transaction".into()));
        }
        self.client.begin(access)?;
        self.state = match access {
            Access::Read => TransactionState::Reading,
            Access::Write => TransactionState::Writing,
        };
        Ok(())
    }

    fn run(&mut self, statement: usize, parameters: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let answer = self.client.run(self.state, statement, parameters, rows);
        if answer.is_err() && self.state != TransactionState::Idle {
            self.state = TransactionState::Failed;
        }
        answer
    }

    fn commit(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.state, TransactionState::Idle) {
            TransactionState::Idle => Err(Error::Usage("commit outside a transaction".into())),
            TransactionState::Failed => {
                self.client.rollback()?;
                Err(Error::Usage("commit after an error".into()))
            }
            TransactionState::Reading => self.client.commit(Access::Read),
            TransactionState::Writing => self.client.commit(Access::Write),
        }
    }

    fn rollback(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.state, TransactionState::Idle) {
            TransactionState::Idle => Ok(()),
            _ => self.client.rollback(),
        }
    }
}
