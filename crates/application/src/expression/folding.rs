//! What is constant is evaluated once, when it is read.

use std::sync::LazyLock;

use bakeoff_workloads::{TextSource, seed_stream};

use super::evaluator::{Evaluator, VariableSource};
use super::operand::Operand;
use super::tree::ExpressionNode;
use super::{Evaluation, EvaluationError, RowKeys};
use crate::{Datum, Slots};

/// Whether all that a node is made of is constant, and needs neither rows nor text.
pub fn has_constant_parts(node: &ExpressionNode) -> bool {
    let mut constant = true;
    node.visit_nodes(&mut |part| {
        constant &= !matches!(
            part,
            ExpressionNode::Variable(_)
                | ExpressionNode::DefaultSeed
                | ExpressionNode::Reference(_)
        );
    });
    constant
}

/// For expressions that take no rows.
struct NoRows;

impl RowKeys for NoRows {
    fn count_rows(&self, _: usize) -> i64 {
        0
    }

    fn write_key<'t>(
        &self,
        _: usize,
        _: i64,
        _: &'t mut String,
    ) -> Result<Datum<'t>, EvaluationError> {
        Ok(Datum::Null)
    }
}

static SHORT_TEXT: LazyLock<TextSource> = LazyLock::new(TextSource::generate_short);

/// The value of a node without variables, as a node.
pub fn evaluate_constant(node: &ExpressionNode) -> Result<ExpressionNode, EvaluationError> {
    let (slots, mut random, mut scratch) = (Slots::new(0), seed_stream(0, 0), String::new());
    let mut evaluation = Evaluation {
        slots: &slots,
        random: &mut random,
        default_seed: 0,
        text: &SHORT_TEXT,
        rows: &NoRows,
    };
    let variables = VariableSource::Slots(&slots);
    let value = Evaluator::new(variables, &mut evaluation, &mut scratch).evaluate_node(node)?;
    Ok(match value {
        Operand::Text(span) => ExpressionNode::Literal(scratch[span.start..span.end].into()),
        constant => ExpressionNode::Constant(constant),
    })
}
