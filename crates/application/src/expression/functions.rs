//! The names of functions, and how many arguments each takes.

use super::tree::{BinaryOperator, ExpressionNode};

/// A function whose arguments are all evaluated before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpressionFunction {
    Abs,
    Bytes,
    Date,
    Decimal,
    Digits,
    Double,
    Exp,
    Greatest,
    HashFnv1a,
    HashMurmur2,
    Int,
    Least,
    Ln,
    Permute,
    Pi,
    Power,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    Sqrt,
    Timestamp,
    Uuid,
    Words,
}

impl ExpressionFunction {
    pub fn is_random(self) -> bool {
        matches!(
            self,
            Self::Bytes
                | Self::Digits
                | Self::Random
                | Self::RandomExponential
                | Self::RandomGaussian
                | Self::RandomZipfian
                | Self::Uuid
                | Self::Words
        )
    }
}

/// What a name is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionForm {
    Plain(ExpressionFunction),
    /// Without its last argument it takes the default seed.
    Seeded(ExpressionFunction),
    Remainder,
    Text,
    Choose,
    Null,
    Reference,
    Pick,
    Debug,
}

/// Arguments of the function with the most, as in pgbench.
pub const MOST_ARGUMENTS: usize = 16;

/// A function's name, form, least and most arguments, and how it is written.
pub struct FunctionEntry {
    pub name: &'static str,
    pub form: FunctionForm,
    pub least: usize,
    pub most: usize,
    pub usage: &'static str,
}

const fn list_function(
    name: &'static str,
    form: FunctionForm,
    [least, most]: [usize; 2],
    usage: &'static str,
) -> FunctionEntry {
    FunctionEntry { name, form, least, most, usage }
}

const MANY: usize = usize::MAX;

#[rustfmt::skip]
pub static FUNCTIONS: &[FunctionEntry] = {
    use ExpressionFunction as F;
    use FunctionForm::{Plain, Seeded};
    &[
        list_function("abs", Plain(F::Abs), [1, 1], "abs(number)"),
        list_function("bytes", Plain(F::Bytes), [2, 2], "bytes(least, most)"),
        list_function("choose", FunctionForm::Choose, [1, MANY], "choose('a':5, 'b':1)"),
        list_function("date", Plain(F::Date), [1, 1], "date('2020-01-01')"),
        list_function("debug", FunctionForm::Debug, [0, MANY], "debug(value)"),
        list_function("decimal", Plain(F::Decimal), [2, 2], "decimal(number, scale)"),
        list_function("digits", Plain(F::Digits), [1, 1], "digits('###-###')"),
        list_function("double", Plain(F::Double), [1, 1], "double(number)"),
        list_function("exp", Plain(F::Exp), [1, 1], "exp(number)"),
        list_function("greatest", Plain(F::Greatest), [1, MOST_ARGUMENTS], "greatest(a, b, ...)"),
        list_function("hash", Seeded(F::HashMurmur2), [1, 2], "hash(value [, seed])"),
        list_function("hash_fnv1a", Seeded(F::HashFnv1a), [1, 2], "hash_fnv1a(value [, seed])"),
        list_function("hash_murmur2", Seeded(F::HashMurmur2), [1, 2], "hash_murmur2(value [, seed])"),
        list_function("int", Plain(F::Int), [1, 1], "int(number)"),
        list_function("least", Plain(F::Least), [1, MOST_ARGUMENTS], "least(a, b, ...)"),
        list_function("ln", Plain(F::Ln), [1, 1], "ln(number)"),
        list_function("mod", FunctionForm::Remainder, [2, 2], "mod(i, j)"),
        list_function("null", FunctionForm::Null, [2, 2], "null(0.1, value)"),
        list_function("permute", Seeded(F::Permute), [2, 3], "permute(i, size [, seed])"),
        list_function("pi", Plain(F::Pi), [0, 0], "pi()"),
        list_function("pick", FunctionForm::Pick, [2, 3], "pick(low, high [, zipf:0.8])"),
        list_function("pow", Plain(F::Power), [2, 2], "pow(x, y)"),
        list_function("power", Plain(F::Power), [2, 2], "power(x, y)"),
        list_function("random", Plain(F::Random), [2, 2], "random(low, high)"),
        list_function("random_exponential", Plain(F::RandomExponential), [3, 3],
            "random_exponential(low, high, parameter)"),
        list_function("random_gaussian", Plain(F::RandomGaussian), [3, 3],
            "random_gaussian(low, high, parameter)"),
        list_function("random_zipfian", Plain(F::RandomZipfian), [3, 3],
            "random_zipfian(low, high, parameter)"),
        list_function("ref", FunctionForm::Reference, [1, 2], "ref(table [, zipf:0.8])"),
        list_function("sqrt", Plain(F::Sqrt), [1, 1], "sqrt(number)"),
        list_function("text", FunctionForm::Text, [1, MANY], "text(a, b, ...)"),
        list_function("timestamp", Plain(F::Timestamp), [1, 1], "timestamp('2020-01-01 00:00:00')"),
        list_function("uuid", Plain(F::Uuid), [0, 0], "uuid()"),
        list_function("words", Plain(F::Words), [2, 2], "words(least, most)"),
    ]
};

impl FunctionEntry {
    pub fn takes(&self, arguments: usize) -> bool {
        (self.least..=self.most).contains(&arguments)
    }

    /// The node of a call whose arguments are all expressions.
    pub fn make_node(&self, mut arguments: Vec<ExpressionNode>) -> ExpressionNode {
        match self.form {
            FunctionForm::Seeded(function) => {
                if arguments.len() < self.most {
                    arguments.push(ExpressionNode::DefaultSeed);
                }
                ExpressionNode::Call(function, arguments)
            }
            FunctionForm::Plain(function) => ExpressionNode::Call(function, arguments),
            FunctionForm::Text => ExpressionNode::Text(arguments),
            _ => match <[ExpressionNode; 2]>::try_from(arguments) {
                Ok(pair) if self.form == FunctionForm::Null => {
                    ExpressionNode::NullShare(Box::new(pair))
                }
                Ok(pair) => ExpressionNode::Binary(BinaryOperator::Remainder, Box::new(pair)),
                Err(_) => ExpressionNode::Constant(super::operand::Operand::Null),
            },
        }
    }
}

/// The function of a name in any case.
pub fn find_function(name: &str) -> Option<&'static FunctionEntry> {
    FUNCTIONS.iter().find(|entry| entry.name.eq_ignore_ascii_case(name))
}

/// The names that were perhaps meant, nearest first.
pub fn find_similar(name: &str) -> Option<&'static str> {
    let lower = name.to_lowercase();
    let distances =
        FUNCTIONS.iter().map(|entry| (strsim::osa_distance(&lower, entry.name), entry.name));
    let near = distances.filter(|(distance, name)| *distance <= name.len().max(3) / 3);
    near.min().map(|(_, name)| name)
}
