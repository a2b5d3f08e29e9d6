//! Calls of functions. Some take what is no expression: weights, tables, distributions.

use bakeoff_workloads::KeyDistribution;

use super::{ExpressionParser, LOOSEST, Parsed};
use crate::expression::functions::{FunctionEntry, FunctionForm, find_function, find_similar};
use crate::expression::operand::Operand;
use crate::expression::tokens::{ExpressionToken, unquote_text};
use crate::expression::tree::{
    CachedSampler, ExpressionNode, KeyPick, KeyReference, WeightedChoice,
};

impl<'t> ExpressionParser<'t, '_> {
    pub(super) fn parse_call(&mut self, name: &str, at: usize) -> Option<Parsed> {
        let opened = self.take_next().start;
        let entry = find_function(name);
        match entry.map(|entry| entry.form) {
            Some(FunctionForm::Choose) => return self.parse_choice(opened, at),
            Some(FunctionForm::Reference) => return self.parse_reference(opened, at),
            Some(FunctionForm::Pick) => return self.parse_pick(opened, at),
            _ => {}
        }
        let arguments = self.parse_arguments(opened)?;
        let depth = arguments.iter().map(|argument| argument.depth).max().unwrap_or(0) + 1;
        let count = arguments.len();
        let known = entry.filter(|entry| entry.form != FunctionForm::Debug && entry.takes(count));
        let Some(known) = known else {
            self.add_mistake(at, explain_call(name, entry, count));
            return Some(Parsed::from_constant(Operand::Null));
        };
        let nodes = arguments.into_iter().map(|argument| argument.node).collect();
        self.finish_node(known.make_node(nodes), depth, at)
    }

    /// Up to the closing parenthesis.
    fn parse_arguments(&mut self, opened: usize) -> Option<Vec<Parsed>> {
        let mut arguments = Vec::new();
        if self.take_symbol(")") {
            return Some(arguments);
        }
        loop {
            arguments.push(self.parse_above(LOOSEST)?);
            if !self.take_symbol(",") {
                self.close_parenthesis(opened)?;
                return Some(arguments);
            }
        }
    }

    /// Values, each with a weight behind a colon, or all with none.
    fn parse_choice(&mut self, opened: usize, at: usize) -> Option<Parsed> {
        let (mut values, mut sums, mut depth) = (Vec::new(), Vec::new(), 0);
        let mut total = 0.0;
        loop {
            let value = self.parse_above(LOOSEST)?;
            total += self.parse_weight();
            depth = depth.max(value.depth);
            values.push(value.node);
            sums.push(total);
            if !self.take_symbol(",") {
                break;
            }
        }
        self.close_parenthesis(opened)?;
        if !(total > 0.0 && total.is_finite()) {
            self.add_mistake(at, "the weights of choose() have to be more than 0 together");
        }
        let choice = WeightedChoice { values, sums };
        self.finish_node(ExpressionNode::Choose(Box::new(choice)), depth + 1, at)
    }

    fn parse_weight(&mut self) -> f64 {
        let at = self.next.start;
        if !self.text[at..].starts_with(':') {
            return 1.0;
        }
        let written = self.take_raw(at + 1);
        match written.parse::<f64>() {
            Ok(weight) if weight >= 0.0 && weight.is_finite() => weight,
            _ => {
                let what =
                    format!("`{written}` is no weight; write a number, as in choose('a':5, 'b':1)");
                self.add_mistake(at, what);
                1.0
            }
        }
    }

    /// The text up to the next comma or parenthesis.
    fn take_raw(&mut self, from: usize) -> &'t str {
        let rest = &self.text[from..];
        let length = rest.find([',', ')', '(', '\n']).unwrap_or(rest.len());
        self.move_to(from + length);
        rest[..length].trim()
    }

    /// A distribution behind a comma; uniform without one.
    fn parse_distribution(&mut self) -> KeyDistribution {
        if !self.is_symbol(",") {
            return KeyDistribution::Uniform;
        }
        let at = self.next.end;
        let written = self.take_raw(at);
        KeyDistribution::parse(written).unwrap_or_else(|what| {
            self.add_mistake(at, what);
            KeyDistribution::Uniform
        })
    }

    fn parse_reference(&mut self, opened: usize, at: usize) -> Option<Parsed> {
        let placed = self.next.clone();
        let name = match placed.token {
            ExpressionToken::Word(word) if self.fault.is_none() => word.to_owned(),
            ExpressionToken::Quoted(quoted) if self.fault.is_none() => unquote_text(quoted),
            _ => return self.refuse_next("the name of a table"),
        };
        self.take_next();
        let sampler = CachedSampler::new(self.parse_distribution());
        self.close_parenthesis(opened)?;
        let Some(table) = self.names.find_table(&name) else {
            self.add_mistake(
                placed.start,
                format!("there is no table `{name}`; ref() takes one of the schema"),
            );
            return Some(Parsed::from_constant(Operand::Null));
        };
        let node = ExpressionNode::Reference(Box::new(KeyReference { table, sampler }));
        self.finish_node(node, 1, at)
    }

    fn parse_pick(&mut self, opened: usize, at: usize) -> Option<Parsed> {
        let low = self.parse_above(LOOSEST)?;
        if !self.take_symbol(",") {
            return self.refuse_next("`,` and the upper bound of pick(low, high, zipf:0.8)");
        }
        let high = self.parse_above(LOOSEST)?;
        let sampler = CachedSampler::new(self.parse_distribution());
        self.close_parenthesis(opened)?;
        let depth = low.depth.max(high.depth) + 1;
        let pick = KeyPick { bounds: [low.node, high.node], sampler };
        self.finish_node(ExpressionNode::Pick(Box::new(pick)), depth, at)
    }
}

fn explain_call(name: &str, entry: Option<&FunctionEntry>, count: usize) -> String {
    match entry {
        Some(entry) if entry.form == FunctionForm::Debug => {
            "debug() isn't supported: it would print in the middle of a measurement; remove it"
                .into()
        }
        Some(entry) => {
            let plural = if count == 1 { "" } else { "s" };
            format!("{name}() can't take {count} argument{plural}; write {}", entry.usage)
        }
        None => match find_similar(name) {
            Some(similar) => format!("there is no function `{name}`; did you mean `{similar}`?"),
            None => format!("there is no function `{name}`; the guide lists those of expressions"),
        },
    }
}
