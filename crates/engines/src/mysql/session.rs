//! Sessions: a connection each, with every statement prepared on it, or checked on it and sent as a text each time.
//!
//! Statements run through [`MariaDbWire`] on the connection's socket; with TLS they run through the
//! library, which allocates for parameters and rows.

use mysql::consts::ColumnType;
use mysql::prelude::{Protocol, Queryable};
use mysql::{Conn, Error as Failure, Params, QueryResult};

use super::storage::StorageEngine;
use super::text_parts::TextParts;
use super::wire::fields::{FieldType, is_readable, push_text_cell, read_string};
use super::wire::{Changed, MariaDbWire};
use super::{MariaDbDatabase, SQL, error};
use crate::calendar::TimeText;
use crate::schema::Table;
use crate::sql::session::{SqlClient, TransactionState};
use crate::statement::Action;
use crate::{Access, Error, Preparation, Result, Rows, Schema, SqlText, Value, decimal};

pub(super) enum MariaDbPlan {
    Read { width: usize },
    Insert { key: usize },
    Upsert,
    Change,
    Written { writes: bool },
}

impl MariaDbPlan {
    fn writes(&self) -> bool {
        match self {
            Self::Read { .. } => false,
            Self::Insert { .. } | Self::Upsert | Self::Change => true,
            Self::Written { writes } => *writes,
        }
    }
}

pub(super) fn plan_statement(schema: &Schema, action: &Action) -> MariaDbPlan {
    match action {
        Action::Read(read) => MariaDbPlan::Read { width: read.yields.width() },
        Action::Insert { table } => MariaDbPlan::Insert { key: schema.tables[*table].key[0] },
        Action::Upsert { .. } => MariaDbPlan::Upsert,
        Action::Update { .. } | Action::Delete { .. } => MariaDbPlan::Change,
        Action::Sql(text) => MariaDbPlan::Written { writes: text.writes },
    }
}

pub(super) struct TransactionControl {
    read: String,
    write: String,
    commit: &'static str,
    rollback: &'static str,
    undoes: bool,
}

impl TransactionControl {
    /// Aria has no transactions, but tables that are locked for the whole of one: nobody else
    /// sees or changes anything meanwhile, and after a crash the server undoes what was not
    /// unlocked. Only a rollback can't be had.
    pub(super) fn new(storage: StorageEngine, schema: &Schema) -> Self {
        if storage != StorageEngine::Aria {
            return Self {
                read: "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY".into(),
                write: "START TRANSACTION".into(),
                commit: "COMMIT",
                rollback: "ROLLBACK",
                undoes: true,
            };
        }
        let lock = |how: &str| {
            let one = |table: &Table| format!("{} {how}", SQL.quote(&table.name));
            let all: Vec<_> = schema.tables.iter().map(one).collect();
            format!("LOCK TABLES {}", all.join(", "))
        };
        Self {
            read: lock("READ"),
            write: lock("WRITE"),
            commit: "UNLOCK TABLES",
            rollback: "UNLOCK TABLES",
            undoes: false,
        }
    }
}

/// By number.
enum MariaDbStatements {
    Prepared(Vec<mysql::Statement>),
    Texts(Vec<TextParts>),
}

impl MariaDbStatements {
    /// Statements that are sent as texts are closed: they were only to be checked.
    fn new(
        prepared: Vec<mysql::Statement>,
        database: &MariaDbDatabase,
        connection: &mut Conn,
    ) -> std::result::Result<Self, Failure> {
        if database.preparation == Preparation::OncePerSession {
            return Ok(Self::Prepared(prepared));
        }
        let mut texts = Vec::new();
        for (statement, text) in prepared.into_iter().zip(&database.statements.texts) {
            connection.close(statement)?;
            texts.push(TextParts::from_text(text));
        }
        Ok(Self::Texts(texts))
    }

    fn count_parameters(&self, number: usize) -> usize {
        match self {
            Self::Prepared(prepared) => prepared[number].num_params().into(),
            Self::Texts(texts) => texts[number].count_parameters(),
        }
    }
}

struct MariaDbConnection {
    connection: Conn,
    statements: MariaDbStatements,
    wire: Option<MariaDbWire>,
}

impl MariaDbConnection {
    fn new(database: &MariaDbDatabase) -> Result<Self> {
        let mut connection = database.connect_by(&database.client)?;
        let prepared = database
            .statements
            .prepare_each(|text, written| prepare_statement(&mut connection, text, written))?;
        let statements = MariaDbStatements::new(prepared, database, &mut connection);
        let statements = statements.map_err(error::to_error)?;
        let plain = database.opts.get_ssl_opts().is_none();
        let prepared = match &statements {
            MariaDbStatements::Prepared(prepared) => &prepared[..],
            MariaDbStatements::Texts(_) => &[],
        };
        let wire = plain.then(|| MariaDbWire::from_connection(&connection, prepared));
        let wire = wire.transpose().map_err(Error::from_engine)?;
        Ok(Self { connection, statements, wire })
    }

    fn run_control(&mut self, text: &str) -> std::result::Result<(), Failure> {
        match &mut self.wire {
            Some(wire) => wire.query(text),
            None => self.connection.query_drop(text),
        }
    }

    fn run(
        &mut self,
        number: usize,
        parameters: &[Value<'_>],
        width: Option<usize>,
        rows: &mut Rows,
    ) -> std::result::Result<Changed, Failure> {
        match (&self.statements, &mut self.wire) {
            (MariaDbStatements::Prepared(_), Some(wire)) => {
                wire.execute(number, parameters, width, rows)
            }
            (MariaDbStatements::Texts(texts), Some(wire)) => {
                wire.execute_text(&texts[number], parameters, width, rows)
            }
            (MariaDbStatements::Prepared(prepared), None) => {
                let parameters = match parameters {
                    [] => Params::Empty,
                    some => {
                        Params::Positional(some.iter().map(|value| to_server(*value)).collect())
                    }
                };
                let found = self.connection.exec_iter(&prepared[number], parameters)?;
                read_found(found, width, rows, push_cell)
            }
            (MariaDbStatements::Texts(texts), None) => {
                let mut text = Vec::new();
                texts[number].put_text(parameters, &mut text)?;
                let text = String::from_utf8(text).expect("parts and literals are texts");
                read_found(self.connection.query_iter(text)?, width, rows, push_cell_of_text)
            }
        }
    }
}

/// Adds a cell to the rows.
type CellReader =
    fn(&mut Rows, Option<&mysql::Value>, &mysql::Column) -> std::result::Result<(), Failure>;

fn read_found<P: Protocol>(
    found: QueryResult<'_, '_, '_, P>,
    width: Option<usize>,
    rows: &mut Rows,
    push: CellReader,
) -> std::result::Result<Changed, Failure> {
    let answer = Changed { rows: found.affected_rows(), new_key: found.last_insert_id() };
    let width = width.unwrap_or_else(|| {
        let width = found.columns().as_ref().len();
        rows.reset(width);
        width
    });
    for row in found {
        let row = row?;
        let columns = row.columns_ref();
        for (at, column) in columns.iter().enumerate().take(width) {
            push(rows, row.as_ref(at), column)?;
        }
    }
    Ok(answer)
}

/// In the answer to a text every cell is one.
fn push_cell_of_text(
    rows: &mut Rows,
    cell: Option<&mysql::Value>,
    column: &mysql::Column,
) -> std::result::Result<(), Failure> {
    match cell {
        Some(mysql::Value::Bytes(bytes)) => {
            push_text_cell(FieldType::from_column(column), bytes, rows)
        }
        other => push_cell(rows, other, column),
    }
}

fn lost(failure: &Failure, may_persist: bool) -> Error {
    let what = format!("the connection was lost: {}", error::explain_failure(failure));
    if may_persist { Error::InDoubt(what) } else { Error::Conflict(what) }
}

fn prepare_statement(
    connection: &mut Conn,
    text: &str,
    written: Option<&SqlText>,
) -> Result<mysql::Statement> {
    let statement = connection.prep(text).map_err(|failure| match &failure {
        lost_one if error::is_lost(lost_one) => lost(&failure, false),
        Failure::MySqlError(_) if written.is_some() => {
            let what = error::explain_returning(text, &failure);
            Error::Usage(what.unwrap_or_else(|| error::explain_failure(&failure)))
        }
        _ => error::to_error(failure),
    })?;
    let Some(written) = written else { return Ok(statement) };
    written.check_count(statement.num_params().into())?;
    for column in statement.columns().iter() {
        if !is_readable(column.column_type()) {
            let (name, kind) = (column.name_str(), format!("{:?}", column.column_type()));
            let kind = kind.trim_start_matches("MYSQL_TYPE_");
            return Err(Error::Usage(format!("its column {name} is a {kind}: cast it to CHAR")));
        }
    }
    Ok(statement)
}

fn to_server(value: Value<'_>) -> mysql::Value {
    match value {
        Value::Null => mysql::Value::NULL,
        Value::Int(int) => mysql::Value::Int(int),
        Value::Real(real) => mysql::Value::Double(real.get()),
        Value::Text(text) => mysql::Value::Bytes(text.as_bytes().into()),
        Value::Bytes(bytes) => mysql::Value::Bytes(bytes.into()),
    }
}

fn push_cell(
    rows: &mut Rows,
    cell: Option<&mysql::Value>,
    column: &mysql::Column,
) -> std::result::Result<(), Failure> {
    use mysql::Value::{Bytes, Date, Double, Float, Int, NULL, UInt};
    let kind = column.column_type();
    let unreadable = || Failure::FromValueError(cell.cloned().unwrap_or(NULL));
    match cell {
        Some(NULL) => rows.push(Value::Null),
        Some(Int(int)) => rows.push(Value::Int(*int)),
        Some(UInt(int)) => rows.push(Value::Int((*int).try_into().map_err(|_| unreadable())?)),
        Some(Float(real)) => rows.push(Value::from(decimal::widen_float(*real))),
        Some(Double(real)) => rows.push(Value::from(*real)),
        Some(Bytes(bytes)) => {
            rows.push(read_string(bytes, kind as u8).ok_or_else(unreadable)?);
        }
        Some(&Date(year, month, day, hour, minute, second, micros)) => {
            let time =
                (kind != ColumnType::MYSQL_TYPE_DATE).then_some((hour, minute, second, micros));
            rows.push(Value::Text(TimeText::from_parts((year, month, day), time).as_str()));
        }
        Some(mysql::Value::Time(..)) | None => return Err(unreadable()),
    }
    Ok(())
}

pub(super) struct MariaDbClient<'a> {
    database: &'a MariaDbDatabase,
    prepared: Option<MariaDbConnection>,
    wrote: bool,
}

impl<'a> MariaDbClient<'a> {
    pub(super) fn new(database: &'a MariaDbDatabase) -> Result<Self> {
        let prepared = Some(MariaDbConnection::new(database)?);
        Ok(Self { database, prepared, wrote: false })
    }

    fn prepared_connection(&mut self) -> Result<&mut MariaDbConnection> {
        match &mut self.prepared {
            Some(prepared) => Ok(prepared),
            empty => Ok(empty.insert(MariaDbConnection::new(self.database)?)),
        }
    }

    /// `may_persist`: whether the request may last although its answer is lost.
    fn explain_failure(&mut self, failure: Failure, may_persist: bool) -> Error {
        if error::is_lost(&failure) {
            self.prepared = None;
            return lost(&failure, may_persist);
        }
        match may_persist && error::is_interrupted(&failure) {
            true => Error::InDoubt(error::explain_failure(&failure)),
            false => error::to_error(failure),
        }
    }

    fn run_control(&mut self, text: &str) -> std::result::Result<(), Failure> {
        match &mut self.prepared {
            Some(prepared) => prepared.run_control(text),
            None => Ok(()),
        }
    }

    /// Whether a statement may last although its answer is lost.
    fn may_persist(&self, state: TransactionState, writes: bool) -> bool {
        match state {
            TransactionState::Idle => writes,
            _ => !self.database.control.undoes && (writes || self.wrote),
        }
    }
}

impl SqlClient for MariaDbClient<'_> {
    fn begin(&mut self, access: Access) -> Result<()> {
        self.prepared_connection()?;
        let text = match access {
            Access::Read => &self.database.control.read,
            Access::Write => &self.database.control.write,
        };
        self.run_control(text).map_err(|failure| self.explain_failure(failure, false))?;
        self.wrote = false;
        Ok(())
    }

    fn run(
        &mut self,
        state: TransactionState,
        number: usize,
        parameters: &[Value<'_>],
        rows: &mut Rows,
    ) -> Result<u64> {
        let statements = &self.database.statements;
        let plan = statements.find_plan(number)?;
        let writes = plan.writes();
        state.check_statement(writes)?;
        let may_persist = self.may_persist(state, writes);
        statements.check_parameters(number, parameters)?;
        let prepared = self.prepared_connection()?;
        let width = match plan {
            MariaDbPlan::Read { width } => Some(*width),
            MariaDbPlan::Insert { .. } | MariaDbPlan::Upsert | MariaDbPlan::Change => Some(0),
            // What an insert returns is in its answer only: its preparation tells no columns.
            MariaDbPlan::Written { .. } => None,
        };
        let (given, wanted) = (parameters.len(), prepared.statements.count_parameters(number));
        if given != wanted {
            return Err(Error::Usage(format!("{given} parameters for a statement of {wanted}")));
        }
        rows.reset(width.unwrap_or(0));
        let Changed { rows: changed, new_key } = match prepared.run(number, parameters, width, rows)
        {
            Ok(answer) => answer,
            Err(failure) => return Err(self.explain_failure(failure, may_persist)),
        };
        self.wrote |= writes && (changed > 0 || !rows.is_empty());
        match plan {
            MariaDbPlan::Read { .. } => Ok(rows.len() as u64),
            MariaDbPlan::Written { .. } if rows.width() > 0 => Ok(rows.len() as u64),
            MariaDbPlan::Written { .. } => Ok(changed),
            MariaDbPlan::Change => Ok(changed),
            // The server counts a replaced row twice.
            MariaDbPlan::Upsert => Ok(1),
            MariaDbPlan::Insert { key } => {
                rows.reset(1);
                rows.push(match (parameters[*key], new_key) {
                    (Value::Null, Some(number)) => Value::Int(number.cast_signed()),
                    (given, _) => given,
                });
                Ok(changed)
            }
        }
    }

    fn commit(&mut self, _: Access) -> Result<()> {
        let Err(failure) = self.run_control(self.database.control.commit) else { return Ok(()) };
        let fault = self.explain_failure(failure, self.wrote);
        // Why the commit failed says more than an error of its undoing.
        let _ = self.rollback();
        Err(fault)
    }

    fn rollback(&mut self) -> Result<()> {
        let may_persist = !self.database.control.undoes && std::mem::take(&mut self.wrote);
        match self.run_control(self.database.control.rollback) {
            // The server ends the transaction of a lost connection.
            Err(failure) if !error::is_lost(&failure) => {
                return Err(self.explain_failure(failure, false));
            }
            Err(failure) => drop(self.explain_failure(failure, false)),
            Ok(()) => {}
        }
        match may_persist {
            true => Err(Error::from_engine(
                "Aria can't roll back: what the transaction has changed stays changed",
            )),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_testkit::needs;

    use super::super::{INNODB, MariaDb};
    use super::*;
    use crate::statement::{Action, Statement};
    use crate::survey::LeftoverPolicy;
    use crate::{Durability, Engine, OpenTerms};

    fn statement(place: &str, text: &str, parameters: usize) -> Statement {
        let text = SqlText {
            sqlite: String::new(),
            mysql: text.into(),
            postgres: String::new(),
            place: place.into(),
            why: "a test".into(),
            writes: text.starts_with("INSERT"),
            parameters,
        };
        Statement { name: place.into(), action: Action::Sql(text) }
    }

    fn open(
        engine: &MariaDb,
        statements: &[Statement],
    ) -> Result<(tempfile::TempDir, MariaDbDatabase)> {
        let folder = tempfile::tempdir().expect("a folder");
        let terms = OpenTerms::new(Durability::None);
        let (root, private) = engine.start_server(folder.path(), &terms)?;
        let schema = Schema {
            tables: vec![
                Table::new("things").generated_key("id").column("n", crate::schema::Type::Int),
            ],
        };
        let mut open = MariaDbDatabase::new(
            (root, engine.storage),
            Some(private),
            Preparation::OncePerSession,
            &schema,
            statements,
        )?;
        open.prepare_database(Durability::None, LeftoverPolicy::Keep)?;
        Ok((folder, open))
    }

    #[test]
    fn the_library_reads_and_sends_what_our_wire_does() {
        if needs(INNODB.available()).is_none() {
            return;
        }
        let cells = "SELECT 1.50, 2.00, 1e308, DATE '2024-02-29', \
                     TIMESTAMP '2024-02-29 01:02:03.000004', TIMESTAMP '2024-02-29 00:00:00', TRUE, \
                     CAST(5 AS UNSIGNED), NULL, 'x', CAST(0.1 AS FLOAT), ?, ?, ?, ?, ?";
        let insert = "INSERT INTO things (n) VALUES (?) RETURNING n, n / 8";
        let statements = [statement("it.sql:1", cells, 5), statement("it.sql:2", insert, 1)];
        let (_folder, mut database) = open(&INNODB, &statements).expect("a database");
        let given = [0.1.into(), 1e-300.into(), 7.into(), "y".into(), Value::Null];
        for (by_wire, preparation) in [
            (true, Preparation::OncePerSession),
            (false, Preparation::OncePerSession),
            (true, Preparation::EachExecution),
            (false, Preparation::EachExecution),
        ] {
            database.preparation = preparation;
            let mut connection = MariaDbConnection::new(&database).expect("a connection");
            if !by_wire {
                connection.wire = None;
            }
            let mut rows = Rows::new();
            // The second time the server doesn't say again what columns there are.
            for _ in 0..2 {
                connection.run(0, &given, None, &mut rows).expect("a row");
                connection.run(1, &[3.into()], None, &mut rows).expect("a row");
                assert_eq!(rows.row(0).collect::<Vec<_>>(), [3.into(), 0.375.into()]);
            }
            connection.run(0, &given, None, &mut rows).expect("a row");
            let mut wanted: Vec<Value<'_>> = vec![
                1.5.into(),
                2.into(),
                1e308.into(),
                "2024-02-29".into(),
                "2024-02-29 01:02:03.000004".into(),
                "2024-02-29 00:00:00.000000".into(),
                1.into(),
                5.into(),
                Value::Null,
                "x".into(),
                0.1.into(),
            ];
            wanted.extend(given);
            assert_eq!(
                rows.row(0).collect::<Vec<_>>(),
                wanted,
                "by our wire: {by_wire}, {preparation:?}"
            );
        }
    }

    #[test]
    fn a_column_that_can_not_be_read_is_refused_with_its_place() {
        if needs(INNODB.available()).is_none() {
            return;
        }
        let statements = [
            statement("it.sql:1", "SELECT TIME '10:00:00' AS late", 0),
            statement("it.sql:2", "SELECT 1 +", 0),
        ];
        let Err(Error::Usage(said)) = open(&INNODB, &statements).map(drop) else {
            panic!("opened")
        };
        let lines: Vec<_> = said.lines().collect();
        assert_eq!(lines[0], "it.sql:1: its column late is a TIME: cast it to CHAR");
        assert!(lines[1].starts_with("it.sql:2: You have an error in your SQL syntax"), "{said}");
    }
}
