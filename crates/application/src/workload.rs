//! The application as a workload of the lab.

use std::sync::Arc;

use bakeoff_engines::own_server::OwnServer;
use bakeoff_engines::schema::Table;
use bakeoff_engines::{
    Action, Declared, DeclaredLevels, LevelForm, Preparation, Schema, Statement,
};
use bakeoff_workloads::{
    ClientProgram, FigureOfMerit, Name, OperationCounts, PREPARED, PROGRAMS, PreparedWorkload,
    TextSource, Workload, WorkloadParameters, WorkloadScale, read_preparation,
};

use crate::application::{Application, list_statements};
use crate::audit::{self, AuditStatements};
use crate::expression::RowKeys as _;
use crate::given::GivenValue;
use crate::mix::OperationMix;
use crate::prepared::PreparedApplication;

/// The factor of an application with several mixes.
pub const MIX: &str = "mix";

/// The factors that are no variables.
pub static BUILT_IN_FACTORS: [&str; 3] = [MIX, PREPARED.name, PROGRAMS.name];

impl Workload for Application {
    fn name(&self) -> &str {
        &self.files.name
    }

    fn summary(&self) -> &str {
        &self.summary
    }

    fn scales(&self) -> &[WorkloadScale] {
        &self.scales
    }

    fn estimate_entries(&self, scale: &str) -> u64 {
        let text = Arc::new(TextSource::generate_short());
        let rows = self.rows_at(self.scale_value(scale), 0, &text);
        let tables = self.schema.schema.tables.iter().enumerate();
        let entries = |(number, table): (usize, &Table)| {
            rows.count_rows(number) as u64 * (1 + table.indexes.len() as u64)
        };
        tables.map(entries).sum()
    }

    fn factors(&self) -> Vec<&'static Declared> {
        self.factors.clone()
    }

    fn find_preparation(&self, levels: &DeclaredLevels) -> Preparation {
        read_preparation(levels)
    }

    /// A mix chooses operations, and a factor is read by them.
    fn shapes_rows(&self, _: &Declared) -> bool {
        false
    }

    fn operations(&self) -> Vec<Name> {
        self.operations.iter().map(|operation| operation.name.clone().into()).collect()
    }

    fn figure_of_merit(&self) -> FigureOfMerit {
        FigureOfMerit::Operations
    }

    fn counts(&self) -> OperationCounts {
        OperationCounts { rows: true, bytes: true }
    }

    fn reads_back(&self) -> bool {
        self.reads_back
    }

    fn is_audited(&self) -> bool {
        match &self.program {
            Some(program) => program.audit.is_some(),
            None => self.writes,
        }
    }

    fn server(&self) -> Option<&'static OwnServer> {
        self.server
    }

    fn program(&self) -> Option<&ClientProgram> {
        self.program.as_ref()
    }

    fn describe_rows(&self) -> Option<String> {
        let by_type = self.list_made_up_columns();
        let rest = match by_type.is_empty() {
            true => String::new(),
            false => format!("; by their types alone: {}", by_type.join(", ")),
        };
        let print = self.files.fingerprint();
        let filled_by = self.program.as_ref().and_then(|program| program.fill.as_ref());
        if let Some(command) = filled_by {
            return Some(format!(
                "files {print:016x}, rows made by the application's own {}",
                command[0]
            ));
        }
        let rows = match &self.files.copied {
            None => "made up by the application's generators".to_owned(),
            Some(copied) => copied.describe(),
        };
        Some(format!("files {print:016x}, rows {rows}{rest}"))
    }

    fn find_levels_for(&self, runs: &dyn Fn(&Schema, &Statement) -> bool) -> Option<String> {
        let can_run = |mix: &&OperationMix| {
            let (_, statements) = self.statements_of(|operation| mix.has(operation));
            statements.iter().all(|statement| runs(&self.schema.schema, statement))
        };
        self.mixes.iter().find(can_run).map(|mix| format!("{MIX}={}", mix.name))
    }

    fn to_definition(&self) -> Option<serde_json::Value> {
        Some(serde_json::to_value(&self.files).expect("texts and numbers"))
    }

    fn prepare(&self, parameters: &WorkloadParameters<'_>) -> Box<dyn PreparedWorkload> {
        let mix = self.find_mix(&parameters.levels).clone();
        Box::new(self.prepare_with(parameters, mix))
    }
}

impl Application {
    /// Each operation, and why engines without SQL can't run it.
    pub fn explain_operations(&self) -> Vec<(String, Option<String>)> {
        let explain = |number: usize| {
            let needs = self.runs[number].iter().find_map(|statement| {
                match &self.statements[*statement].action {
                    Action::Sql(sql) => Some(format!("{}: {}", sql.place, sql.why)),
                    _ => None,
                }
            });
            (self.operations[number].name.clone(), needs)
        };
        (0..self.operations.len()).map(explain).collect()
    }

    /// Columns without a generator of their own: `orders.note`.
    pub fn list_made_up_columns(&self) -> Vec<String> {
        self.row_plan.list_made_up()
    }

    /// As [`Workload::prepare`], with a mix of all operations.
    pub fn prepare_whole(&self, parameters: &WorkloadParameters<'_>) -> Box<dyn PreparedWorkload> {
        let all = OperationMix::new("all", self.operations.iter().map(|_| 1));
        Box::new(self.prepare_with(parameters, all))
    }

    fn prepare_with(
        &self,
        parameters: &WorkloadParameters<'_>,
        mix: OperationMix,
    ) -> PreparedApplication {
        let scale = self.scale_value(parameters.scale);
        let rows = self.rows_at(scale, parameters.seed, &parameters.text);
        let mut schema = self.schema.schema.clone();
        let (mut numbers, mut statements) = self.statements_of(|operation| mix.has(operation));
        // Who writes nothing loses nothing.
        let audit = self.writes.then(|| {
            audit::add_table(&mut schema);
            AuditStatements::declare(&schema, &mut statements)
        });
        // Last, since an engine may be without them.
        let first_optional = statements.len();
        for number in self.invariants.iter().flat_map(|it| list_statements(it)) {
            numbers[number] = statements.len();
            statements.push(self.statements[number].clone());
        }
        let tables = 0..self.schema.schema.tables.len();
        let given = self.given_levels(&parameters.levels);
        let counts = tables.clone().map(|table| GivenValue::Int(rows.count_rows(table)));
        PreparedApplication {
            kept_tables: tables.filter(|table| !self.deleted_tables.contains(table)).collect(),
            given: given.chain(counts).collect(),
            operations: self.operations.clone(),
            seed: parameters.seed,
            text: parameters.text.clone(),
            schema,
            statements,
            numbers,
            mix,
            scale,
            rows,
            invariants: self.invariants.clone(),
            first_optional,
            audit,
        }
    }

    fn scale_value(&self, scale: &str) -> i64 {
        let found = self.scales.iter().zip(&self.scale_values).find(|(it, _)| it.name == scale);
        *found.unwrap_or_else(|| panic!("{} has no scale {scale}", self.files.name)).1
    }

    fn find_mix(&self, levels: &DeclaredLevels) -> &OperationMix {
        let declared = self.factors.iter().find(|factor| factor.name == MIX);
        let level = declared.map(|factor| levels.level_of(factor));
        self.mixes.iter().find(|mix| Some(&*mix.name) == level).unwrap_or(&self.mixes[0])
    }

    /// The statements that a mix runs, and their numbers by those of all.
    fn statements_of(&self, has: impl Fn(usize) -> bool) -> (Vec<usize>, Vec<Statement>) {
        let (mut numbers, mut statements) = (vec![usize::MAX; self.statements.len()], Vec::new());
        let runs = self.runs.iter().enumerate().filter(|(operation, _)| has(*operation));
        for (_, runs) in runs {
            for number in runs {
                if numbers[*number] == usize::MAX {
                    numbers[*number] = statements.len();
                    statements.push(self.statements[*number].clone());
                }
            }
        }
        (numbers, statements)
    }

    fn given_levels(&self, levels: &DeclaredLevels) -> impl Iterator<Item = GivenValue> {
        let own = self.factors.iter().filter(|factor| !BUILT_IN_FACTORS.contains(&factor.name));
        own.map(|factor| GivenValue::from_level(levels.level_of(factor)))
    }
}

/// A factor whose levels are a list of names; it lives as long as the program.
pub fn declare_choice(name: &str, summary: &str, levels: &[String]) -> &'static Declared {
    let all: &'static [String] = levels.to_vec().leak();
    let what: &'static str = name.to_owned().leak();
    let canonical: &'static LevelForm =
        Box::leak(Box::new(move |text: &str| match all.iter().any(|level| level == text) {
            true => Ok(text.to_owned()),
            false => Err(format!("`{text}` is no level of `{what}`\nvalid: {}", all.join(", "))),
        }));
    Box::leak(Box::new(Declared {
        name: what,
        summary: summary.to_owned().leak(),
        syntax: all.join("; ").leak(),
        default: &all[0],
        canonical,
    }))
}

/// Tables whose rows a statement may take away. `REPLACE` deletes, too.
pub fn deletes_from(action: &Action, tables: usize) -> Vec<usize> {
    let may_delete = |text: &str| {
        let text = text.to_ascii_lowercase();
        ["delete", "replace"].iter().any(|word| text.contains(word))
    };
    match action {
        Action::Delete { table } => vec![*table],
        Action::Sql(sql) if sql.writes && may_delete(&sql.sqlite) => (0..tables).collect(),
        _ => Vec::new(),
    }
}
