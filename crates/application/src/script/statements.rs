//! Statements of a script: transactions, parameters and answers.

use bakeoff_engines::schema::Type;
use bakeoff_engines::{Access, Action};

use super::automatic::NOW;
use super::commands::{CommandText, MetaCommand};
use super::compile::OperationCompiler;
use super::pieces::PieceEnd;
use super::steps::{AnswerUse, Operation, ParameterValue, RunStep, Step};
use super::transactions::{check_transactions, set_access};
use crate::expression::ExpressionNames as _;
use crate::sql::{CompiledStatement, ParameterSource, StatementKind, compile_statement};
use crate::{Slot, SourcePlace};

impl OperationCompiler<'_, '_> {
    pub(super) fn compile_statement(
        &mut self,
        text: &str,
        place: &SourcePlace,
        end: &PieceEnd<'_>,
    ) {
        let schema = self.names.schema;
        let statement = compile_statement(text, place, schema, self.compiler.mistakes);
        let Some(statement) = statement else {
            self.has_statement = true;
            return self.forgive_answer(end);
        };
        // Its first word's: comments stand before it.
        let place = &statement.place.clone();
        let step = match statement.kind {
            StatementKind::Begin => Step::Begin(Access::Read),
            StatementKind::Commit => Step::Commit,
            StatementKind::Rollback => Step::Rollback,
            StatementKind::Select | StatementKind::Other => {
                self.has_statement = true;
                let answer = self.plan_answer(&statement, end);
                Step::Run(self.compile_run(statement, answer))
            }
        };
        self.add_step(step, place);
    }

    fn compile_run(&mut self, statement: CompiledStatement, answer: AnswerUse) -> RunStep {
        let sources = statement.list_sources();
        let parameters = sources.iter().map(|source| self.find_parameter(source)).collect();
        let (writes, inserts) = (statement.writes, self.find_insert(&statement));
        let number = self.compiler.statements.len();
        self.compiler.statements.push(statement);
        RunStep { statement: number, parameters, answer, writes, inserts }
    }

    fn find_insert(&self, statement: &CompiledStatement) -> Option<usize> {
        let Action::Insert { table } = statement.fitted.as_ref()?.action else { return None };
        let about = &self.names.schema.schema.tables[table];
        let is_int = |key: &usize| about.columns[*key].kind == Type::Int;
        (about.key.len() == 1 && about.key.iter().all(is_int)).then_some(table)
    }

    fn find_parameter(&mut self, source: &ParameterSource) -> ParameterValue {
        match source {
            ParameterSource::Literal(literal) => literal.clone().into(),
            ParameterSource::Named { name, place } => {
                self.find_slot(name, place).map_or(ParameterValue::Null, ParameterValue::Slot)
            }
            ParameterSource::Negated { name, place } => {
                self.find_slot(name, place).map_or(ParameterValue::Null, ParameterValue::Negated)
            }
            ParameterSource::Element { name, number, place } => {
                match self.names.lists.get(name).copied() {
                    Some(list) => ParameterValue::Item { list, index: *number },
                    None => {
                        let what = format!("there is no list `{name}`: \\lset makes one");
                        self.refuse(place, what);
                        ParameterValue::Null
                    }
                }
            }
        }
    }

    fn find_slot(&mut self, name: &str, place: &SourcePlace) -> Option<Slot> {
        let slot = self.names.find_variable(name);
        match slot {
            Some(slot) => drop(self.read.insert(slot)),
            None => {
                let what = self.explain_unset(name);
                self.refuse(place, what);
            }
        }
        slot
    }

    /// Variables of an answer that nobody knows are not missed: its statement has a mistake.
    fn forgive_answer(&mut self, end: &PieceEnd<'_>) {
        match end {
            PieceEnd::Command { command: MetaCommand::Gset { prefix, .. }, .. } => {
                self.names.forgiven.push((*prefix).to_owned());
            }
            PieceEnd::Command { command: MetaCommand::Lset { list, .. }, .. } => {
                self.names.declare_list(list.text);
            }
            _ => {}
        }
    }

    /// What to write where a parameter has no value: a pick, if it looks like a table's column.
    fn explain_unset(&self, name: &str) -> String {
        if self.names.lists.contains_key(name) {
            return format!("`{name}` is a list: write `:{name}[8]` for eight of its items");
        }
        let near = |known: &&String| strsim::damerau_levenshtein(known, name) <= 2;
        if let Some(near) = self.names.variables.keys().find(near) {
            return format!("`:{name}` is never set; did you mean `:{near}`?");
        }
        let tables = &self.names.schema.schema.tables;
        let has = |column: &str| {
            tables.iter().find(|table| table.columns.iter().any(|it| it.name == column))
        };
        let example = match has(name) {
            Some(table) => format!("\\pick x FROM {}` and `:x_{name}", table.name),
            None => format!("\\set {name} random(1, 1000)"),
        };
        format!("`:{name}` is never set: write `{example}` before it")
    }

    fn plan_answer(&mut self, statement: &CompiledStatement, end: &PieceEnd<'_>) -> AnswerUse {
        let PieceEnd::Command { command, place } = end else { return AnswerUse::Ignore };
        let fitted = statement.fitted.as_ref().map(|fitted| &fitted.columns);
        let known = fitted.or(statement.columns.as_ref());
        let names: Option<Vec<String>> = known.and_then(|names| names.iter().cloned().collect());
        let Some(columns) = names else {
            self.refuse(place, "the answer's columns have no names: write `AS name` after each");
            self.forgive_answer(end);
            return AnswerUse::Ignore;
        };
        match command {
            MetaCommand::Gset { prefix, optional } => {
                let slots = columns.iter().enumerate().map(|(column, name)| {
                    let name = format!("{prefix}{name}");
                    (column, self.declare(&CommandText { text: &name, place: place.clone() }))
                });
                AnswerUse::Row { slots: slots.collect(), optional: *optional }
            }
            MetaCommand::Lset { list, column } => {
                let wanted = column.as_ref().map(|it| it.text);
                let found = columns.iter().position(|name| Some(&**name) == wanted);
                let column = found.or((wanted.is_none() && columns.len() == 1).then_some(0));
                let Some(column) = column else {
                    let what = format!("name one of its columns: {}", columns.join(", "));
                    self.refuse(place, what);
                    return AnswerUse::Ignore;
                };
                AnswerUse::List { column, list: self.names.declare_list(list.text) }
            }
            _ => AnswerUse::Ignore,
        }
    }

    fn refuse_open_blocks(&mut self) {
        for (_, begun) in std::mem::take(&mut self.blocks) {
            self.refuse(&begun, "has no end: write \\endif after an \\if, \\end after a loop");
        }
    }

    pub(super) fn finish(mut self, name: &str, place: &SourcePlace) -> Operation {
        match self.blocks.is_empty() {
            true => check_transactions(&self.steps, self.compiler.mistakes),
            // Its jumps lead nowhere.
            false => self.refuse_open_blocks(),
        }
        set_access(&mut self.steps, &self.compiler.statements);
        if !self.has_statement {
            self.refuse(place, "has no statement: an operation has one at least");
        }
        let read = std::mem::take(&mut self.read);
        for placed in &mut self.steps {
            if let Step::Pick(pick) = &mut placed.step {
                pick.columns.retain(|(_, slot)| read.contains(slot));
            }
        }
        Operation {
            name: name.to_owned(),
            steps: self.steps,
            slots: self.names.next,
            lists: self.names.lists.len(),
            reads_now: read.contains(&NOW),
            think: None,
        }
    }
}
