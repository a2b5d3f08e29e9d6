//! The least and the greatest integer that an expression gives over all rows of a table.

use std::fmt;

use super::group_digits;
use super::spread::{ROW, ROWS};
use crate::expression::{BinaryOperator, ExpressionFunction, ExpressionNode, Operand};

/// Integers from `low` to `high`, both of which may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueRange {
    pub low: i64,
    pub high: i64,
    /// Each integer between them may come, too.
    pub is_whole: bool,
}

impl ValueRange {
    fn of_one(value: i64) -> Self {
        Self { low: value, high: value, is_whole: true }
    }

    /// Its only value.
    fn only(self) -> Option<i64> {
        (self.low == self.high).then_some(self.low)
    }

    pub fn lies_in(self, other: Self) -> bool {
        other.low <= self.low && self.high <= other.high
    }

    /// Each value becomes another, in the same or in the reverse order.
    fn map(self, is_whole: bool, to: impl Fn(i64) -> Option<i64>) -> Option<Self> {
        let (one, other) = (to(self.low)?, to(self.high)?);
        Some(Self { low: one.min(other), high: one.max(other), is_whole })
    }
}

impl fmt::Display for ValueRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.only() {
            Some(value) => formatter.write_str(&group_digits(value)),
            None => write!(formatter, "{} to {}", group_digits(self.low), group_digits(self.high)),
        }
    }
}

/// The range of an expression over so many rows, at least one, at a scale. `None` where its bounds
/// aren't known, or may not be reached.
pub fn find_range(node: &ExpressionNode, [rows, scale]: [i64; 2]) -> Option<ValueRange> {
    let range = |node: &ExpressionNode| find_range(node, [rows, scale]);
    match node {
        ExpressionNode::Constant(Operand::Int(int)) => Some(ValueRange::of_one(*int)),
        ExpressionNode::Variable(ROW) => {
            Some(ValueRange { low: 0, high: rows - 1, is_whole: true })
        }
        ExpressionNode::Variable(ROWS) => Some(ValueRange::of_one(rows)),
        ExpressionNode::Variable(_) => Some(ValueRange::of_one(scale)),
        ExpressionNode::Binary(operator, pair) => {
            combine_ranges(*operator, range(&pair[0])?, range(&pair[1])?)
        }
        ExpressionNode::Call(function, arguments) => {
            find_range_of_call(*function, arguments, rows, &range)
        }
        ExpressionNode::Pick(pick) => span_bounds(&pick.bounds[0], &pick.bounds[1], &range),
        _ => None,
    }
}

/// One of the two has one value: else the bounds may not come together.
fn combine_ranges(
    operator: BinaryOperator,
    left: ValueRange,
    right: ValueRange,
) -> Option<ValueRange> {
    use BinaryOperator::{Add, Divide, Multiply, Remainder, Subtract};
    match (operator, left.only(), right.only()) {
        (Add, _, Some(more)) => left.map(left.is_whole, |value| value.checked_add(more)),
        (Add, Some(more), _) => right.map(right.is_whole, |value| value.checked_add(more)),
        (Subtract, _, Some(less)) => left.map(left.is_whole, |value| value.checked_sub(less)),
        (Subtract, Some(from), _) => right.map(right.is_whole, |value| from.checked_sub(value)),
        (Multiply, _, Some(times)) => {
            left.map(left.is_whole && times.abs() == 1, |value| value.checked_mul(times))
        }
        (Multiply, Some(times), _) => {
            right.map(right.is_whole && times.abs() == 1, |value| value.checked_mul(times))
        }
        (Divide, _, Some(by @ 1..)) => left.map(left.is_whole, |value| value.checked_div(by)),
        (Remainder, _, Some(by @ 1..)) if left.low >= 0 && left.is_whole => {
            match left.high - left.low + 1 >= by {
                true => Some(ValueRange { low: 0, high: by - 1, is_whole: true }),
                false if left.high < by => Some(left),
                false => None,
            }
        }
        _ => None,
    }
}

fn find_range_of_call(
    function: ExpressionFunction,
    arguments: &[ExpressionNode],
    rows: i64,
    range: &dyn Fn(&ExpressionNode) -> Option<ValueRange>,
) -> Option<ValueRange> {
    use ExpressionFunction as F;
    match (function, arguments) {
        (
            F::Random | F::RandomExponential | F::RandomGaussian | F::RandomZipfian,
            [low, high, ..],
        ) => span_bounds(low, high, range),
        (F::Int, [value]) => range(value),
        (F::Permute, [ExpressionNode::Variable(ROW), size, _]) => {
            let size = range(size)?.only().filter(|size| *size == rows)?;
            Some(ValueRange { low: 0, high: size - 1, is_whole: true })
        }
        _ => None,
    }
}

fn span_bounds(
    low: &ExpressionNode,
    high: &ExpressionNode,
    range: &dyn Fn(&ExpressionNode) -> Option<ValueRange>,
) -> Option<ValueRange> {
    let (low, high) = (range(low)?.only()?, range(high)?.only()?);
    (low <= high).then_some(ValueRange { low, high, is_whole: true })
}
