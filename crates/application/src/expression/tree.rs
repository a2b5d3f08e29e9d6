//! An expression as a tree.

use std::sync::OnceLock;

use bakeoff_workloads::{KeyDistribution, KeySampler};

use super::EvaluationError;
use super::functions::ExpressionFunction;
use super::operand::Operand;
use crate::{Datum, Slot, Slots};

#[derive(Clone, Debug)]
pub enum ExpressionNode {
    /// Never a text.
    Constant(Operand),
    Literal(Box<str>),
    Variable(Slot),
    DefaultSeed,
    Not(Box<ExpressionNode>),
    And(Box<[ExpressionNode; 2]>),
    Or(Box<[ExpressionNode; 2]>),
    Is(Box<ExpressionNode>, TruthTest),
    Binary(BinaryOperator, Box<[ExpressionNode; 2]>),
    /// Conditions with their values, and what stands behind ELSE.
    Case(Vec<[ExpressionNode; 2]>, Box<ExpressionNode>),
    Call(ExpressionFunction, Vec<ExpressionNode>),
    /// The texts of all, joined.
    Text(Vec<ExpressionNode>),
    Choose(Box<WeightedChoice>),
    /// A share of nulls, and the value otherwise.
    NullShare(Box<[ExpressionNode; 2]>),
    Reference(Box<KeyReference>),
    Pick(Box<KeyPick>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOperator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
}

/// What IS asks for.
#[derive(Clone, Copy, Debug)]
pub struct TruthTest {
    /// `None` is null.
    pub wanted: Option<bool>,
    pub negated: bool,
}

#[derive(Clone, Debug)]
pub struct WeightedChoice {
    pub values: Vec<ExpressionNode>,
    /// The sum of the weights up to each value.
    pub sums: Vec<f64>,
}

/// The key of a random row of a table.
#[derive(Clone, Debug)]
pub struct KeyReference {
    pub table: usize,
    pub sampler: CachedSampler,
}

/// A random integer of a range.
#[derive(Clone, Debug)]
pub struct KeyPick {
    pub bounds: [ExpressionNode; 2],
    pub sampler: CachedSampler,
}

/// A sampler that keeps what Zipf's law needs for the first range that it is asked for.
#[derive(Clone, Debug)]
pub struct CachedSampler {
    distribution: KeyDistribution,
    kept: OnceLock<(i64, i64, KeySampler)>,
}

impl CachedSampler {
    pub fn new(distribution: KeyDistribution) -> Self {
        Self { distribution, kept: OnceLock::new() }
    }

    /// The sampler of a range that [`check_range`] has passed.
    pub fn find_sampler(&self, first: i64, last: i64) -> KeySampler {
        let make = || KeySampler::new(self.distribution, first, last);
        let (low, high, sampler) = self.kept.get_or_init(|| (first, last, make()));
        if (*low, *high) == (first, last) { *sampler } else { make() }
    }
}

/// The number of integers of a range has to fit in 64 bits.
pub fn check_range(first: i64, last: i64) -> Result<(), EvaluationError> {
    if first > last {
        return Err(EvaluationError::new(format!(
            "empty range given to random: from {first} to {last}; give the lower bound first"
        )));
    }
    match last.checked_sub(first).and_then(|span| span.checked_add(1)) {
        Some(_) => Ok(()),
        None => Err(EvaluationError::new("random range is too large: it has to fit in 63 bits")),
    }
}

impl ExpressionNode {
    /// The integer that it is, or that its variable has now.
    #[inline]
    pub fn read_int(&self, slots: &Slots) -> Option<i64> {
        match self {
            Self::Constant(Operand::Int(int)) => Some(*int),
            Self::Variable(slot) => match slots.get(*slot) {
                Datum::Int(int) => Some(int),
                _ => None,
            },
            _ => None,
        }
    }

    /// Calls `visit` with this node and all below.
    pub fn visit_nodes<'a>(&'a self, visit: &mut dyn FnMut(&'a Self)) {
        visit(self);
        match self {
            Self::Constant(_) | Self::Literal(_) | Self::Variable(_) | Self::DefaultSeed => {}
            Self::Reference(_) => {}
            Self::Not(inner) | Self::Is(inner, _) => inner.visit_nodes(visit),
            Self::And(pair) | Self::Or(pair) | Self::Binary(_, pair) | Self::NullShare(pair) => {
                pair.iter().for_each(|node| node.visit_nodes(visit));
            }
            Self::Case(branches, otherwise) => {
                branches.iter().flatten().for_each(|node| node.visit_nodes(visit));
                otherwise.visit_nodes(visit);
            }
            Self::Call(_, nodes) | Self::Text(nodes) => {
                nodes.iter().for_each(|node| node.visit_nodes(visit));
            }
            Self::Choose(choice) => choice.values.iter().for_each(|node| node.visit_nodes(visit)),
            Self::Pick(pick) => pick.bounds.iter().for_each(|node| node.visit_nodes(visit)),
        }
    }

    pub fn is_random(&self) -> bool {
        let mut found = false;
        self.visit_nodes(&mut |node| {
            found |= match node {
                Self::Call(function, _) => function.is_random(),
                Self::Choose(_) | Self::NullShare(_) | Self::Reference(_) | Self::Pick(_) => true,
                _ => false,
            };
        });
        found
    }
}
