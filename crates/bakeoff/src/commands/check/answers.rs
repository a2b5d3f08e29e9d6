//! Runs each operation once, and tells what its statements answer.

use std::fmt::Write as _;

use bakeoff_application::{Application, Datum};
use bakeoff_engines::statement::ReadOrder;
use bakeoff_engines::{Access, Action, Database, Result, Rows, Session, Statement, Value};
use bakeoff_lab::answers::describe_difference;
use bakeoff_workloads::{OperationTally, PreparedWorkload, Workload};

/// Characters of a cell that are shown.
const MOST_CHARACTERS: usize = 24;
/// Answers of an operation that are shown; a loop may have many.
const MOST_ANSWERS: usize = 8;

/// What one statement answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementAnswer {
    operation: usize,
    statement: String,
    rows: u64,
    /// Sorted; empty if the engine may choose among more rows.
    cells: Vec<Vec<String>>,
    first: String,
}

/// Runs each operation once, in order.
pub fn answer_operations(
    application: &Application,
    prepared: &dyn PreparedWorkload,
    database: &dyn Database,
) -> std::result::Result<Vec<StatementAnswer>, String> {
    let session = database.session().map_err(|error| error.to_string())?;
    let statements = prepared.statements();
    let mut session = AnswersSession { session, statements, operation: 0, told: Vec::new() };
    let mut client = prepared.make_client(0, 1, 1);
    for (operation, name) in application.operations().iter().enumerate() {
        session.operation = operation;
        let ran = client.run_operation(operation, &mut session, &mut OperationTally::default());
        ran.map_err(|error| format!("operation {name}: {error}"))?;
    }
    let wrong = prepared.find_violations(database).map_err(|error| error.to_string())?;
    match wrong.is_empty() {
        true => Ok(session.told),
        false => Err(format!("an invariant does not hold: {}", wrong.join("\n"))),
    }
}

/// The answers in words, by operation.
pub fn describe_answers(application: &Application, answers: &[StatementAnswer]) -> String {
    let mut text = String::new();
    for (operation, name) in application.operations().iter().enumerate() {
        let _ = writeln!(text, "  {name}");
        let own = answers.iter().filter(|answer| answer.operation == operation);
        for answer in own.clone().take(MOST_ANSWERS) {
            let plural = if answer.rows == 1 { "row" } else { "rows" };
            let StatementAnswer { statement, rows, first, .. } = answer;
            let _ = writeln!(text, "    {statement}: {rows} {plural}{first}");
        }
        let more = own.count().saturating_sub(MOST_ANSWERS);
        if more > 0 {
            let _ = writeln!(text, "    and {more} more");
        }
    }
    text
}

/// The first statement that one engine answers otherwise than another.
pub fn find_difference(one: &[StatementAnswer], other: &[StatementAnswer]) -> Option<String> {
    let (one, other) = one.iter().zip(other).find(|(one, other)| {
        (one.rows, &one.cells) != (other.rows, &other.cells) || one.statement != other.statement
    })?;
    let places = describe_difference(&other.cells, &one.cells).unwrap_or_default();
    let [here, there] = [(other, &places[0]), (one, &places[1])].map(|(answer, place)| {
        let comma = if place.is_empty() { "" } else { ", " };
        format!("{} rows{comma}{place}", answer.rows)
    });
    Some(format!("{}: {here}, and not {there}", one.statement))
}

/// Passes calls on, and keeps what is answered.
struct AnswersSession<'a> {
    session: Box<dyn Session + 'a>,
    statements: &'a [Statement],
    operation: usize,
    told: Vec<StatementAnswer>,
}

impl Session for AnswersSession<'_> {
    fn begin(&mut self, access: Access) -> Result<()> {
        self.session.begin(access)
    }

    fn run(&mut self, statement: usize, parameters: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let count = self.session.run(statement, parameters, rows)?;
        let statement = &self.statements[statement];
        let first = match rows.is_empty() {
            true => String::new(),
            false => {
                let cells: Vec<String> = rows.row(0).map(shorten_cell).collect();
                format!(": {}", cells.join(" | "))
            }
        };
        let row = |row: usize| rows.row(row).map(format_cell).collect::<Vec<_>>();
        let mut cells: Vec<Vec<String>> = match is_free(&statement.action) {
            true => Vec::new(),
            false => (0..rows.len()).map(row).collect(),
        };
        cells.sort();
        self.told.push(StatementAnswer {
            operation: self.operation,
            statement: statement.name.clone(),
            rows: count,
            cells,
            first,
        });
        Ok(count)
    }

    fn commit(&mut self) -> Result<()> {
        self.session.commit()
    }

    fn rollback(&mut self) -> Result<()> {
        self.session.rollback()
    }
}

/// Whether a limit leaves the engine a choice of rows.
fn is_free(action: &Action) -> bool {
    match action {
        Action::Read(read) => read.limit.is_some() && read.order == ReadOrder::Any,
        Action::Sql(sql) => sql.sqlite.to_ascii_uppercase().contains("LIMIT"),
        _ => false,
    }
}

/// Reals that differ in their last digits are the same.
fn format_cell(value: Value<'_>) -> String {
    match Datum::from(value) {
        Datum::Real(real) => format!("{real:.9e}"),
        other => other.to_string(),
    }
}

fn shorten_cell(value: Value<'_>) -> String {
    let text = Datum::from(value).to_string().replace('\n', " ");
    match text.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
