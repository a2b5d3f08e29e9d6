//! Reads an expression: pgbench's operators and precedence, functions, CASE.

use super::ExpressionNames;
use super::folding::{evaluate_constant, has_constant_parts};
use super::functions::find_function;
use super::operand::Operand;
use super::tokens::{ExpressionToken, PlacedToken, explain_too_large, read_token, unquote_text};
use super::tree::{BinaryOperator, ExpressionNode, TruthTest};
use crate::{Mistakes, SourcePlace};

mod calls;

/// So deep a tree is evaluated and dropped on any stack.
const DEEPEST: usize = 200;

/// How tightly operators bind, from loose to tight.
const LOOSEST: u8 = 0;
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const IS: u8 = 4;
const COMPARE: u8 = 5;
const BITS: u8 = 6;
const SUM: u8 = 7;
const PRODUCT: u8 = 8;
const UNARY: u8 = 9;

/// Words that are no names of functions.
const KEYWORDS: [&str; 13] = [
    "AND", "OR", "NOT", "IS", "ISNULL", "NOTNULL", "CASE", "WHEN", "THEN", "ELSE", "END", "TRUE",
    "FALSE",
];

pub struct ExpressionParser<'t, 'n> {
    text: &'t str,
    place: &'n SourcePlace,
    names: &'n dyn ExpressionNames,
    mistakes: &'n mut Mistakes,
    next: PlacedToken<'t>,
    /// What stands at `next`, if it is no word.
    fault: Option<String>,
    depth: usize,
    /// How many CASE, AND and OR are around, which may leave a part out.
    optional: usize,
    failed: bool,
}

/// A node that was read, and how deep it is.
struct Parsed {
    node: ExpressionNode,
    depth: usize,
}

impl Parsed {
    fn from_leaf(node: ExpressionNode) -> Self {
        Self { node, depth: 1 }
    }

    fn from_constant(constant: Operand) -> Self {
        Self::from_leaf(ExpressionNode::Constant(constant))
    }
}

impl<'t, 'n> ExpressionParser<'t, 'n> {
    pub fn new(
        text: &'t str,
        place: &'n SourcePlace,
        names: &'n dyn ExpressionNames,
        mistakes: &'n mut Mistakes,
    ) -> Self {
        let next = PlacedToken { token: ExpressionToken::End, start: 0, end: 0 };
        let mut parser = Self {
            text,
            place,
            names,
            mistakes,
            next,
            fault: None,
            depth: 0,
            optional: 0,
            failed: false,
        };
        parser.move_to(0);
        parser
    }

    /// All of the text is one expression.
    pub fn parse_whole(mut self) -> Option<ExpressionNode> {
        let parsed = self.parse_above(LOOSEST)?;
        if self.fault.is_some() || self.next.token != ExpressionToken::End {
            return self.refuse_next("an operator or the end of the expression");
        }
        (!self.failed).then_some(parsed.node)
    }

    fn move_to(&mut self, byte: usize) {
        match read_token(self.text, byte) {
            Ok(next) => (self.next, self.fault) = (next, None),
            Err(fault) => {
                let (start, end) = (fault.at, self.text.len());
                self.next = PlacedToken { token: ExpressionToken::End, start, end };
                self.fault = Some(fault.what);
            }
        }
    }

    fn take_next(&mut self) -> PlacedToken<'t> {
        let token = self.next.clone();
        self.move_to(token.end);
        token
    }

    fn add_mistake(&mut self, byte: usize, what: impl Into<String>) {
        self.failed = true;
        self.mistakes.add(self.place.advance(self.text, byte), what);
    }

    /// The next word isn't what has to stand there.
    fn refuse_next<T>(&mut self, wanted: &str) -> Option<T> {
        let at = self.next.start;
        let what = match (self.fault.take(), &self.next.token) {
            (Some(fault), _) => fault,
            (None, ExpressionToken::End) => {
                format!("the expression ends here, where {wanted} is missing")
            }
            (None, ExpressionToken::BeyondInt) => explain_too_large(&self.text[at..self.next.end]),
            (None, _) => {
                format!("`{}` stands where {wanted} is expected", &self.text[at..self.next.end])
            }
        };
        self.add_mistake(at, what);
        None
    }

    fn is_symbol(&self, symbol: &str) -> bool {
        self.next.token == ExpressionToken::Symbol(match_symbol(symbol)) && self.fault.is_none()
    }

    fn take_symbol(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        if found {
            self.take_next();
        }
        found
    }

    fn is_keyword(&self, keyword: &str) -> bool {
        matches!(self.next.token, ExpressionToken::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    fn take_keyword(&mut self, keyword: &str) -> bool {
        let found = self.is_keyword(keyword);
        if found {
            self.take_next();
        }
        found
    }

    fn expect_keyword(&mut self, keyword: &str) -> Option<()> {
        match self.take_keyword(keyword) {
            true => Some(()),
            false => self.refuse_next(&format!("`{keyword}`")),
        }
    }

    /// Reads what binds at least as tightly as `level`.
    fn parse_above(&mut self, level: u8) -> Option<Parsed> {
        self.depth += 1;
        if self.depth > DEEPEST {
            self.add_mistake(self.next.start, explain_depth());
            return None;
        }
        let parsed = self.parse_operators(level);
        self.depth -= 1;
        parsed
    }

    fn parse_operators(&mut self, level: u8) -> Option<Parsed> {
        let mut left = self.parse_prefix()?;
        loop {
            if level <= IS && self.starts_test() {
                left = self.parse_test(left)?;
                continue;
            }
            let Some((operator, binding)) = self.find_infix().filter(|(_, found)| *found >= level)
            else {
                return Some(left);
            };
            let at = self.take_next().start;
            let optional = usize::from(binding <= AND);
            self.optional += optional;
            let right = self.parse_above(binding + 1)?;
            self.optional -= optional;
            left = self.join_pair(operator, [left, right], at)?;
            if binding == COMPARE && self.find_infix().is_some_and(|(_, found)| found == COMPARE) {
                return self.refuse_next(
                    "AND, OR or a parenthesis; comparisons can't be chained, and an end",
                );
            }
        }
    }

    fn find_infix(&self) -> Option<(InfixOperator, u8)> {
        let symbol = match self.next.token {
            ExpressionToken::Symbol(symbol) => symbol,
            ExpressionToken::Word(word) if word.eq_ignore_ascii_case("and") => "AND",
            ExpressionToken::Word(word) if word.eq_ignore_ascii_case("or") => "OR",
            _ => return None,
        };
        INFIXES
            .iter()
            .find(|(known, ..)| *known == symbol)
            .map(|(_, operator, level)| (*operator, *level))
    }

    fn join_pair(
        &mut self,
        operator: InfixOperator,
        [left, right]: [Parsed; 2],
        at: usize,
    ) -> Option<Parsed> {
        let depth = left.depth.max(right.depth) + 1;
        let (left, right) = (left.node, right.node);
        let node = match operator {
            InfixOperator::And => ExpressionNode::And(Box::new([left, right])),
            InfixOperator::Or => ExpressionNode::Or(Box::new([left, right])),
            InfixOperator::Plain(plain) => ExpressionNode::Binary(plain, Box::new([left, right])),
            InfixOperator::Swapped(plain) => ExpressionNode::Binary(plain, Box::new([right, left])),
        };
        self.finish_node(node, depth, at)
    }

    /// Folds a node of constants, and bounds its depth.
    fn finish_node(&mut self, node: ExpressionNode, depth: usize, at: usize) -> Option<Parsed> {
        if depth > DEEPEST {
            self.add_mistake(at, explain_depth());
            return None;
        }
        if self.failed || !has_constant_parts(&node) {
            return Some(Parsed { node, depth });
        }
        match evaluate_constant(&node) {
            Ok(_) if node.is_random() => Some(Parsed { node, depth }),
            Ok(folded) => Some(Parsed::from_leaf(folded)),
            Err(_) if self.optional > 0 => Some(Parsed { node, depth }),
            Err(error) => {
                self.add_mistake(at, error.to_string());
                Some(Parsed::from_constant(Operand::Null))
            }
        }
    }

    fn parse_prefix(&mut self) -> Option<Parsed> {
        let at = self.next.start;
        if self.take_symbol("+") {
            return self.parse_above(UNARY);
        }
        if self.take_symbol("-") {
            return self.parse_negative(at);
        }
        if self.take_symbol("~") {
            let ones = Parsed::from_constant(Operand::Int(-1));
            let inner = self.parse_above(BITS + 1)?;
            let xor = InfixOperator::Plain(BinaryOperator::BitXor);
            return self.join_pair(xor, [ones, inner], at);
        }
        if self.is_keyword("NOT") {
            self.take_next();
            let inner = self.parse_above(NOT)?;
            let node = ExpressionNode::Not(Box::new(inner.node));
            return self.finish_node(node, inner.depth + 1, at);
        }
        self.parse_atom()
    }

    /// Behind a minus: -x is 0 - x.
    fn parse_negative(&mut self, at: usize) -> Option<Parsed> {
        if self.next.token == ExpressionToken::BeyondInt && self.fault.is_none() {
            self.take_next();
            return Some(Parsed::from_constant(Operand::Int(i64::MIN)));
        }
        let inner = self.parse_above(UNARY)?;
        let zero = Parsed::from_constant(Operand::Int(0));
        self.join_pair(InfixOperator::Plain(BinaryOperator::Subtract), [zero, inner], at)
    }

    fn starts_test(&self) -> bool {
        self.is_keyword("IS") || self.is_keyword("ISNULL") || self.is_keyword("NOTNULL")
    }

    /// IS [NOT] NULL, TRUE or FALSE.
    fn parse_test(&mut self, tested: Parsed) -> Option<Parsed> {
        let at = self.next.start;
        let test = if self.take_keyword("ISNULL") {
            TruthTest { wanted: None, negated: false }
        } else if self.take_keyword("NOTNULL") {
            TruthTest { wanted: None, negated: true }
        } else {
            self.take_next();
            let negated = self.take_keyword("NOT");
            let wanted = if self.take_keyword("NULL") {
                None
            } else if self.take_keyword("TRUE") {
                Some(true)
            } else if self.take_keyword("FALSE") {
                Some(false)
            } else {
                return self.refuse_next("NULL, TRUE or FALSE");
            };
            TruthTest { wanted, negated }
        };
        let node = ExpressionNode::Is(Box::new(tested.node), test);
        self.finish_node(node, tested.depth + 1, at)
    }

    fn parse_atom(&mut self) -> Option<Parsed> {
        const WANTED: &str = "a value, a `:variable` or a function";
        if self.fault.is_some() {
            return self.refuse_next(WANTED);
        }
        match self.next.token {
            ExpressionToken::Int(int) => self.take_constant(Operand::Int(int)),
            ExpressionToken::Real(real) => self.take_constant(Operand::Real(real)),
            ExpressionToken::Quoted(quoted) => {
                self.take_next();
                let text = unquote_text(quoted).into();
                Some(Parsed::from_leaf(ExpressionNode::Literal(text)))
            }
            ExpressionToken::Variable(name) => Some(self.parse_variable(name)),
            ExpressionToken::Word(word) => self.parse_word(word),
            ExpressionToken::Symbol("(") => {
                let opened = self.take_next().start;
                let inner = self.parse_above(LOOSEST)?;
                self.close_parenthesis(opened)?;
                Some(inner)
            }
            _ => self.refuse_next(WANTED),
        }
    }

    fn take_constant(&mut self, constant: Operand) -> Option<Parsed> {
        self.take_next();
        Some(Parsed::from_constant(constant))
    }

    fn close_parenthesis(&mut self, opened: usize) -> Option<()> {
        if self.take_symbol(")") {
            return Some(());
        }
        if self.fault.is_none() && self.next.token == ExpressionToken::End {
            self.add_mistake(opened, "this parenthesis is never closed; add `)`");
            return None;
        }
        self.refuse_next("an operator, `,` or `)`")
    }

    fn parse_variable(&mut self, name: &str) -> Parsed {
        let at = self.take_next().start;
        match self.names.find_variable(name) {
            Some(slot) => Parsed::from_leaf(ExpressionNode::Variable(slot)),
            None if name == "default_seed" => Parsed::from_leaf(ExpressionNode::DefaultSeed),
            None => {
                self.add_mistake(at, self.names.explain_unknown(name));
                Parsed::from_constant(Operand::Null)
            }
        }
    }

    /// TRUE, FALSE, NULL, CASE or a function.
    fn parse_word(&mut self, word: &'t str) -> Option<Parsed> {
        let placed = self.take_next();
        if self.is_symbol("(") && !is_keyword(word) {
            return self.parse_call(word, placed.start);
        }
        match word.to_ascii_uppercase().as_str() {
            "TRUE" => Some(Parsed::from_constant(Operand::Bool(true))),
            "FALSE" => Some(Parsed::from_constant(Operand::Bool(false))),
            "NULL" => Some(Parsed::from_constant(Operand::Null)),
            "CASE" => self.parse_case(placed.start),
            _ => {
                let mend = match find_function(word) {
                    Some(entry) => format!("the function is called as {}", entry.usage),
                    None if is_keyword(word) => "a value is missing before it".into(),
                    None => format!("a variable is written :{word}, a text '{word}'"),
                };
                self.add_mistake(placed.start, format!("`{word}` is no value; {mend}"));
                None
            }
        }
    }

    fn parse_case(&mut self, at: usize) -> Option<Parsed> {
        let (mut branches, mut depth) = (Vec::new(), 1);
        self.expect_keyword("WHEN")?;
        self.optional += 1;
        loop {
            let condition = self.parse_above(LOOSEST)?;
            self.expect_keyword("THEN")?;
            let value = self.parse_above(LOOSEST)?;
            depth = depth.max(condition.depth).max(value.depth);
            branches.push([condition.node, value.node]);
            if !self.take_keyword("WHEN") {
                break;
            }
        }
        let mut otherwise = Parsed::from_constant(Operand::Null);
        if self.take_keyword("ELSE") {
            otherwise = self.parse_above(LOOSEST)?;
        }
        match self.take_keyword("END") {
            true => {}
            false => return self.refuse_next("WHEN, ELSE or END of the CASE"),
        }
        self.optional -= 1;
        let depth = depth.max(otherwise.depth) + 1;
        self.finish_node(ExpressionNode::Case(branches, Box::new(otherwise.node)), depth, at)
    }
}

#[derive(Clone, Copy)]
enum InfixOperator {
    And,
    Or,
    Plain(BinaryOperator),
    /// With the right value first: a > b is b < a.
    Swapped(BinaryOperator),
}

#[rustfmt::skip]
const INFIXES: [(&str, InfixOperator, u8); 19] = {
    use BinaryOperator as B;
    use InfixOperator::{And, Or, Plain, Swapped};
    [
        ("OR", Or, OR), ("AND", And, AND),
        ("<", Plain(B::Less), COMPARE), ("<=", Plain(B::LessOrEqual), COMPARE),
        (">", Swapped(B::Less), COMPARE), (">=", Swapped(B::LessOrEqual), COMPARE),
        ("=", Plain(B::Equal), COMPARE), ("<>", Plain(B::Unequal), COMPARE),
        ("!=", Plain(B::Unequal), COMPARE),
        ("|", Plain(B::BitOr), BITS), ("#", Plain(B::BitXor), BITS), ("&", Plain(B::BitAnd), BITS),
        ("<<", Plain(B::ShiftLeft), BITS), (">>", Plain(B::ShiftRight), BITS),
        ("+", Plain(B::Add), SUM), ("-", Plain(B::Subtract), SUM),
        ("*", Plain(B::Multiply), PRODUCT), ("/", Plain(B::Divide), PRODUCT),
        ("%", Plain(B::Remainder), PRODUCT),
    ]
};

fn match_symbol(symbol: &str) -> &'static str {
    ["(", ")", ",", "+", "-", "~"].into_iter().find(|known| *known == symbol).unwrap_or("")
}

fn is_keyword(word: &str) -> bool {
    KEYWORDS.iter().any(|keyword| word.eq_ignore_ascii_case(keyword))
}

fn explain_depth() -> String {
    format!("the expression is nested deeper than {DEEPEST}; split it into several `\\set`")
}
