//! Evaluates a tree. All texts are appended to one scratch text.

use std::fmt::Write;

use bakeoff_workloads::{TextSource, WorkloadRandom};
use rand::RngExt;

use super::arithmetic::{apply_operator, apply_to_ints};
use super::calendar::{parse_day, parse_timestamp, write_date, write_timestamp};
use super::draws::{draw_exponential, draw_gaussian, draw_zipfian};
use super::functions::{ExpressionFunction, MOST_ARGUMENTS};
use super::hashes::{hash_fnv1a, hash_murmur2, permute_value};
use super::made_bytes::{DrawnBytes, OpaqueBytes};
use super::made_text::{round_decimal, write_pattern, write_uuid, write_words};
use super::operand::{Operand, TextSpan};
use super::tree::{
    BinaryOperator, ExpressionNode, KeyPick, KeyReference, TruthTest, WeightedChoice, check_range,
};
use super::{Evaluation, EvaluationError, RowKeys};
use crate::{Datum, Slot, Slots};

/// Where variables have their values.
pub enum VariableSource<'a> {
    Slots(&'a Slots),
    Row(RowVariables),
}

/// The variables of a generated row, by slot: `:row`, `:rows`, `:scale`.
#[derive(Clone, Copy, Debug)]
pub struct RowVariables(pub [i64; 3]);

pub struct Evaluator<'e> {
    variables: VariableSource<'e>,
    random: &'e mut WorkloadRandom,
    default_seed: i64,
    source: &'e TextSource,
    rows: &'e dyn RowKeys,
    scratch: &'e mut String,
}

type Evaluated = Result<Operand, EvaluationError>;

impl<'e> Evaluator<'e> {
    pub fn new(
        variables: VariableSource<'e>,
        evaluation: &'e mut Evaluation<'_>,
        scratch: &'e mut String,
    ) -> Self {
        Self {
            variables,
            random: evaluation.random,
            default_seed: evaluation.default_seed,
            source: evaluation.text,
            rows: evaluation.rows,
            scratch,
        }
    }

    /// The value; a date or a timestamp as text.
    pub fn evaluate_whole(mut self, node: &ExpressionNode) -> Evaluated {
        let operand = self.evaluate_node(node)?;
        Ok(self.write_temporal(operand))
    }

    /// The value as it goes on.
    pub fn evaluate_node(&mut self, node: &ExpressionNode) -> Evaluated {
        match node {
            ExpressionNode::Constant(constant) => Ok(*constant),
            ExpressionNode::Literal(text) => Ok(self.push_text(text)),
            ExpressionNode::Variable(slot) => Ok(self.read_variable(*slot)),
            ExpressionNode::DefaultSeed => Ok(Operand::Int(self.default_seed)),
            ExpressionNode::Not(inner) => match self.evaluate_truth(inner)? {
                Operand::Null => Ok(Operand::Null),
                value => Ok(Operand::Bool(!value.to_bool()?)),
            },
            ExpressionNode::And(pair) => self.evaluate_logic(pair, false),
            ExpressionNode::Or(pair) => self.evaluate_logic(pair, true),
            ExpressionNode::Is(inner, test) => self.test_truth(inner, *test),
            ExpressionNode::Binary(operator, pair) => self.evaluate_binary(*operator, pair),
            ExpressionNode::Case(branches, otherwise) => self.choose_branch(branches, otherwise),
            ExpressionNode::Call(function, arguments) => self.call_function(*function, arguments),
            ExpressionNode::Text(parts) => self.join_texts(parts),
            ExpressionNode::Choose(choice) => self.choose_value(choice),
            ExpressionNode::NullShare(pair) => self.draw_null(pair),
            ExpressionNode::Reference(reference) => self.draw_key(reference),
            ExpressionNode::Pick(pick) => self.pick_integer(pick),
        }
    }

    fn push_text(&mut self, text: &str) -> Operand {
        let start = self.scratch.len();
        self.scratch.push_str(text);
        Operand::Text(TextSpan { start, end: self.scratch.len() })
    }

    /// The text that was appended from `start` on.
    fn take_text(&self, start: usize) -> Operand {
        Operand::Text(TextSpan { start, end: self.scratch.len() })
    }

    fn read_variable(&mut self, slot: Slot) -> Operand {
        let slots = match self.variables {
            VariableSource::Slots(slots) => slots,
            VariableSource::Row(RowVariables(values)) => return Operand::Int(values[slot]),
        };
        match slots.get(slot) {
            Datum::Null => Operand::Null,
            Datum::Bool(bool) => Operand::Bool(bool),
            Datum::Int(int) => Operand::Int(int),
            Datum::Real(real) => Operand::Real(real),
            Datum::Text(text) => self.push_text(text),
            Datum::Bytes(_) => Operand::Bytes(OpaqueBytes::Variable(slot)),
        }
    }

    /// AND and OR: the first value that is `decisive` decides, and so does a null.
    fn evaluate_logic(&mut self, pair: &[ExpressionNode; 2], decisive: bool) -> Evaluated {
        for node in pair {
            match self.evaluate_truth(node)? {
                Operand::Null => return Ok(Operand::Null),
                value if value.to_bool()? == decisive => return Ok(Operand::Bool(decisive)),
                _ => {}
            }
        }
        Ok(Operand::Bool(!decisive))
    }

    /// A value where a truth value is wanted. Engines answer a BOOLEAN as 0 or 1; a constant 1 is none,
    /// as in pgbench.
    fn evaluate_truth(&mut self, node: &ExpressionNode) -> Evaluated {
        let value = self.evaluate_node(node)?;
        Ok(match (node, value) {
            (ExpressionNode::Variable(_), Operand::Int(int @ (0 | 1))) => Operand::Bool(int == 1),
            _ => value,
        })
    }

    /// As in pgbench, 1 is not TRUE.
    fn test_truth(&mut self, inner: &ExpressionNode, test: TruthTest) -> Evaluated {
        let wanted = test.wanted.map_or(Operand::Null, Operand::Bool);
        Ok(Operand::Bool((self.evaluate_truth(inner)? == wanted) != test.negated))
    }

    fn evaluate_binary(
        &mut self,
        operator: BinaryOperator,
        [left, right]: &[ExpressionNode; 2],
    ) -> Evaluated {
        let is_variable = [left, right].map(|node| matches!(node, ExpressionNode::Variable(_)));
        let is_equality = matches!(operator, BinaryOperator::Equal | BinaryOperator::Unequal);
        let (left, right) = (self.evaluate_node(left)?, self.evaluate_node(right)?);
        match (left, right) {
            (Operand::Int(left), Operand::Int(right)) => apply_to_ints(operator, left, right),
            // As in `evaluate_truth`.
            (Operand::Int(int), Operand::Bool(truth)) if is_equality && is_variable[0] => {
                apply_to_ints(operator, int, truth.into())
            }
            (Operand::Bool(truth), Operand::Int(int)) if is_equality && is_variable[1] => {
                apply_to_ints(operator, truth.into(), int)
            }
            (Operand::Null, _) | (_, Operand::Null) => Ok(Operand::Null),
            (left, right) => apply_operator(operator, [left, right], self.scratch),
        }
    }

    fn choose_branch(
        &mut self,
        branches: &[[ExpressionNode; 2]],
        otherwise: &ExpressionNode,
    ) -> Evaluated {
        for [condition, value] in branches {
            if self.evaluate_node(condition)?.is_true() {
                return self.evaluate_node(value);
            }
        }
        self.evaluate_node(otherwise)
    }

    fn call_function(
        &mut self,
        function: ExpressionFunction,
        nodes: &[ExpressionNode],
    ) -> Evaluated {
        match nodes {
            [] => Ok(self.call_without_arguments(function)),
            [one] => {
                let value = self.evaluate_node(one)?;
                if let Operand::Text(span) = value
                    && let Some(result) = self.call_on_text(function, span)
                {
                    return result;
                }
                match value.read_number(self.scratch) {
                    Operand::Null => Ok(Operand::Null),
                    number => call_on_number(function, number),
                }
            }
            [one, other] => match self.evaluate_pair(one, other)? {
                (Operand::Null, _) | (_, Operand::Null) => Ok(Operand::Null),
                (one, other) => self.call_on_pair(function, one, other),
            },
            [one, two, three] => {
                let (one, two) = self.evaluate_pair(one, two)?;
                let three = self.evaluate_node(three)?.read_number(self.scratch);
                match [one, two, three] {
                    numbers if numbers.contains(&Operand::Null) => Ok(Operand::Null),
                    numbers => self.call_on_three(function, numbers),
                }
            }
            nodes => self.find_extremum_of(function, nodes),
        }
    }

    /// Two values, as numbers if they look like some.
    fn evaluate_pair(
        &mut self,
        one: &ExpressionNode,
        other: &ExpressionNode,
    ) -> Result<(Operand, Operand), EvaluationError> {
        let (one, other) = (self.evaluate_node(one)?, self.evaluate_node(other)?);
        Ok((one.read_number(self.scratch), other.read_number(self.scratch)))
    }

    fn call_on_three(&mut self, function: ExpressionFunction, numbers: [Operand; 3]) -> Evaluated {
        let [one, two, three] = numbers;
        match function {
            ExpressionFunction::Permute => {
                permute_checked(one.to_int()?, two.to_int()?, three.to_int()?)
            }
            function if function.is_random() => {
                self.draw_number(function, [one.to_int()?, two.to_int()?], three.to_real()?)
            }
            _ => find_extremum(function, &numbers),
        }
    }

    /// LEAST and GREATEST alone take more than three.
    fn find_extremum_of(
        &mut self,
        function: ExpressionFunction,
        nodes: &[ExpressionNode],
    ) -> Evaluated {
        let mut values = [Operand::Null; MOST_ARGUMENTS];
        let values = &mut values[..nodes.len()];
        for (value, node) in values.iter_mut().zip(nodes) {
            *value = self.evaluate_node(node)?.read_number(self.scratch);
        }
        match values.contains(&Operand::Null) {
            true => Ok(Operand::Null),
            false => find_extremum(function, values),
        }
    }

    /// Functions of a text; `None` for all others.
    fn call_on_text(&mut self, function: ExpressionFunction, span: TextSpan) -> Option<Evaluated> {
        let text = &self.scratch[span.start..span.end];
        match function {
            ExpressionFunction::Date => Some(parse_day(text).map(Operand::Date)),
            ExpressionFunction::Timestamp => Some(parse_timestamp(text).map(Operand::Timestamp)),
            ExpressionFunction::Digits => {
                let start = self.scratch.len();
                write_pattern(self.random, span, self.scratch);
                Some(Ok(self.take_text(start)))
            }
            _ => None,
        }
    }

    fn call_without_arguments(&mut self, function: ExpressionFunction) -> Operand {
        if function == ExpressionFunction::Pi {
            return Operand::Real(std::f64::consts::PI);
        }
        let start = self.scratch.len();
        write_uuid(self.random, self.scratch);
        self.take_text(start)
    }

    fn call_on_pair(
        &mut self,
        function: ExpressionFunction,
        one: Operand,
        other: Operand,
    ) -> Evaluated {
        use ExpressionFunction as F;
        match function {
            F::Power => Ok(Operand::Real(one.to_real()?.powf(other.to_real()?))),
            F::HashFnv1a => Ok(Operand::Int(hash_fnv1a(one.to_int()?, other.to_int()?))),
            F::HashMurmur2 => Ok(Operand::Int(hash_murmur2(one.to_int()?, other.to_int()?))),
            F::Decimal => round_decimal(one, other.to_int()?),
            F::Random => self.draw_number(function, [one.to_int()?, other.to_int()?], 0.0),
            F::Bytes => {
                let bounds = [one.to_int()?, other.to_int()?];
                Ok(Operand::Bytes(OpaqueBytes::Drawn(DrawnBytes::draw(self.random, bounds)?)))
            }
            F::Words => {
                let (start, bounds) = (self.scratch.len(), [one.to_int()?, other.to_int()?]);
                write_words(self.random, self.source, bounds, self.scratch)?;
                Ok(self.take_text(start))
            }
            _ => find_extremum(function, &[one, other]),
        }
    }

    fn draw_number(
        &mut self,
        function: ExpressionFunction,
        bounds: [i64; 2],
        parameter: f64,
    ) -> Evaluated {
        let [low, high] = bounds;
        check_range(low, high)?;
        let drawn = match function {
            ExpressionFunction::RandomExponential => {
                draw_exponential(self.random, bounds, parameter)?
            }
            ExpressionFunction::RandomGaussian => draw_gaussian(self.random, bounds, parameter)?,
            ExpressionFunction::RandomZipfian => draw_zipfian(self.random, bounds, parameter)?,
            _ => self.random.random_range(low..=high),
        };
        Ok(Operand::Int(drawn))
    }

    /// A null makes all of it null.
    fn join_texts(&mut self, parts: &[ExpressionNode]) -> Evaluated {
        let mut joined: Option<TextSpan> = None;
        for part in parts {
            let value = self.evaluate_node(part)?;
            if value == Operand::Null {
                return Ok(Operand::Null);
            }
            if let Operand::Bytes(_) = value {
                return Err(value.refuse_as("text"));
            }
            let span = self.write_text(value);
            joined = Some(self.append_span(joined, span));
        }
        Ok(joined.map_or(Operand::Null, Operand::Text))
    }

    /// Joins two texts. What lies between them goes.
    fn append_span(&mut self, first: Option<TextSpan>, second: TextSpan) -> TextSpan {
        let Some(first) = first else { return second };
        if first.end == second.start {
            return TextSpan { start: first.start, end: second.end };
        }
        if first.end < second.start && second.end == self.scratch.len() {
            self.scratch.drain(first.end..second.start);
            return TextSpan { start: first.start, end: self.scratch.len() };
        }
        let start = self.scratch.len();
        self.scratch.extend_from_within(first.start..first.end);
        self.scratch.extend_from_within(second.start..second.end);
        TextSpan { start, end: self.scratch.len() }
    }

    /// Appends a value as text, if it is none.
    fn write_text(&mut self, value: Operand) -> TextSpan {
        let start = self.scratch.len();
        let _ = match self.write_temporal(value) {
            Operand::Text(span) => return span,
            Operand::Int(int) => write!(self.scratch, "{int}"),
            Operand::Bool(bool) => write!(self.scratch, "{bool}"),
            Operand::Real(real) => write!(self.scratch, "{}", Datum::Real(real)),
            Operand::Null | Operand::Bytes(_) | Operand::Date(_) | Operand::Timestamp(_) => Ok(()),
        };
        TextSpan { start, end: self.scratch.len() }
    }

    /// A date or a timestamp becomes text.
    fn write_temporal(&mut self, value: Operand) -> Operand {
        let start = self.scratch.len();
        match value {
            Operand::Date(days) => write_date(days, self.scratch),
            Operand::Timestamp(micros) => write_timestamp(micros, self.scratch),
            other => return other,
        }
        self.take_text(start)
    }

    fn choose_value(&mut self, choice: &WeightedChoice) -> Evaluated {
        let drawn = self.random.random::<f64>() * choice.sums.last().copied().unwrap_or(0.0);
        let place = choice.sums.partition_point(|sum| *sum <= drawn);
        self.evaluate_node(&choice.values[place.min(choice.values.len() - 1)])
    }

    fn draw_null(&mut self, [share, value]: &[ExpressionNode; 2]) -> Evaluated {
        let share = match self.evaluate_node(share)? {
            Operand::Null => return Ok(Operand::Null),
            share => share.read_number(self.scratch).to_real()?,
        };
        if !(0.0..=1.0).contains(&share) {
            let what = format!("null() takes a share from 0 to 1, not {share}");
            return Err(EvaluationError::new(what));
        }
        match self.random.random::<f64>() < share {
            true => Ok(Operand::Null),
            false => self.evaluate_node(value),
        }
    }

    fn draw_key(&mut self, reference: &KeyReference) -> Evaluated {
        let count = self.rows.count_rows(reference.table);
        if count < 1 {
            let what = "ref() takes a key of a table without rows; give it some in [rows]";
            return Err(EvaluationError::new(what));
        }
        let row = reference.sampler.find_sampler(0, count - 1).pick(self.random);
        let (text, length) = match self.rows.write_key(reference.table, row, self.scratch)? {
            Datum::Null => return Ok(Operand::Null),
            Datum::Bool(bool) => return Ok(Operand::Bool(bool)),
            Datum::Int(int) => return Ok(Operand::Int(int)),
            Datum::Real(real) => return Ok(Operand::Real(real)),
            Datum::Text(text) => (text.as_ptr() as usize, text.len()),
            Datum::Bytes(_) => return Err(EvaluationError::new("ref() takes no key of bytes")),
        };
        let start = text.wrapping_sub(self.scratch.as_ptr() as usize);
        match start.checked_add(length).filter(|end| *end <= self.scratch.len()) {
            Some(end) => Ok(Operand::Text(TextSpan { start, end })),
            None => {
                Err(EvaluationError::new("ref() got a key that is no part of the scratch text"))
            }
        }
    }

    fn pick_integer(&mut self, pick: &KeyPick) -> Evaluated {
        let [low, high] = &pick.bounds;
        let (low, high) = match self.evaluate_pair(low, high)? {
            (Operand::Null, _) | (_, Operand::Null) => return Ok(Operand::Null),
            (low, high) => (low.to_int()?, high.to_int()?),
        };
        check_range(low, high)?;
        Ok(Operand::Int(pick.sampler.find_sampler(low, high).pick(self.random)))
    }
}

/// The value as a statement gets it. Of bytes it has none: who takes bytes asks for them before.
pub fn read_datum(operand: Operand, scratch: &str) -> Datum<'_> {
    match operand {
        Operand::Bool(bool) => Datum::Bool(bool),
        Operand::Int(int) => Datum::Int(int),
        Operand::Real(real) => Datum::Real(real),
        Operand::Text(span) => Datum::Text(&scratch[span.start..span.end]),
        Operand::Bytes(_) => Datum::Bytes(&[]),
        Operand::Null | Operand::Date(_) | Operand::Timestamp(_) => Datum::Null,
    }
}

fn call_on_number(function: ExpressionFunction, number: Operand) -> Evaluated {
    use ExpressionFunction as F;
    let real = || number.to_real();
    Ok(match (function, number) {
        (F::Abs, Operand::Int(int)) => {
            let overflow = || EvaluationError::new("bigint abs out of range");
            Operand::Int(int.checked_abs().ok_or_else(overflow)?)
        }
        (F::Abs, _) => Operand::Real(real()?.abs()),
        (F::Double, _) => Operand::Real(real()?),
        (F::Exp, _) => Operand::Real(real()?.exp()),
        (F::Int, _) => Operand::Int(number.to_int()?),
        (F::Ln, _) => Operand::Real(real()?.ln()),
        (F::Sqrt, _) => Operand::Real(real()?.sqrt()),
        (F::Date, Operand::Date(_)) | (F::Timestamp, Operand::Timestamp(_)) => number,
        (F::Date | F::Timestamp | F::Digits, _) => return Err(number.refuse_as("text")),
        _ => return find_extremum(function, &[number]),
    })
}

fn permute_checked(value: i64, size: i64, seed: i64) -> Evaluated {
    match size > 0 {
        true => Ok(Operand::Int(permute_value(value, size, seed))),
        false => Err(EvaluationError::new("permute size parameter must be greater than zero")),
    }
}

/// The least or the greatest: a double if one is a double.
fn find_extremum(function: ExpressionFunction, values: &[Operand]) -> Evaluated {
    let is_least = function == ExpressionFunction::Least;
    if values.iter().any(|value| matches!(value, Operand::Real(_))) {
        let mut extremum = values[0].to_real()?;
        for value in &values[1..] {
            let real = value.to_real()?;
            let is_kept = if is_least { extremum < real } else { extremum > real };
            extremum = if is_kept { extremum } else { real };
        }
        return Ok(Operand::Real(extremum));
    }
    let mut extremum = values[0].to_int()?;
    for value in &values[1..] {
        let int = value.to_int()?;
        extremum = if is_least { extremum.min(int) } else { extremum.max(int) };
    }
    Ok(Operand::Int(extremum))
}
