//! Operators on two values, by pgbench's rules: doubles if one is a double, else integers.

use std::cmp::Ordering;

use super::EvaluationError;
use super::calendar::{add_days, add_micros, convert_seconds, round_seconds, subtract_times};
use super::operand::Operand;
use super::tree::BinaryOperator;

/// The result for two values that aren't null. Text is in `scratch`.
pub fn apply_operator(
    operator: BinaryOperator,
    [left, right]: [Operand; 2],
    scratch: &str,
) -> Result<Operand, EvaluationError> {
    use BinaryOperator::{Equal, Less, LessOrEqual, Unequal};
    if let Some(result) = apply_temporal(operator, left, right) {
        return result;
    }
    if let (Operand::Text(one), Operand::Text(other), Equal | Unequal | Less | LessOrEqual) =
        (left, right, operator)
    {
        let order = scratch[one.start..one.end].cmp(&scratch[other.start..other.end]);
        return Ok(Operand::Bool(holds_for(operator, Some(order))));
    }
    let (left, right) = (left.read_number(scratch), right.read_number(scratch));
    let is_real = matches!((left, right), (Operand::Real(_), _) | (_, Operand::Real(_)));
    match is_real && !needs_ints(operator) {
        true => Ok(apply_to_reals(operator, left.to_real()?, right.to_real()?)),
        false => apply_to_ints(operator, left.to_int()?, right.to_int()?),
    }
}

fn needs_ints(operator: BinaryOperator) -> bool {
    use BinaryOperator as B;
    matches!(
        operator,
        B::Remainder | B::BitAnd | B::BitOr | B::BitXor | B::ShiftLeft | B::ShiftRight
    )
}

/// Whether a comparison holds; `None` is the order of what isn't a number.
fn holds_for(operator: BinaryOperator, order: Option<Ordering>) -> bool {
    match operator {
        BinaryOperator::Equal => order == Some(Ordering::Equal),
        BinaryOperator::Unequal => order != Some(Ordering::Equal),
        BinaryOperator::Less => order == Some(Ordering::Less),
        _ => matches!(order, Some(Ordering::Less | Ordering::Equal)),
    }
}

fn apply_to_reals(operator: BinaryOperator, left: f64, right: f64) -> Operand {
    match operator {
        BinaryOperator::Add => Operand::Real(left + right),
        BinaryOperator::Subtract => Operand::Real(left - right),
        BinaryOperator::Multiply => Operand::Real(left * right),
        BinaryOperator::Divide => Operand::Real(left / right),
        _ => Operand::Bool(holds_for(operator, left.partial_cmp(&right))),
    }
}

/// Overflow is an error.
pub fn apply_to_ints(
    operator: BinaryOperator,
    left: i64,
    right: i64,
) -> Result<Operand, EvaluationError> {
    use BinaryOperator as B;
    let (name, result) = match operator {
        B::Add => ("add", left.checked_add(right)),
        B::Subtract => ("sub", left.checked_sub(right)),
        B::Multiply => ("mul", left.checked_mul(right)),
        B::Divide | B::Remainder if right == 0 => {
            return Err(EvaluationError::new("division by zero"));
        }
        B::Divide => ("div", left.checked_div(right)),
        B::Remainder => ("mod", Some(left.wrapping_rem(right))),
        B::BitAnd => ("and", Some(left & right)),
        B::BitOr => ("or", Some(left | right)),
        B::BitXor => ("xor", Some(left ^ right)),
        // As processors do it: by the lowest six bits.
        B::ShiftLeft => ("shift", Some(left.wrapping_shl(right as u32))),
        B::ShiftRight => ("shift", Some(left.wrapping_shr(right as u32))),
        B::Equal | B::Unequal | B::Less | B::LessOrEqual => {
            return Ok(Operand::Bool(holds_for(operator, Some(left.cmp(&right)))));
        }
    };
    let overflow = || EvaluationError::new(format!("bigint {name} out of range"));
    result.map(Operand::Int).ok_or_else(overflow)
}

/// Days are added to dates and seconds to timestamps; two of a kind are compared or subtracted.
/// `None` if neither is a date or a timestamp.
fn apply_temporal(
    operator: BinaryOperator,
    left: Operand,
    right: Operand,
) -> Option<Result<Operand, EvaluationError>> {
    use BinaryOperator::{Add, Equal, Less, LessOrEqual, Subtract, Unequal};
    let is_temporal = |operand| matches!(operand, Operand::Date(_) | Operand::Timestamp(_));
    if !is_temporal(left) && !is_temporal(right) {
        return None;
    }
    Some(match (operator, left, right) {
        (Add, temporal, amount) if !is_temporal(amount) => add_to_temporal(temporal, amount, 1),
        (Add, amount, temporal) if !is_temporal(amount) => add_to_temporal(temporal, amount, 1),
        (Subtract, temporal, amount) if !is_temporal(amount) => {
            add_to_temporal(temporal, amount, -1)
        }
        (Subtract, Operand::Date(one), Operand::Date(other)) => Ok(Operand::Int(one - other)),
        (Subtract, Operand::Timestamp(one), Operand::Timestamp(other)) => {
            Ok(Operand::Real(subtract_times(one, other)))
        }
        (Equal | Unequal | Less | LessOrEqual, Operand::Date(one), Operand::Date(other))
        | (
            Equal | Unequal | Less | LessOrEqual,
            Operand::Timestamp(one),
            Operand::Timestamp(other),
        ) => Ok(Operand::Bool(holds_for(operator, Some(one.cmp(&other))))),
        _ => Err(EvaluationError::new(format!(
            "this operator can't take {} and {}; days are added to a date, seconds to a timestamp",
            left.name_kind(),
            right.name_kind()
        ))),
    })
}

fn add_to_temporal(
    temporal: Operand,
    amount: Operand,
    sign: i64,
) -> Result<Operand, EvaluationError> {
    match (temporal, amount) {
        (Operand::Date(day), amount) => {
            add_days(day, amount.to_int()?.saturating_mul(sign)).map(Operand::Date)
        }
        (Operand::Timestamp(time), Operand::Real(seconds)) => {
            add_micros(time, round_seconds(seconds * sign as f64)).map(Operand::Timestamp)
        }
        (Operand::Timestamp(time), amount) => {
            let micros = convert_seconds(amount.to_int()?.saturating_mul(sign));
            add_micros(time, micros).map(Operand::Timestamp)
        }
        (other, _) => Err(other.refuse_as("date")),
    }
}
