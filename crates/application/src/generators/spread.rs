//! Whether an expression gives each row its own value, as far as that can be proven.

use crate::expression::{BinaryOperator, ExpressionFunction, ExpressionNode, Operand};

/// The slots of a generator's variables.
pub const ROW: usize = 0;
pub const ROWS: usize = 1;

/// How the values of an expression differ from row to row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueSpread {
    /// All rows have the same.
    Same,
    /// Each row has its own.
    Distinct(DistinctValues),
    /// At most so many.
    Few(f64),
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DistinctValues {
    /// Each row's value is greater than those of the rows before.
    pub ascending: bool,
    /// Neighbours differ by one.
    pub consecutive: bool,
    pub form: DistinctForm,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DistinctForm {
    Int,
    Temporal,
    Text,
}

impl DistinctValues {
    pub const UNORDERED: Self =
        Self { ascending: false, consecutive: false, form: DistinctForm::Int };
}

const UNORDERED: DistinctValues = DistinctValues::UNORDERED;

/// How the values of an expression differ over `rows` rows.
pub fn find_spread(node: &ExpressionNode, rows: i64) -> ValueSpread {
    match node {
        ExpressionNode::Constant(_) | ExpressionNode::Literal(_) | ExpressionNode::DefaultSeed => {
            ValueSpread::Same
        }
        ExpressionNode::Variable(ROW) => ValueSpread::Distinct(DistinctValues {
            ascending: true,
            consecutive: true,
            form: DistinctForm::Int,
        }),
        ExpressionNode::Variable(_) => ValueSpread::Same,
        ExpressionNode::Binary(operator, pair) => find_spread_of_pair(*operator, pair, rows),
        ExpressionNode::Call(function, arguments) => {
            find_spread_of_call(*function, arguments, rows)
        }
        ExpressionNode::Text(parts) => find_spread_of_text(parts, rows),
        ExpressionNode::Choose(choice)
            if choice.values.iter().all(|value| find_spread(value, rows) == ValueSpread::Same) =>
        {
            ValueSpread::Few(choice.values.len() as f64)
        }
        ExpressionNode::Pick(pick) => count_range(&pick.bounds[0], &pick.bounds[1]),
        other => find_spread_of_parts(other, rows),
    }
}

/// What is made of nothing that differs is the same.
fn find_spread_of_parts(node: &ExpressionNode, rows: i64) -> ValueSpread {
    let mut differs = node.is_random();
    node.visit_nodes(&mut |part| differs |= matches!(part, ExpressionNode::Variable(ROW)));
    match (differs, rows) {
        (true, 2..) => ValueSpread::Unknown,
        _ => ValueSpread::Same,
    }
}

/// An integer that isn't zero and its sign; `:rows` and `:scale` are above zero where rows are.
fn find_factor(node: &ExpressionNode) -> Option<bool> {
    match node {
        ExpressionNode::Constant(Operand::Int(int)) if *int != 0 => Some(*int > 0),
        ExpressionNode::Variable(slot) if *slot == ROWS => Some(true),
        _ => None,
    }
}

/// Whether to add it keeps integers, dates and timestamps exact.
fn is_exact(node: &ExpressionNode) -> bool {
    match node {
        ExpressionNode::Constant(constant) => {
            matches!(constant, Operand::Int(_) | Operand::Date(_) | Operand::Timestamp(_))
        }
        ExpressionNode::Variable(_) => true,
        ExpressionNode::Binary(_, pair) => pair.iter().all(is_exact),
        ExpressionNode::Call(ExpressionFunction::Date | ExpressionFunction::Timestamp, _) => true,
        _ => false,
    }
}

fn find_spread_of_pair(
    operator: BinaryOperator,
    [left, right]: &[ExpressionNode; 2],
    rows: i64,
) -> ValueSpread {
    let (distinct, other, is_left) = match (find_spread(left, rows), find_spread(right, rows)) {
        (ValueSpread::Same, ValueSpread::Same) => return ValueSpread::Same,
        (ValueSpread::Distinct(distinct), ValueSpread::Same) => (distinct, right, true),
        (ValueSpread::Same, ValueSpread::Distinct(distinct)) => (distinct, left, false),
        _ => return ValueSpread::Unknown,
    };
    if distinct.form == DistinctForm::Text {
        return ValueSpread::Unknown;
    }
    match operator {
        BinaryOperator::Add | BinaryOperator::Subtract if is_exact(other) => {
            let turned = operator == BinaryOperator::Subtract && !is_left;
            ValueSpread::Distinct(move_values(distinct, other, operator, turned))
        }
        BinaryOperator::Multiply => match find_factor(other) {
            Some(positive) => ValueSpread::Distinct(DistinctValues {
                ascending: distinct.ascending && positive,
                consecutive: false,
                form: distinct.form,
            }),
            None => ValueSpread::Unknown,
        },
        BinaryOperator::BitXor if is_exact(other) => ValueSpread::Distinct(UNORDERED),
        BinaryOperator::Remainder if is_left => match other {
            ExpressionNode::Constant(Operand::Int(size)) => {
                ValueSpread::Few(size.unsigned_abs() as f64)
            }
            _ => ValueSpread::Unknown,
        },
        _ => ValueSpread::Unknown,
    }
}

/// Distinct values, to or from which the same is added or subtracted.
fn move_values(
    distinct: DistinctValues,
    other: &ExpressionNode,
    operator: BinaryOperator,
    turned: bool,
) -> DistinctValues {
    let is_temporal = distinct.form == DistinctForm::Temporal || makes_temporal(other);
    // A negative value isn't the neighbour of zero in a permutation.
    let stays_positive = operator == BinaryOperator::Add
        && match other {
            ExpressionNode::Constant(Operand::Int(int)) => *int >= 0,
            ExpressionNode::Variable(slot) => *slot == ROWS,
            _ => false,
        };
    DistinctValues {
        ascending: distinct.ascending && !turned,
        consecutive: distinct.consecutive && stays_positive,
        form: if is_temporal { DistinctForm::Temporal } else { distinct.form },
    }
}

fn makes_temporal(node: &ExpressionNode) -> bool {
    let mut found = false;
    node.visit_nodes(&mut |part| {
        found |= matches!(part, ExpressionNode::Constant(Operand::Date(_) | Operand::Timestamp(_)));
    });
    found
}

fn find_spread_of_call(
    function: ExpressionFunction,
    arguments: &[ExpressionNode],
    rows: i64,
) -> ValueSpread {
    use ExpressionFunction as F;
    // Once each: the tree may be deep.
    let spreads: Vec<ValueSpread> = arguments.iter().map(|node| find_spread(node, rows)).collect();
    match (function, arguments, &spreads[..]) {
        (F::Uuid, ..) => {
            ValueSpread::Distinct(DistinctValues { form: DistinctForm::Text, ..UNORDERED })
        }
        (F::Permute, [_, size, _], [value, _, ValueSpread::Same]) => {
            find_spread_of_permutation(*value, size, rows)
        }
        // Each of its steps is a bijection of 64 bits.
        (F::HashMurmur2, _, [value, ValueSpread::Same]) => keep_if_int(*value, UNORDERED),
        (F::Int, _, [ValueSpread::Distinct(distinct)]) => {
            keep_if_int(ValueSpread::Distinct(*distinct), *distinct)
        }
        (F::Digits, [ExpressionNode::Literal(pattern)], _) => {
            ValueSpread::Few(10f64.powi(pattern.matches('#').count() as i32))
        }
        (
            F::Random | F::RandomExponential | F::RandomGaussian | F::RandomZipfian,
            [low, high, ..],
            _,
        ) => count_range(low, high),
        _ if function.is_random() => ValueSpread::Unknown,
        (.., spreads) => match spreads.iter().all(|spread| *spread == ValueSpread::Same) {
            true => ValueSpread::Same,
            false => ValueSpread::Unknown,
        },
    }
}

/// Distinct integers become these; what isn't distinct stays as it is.
fn keep_if_int(spread: ValueSpread, becomes: DistinctValues) -> ValueSpread {
    match spread {
        ValueSpread::Distinct(distinct) if distinct.form == DistinctForm::Int => {
            ValueSpread::Distinct(becomes)
        }
        ValueSpread::Distinct(_) => ValueSpread::Unknown,
        other => other,
    }
}

/// Rows one behind the other stay different modulo what is at least as many as they are.
fn find_spread_of_permutation(value: ValueSpread, size: &ExpressionNode, rows: i64) -> ValueSpread {
    let size = match size {
        ExpressionNode::Variable(ROWS) => rows,
        ExpressionNode::Constant(Operand::Int(size)) => *size,
        _ => return ValueSpread::Unknown,
    };
    match value {
        ValueSpread::Distinct(DistinctValues {
            consecutive: true,
            form: DistinctForm::Int,
            ..
        }) if size >= rows => ValueSpread::Distinct(UNORDERED),
        ValueSpread::Same => ValueSpread::Same,
        _ if size < rows => ValueSpread::Few(size as f64),
        _ => ValueSpread::Unknown,
    }
}

fn count_range(low: &ExpressionNode, high: &ExpressionNode) -> ValueSpread {
    match (low, high) {
        (
            ExpressionNode::Constant(Operand::Int(low)),
            ExpressionNode::Constant(Operand::Int(high)),
        ) => ValueSpread::Few(high.saturating_sub(*low) as f64 + 1.0),
        _ => ValueSpread::Unknown,
    }
}

/// One part has to differ from row to row, and it has to be found again in the whole.
fn find_spread_of_text(parts: &[ExpressionNode], rows: i64) -> ValueSpread {
    let spreads: Vec<ValueSpread> = parts.iter().map(|part| find_spread(part, rows)).collect();
    let is_same = |spread: &ValueSpread| *spread == ValueSpread::Same;
    let mut found = spreads.iter().enumerate().filter_map(|(at, spread)| match spread {
        ValueSpread::Distinct(distinct) => Some((at, *distinct)),
        _ => None,
    });
    let Some((at, distinct)) = found.next() else { return count_combinations(&spreads) };
    let (before, after) = (&spreads[..at], &spreads[at + 1..]);
    let is_int = distinct.form == DistinctForm::Int;
    let closed_before = is_int && at > 0 && ends_number(&parts[at - 1], false);
    let closed_after = is_int && parts.get(at + 1).is_some_and(|part| ends_number(part, true));
    let is_found = match (before.iter().all(is_same), after.iter().all(is_same)) {
        (true, true) => true,
        (false, true) => closed_before,
        (true, false) => closed_after,
        (false, false) => false,
    };
    match is_found {
        true => ValueSpread::Distinct(DistinctValues { form: DistinctForm::Text, ..UNORDERED }),
        false => ValueSpread::Unknown,
    }
}

fn count_combinations(spreads: &[ValueSpread]) -> ValueSpread {
    let counts = spreads.iter().map(|spread| match spread {
        ValueSpread::Same => Some(1.0),
        ValueSpread::Few(count) => Some(*count),
        ValueSpread::Distinct(_) | ValueSpread::Unknown => None,
    });
    match counts.product::<Option<f64>>() {
        None => ValueSpread::Unknown,
        Some(1.0) => ValueSpread::Same,
        Some(count) => ValueSpread::Few(count),
    }
}

/// Whether a number ends at this text: beside it stands no digit and no minus.
fn ends_number(node: &ExpressionNode, is_behind: bool) -> bool {
    let ExpressionNode::Literal(text) = node else { return false };
    let nearest = if is_behind { text.chars().next() } else { text.chars().next_back() };
    nearest.is_some_and(|nearest| !nearest.is_ascii_digit() && nearest != '-')
}

/// Whether two expressions are the quotient and the remainder of the row by the same number: then
/// no two rows agree in both. Constants may be added.
pub fn splits_row(quotient: &ExpressionNode, remainder: &ExpressionNode) -> bool {
    let divisor = |node, wanted| match strip_constants(node) {
        ExpressionNode::Binary(operator, pair) if *operator == wanted => match &**pair {
            [ExpressionNode::Variable(ROW), ExpressionNode::Constant(Operand::Int(size))] => {
                Some(*size)
            }
            _ => None,
        },
        _ => None,
    };
    let size = divisor(quotient, BinaryOperator::Divide);
    size.is_some_and(|size| size > 0) && size == divisor(remainder, BinaryOperator::Remainder)
}

fn strip_constants(node: &ExpressionNode) -> &ExpressionNode {
    match node {
        ExpressionNode::Binary(BinaryOperator::Add | BinaryOperator::Subtract, pair) => {
            match &**pair {
                [inner, ExpressionNode::Constant(Operand::Int(_))] => strip_constants(inner),
                _ => node,
            }
        }
        _ => node,
    }
}
