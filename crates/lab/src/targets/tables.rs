//! The target `tables`: a workload's clients on an engine's sessions, or visitors of a web server
//! that makes the workload's pages.

mod external;
mod fill;
mod kinds;
mod meter;
mod open;
mod program;
mod ready;
mod resolved;
pub mod rows;
mod served;
mod server;
mod statement_totals;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use bakeoff_application::Application;
use bakeoff_engines::urls::Secret;
use bakeoff_engines::{DatabaseClaim, Engine, EngineHome, OpenTerms, find_among};
use bakeoff_experiment::{Cell, CutBy, EngineState, Factor, WorkloadNames};
use bakeoff_results::AppliedSetting;
use bakeoff_results::measure::DATABASE_GROUP;
use bakeoff_workloads::{TextSource, Workload, WorkloadParameters};
use serde_json::Value;

pub use self::fill::fill_database;
use self::kinds::Kinds;
use self::open::OpenDatabase;
use self::program::ProgramTarget;
pub use self::program::{DatabaseTerms, try_program};
use self::ready::Ready;
use self::resolved::{ResolvedTables, open_terms, workload_factors};
use self::served::ServedSite;
use self::server::{PageServer, PhpDatabase};
use super::{
    DataSize, MostClients, PreparedTarget, RunningTarget, Setup, Subject, Target, WantedLevels,
    WorkloadDescription, describe_image,
};
use crate::TrialError;
use crate::answers::{AnswersRequest, ImageAnswers, collect_answers};
use crate::machine::accounts::allocated_bytes;
use crate::options;
use crate::place::TargetPlace;
use crate::process::MessageOutput;
use crate::refusal::Refusal;

const TARGET: &str = "tables";

const TURNS: MostClients = MostClients {
    number: 65_536,
    why: "they take turns on a thread a processor, and more would measure the memory that they are in",
};

/// Bytes on disk per byte of rows: indexes, free space in pages, a log.
const PER_ROW_BYTE: u64 = 3;
/// The size of an empty database of a library; the next one is that of a server with its logs.
const EMBEDDED_BYTES: u64 = 1 << 20;
const SERVER_BYTES: u64 = 150 << 20;

pub struct TablesTarget {
    engines: Vec<&'static dyn Engine>,
    workloads: Vec<&'static dyn Workload>,
}

impl TablesTarget {
    pub fn new(engines: Vec<&'static dyn Engine>, workloads: Vec<&'static dyn Workload>) -> Self {
        Self { engines, workloads }
    }

    fn find_workload(&self, name: &str) -> Result<&'static dyn Workload, TrialError> {
        let found = self.workloads.iter().copied().find(|workload| workload.name() == name);
        found.ok_or_else(|| TrialError::User(format!("there is no workload {name}")))
    }
}

/// Returns the engines that PHP can serve, and why it can't serve the others.
pub fn try_php(engines: impl Iterator<Item = &'static dyn Engine>) -> Result<String, String> {
    let (mut reached, mut problems) = (Vec::new(), BTreeSet::new());
    for engine in engines.filter(|engine| PhpDatabase::from_engine(*engine).is_some()) {
        match served::check_ready(PageServer::Php, engine) {
            Ok(()) => reached.push(engine.about().name),
            Err(missing) => problems.extend(missing),
        }
    }
    let problems: Vec<String> = problems.into_iter().collect();
    let problems = problems.join("; ");
    match (reached.is_empty(), problems.is_empty()) {
        (true, _) => Err(problems),
        (false, true) => Ok(format!("over {}", reached.join(", "))),
        (false, false) => Ok(format!("over {} alone: {problems}", reached.join(", "))),
    }
}

/// Whether clients visit a web server: then no client is in the engine's process.
pub fn is_served(cell: &Cell) -> bool {
    PageServer::from_cell(cell) != PageServer::None
}

impl Target for TablesTarget {
    fn name(&self) -> &'static str {
        TARGET
    }

    fn workloads(&self) -> Vec<WorkloadNames> {
        let audited = self.workloads.iter().find(|workload| workload.is_audited());
        let cut_by = audited.map(|workload| CutBy::under_engines(workload.name()));
        let none = "none of its workloads can be audited after a power cut";
        let names = |workload: &&'static dyn Workload| WorkloadNames {
            name: workload.name().into(),
            scales: workload.scales().iter().map(|scale| scale.name.clone().into()).collect(),
            operations: workload.operations().into_iter().map(Into::into).collect(),
            factors: workload_factors(*workload),
            reads_back: workload.reads_back(),
            takes_rows: {
                let scales = workload.scales().iter();
                scales.filter_map(|scale| workload.rows_from_file(&scale.name)).collect()
            },
            // Only workloads that can audit themselves can have a power cut.
            cut_by: if workload.is_audited() {
                Ok(CutBy::under_engines(workload.name()))
            } else {
                cut_by.clone().ok_or_else(|| none.into())
            },
        };
        self.workloads.iter().map(names).collect()
    }

    fn describe_workload(&self, workload: &str) -> Option<WorkloadDescription> {
        let workload = self.find_workload(workload).ok()?;
        let scales = workload.scales().iter();
        Some(WorkloadDescription {
            summary: workload.summary().into(),
            operations: workload.operations(),
            figure_of_merit: workload.figure_of_merit(),
            counts: workload.counts(),
            rows: workload.describe_rows(),
            scales: scales.map(|it| (it.name.clone(), it.summary.clone().into())).collect(),
        })
    }

    fn resolve(&self, wanted: &WantedLevels<'_>) -> Result<Setup, Refusal> {
        let WantedLevels { cell, workload, .. } = *wanted;
        let engine = options::find_engine(&self.engines, cell)?;
        if engine.home() == EngineHome::External {
            external::check_external(cell)?;
        }
        let durability = resolved::cell_durability(&self.engines, engine, wanted)?;
        let of = [Factor::ENGINE, Factor::DURABILITY];
        let none = |error: TrialError| Refusal::from_cell(cell, &of, error.to_string());
        let workload = self.find_workload(workload).map_err(none)?;
        let resolved = ResolvedTables::from_wanted(wanted, engine, workload, durability)?;
        Ok(resolved.into_setup(cell, engine, workload))
    }

    fn read_subject(&self, json: &Value) -> Result<Box<dyn Subject>, TrialError> {
        let wrong = |error| TrialError::process_error(format!("no subject: {error}"));
        let resolved: ResolvedTables = serde_json::from_value(json.clone()).map_err(wrong)?;
        // An external database is named by its resolved URL.
        let named = resolved.url.as_ref().map_or(&*resolved.engine, Secret::reveal);
        let workload = match &resolved.definition {
            Some(definition) => define_workload(definition)?,
            None => self.find_workload(&resolved.workload)?,
        };
        let none = |_| TrialError::User(format!("there is no engine {}", resolved.engine));
        let engine = match workload.server() {
            Some(server) if server.about().name == named => server as &dyn Engine,
            _ => find_among(&self.engines, named).map_err(none)?,
        };
        Ok(Box::new(TablesSubject { resolved, engine, workload }))
    }
}

/// A process has one subject, so that its workload lives as long.
fn define_workload(definition: &Value) -> Result<&'static dyn Workload, TrialError> {
    let application = Application::from_definition(definition);
    let application = application.map_err(|error| TrialError::User(error.to_string()))?;
    Ok(Box::leak(Box::new(application)))
}

/// A trial's levels, with the engine and the workload that they name.
#[derive(Clone)]
struct TablesSubject {
    resolved: ResolvedTables,
    engine: &'static dyn Engine,
    workload: &'static dyn Workload,
}

impl Subject for TablesSubject {
    fn to_json(&self) -> Value {
        serde_json::to_value(&self.resolved).expect("it is plain data")
    }

    fn size(&self) -> Option<DataSize> {
        let Self { resolved, engine, workload } = self;
        let rows = match (&resolved.rows, workload.rows_from_file(&resolved.scale)) {
            (Some(file), Some(count)) => file.bytes_of(count),
            _ => workload.estimate_size(&resolved.scale, &resolved.levels),
        };
        let empty = match engine.home() {
            EngineHome::Process => EMBEDDED_BYTES,
            EngineHome::Server => SERVER_BYTES,
            EngineHome::External => 0,
        };
        // Old versions of rows take as much room again.
        let aged = (rows as f64 * workload.find_age(&resolved.levels)) as u64;
        Some(DataSize { rows, aged, disk: empty + PER_ROW_BYTE * (rows + aged) })
    }

    fn most_clients(&self) -> MostClients {
        let Self { resolved, engine, .. } = self;
        match resolved.server.most_clients() {
            _ if self.workload.program().is_some() => program::PROCESSES,
            Some(most) => most,
            None if !engine.about().stores => TURNS,
            None => MostClients::THREADS,
        }
    }

    /// Unknown with settings of the user's own, and where PHP or a program is in the group, too.
    fn least_memory(&self, group: &str, clients: usize) -> Option<u64> {
        let Self { resolved, engine, .. } = self;
        let in_others = resolved.server == PageServer::Php || self.workload.program().is_some();
        let with_others = in_others && engine.home() == EngineHome::Process;
        let known = group == DATABASE_GROUP && resolved.settings.is_empty() && !with_others;
        let rows = self.size().map_or(0, |size| size.rows);
        let entries = self.workload.estimate_entries(&resolved.scale);
        let least = known.then(|| engine.least_memory(rows, entries)).flatten()?;
        Some(least.bytes_for_clients(resolved.server.sessions(clients)))
    }

    fn cache_setting(&self, memory_bytes: Option<u64>) -> Option<AppliedSetting> {
        let Self { resolved, engine, .. } = self;
        let terms = OpenTerms {
            memory_bytes,
            settings: resolved.settings.clone(),
            ..OpenTerms::new(resolved.durability)
        };
        let cache = engine.cache(&terms)?;
        let settings = engine.settings(&terms);
        let own = settings.into_iter().find(|it| it.name == cache.setting && it.reason.is_none());
        Some(match own {
            Some(own) => AppliedSetting { name: own.name, value: own.value, reason: None },
            None => AppliedSetting {
                name: cache.setting.into(),
                value: cache.bytes.to_string(),
                reason: Some(cache.reason.into()),
            },
        })
    }

    /// Names a missing program that would serve the pages: the run would not begin. Also warns of
    /// rows that the engine alone can't keep in memory though memory isn't limited.
    fn plan_remark(&self, memory_bytes: Option<u64>, _: EngineState) -> Option<String> {
        let Self { resolved, engine, .. } = self;
        let rows = self.size().map_or(0, |size| size.rows);
        let outgrown = match memory_bytes {
            None => resolved.cache_overflow(*engine, rows),
            Some(_) => None,
        };
        let remarks: Vec<String> =
            served::find_missing(resolved.server).into_iter().chain(outgrown).collect();
        (!remarks.is_empty()).then(|| remarks.join("\n"))
    }

    fn prepare(&self) -> Result<Box<dyn PreparedTarget>, TrialError> {
        let Self { resolved, engine, workload } = self.clone();
        let text = match &resolved.text {
            Some(path) => {
                TextSource::from_file(path).map_err(|error| TrialError::User(error.to_string()))?
            }
            None => TextSource::generate(resolved.seed),
        };
        let prepared = workload.prepare(&WorkloadParameters {
            scale: &resolved.scale,
            seed: resolved.seed,
            text: Arc::new(text),
            rows: resolved.rows.clone(),
            levels: resolved.levels.clone(),
        });
        let writing = statement_totals::writing_statements(prepared.statements());
        let kinds =
            Kinds::from_operations(workload.operations(), |number| prepared.has_operation(number));
        let none =
            || TrialError::User(format!("{} has no operation at these levels", workload.name()));
        let kinds = kinds.ok_or_else(none)?;
        let program = workload.program();
        let brings_server = workload.server().is_some();
        Ok(Box::new(Ready { engine, prepared, kinds, writing, program, brings_server, resolved }))
    }

    fn check_ready(&self, reuse: bool) -> Result<(), Vec<String>> {
        let Self { resolved, engine, .. } = self;
        let problems = [
            engine.check_ready(&resolved.settings, reuse).err(),
            served::check_ready(resolved.server, *engine).err(),
        ];
        let problems: Vec<String> = problems.into_iter().flatten().flatten().collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// An engine that stores nothing can't be read, an external database has no image, and a program
    /// gives no answers.
    fn can_be_asked(&self) -> bool {
        let can_be_read = self.engine.about().stores && self.workload.program().is_none();
        can_be_read && self.engine.home() != EngineHome::External
    }

    fn is_log(&self, file: &Path) -> bool {
        self.engine.is_log(file)
    }

    fn find_local_server(&self) -> Option<u32> {
        self.engine.find_local_server()
    }

    fn claim(&self) -> Result<DatabaseClaim, TrialError> {
        self.engine.claim().map_err(|error| TrialError::Engine(error.to_string()))
    }

    fn settings(&self, place: &TargetPlace) -> Vec<AppliedSetting> {
        let Self { resolved, engine, .. } = self;
        let terms = open_terms(resolved, place);
        let noted = |setting: bakeoff_engines::Setting| AppliedSetting {
            name: setting.name,
            value: setting.value,
            reason: setting.reason.map(Into::into),
        };
        let held = engine.settings(&terms).into_iter();
        let held = held.filter(|setting| resolved.server.keeps(&setting.name));
        let mut settings: Vec<AppliedSetting> = held.map(noted).collect();
        // The external database is not asked for its settings.
        for (name, value) in terms.settings {
            if !settings.iter().any(|setting| setting.name == name) {
                settings.push(AppliedSetting { name, value, reason: None });
            }
        }
        settings.extend(resolved.as_is.then(|| AppliedSetting {
            name: Factor::DURABILITY.name().into(),
            value: resolved.durability.name().into(),
            reason: Some(format!("as it is: {}", resolved.durability.describe_loss())),
        }));
        settings.extend(resolved.server.settings(*engine));
        settings.extend(served::installed_versions(resolved.server, *engine));
        settings
    }
}

/// The bytes of rows that a program has made are known to it alone.
fn filled_bytes(place: &TargetPlace) -> u64 {
    place.directory.as_deref().and_then(|folder| allocated_bytes(folder).ok()).unwrap_or(0)
}

impl PreparedTarget for Ready {
    fn load(
        &self,
        place: &TargetPlace,
        loaded: &mut dyn FnMut(u64, u64),
    ) -> Result<(), TrialError> {
        // Data need not be durable before the drain.
        let level = self.engine.loads_at().unwrap_or_else(|| self.weakest_level());
        let database = self.open_database(place, level)?;
        // From here on its tables are this run's, even if the load fails.
        loaded(0, 0);
        match self.program.filter(|program| program.fill.is_some()) {
            // Nobody but its programs could fill it.
            None if self.brings_server => Ok(database.drain()?),
            None => fill::fill_database(&*self.prepared, &*database, loaded),
            Some(filled_by) => {
                let alive = &mut || loaded(0, 0);
                program::fill_by_program(self, filled_by, place, &*database, alive)?;
                database.drain()?;
                loaded(0, filled_bytes(place));
                Ok(())
            }
        }
    }

    fn open<'a>(&'a self, place: &TargetPlace) -> Result<Box<dyn RunningTarget + 'a>, TrialError> {
        if self.resolved.server != PageServer::None {
            return Ok(Box::new(ServedSite::open(self, place)?));
        }
        if let Some(program) = self.program {
            return Ok(Box::new(ProgramTarget::open(self, program, place)?));
        }
        let database = self.open_database(place, self.resolved.durability)?;
        Ok(Box::new(OpenDatabase::new(self, database)))
    }

    fn serve(
        &self,
        place: &TargetPlace,
        input: &mut dyn BufRead,
        output: &MessageOutput<'_>,
    ) -> Result<(), TrialError> {
        served::serve_pages(self, place, input, output)
    }

    fn collect_answers(&self, place: &TargetPlace, seed: u64) -> Result<ImageAnswers, TrialError> {
        let ResolvedTables { workload, scale, image, levels, .. } = &self.resolved;
        let image = describe_image(*image);
        let levels = levels.iter().map(|(name, level)| format!(" {name}={level}"));
        let asked = AnswersRequest {
            prepared: &*self.prepared,
            operations: &|number| self.kinds.any_name(number).to_owned(),
            work: format!("{workload} {scale}{}{image}", levels.collect::<String>()),
            seed,
        };
        // The answers are collected, the database is thrown away.
        let database = self.open_database(place, self.weakest_level())?;
        Ok(collect_answers(asked, &*database)?)
    }

    fn count_acknowledged(&self, claims: &[Vec<u8>], off_at_ns: u64) -> u64 {
        if self.program.is_some() {
            return program::read_acknowledged(claims, off_at_ns).len() as u64;
        }
        self.prepared
            .as_audited()
            .map_or(0, |audited| audited.count_acknowledged(claims, off_at_ns))
    }
}
