//! Expressions: what stands behind `\set`, and in `workload.toml` behind a column or a table.
//!
//! The language is pgbench's of PostgreSQL 15, with more functions. An expression is read once into
//! a tree; to evaluate it allocates nothing once the scratch text has grown.

use std::fmt;

use bakeoff_workloads::{TextSource, WorkloadRandom};
use rand::RngExt as _;

use crate::{Datum, Mistakes, Slot, Slots, SourcePlace};
use evaluator::{Evaluator, VariableSource};
use parser::ExpressionParser;

mod arithmetic;
pub(crate) mod calendar;
mod draws;
mod evaluator;
mod folding;
mod functions;
mod hashes;
mod made_bytes;
pub(crate) mod made_text;
mod operand;
mod parser;
#[cfg(test)]
mod tests;
mod tokens;
mod tree;

pub(crate) use evaluator::{RowVariables, read_datum};
pub(crate) use functions::ExpressionFunction;
pub(crate) use hashes::mix_bits;
pub(crate) use made_bytes::{DrawnBytes, OpaqueBytes};
pub(crate) use made_text::write_words;
pub(crate) use operand::{Operand, TextSpan};
pub(crate) use tree::{BinaryOperator, ExpressionNode};

/// What names in an expression stand for.
pub trait ExpressionNames {
    /// The slot of `:name`; `None` if it is never set.
    fn find_variable(&self, name: &str) -> Option<Slot>;

    /// The number of a table.
    fn find_table(&self, name: &str) -> Option<usize>;

    /// What is wrong with `:name`, which has no slot, and what mends it.
    fn explain_unknown(&self, name: &str) -> String {
        format!("`:{name}` is never set; set it before, as in `\\set {name} 1`")
    }
}

/// The keys of generated rows. The same row has the same key whenever it is asked for.
pub trait RowKeys {
    /// How many rows a table has.
    fn count_rows(&self, table: usize) -> i64;

    /// The key of a row, from 0. A text of it is appended to `scratch`.
    ///
    /// # Errors
    ///
    /// The key's own expression fails.
    fn write_key<'t>(
        &self,
        table: usize,
        row: i64,
        scratch: &'t mut String,
    ) -> Result<Datum<'t>, EvaluationError>;
}

/// What an expression is evaluated with.
pub struct Evaluation<'a> {
    /// The values of variables.
    pub slots: &'a Slots,
    /// The source of what is random.
    pub random: &'a mut WorkloadRandom,
    /// The seed of `hash` and `permute` without one.
    pub default_seed: i64,
    /// The source of `words`.
    pub text: &'a TextSource,
    /// The source of `ref`.
    pub rows: &'a dyn RowKeys,
}

/// Why an expression has no value. The caller adds the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluationError(Box<str>);

impl EvaluationError {
    /// `what` says what is wrong and what mends it.
    pub fn new(what: impl Into<Box<str>>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for EvaluationError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for EvaluationError {}

/// An expression that was read.
#[derive(Clone, Debug)]
pub struct Expression {
    root: ExpressionNode,
}

/// Reads the expression that is the whole of `text`, which begins at `place`. Every mistake is
/// added, and then there is no expression.
pub fn parse_expression(
    text: &str,
    place: &SourcePlace,
    names: &dyn ExpressionNames,
    mistakes: &mut Mistakes,
) -> Option<Expression> {
    let root = ExpressionParser::new(text, place, names, mistakes).parse_whole()?;
    Some(Expression { root })
}

impl Expression {
    /// The value. Its text is in `scratch`, which is emptied before.
    ///
    /// # Errors
    ///
    /// Overflow, division by zero, a type that doesn't fit, a parameter out of its bounds.
    pub fn evaluate<'t>(
        &self,
        evaluation: &mut Evaluation<'_>,
        scratch: &'t mut String,
    ) -> Result<Datum<'t>, EvaluationError> {
        let operand = self.evaluate_operand(evaluation, scratch)?;
        Ok(read_datum(operand, scratch))
    }

    /// As [`Expression::evaluate`], with the text's place in `scratch` in place of the text.
    #[inline]
    pub(crate) fn evaluate_operand(
        &self,
        evaluation: &mut Evaluation<'_>,
        scratch: &mut String,
    ) -> Result<Operand, EvaluationError> {
        scratch.clear();
        if let Some(drawn) = self.draw_between(evaluation) {
            return Ok(Operand::Int(drawn));
        }
        let variables = VariableSource::Slots(evaluation.slots);
        Evaluator::new(variables, evaluation, scratch).evaluate_whole(&self.root)
    }

    /// The same number as by [`Evaluator`], sooner: `random` between whole numbers or variables, which
    /// most scripts begin with. `None` for all else, and where there is something wrong with the bounds.
    #[inline]
    fn draw_between(&self, evaluation: &mut Evaluation<'_>) -> Option<i64> {
        let ExpressionNode::Call(ExpressionFunction::Random, bounds) = &self.root else {
            return None;
        };
        let [low, high] = &bounds[..] else { return None };
        let low = low.read_int(evaluation.slots)?;
        let high = high.read_int(evaluation.slots)?;
        let fits = low <= high && high.checked_sub(low)? < i64::MAX;
        fits.then(|| evaluation.random.random_range(low..=high))
    }

    /// The value for a row that is generated. Its text is appended to `scratch`.
    pub(crate) fn evaluate_row(
        &self,
        variables: RowVariables,
        evaluation: &mut Evaluation<'_>,
        scratch: &mut String,
    ) -> Result<Operand, EvaluationError> {
        let variables = VariableSource::Row(variables);
        Evaluator::new(variables, evaluation, scratch).evaluate_whole(&self.root)
    }

    /// Whether it draws random numbers, so that its value differs from time to time.
    pub fn is_random(&self) -> bool {
        self.root.is_random()
    }
    /// The variables that it reads, each once, in ascending order.
    pub fn list_slots(&self) -> Vec<Slot> {
        let mut slots = Vec::new();
        self.root.visit_nodes(&mut |node| {
            if let ExpressionNode::Variable(slot) = node {
                slots.push(*slot);
            }
        });
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    /// The tables whose keys it takes.
    pub fn list_tables(&self) -> Vec<usize> {
        let mut tables = Vec::new();
        self.root.visit_nodes(&mut |node| {
            if let ExpressionNode::Reference(reference) = node {
                tables.push(reference.table);
            }
        });
        tables
    }

    /// What `null(0.1, value)` gives besides nulls, if that is the whole.
    pub(crate) fn find_nullable_part(&self) -> Option<&ExpressionNode> {
        match &self.root {
            ExpressionNode::NullShare(pair) => Some(&pair[1]),
            _ => None,
        }
    }

    pub(crate) fn root(&self) -> &ExpressionNode {
        &self.root
    }
}
