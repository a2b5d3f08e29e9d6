//! `switch ROOT LIST`: puts the mutants of a list into the source below a folder, each behind a switch
//! `crate::mutant_switch::on(ID)`, so that one build holds them all.
//!
//! LIST is JSON as of `cargo mutants --list --json`, whose mutants have an `id` here. The genres `FnValue`,
//! `BinaryOperator`, `UnaryOperator`, `MatchArmGuard` and `MatchArm` are known. Prints the ids that found no place.

use std::collections::BTreeMap;
use std::fs;

use proc_macro2::LineColumn;
use serde::Deserialize;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

#[derive(Deserialize)]
struct Mutant {
    id: u32,
    file: String,
    genre: String,
    replacement: String,
    span: TextSpan,
}

#[derive(Deserialize)]
struct TextSpan {
    start: Position,
    end: Position,
}

/// Both count from 1.
#[derive(Deserialize)]
struct Position {
    line: usize,
    column: usize,
}

/// Text that goes in at a byte. What closes goes before what opens there; of those that open the outer one goes
/// first, of those that close the inner one.
struct Insertion {
    at: usize,
    opens: bool,
    order: i64,
    text: String,
}

struct Source<'a> {
    text: &'a str,
    line_starts: Vec<usize>,
    mutants: Vec<(&'a Mutant, bool)>,
    insertions: Vec<Insertion>,
}

impl<'a> Source<'a> {
    fn new(text: &'a str, mutants: Vec<&'a Mutant>) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        let line_starts = std::iter::once(0).chain(ends).collect();
        let mutants = mutants.into_iter().map(|mutant| (mutant, false)).collect();
        Self { text, line_starts, mutants, insertions: Vec::new() }
    }

    /// The byte of a place whose column counts characters from 0.
    fn find_byte(&self, place: LineColumn) -> usize {
        let line = self.line_starts[place.line - 1];
        let column = self.text[line..].char_indices().nth(place.column);
        column.map_or(self.text.len(), |(at, _)| line + at)
    }

    fn find_range(&self, of: impl Spanned) -> (usize, usize) {
        let span = of.span();
        (self.find_byte(span.start()), self.find_byte(span.end()))
    }

    /// Takes the mutants of a genre that begin at a byte, with the ends of their spans.
    fn take_mutants(&mut self, genre: &str, start: usize) -> Vec<(&'a Mutant, usize)> {
        let byte = |source: &Self, at: &Position| {
            source.find_byte(LineColumn { line: at.line, column: at.column - 1 })
        };
        let mut taken = Vec::new();
        for number in 0..self.mutants.len() {
            let (mutant, done) = self.mutants[number];
            if !done && mutant.genre == genre && byte(self, &mutant.span.start) == start {
                self.mutants[number].1 = true;
                taken.push((mutant, byte(self, &mutant.span.end)));
            }
        }
        taken
    }

    /// Text around a range of bytes.
    fn wrap(&mut self, (start, end): (usize, usize), before: String, after: &str) {
        self.insertions.push(Insertion {
            at: start,
            opens: true,
            order: -(end as i64),
            text: before,
        });
        let (order, text) = (-(start as i64), after.to_owned());
        self.insertions.push(Insertion { at: end, opens: false, order, text });
    }

    fn switch_body(&mut self, block: &syn::Block) {
        let (start, end) = self.find_range(block);
        let inner = block.stmts.first().map_or(start, |first| self.find_range(first).0);
        for (mutant, mutant_end) in self.take_mutants("FnValue", inner) {
            assert!(mutant_end <= end, "mutant {} ends in its function", mutant.id);
            let (id, value) = (mutant.id, &mutant.replacement);
            let text = format!(" if crate::mutant_switch::on({id}) {{ return {value}; }} ");
            self.insertions.push(Insertion { at: start + 1, opens: true, order: 0, text });
        }
    }

    fn switch_operator(&mut self, expression: &syn::ExprBinary) {
        let range = self.find_range(expression);
        let (left, right) = (self.find_range(&expression.left), self.find_range(&expression.right));
        let (left, right) = (&self.text[left.0..left.1], &self.text[right.0..right.1]);
        let operator = self.find_range(expression.op).0;
        for (mutant, _) in self.take_mutants("BinaryOperator", operator) {
            let (id, by) = (mutant.id, &mutant.replacement);
            let assigns = by.ends_with('=') && !["==", "!=", "<=", ">="].contains(&by.as_str());
            let (open, mutated, close) = match assigns {
                true => ("{", format!("{left} {by} {right}"), " }}"),
                false => ("(", format!("({left}) {by} ({right})"), " })"),
            };
            let before =
                format!("{open}if crate::mutant_switch::on({id}) {{ {mutated} }} else {{ ");
            self.wrap(range, before, close);
        }
    }

    fn switch_arm(&mut self, arm: &syn::Arm) {
        if let Some((_, guard)) = &arm.guard {
            let range = self.find_range(guard);
            for (mutant, _) in self.take_mutants("MatchArmGuard", range.0) {
                let (id, by) = (mutant.id, &mutant.replacement);
                let before = format!("(if crate::mutant_switch::on({id}) {{ {by} }} else {{ ");
                self.wrap(range, before, " })");
            }
        }
        let start = self.find_range(arm).0;
        for (mutant, _) in self.take_mutants("MatchArm", start) {
            let off = format!("!crate::mutant_switch::on({})", mutant.id);
            match &arm.guard {
                Some((_, guard)) => self.wrap(self.find_range(guard), format!("{off} && ("), ")"),
                None => {
                    let (at, text) = (self.find_range(&arm.pat).1, format!(" if {off}"));
                    self.insertions.push(Insertion { at, opens: true, order: 0, text });
                }
            }
        }
    }

    fn into_text(mut self) -> String {
        self.insertions.sort_by_key(|it| (it.at, it.opens, it.order));
        let (mut text, mut last) = (String::new(), 0);
        for insertion in &self.insertions {
            text += &self.text[last..insertion.at];
            text += &insertion.text;
            last = insertion.at;
        }
        text + &self.text[last..]
    }
}

impl<'ast> Visit<'ast> for Source<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.switch_body(&function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.switch_body(&function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        function.default.iter().for_each(|block| self.switch_body(block));
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_expr_binary(&mut self, expression: &'ast syn::ExprBinary) {
        self.switch_operator(expression);
        visit::visit_expr_binary(self, expression);
    }

    fn visit_expr_unary(&mut self, expression: &'ast syn::ExprUnary) {
        let range = self.find_range(expression);
        let inner = self.find_range(&expression.expr);
        for (mutant, _) in self.take_mutants("UnaryOperator", range.0) {
            let (id, inner) = (mutant.id, &self.text[inner.0..inner.1]);
            let before = format!("(if crate::mutant_switch::on({id}) {{ {inner} }} else {{ ");
            self.wrap(range, before, " })");
        }
        visit::visit_expr_unary(self, expression);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        self.switch_arm(arm);
        visit::visit_arm(self, arm);
    }
}

fn main() {
    let [root, list] = [1, 2].map(|at| std::env::args().nth(at).expect("switch ROOT LIST"));
    let list: Vec<Mutant> = serde_json::from_str(&fs::read_to_string(list).expect("the list"))
        .expect("mutants as JSON");
    let mut by_file: BTreeMap<&str, Vec<&Mutant>> = BTreeMap::new();
    list.iter().for_each(|mutant| by_file.entry(&mutant.file).or_default().push(mutant));
    for (file, mutants) in by_file {
        let path = format!("{root}/{file}");
        let text = fs::read_to_string(&path).expect("a file of source");
        let mut source = Source::new(&text, mutants);
        source.visit_file(&syn::parse_file(&text).expect("Rust"));
        source.mutants.iter().filter(|(_, done)| !done).for_each(|(it, _)| println!("{}", it.id));
        fs::write(path, source.into_text()).expect("the file can be written");
    }
}
