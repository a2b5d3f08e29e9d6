//! An operation as it runs: steps over numbered variables, lists and statements.

use bakeoff_engines::Access;

use crate::expression::Expression;
use crate::sql::SqlLiteral;
use crate::{Slot, SourcePlace};

/// An operation, compiled.
#[derive(Debug)]
pub struct Operation {
    pub name: String,
    pub steps: Vec<PlacedStep>,
    /// How many variables and lists it has, the automatic ones among them.
    pub slots: usize,
    pub lists: usize,
    /// Whether it reads `:now`.
    pub reads_now: bool,
    /// How many seconds its user thinks after it.
    pub think: Option<Expression>,
}

/// A step with the place that wrote it.
#[derive(Debug)]
pub struct PlacedStep {
    pub step: Step,
    pub place: SourcePlace,
}

/// What a client does next. Jumps name steps of the operation by number.
#[derive(Debug)]
pub enum Step {
    Set {
        slot: Slot,
        expression: Expression,
    },
    Run(RunStep),
    Begin(Access),
    Commit,
    Rollback,
    JumpUnless {
        condition: Expression,
        to: usize,
    },
    Jump(usize),
    /// Microseconds a unit.
    Sleep {
        duration: Expression,
        unit_us: f64,
    },
    Pick(PickStep),
    /// Begins a loop: so many turns are left in `slot`.
    Count {
        slot: Slot,
        turns: Expression,
    },
    /// Takes one turn, or jumps if none is left.
    TakeTurn {
        slot: Slot,
        to: usize,
    },
    /// Takes the next item of a list, counted in `position`, or jumps if none is left.
    TakeItem {
        list: usize,
        position: Slot,
        item: Slot,
        to: usize,
    },
    /// Rolls back, and begins the operation again with other draws.
    Again,
    Assert(Expression),
    OnDuplicate(DuplicateRule),
}

/// What becomes of an operation when a row exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateRule {
    /// It is an error.
    Fail,
    /// The transaction is rolled back, and the operation ends.
    Skip,
    /// As [`Step::Again`].
    Again,
}

/// A statement with what it gets and what is done with its answer.
#[derive(Debug)]
pub struct RunStep {
    /// Its number among the application's statements.
    pub statement: usize,
    pub parameters: Vec<ParameterValue>,
    pub answer: AnswerUse,
    pub writes: bool,
    /// The table whose row it inserts, if the answer is the row's one integer key.
    pub inserts: Option<usize>,
}

/// What a statement gets.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterValue {
    Slot(Slot),
    /// The negative of a number.
    Negated(Slot),
    /// An item of a list; beyond its end the last one again. Null if it is empty.
    Item {
        list: usize,
        index: usize,
    },
    Null,
    Int(i64),
    Real(f64),
    Text(String),
}

/// What is done with an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerUse {
    Ignore,
    /// The columns of the only row. Without a row, nulls if `optional`, or else an error.
    Row {
        slots: Vec<(usize, Slot)>,
        optional: bool,
    },
    /// A column of all rows.
    List {
        column: usize,
        list: usize,
    },
}

/// Takes columns of a random row as it was loaded.
#[derive(Debug)]
pub struct PickStep {
    pub table: usize,
    /// The row, from 0.
    pub row: Expression,
    pub columns: Vec<(usize, Slot)>,
}

impl From<SqlLiteral> for ParameterValue {
    fn from(literal: SqlLiteral) -> Self {
        match literal {
            SqlLiteral::Null => Self::Null,
            SqlLiteral::Bool(truth) => Self::Int(truth.into()),
            SqlLiteral::Int(int) => Self::Int(int),
            SqlLiteral::Decimal(text) => text.parse().map_or(Self::Text(text), Self::Real),
            SqlLiteral::Text(text) => Self::Text(text),
        }
    }
}
