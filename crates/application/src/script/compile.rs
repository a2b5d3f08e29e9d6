//! From a script to steps: names become numbers, and blocks become jumps.

use std::collections::{BTreeMap, BTreeSet};

use super::automatic::{AUTOMATIC, FIRST_GIVEN};
use super::commands::{CommandText, MetaCommand};
use super::pieces::{ScriptPiece, split_script};
use super::steps::{DuplicateRule, Operation, PickStep, PlacedStep, Step};
use crate::expression::{Expression, ExpressionNames, parse_expression};
use crate::sql::{CompiledStatement, SqlSchema};
use crate::{Mistakes, Slot, SourcePlace};

/// What scripts are compiled against, and the statements that they add.
pub struct ScriptCompiler<'a> {
    pub schema: &'a SqlSchema,
    /// Names of factors, then of tables that stand for their numbers of rows.
    pub given: &'a [String],
    pub statements: Vec<CompiledStatement>,
    pub mistakes: &'a mut Mistakes,
}

/// The names that are known at a place of a script.
pub(super) struct KnownNames<'a> {
    pub(super) schema: &'a SqlSchema,
    given: &'a [String],
    pub(super) variables: BTreeMap<String, Slot>,
    pub(super) lists: BTreeMap<String, usize>,
    /// Prefixes of variables that are not missed: what sets them has a mistake.
    pub(super) forgiven: Vec<String>,
    /// The next free slot.
    pub(super) next: Slot,
}

impl ExpressionNames for KnownNames<'_> {
    fn find_variable(&self, name: &str) -> Option<Slot> {
        let automatic = || AUTOMATIC.iter().position(|known| *known == name);
        let given = || self.given.iter().position(|known| known == name);
        let own = self.variables.get(name).copied();
        // Any variable does: nothing of it runs.
        let forgiven = || self.forgiven.iter().any(|prefix| name.starts_with(prefix)).then_some(0);
        let given = || given().map(|number| FIRST_GIVEN + number);
        own.or_else(automatic).or_else(given).or_else(forgiven)
    }

    fn find_table(&self, name: &str) -> Option<usize> {
        self.schema.find_table(name)
    }
}

impl KnownNames<'_> {
    pub(super) fn declare(&mut self, name: &str) -> Slot {
        if let Some(slot) = self.variables.get(name) {
            return *slot;
        }
        let slot = self.hide();
        self.variables.insert(name.to_owned(), slot);
        slot
    }

    /// A variable without a name.
    fn hide(&mut self) -> Slot {
        self.next += 1;
        self.next - 1
    }

    pub(super) fn declare_list(&mut self, name: &str) -> usize {
        let next = self.lists.len();
        *self.lists.entry(name.to_owned()).or_insert(next)
    }
}

/// A block that has no end yet. Its jumps are set when it ends.
pub(super) enum OpenBlock {
    If { unless: Option<usize>, ends: Vec<usize>, has_else: bool },
    Loop { turn: usize },
}

/// One operation while it is compiled.
pub(super) struct OperationCompiler<'c, 'a> {
    pub(super) compiler: &'c mut ScriptCompiler<'a>,
    pub(super) names: KnownNames<'a>,
    pub(super) steps: Vec<PlacedStep>,
    pub(super) blocks: Vec<(OpenBlock, SourcePlace)>,
    /// Whether it has a statement that is no part of a transaction's frame, be it a wrong one.
    pub(super) has_statement: bool,
    /// Slots that a step reads.
    pub(super) read: BTreeSet<Slot>,
}

impl<'a> ScriptCompiler<'a> {
    /// Reads an expression that stands outside of scripts.
    pub fn compile_expression(&mut self, text: &str, place: &SourcePlace) -> Option<Expression> {
        let names = self.begin_names();
        parse_expression(text, place, &names, self.mistakes)
    }

    fn begin_names(&self) -> KnownNames<'a> {
        KnownNames {
            schema: self.schema,
            given: self.given,
            variables: BTreeMap::new(),
            lists: BTreeMap::new(),
            forgiven: Vec::new(),
            next: FIRST_GIVEN + self.given.len(),
        }
    }

    /// Compiles one operation. Every mistake is added.
    pub fn compile_operation(&mut self, name: &str, text: &str, place: &SourcePlace) -> Operation {
        let names = self.begin_names();
        let pieces = split_script(text, place, self.mistakes);
        let mut operation = OperationCompiler {
            compiler: self,
            names,
            steps: Vec::new(),
            blocks: Vec::new(),
            has_statement: false,
            read: BTreeSet::new(),
        };
        for piece in &pieces {
            operation.compile_piece(piece);
        }
        operation.finish(name, place)
    }
}

impl OperationCompiler<'_, '_> {
    pub(super) fn refuse(&mut self, place: &SourcePlace, what: impl Into<String>) {
        self.compiler.mistakes.add(place.clone(), what);
    }

    pub(super) fn add_step(&mut self, step: Step, place: &SourcePlace) -> usize {
        self.steps.push(PlacedStep { step, place: place.clone() });
        self.steps.len() - 1
    }

    fn parse(&mut self, text: &CommandText<'_>) -> Option<Expression> {
        let parsed = parse_expression(text.text, &text.place, &self.names, self.compiler.mistakes)?;
        self.read.extend(parsed.list_slots());
        Some(parsed)
    }

    /// Adds a step with an expression, if that has no mistake.
    fn add_expression(
        &mut self,
        text: &CommandText<'_>,
        step: impl FnOnce(Expression) -> Step,
    ) -> Option<usize> {
        let expression = self.parse(text)?;
        Some(self.add_step(step(expression), &text.place))
    }

    fn compile_piece(&mut self, piece: &ScriptPiece<'_>) {
        match piece {
            ScriptPiece::Command { command, place } => self.compile_command(command, place),
            ScriptPiece::Statement { text, place, end } => {
                self.compile_statement(text, place, end);
            }
        }
    }

    fn compile_command(&mut self, command: &MetaCommand<'_>, place: &SourcePlace) {
        match command {
            MetaCommand::Set { name, expression } => self.compile_set(name, expression),
            MetaCommand::Gset { .. } | MetaCommand::Lset { .. } => {
                self.refuse(place, "there is no statement before it: write it instead of a `;`");
            }
            MetaCommand::If(condition) => self.begin_if(condition, place),
            MetaCommand::Elif(condition) => self.begin_branch(Some(condition), place),
            MetaCommand::Else => self.begin_branch(None, place),
            MetaCommand::Endif => self.end_if(place),
            MetaCommand::Sleep { duration, unit_us } => {
                let step = |duration| Step::Sleep { duration, unit_us: *unit_us };
                self.add_expression(duration, step);
            }
            MetaCommand::Repeat(turns) => self.begin_repeat(turns, place),
            MetaCommand::Each { list, item } => self.begin_each(list, item, place),
            MetaCommand::End => self.end_loop(place),
            MetaCommand::Again => {
                self.add_step(Step::Again, place);
            }
            MetaCommand::Assert(condition) => {
                self.add_expression(condition, Step::Assert);
            }
            MetaCommand::Pick { name, table, distribution } => {
                self.compile_pick(name, table, distribution.as_ref());
            }
            MetaCommand::OnDuplicate(rule) => self.set_rule(rule, place),
        }
    }

    fn set_rule(&mut self, rule: &CommandText<'_>, place: &SourcePlace) {
        let rule = match rule.text {
            "skip" => DuplicateRule::Skip,
            "again" => DuplicateRule::Again,
            "fail" => DuplicateRule::Fail,
            other => {
                let what = format!("`{other}` is no rule: write `skip`, `again` or `fail`");
                return self.refuse(&rule.place, what);
            }
        };
        self.add_step(Step::OnDuplicate(rule), place);
    }

    /// A variable that a script may set.
    pub(super) fn declare(&mut self, name: &CommandText<'_>) -> Slot {
        let good = |letter: char| letter.is_alphanumeric() || letter == '_';
        if name.text.is_empty() || !name.text.chars().all(good) {
            let what = format!("`{}` is no name: it has letters, digits and `_`", name.text);
            self.refuse(&name.place, what);
        } else if AUTOMATIC.contains(&name.text)
            || self.names.given.iter().any(|it| it == name.text)
        {
            let what = format!("`:{}` has a value already: take another name", name.text);
            self.refuse(&name.place, what);
        }
        self.names.declare(name.text)
    }

    fn compile_set(&mut self, name: &CommandText<'_>, expression: &CommandText<'_>) {
        let parsed = self.parse(expression);
        let slot = self.declare(name);
        if let Some(expression) = parsed {
            self.add_step(Step::Set { slot, expression }, &name.place);
        }
    }

    fn compile_pick(
        &mut self,
        name: &CommandText<'_>,
        table: &CommandText<'_>,
        distribution: Option<&CommandText<'_>>,
    ) {
        let known = self.names.schema.find_table(&table.text.to_lowercase());
        let Some(number) = known else {
            self.names.forgiven.push(format!("{}_", name.text));
            return self.refuse(&table.place, format!("there is no table `{}`", table.text));
        };
        let columns = &self.names.schema.schema.tables[number].columns;
        let names: Vec<String> =
            columns.iter().map(|column| format!("{}_{}", name.text, column.name)).collect();
        let columns: Vec<(usize, Slot)> =
            names.iter().map(|name| self.names.declare(name)).enumerate().collect();
        // A table's name is its number of rows.
        let last = format!(":{} - 1", self.names.schema.schema.tables[number].name);
        let suffix = distribution.map(|it| format!(", {}", it.text)).unwrap_or_default();
        let text = format!("pick(0, {last}{suffix})");
        let place = &distribution.unwrap_or(table).place;
        let mut found = Mistakes::default();
        let row = parse_expression(&text, place, &self.names, &mut found);
        // The text is not the user's: only the distribution in it is.
        found.iter().for_each(|mistake| self.refuse(place, &*mistake.what));
        if let Some(row) = row {
            self.read.extend(row.list_slots());
            self.add_step(Step::Pick(PickStep { table: number, row, columns }), place);
        }
    }

    fn begin_if(&mut self, condition: &CommandText<'_>, place: &SourcePlace) {
        let unless =
            self.add_expression(condition, |condition| Step::JumpUnless { condition, to: 0 });
        let block = OpenBlock::If { unless, ends: Vec::new(), has_else: false };
        self.blocks.push((block, place.clone()));
    }

    /// `\elif` with its condition, or `\else`.
    fn begin_branch(&mut self, condition: Option<&CommandText<'_>>, place: &SourcePlace) {
        let is_open =
            matches!(self.blocks.last(), Some((OpenBlock::If { has_else: false, .. }, _)));
        if !is_open {
            return self.refuse(place, "there is no \\if before it");
        }
        let end = self.add_step(Step::Jump(0), place);
        let here = self.steps.len();
        let step = condition.and_then(|condition| {
            self.add_expression(condition, |condition| Step::JumpUnless { condition, to: 0 })
        });
        let mut patched = None;
        if let Some((OpenBlock::If { unless, ends, has_else }, _)) = self.blocks.last_mut() {
            ends.push(end);
            patched = std::mem::replace(unless, step);
            *has_else = condition.is_none();
        }
        self.set_jump(patched, here);
    }

    fn end_if(&mut self, place: &SourcePlace) {
        match self.blocks.pop() {
            Some((OpenBlock::If { unless, ends, .. }, _)) => {
                let here = self.steps.len();
                self.set_jump(unless, here);
                ends.into_iter().for_each(|end| self.set_jump(Some(end), here));
            }
            other => {
                self.blocks.extend(other);
                self.refuse(place, "there is no \\if before it");
            }
        }
    }

    fn begin_repeat(&mut self, turns: &CommandText<'_>, place: &SourcePlace) {
        let slot = self.names.hide();
        self.add_expression(turns, |turns| Step::Count { slot, turns });
        let turn = self.add_step(Step::TakeTurn { slot, to: 0 }, place);
        self.blocks.push((OpenBlock::Loop { turn }, place.clone()));
    }

    fn begin_each(&mut self, list: &CommandText<'_>, item: &CommandText<'_>, place: &SourcePlace) {
        let Some(number) = self.names.lists.get(list.text).copied() else {
            let what = format!("there is no list `{}`: \\lset makes one", list.text);
            self.blocks.push((OpenBlock::Loop { turn: usize::MAX }, place.clone()));
            self.declare(item);
            return self.refuse(&list.place, what);
        };
        let position = self.names.hide();
        let zero = CommandText { text: "0", place: place.clone() };
        self.add_expression(&zero, |expression| Step::Set { slot: position, expression });
        let item = self.declare(item);
        let step = Step::TakeItem { list: number, position, item, to: 0 };
        let turn = self.add_step(step, place);
        self.blocks.push((OpenBlock::Loop { turn }, place.clone()));
    }

    fn end_loop(&mut self, place: &SourcePlace) {
        match self.blocks.pop() {
            Some((OpenBlock::Loop { turn }, _)) => {
                if turn != usize::MAX {
                    self.add_step(Step::Jump(turn), place);
                    let here = self.steps.len();
                    self.set_jump(Some(turn), here);
                }
            }
            other => {
                self.blocks.extend(other);
                self.refuse(place, "there is no \\repeat or \\each before it");
            }
        }
    }

    fn set_jump(&mut self, step: Option<usize>, target: usize) {
        let step = step.and_then(|step| self.steps.get_mut(step));
        if let Some(
            Step::JumpUnless { to, .. }
            | Step::Jump(to)
            | Step::TakeTurn { to, .. }
            | Step::TakeItem { to, .. },
        ) = step.map(|placed| &mut placed.step)
        {
            *to = target;
        }
    }
}
