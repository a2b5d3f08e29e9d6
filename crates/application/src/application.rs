//! An application, compiled from its files.

use std::collections::BTreeSet;
use std::sync::Arc;

use bakeoff_engines::own_server::OwnServer;
use bakeoff_engines::{Declared, Statement};
use bakeoff_workloads::{ClientProgram, PREPARED, PROGRAMS, TextSource, WorkloadScale};

use crate::configuration::{Configuration, PlacedText, ProgramTable};
use crate::copied::CopiedReader;
use crate::expression::RowKeys as _;
use crate::files::{self, ApplicationFiles};
use crate::generators::{TableRows, group_digits};
use crate::mix::OperationMix;
use crate::rows::{RowPlan, estimate_bytes};
use crate::script::ScriptCompiler;
use crate::script::automatic::FIRST_GIVEN;
use crate::script::steps::{AnswerUse, Operation, Step};
use crate::sql::{CompiledStatement, SqlSchema};
use crate::workload::{MIX, declare_choice, deletes_from};
use crate::{Mistakes, audit, pgbench};

/// An application of somebody's own, as a workload.
pub struct Application {
    pub(crate) files: ApplicationFiles,
    pub(crate) summary: String,
    pub(crate) schema: SqlSchema,
    pub(crate) row_plan: RowPlan,
    pub(crate) operations: Arc<Vec<Operation>>,
    /// Those of all operations.
    pub(crate) statements: Vec<Statement>,
    /// The numbers of the statements that each operation runs.
    pub(crate) runs: Vec<Vec<usize>>,
    pub(crate) invariants: Option<Arc<Operation>>,
    /// At least one; the first is the default.
    pub(crate) mixes: Vec<OperationMix>,
    pub(crate) scales: Vec<WorkloadScale>,
    /// `:scale` at each of them.
    pub(crate) scale_values: Vec<i64>,
    pub(crate) factors: Vec<&'static Declared>,
    pub(crate) deleted_tables: BTreeSet<usize>,
    pub(crate) writes: bool,
    pub(crate) reads_back: bool,
    /// Its clients, if they are not its scripts. Then its operations have no steps.
    pub(crate) program: Option<ClientProgram>,
    pub(crate) server: Option<&'static OwnServer>,
}

impl Application {
    /// Compiles the files.
    ///
    /// # Errors
    ///
    /// All mistakes, each at its file, line and column.
    pub fn new(mut files: ApplicationFiles) -> Result<Self, Mistakes> {
        pgbench::add_schema(&mut files);
        let mut mistakes = Mistakes::default();
        let compiled = ApplicationCompiler { files: &files, mistakes: &mut mistakes }.compile();
        match compiled.filter(|_| mistakes.is_empty()) {
            Some(compiled) => Ok(compiled.into_application(files)),
            None => Err(mistakes),
        }
    }

    /// Compiles what [`Workload::to_definition`](bakeoff_workloads::Workload::to_definition) gave.
    ///
    /// # Errors
    ///
    /// What is wrong with it, in words.
    pub fn from_definition(definition: &serde_json::Value) -> Result<Self, String> {
        let files: ApplicationFiles = serde_json::from_value(definition.clone())
            .map_err(|error| format!("no application: {error}"))?;
        Self::new(files).map_err(|mistakes| mistakes.to_string())
    }

    /// The rows at a scale.
    pub(crate) fn rows_at(&self, scale: i64, seed: u64, text: &Arc<TextSource>) -> TableRows {
        self.row_plan.at_scale(scale, seed, text.clone())
    }
}

/// Reads and compiles all files, as far as their mistakes allow.
struct ApplicationCompiler<'a> {
    files: &'a ApplicationFiles,
    mistakes: &'a mut Mistakes,
}

/// What the files say together.
struct CompiledFiles {
    configuration: Configuration,
    schema: SqlSchema,
    row_plan: RowPlan,
    operations: Vec<Operation>,
    statements: Vec<CompiledStatement>,
    invariants: Option<Operation>,
    mixes: Vec<OperationMix>,
}

impl ApplicationCompiler<'_> {
    fn compile(mut self) -> Option<CompiledFiles> {
        let configuration = self.read_configuration();
        let before = self.mistakes.count();
        let schema = self.read_schema();
        let is_sound = self.mistakes.count() == before;
        let copied = self.open_copied(&schema);
        let row_plan = RowPlan::new(&schema, &configuration, copied, self.mistakes);
        let (operations, invariants, statements) = self.compile_operations(&configuration, &schema);
        let mixes = self.compile_mixes(&configuration, &operations);
        if !is_sound {
            // A table that could not be read would be missed wherever it is used.
            self.mistakes.drop_unknown_names(&self.files.place_of(files::SCHEMA));
        }
        Some(CompiledFiles {
            configuration,
            schema,
            row_plan: row_plan?,
            operations,
            statements,
            invariants,
            mixes,
        })
    }

    fn compile_operations(
        &mut self,
        configuration: &Configuration,
        schema: &SqlSchema,
    ) -> (Vec<Operation>, Option<Operation>, Vec<CompiledStatement>) {
        let factors = configuration.factors.iter().map(|factor| factor.name.text.clone());
        let tables = schema.schema.tables.iter().map(|table| table.name.clone());
        let given: Vec<String> = factors.chain(tables).collect();
        let mut compiler = ScriptCompiler {
            schema,
            given: &given,
            statements: Vec::new(),
            mistakes: self.mistakes,
        };
        let mut operations: Vec<Operation> = match &configuration.program {
            Some(program) => list_program_operations(program, FIRST_GIVEN + given.len()),
            None => {
                let scripts = self.files.operations().map(|(name, text)| {
                    let place = self.files.place_of(&format!("{name}.sql"));
                    compiler.compile_operation(name, text, &place)
                });
                scripts.collect()
            }
        };
        for (name, seconds) in &configuration.think {
            let think = compiler.compile_expression(&seconds.text, &seconds.place);
            match operations.iter_mut().find(|operation| operation.name == name.text) {
                Some(operation) => operation.think = think,
                // Scripts of the command line are some of a folder's.
                None if !self.files.weights.is_empty() => {}
                None => {
                    let what = format!("there is no operation `{}`", name.text);
                    compiler.mistakes.add(name.place.clone(), what);
                }
            }
        }
        let invariants =
            self.files.texts.get(files::INVARIANTS).map(|text| {
                compiler.compile_invariants(text, &self.files.place_of(files::INVARIANTS))
            });
        (operations, invariants, compiler.statements)
    }

    fn read_configuration(&mut self) -> Configuration {
        let Some(text) = self.files.texts.get(files::CONFIGURATION) else {
            return Configuration::new();
        };
        let place = self.files.place_of(files::CONFIGURATION);
        let mut configuration = Configuration::read(text, &place, self.mistakes);
        if !self.files.weights.is_empty() {
            // Scripts of the command line are run as they are.
            configuration.program = None;
            configuration.server = None;
        }
        if let Some(program) = &configuration.program {
            let script = self.files.operations().next();
            let has_program = self.files.program.is_some() || self.files.find_example().is_some();
            let wrong = match (script, has_program) {
                (Some((name, _)), _) => Some(format!(
                    "has a program as its client, and the script `{name}.sql`, too: keep one of them"
                )),
                (None, false) => Some("has a program, which only a folder can bring".into()),
                (None, true) => None,
            };
            if let Some(wrong) = wrong {
                self.mistakes.add(program.place.clone(), wrong);
            }
        }
        if let (Some(server), None) = (&configuration.server, &configuration.program) {
            let what = "has a server, which programs alone reach: write [program], too";
            self.mistakes.add(server.place.clone(), what);
        }
        configuration
    }

    /// Statements that name no table need no schema.
    fn read_schema(&mut self) -> SqlSchema {
        let place = self.files.place_of(files::SCHEMA);
        let text = self.files.texts.get(files::SCHEMA).map_or("", String::as_str);
        let schema = SqlSchema::from_text(text, &place, self.mistakes);
        if let Some(taken) = schema.find_table(audit::TABLE) {
            let what = format!("power cuts use a table {}: take another name", audit::TABLE);
            self.mistakes.add(schema.tables[taken].place.clone(), what);
        }
        schema
    }

    fn open_copied(&mut self, schema: &SqlSchema) -> Option<Arc<CopiedReader>> {
        let opened = CopiedReader::open(self.files.copied.as_ref()?, &schema.schema);
        match opened {
            Ok(reader) => Some(Arc::new(reader)),
            Err(what) => {
                self.mistakes.add(self.files.place_of(files::SCHEMA), what);
                None
            }
        }
    }

    fn compile_mixes(
        &mut self,
        configuration: &Configuration,
        operations: &[Operation],
    ) -> Vec<OperationMix> {
        let names: Vec<String> = operations.iter().map(|it| it.name.clone()).collect();
        if configuration.mixes.is_empty() || !self.files.weights.is_empty() {
            let weight = |name: &String| self.files.weights.get(name).copied().unwrap_or(1);
            let all = match &configuration.program {
                Some(program) => {
                    let weights = program.operations.iter().map(|(_, weight)| *weight);
                    OperationMix::new("all", weights)
                }
                None => OperationMix::new("all", names.iter().map(weight)),
            };
            return vec![all];
        }
        let mixes = configuration.mixes.iter();
        mixes.map(|mix| OperationMix::from_names(mix, &names, self.mistakes)).collect()
    }
}

impl CompiledFiles {
    fn into_application(self, files: ApplicationFiles) -> Application {
        let runs = self.operations.iter().map(list_statements).collect();
        let asks = |step: &Step| matches!(step, Step::Run(run) if matches!(run.answer, AnswerUse::Row { optional: false, .. }));
        let steps = || self.operations.iter().flat_map(|operation| &operation.steps);
        let program = self.describe_program(&files);
        let server = program.as_ref().and_then(|program| {
            let commands = self.configuration.server.as_ref()?.to_commands(&program.folder);
            Some(OwnServer::from_commands(commands))
        });
        let reads_back = program.is_some() || steps().any(|placed| asks(&placed.step));
        let tables = self.schema.schema.tables.len();
        let statements: Vec<Statement> =
            self.statements.iter().map(CompiledStatement::to_statement).collect();
        let deleted = statements.iter().flat_map(|it| deletes_from(&it.action, tables));
        Application {
            summary: self.configuration.summary.clone().unwrap_or_else(|| {
                format!("{} operations of {}", self.operations.len(), files.name)
            }),
            scales: self.describe_scales(),
            scale_values: self.configuration.scales.iter().map(|(_, scale)| *scale).collect(),
            factors: self.declare_factors(),
            deleted_tables: deleted.collect(),
            writes: self.statements.iter().any(|statement| statement.writes),
            invariants: self.invariants.map(Arc::new),
            operations: Arc::new(self.operations),
            schema: self.schema,
            row_plan: self.row_plan,
            mixes: self.mixes,
            statements,
            runs,
            reads_back,
            program,
            server,
            files,
        }
    }

    fn declare_factors(&self) -> Vec<&'static Declared> {
        let names: Vec<String> = self.mixes.iter().map(|mix| mix.name.clone()).collect();
        let mix = (names.len() > 1)
            .then(|| declare_choice(MIX, "how often clients choose each operation", &names));
        let own = self.configuration.factors.iter().map(|factor| {
            let summary = format!("the variable :{}", factor.name.text);
            declare_choice(&factor.name.text, &summary, &factor.levels)
        });
        let last = if self.configuration.program.is_some() { &PROGRAMS } else { &PREPARED };
        mix.into_iter().chain(own).chain([last]).collect()
    }

    fn describe_program(&self, files: &ApplicationFiles) -> Option<ClientProgram> {
        let ProgramTable { mut client, mut fill, audit, paces_itself, timeout_s, start_s, .. } =
            self.configuration.program.clone()?;
        let folder = match (&files.program, files.find_example()) {
            (Some(folder), _) => folder.path.clone(),
            (None, Some(example)) => {
                client = example.inline_command(&client);
                fill = fill.map(|command| example.inline_command(&command));
                "/".into()
            }
            (None, None) => return None,
        };
        let scales = self.configuration.scales.iter();
        let scales = scales.map(|(name, scale)| (name.clone().into(), *scale)).collect();
        Some(ClientProgram {
            folder,
            client,
            fill,
            audit,
            paces_itself,
            timeout_s,
            start_s,
            scales,
        })
    }

    fn describe_scales(&self) -> Vec<WorkloadScale> {
        let scales = self.configuration.scales.iter().map(|(name, scale)| {
            let text = Arc::new(TextSource::generate_short());
            let rows = self.row_plan.at_scale(*scale, 1, text);
            let tables = || self.schema.schema.tables.iter().enumerate();
            let all: i64 = tables().map(|(table, _)| rows.count_rows(table)).sum();
            let sizes = tables().map(|(number, table)| {
                estimate_bytes(&rows, number, table.columns.len(), rows.count_rows(number))
            });
            let bytes: u64 = sizes.sum();
            let tables = match self.schema.schema.tables.len() {
                1 => "1 table".to_owned(),
                many => format!("{many} tables"),
            };
            let summary = match &self.configuration.program {
                Some(program) if program.fill.is_some() => {
                    format!("what its program makes with the scale {scale}")
                }
                _ => format!("{} rows in {tables}", group_digits(all)),
            };
            WorkloadScale { name: name.clone().into(), summary: summary.into(), bytes }
        });
        scales.collect()
    }
}

/// `slots` are those that every operation has.
fn list_program_operations(program: &ProgramTable, slots: usize) -> Vec<Operation> {
    let operation = |(name, _): &(PlacedText, u32)| Operation {
        name: name.text.clone(),
        steps: Vec::new(),
        slots,
        lists: 0,
        reads_now: false,
        think: None,
    };
    program.operations.iter().map(operation).collect()
}

/// The numbers of the statements that it runs.
pub fn list_statements(operation: &Operation) -> Vec<usize> {
    let run = |step: &Step| if let Step::Run(run) = step { Some(run.statement) } else { None };
    operation.steps.iter().filter_map(|placed| run(&placed.step)).collect()
}
