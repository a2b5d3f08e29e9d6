//! The target `tables`: a workload's clients on an engine's sessions, or as visitors of a web server that
//! makes a workload's pages.

mod external;
mod fill;
mod kinds;
mod meter;
mod open;
mod ready;
mod resolved;
pub mod rows;
mod served;
mod server;
mod written;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use bakeoff_engines::urls::Secret;
use bakeoff_engines::{DatabaseClaim, Engine, EngineHome, OpenTerms, find_among};
use bakeoff_experiment::{Cell, CutBy, EngineState, Factor, WorkloadNames};
use bakeoff_results::AppliedSetting;
use bakeoff_results::measure::DATABASE_GROUP;
use bakeoff_workloads::{TextSource, Workload, WorkloadParameters};
use serde_json::Value;

use self::kinds::Kinds;
use self::open::OpenDatabase;
use self::ready::Ready;
use self::resolved::{ResolvedTables, factors, terms};
use self::served::ServedSite;
use self::server::{PageServer, WithPhp};
use super::{
    DataSize, MostClients, PreparedTarget, RunningTarget, Setup, Target, WantedLevels,
    WorkloadDescription,
};
use crate::TrialError;
use crate::answers::{AnswersRequest, ImageAnswers, listen};
use crate::options;
use crate::place::TargetPlace;
use crate::process::MessageOutput;
use crate::refusal::Refusal;

/// Its name.
const TARGET: &str = "tables";

/// The most clients of an engine that stores nothing.
const TURNS: MostClients = MostClients {
    number: 65_536,
    why: "they take turns on a thread a processor, and more would measure the memory that they are in",
};

/// Bytes on a disk for each byte of a row: indexes, what pages leave free, a log.
const PER_ROW_BYTE: u64 = 3;
/// Bytes of an empty database: of a library, and of a server's data folder with its logs.
const EMBEDDED_BYTES: u64 = 1 << 20;
const SERVER_BYTES: u64 = 150 << 20;

/// The target, with the engines and workloads that it knows.
pub struct TablesTarget {
    engines: Vec<&'static dyn Engine>,
    workloads: Vec<&'static dyn Workload>,
}

impl TablesTarget {
    /// Of these engines and workloads.
    pub fn new(engines: Vec<&'static dyn Engine>, workloads: Vec<&'static dyn Workload>) -> Self {
        Self { engines, workloads }
    }

    fn workload(&self, name: &str) -> Result<&'static dyn Workload, TrialError> {
        let found = self.workloads.iter().copied().find(|workload| workload.name() == name);
        found.ok_or_else(|| TrialError::User(format!("there is no workload {name}")))
    }

    /// The subject as it was resolved, with its engine.
    fn parts(&self, subject: &Value) -> Result<(ResolvedTables, &'static dyn Engine), TrialError> {
        let wrong = |error| TrialError::process(format!("no subject: {error}"));
        let resolved: ResolvedTables = serde_json::from_value(subject.clone()).map_err(wrong)?;
        // A database that somebody else runs is known by its name once its URL was found.
        let named = resolved.url.as_ref().map_or(&*resolved.engine, Secret::reveal);
        let engine = find_among(&self.engines, named)
            .map_err(|_| TrialError::User(format!("there is no engine {}", resolved.engine)))?;
        Ok((resolved, engine))
    }
}

/// Whether nginx and php-fpm can serve pages over an engine on this machine.
///
/// # Errors
/// What is missing or too old, and what brings it.
pub fn serves_with_php(engine: &dyn Engine) -> Result<(), String> {
    served::ready(PageServer::Php, engine).map_err(|problems| problems.join("; "))
}

/// Whether nginx and php-fpm can serve pages over any of these engines on this machine: over which, and what
/// keeps them from the others.
///
/// # Errors
/// What is missing or too old, and what brings it, where they can serve none.
pub fn try_php(engines: impl Iterator<Item = &'static dyn Engine>) -> Result<String, String> {
    let (mut reached, mut problems) = (Vec::new(), BTreeSet::new());
    for engine in engines.filter(|engine| WithPhp::from_engine(*engine).is_some()) {
        match served::ready(PageServer::Php, engine) {
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

/// Whether a cell's clients are visitors of a web server, so that none of them is in the engine's process.
pub fn is_served(cell: &Cell) -> bool {
    PageServer::from_cell(cell) != PageServer::None
}

impl Target for TablesTarget {
    fn name(&self) -> &'static str {
        TARGET
    }

    fn workloads(&self) -> Vec<WorkloadNames> {
        let audited = self.workloads.iter().find(|workload| workload.is_audited());
        let cut_by = audited.map(|workload| CutBy::engines(workload.name()));
        let none = "none of its workloads can be audited after a power cut";
        let names = |workload: &&'static dyn Workload| WorkloadNames {
            name: workload.name().into(),
            scales: workload.scales().iter().map(|scale| scale.name.clone().into()).collect(),
            operations: workload.operations().into_iter().map(Into::into).collect(),
            factors: factors(*workload),
            reads_back: workload.reads_back(),
            takes_rows: {
                let scales = workload.scales().iter();
                scales.filter_map(|scale| workload.rows_from_file(&scale.name)).collect()
            },
            // The power of an engine is cut under clients that can say what they were promised.
            cut_by: if workload.is_audited() {
                Ok(CutBy::engines(workload.name()))
            } else {
                cut_by.clone().ok_or_else(|| none.into())
            },
        };
        self.workloads.iter().map(names).collect()
    }

    fn about(&self, workload: &str) -> Option<WorkloadDescription> {
        let workload = self.workload(workload).ok()?;
        let scales = workload.scales().iter();
        Some(WorkloadDescription {
            summary: workload.summary().into(),
            operations: workload.operations(),
            figure_of_merit: workload.figure_of_merit(),
            counts: workload.counts(),
            scales: scales.map(|it| (it.name.clone(), it.summary.clone().into())).collect(),
        })
    }

    fn resolve(&self, wanted: &WantedLevels<'_>) -> Result<Setup, Refusal> {
        let WantedLevels { cell, workload, .. } = *wanted;
        let engine = options::engine(&self.engines, cell)?;
        if engine.home() == EngineHome::External {
            external::check(cell)?;
        }
        let durability = resolved::durability(engine, cell)?;
        let of = [Factor::ENGINE, Factor::DURABILITY];
        let none = |error: TrialError| Refusal::from_cell(cell, &of, error.to_string());
        let workload = self.workload(workload).map_err(none)?;
        let resolved = ResolvedTables::from_wanted(wanted, engine, workload, durability)?;
        Ok(resolved.setup(cell, engine, workload))
    }

    fn size(&self, subject: &Value) -> Option<DataSize> {
        let (resolved, engine) = self.parts(subject).ok()?;
        let workload = self.workload(&resolved.workload).ok()?;
        let rows = match (&resolved.rows, workload.rows_from_file(&resolved.scale)) {
            (Some(file), Some(count)) => file.bytes_of(count),
            _ => workload.size(&resolved.scale, &resolved.levels),
        };
        let empty = match engine.home() {
            EngineHome::Process => EMBEDDED_BYTES,
            EngineHome::Server => SERVER_BYTES,
            EngineHome::External => 0,
        };
        // What a row was before takes as much room again.
        let aged = (rows as f64 * workload.age(&resolved.levels)) as u64;
        Some(DataSize { rows, aged, disk: empty + PER_ROW_BYTE * (rows + aged) })
    }

    fn most_clients(&self, subject: &Value) -> MostClients {
        let Ok((resolved, engine)) = self.parts(subject) else { return MostClients::THREADS };
        match resolved.server.most_clients() {
            Some(most) => most,
            None if !engine.about().stores => TURNS,
            None => MostClients::THREADS,
        }
    }

    /// With settings of the user's own, what an engine needs isn't known; nor where PHP is in the group, too.
    fn least_memory(&self, subject: &Value, group: &str, clients: usize) -> Option<u64> {
        let (resolved, engine) = self.parts(subject).ok()?;
        let with_php = resolved.server == PageServer::Php && engine.home() == EngineHome::Process;
        let known = group == DATABASE_GROUP && resolved.settings.is_empty() && !with_php;
        let rows = self.size(subject).map_or(0, |size| size.rows);
        let entries = self.workload(&resolved.workload).map_or(0, |it| it.entries(&resolved.scale));
        let least = known.then(|| engine.least_memory(rows, entries)).flatten()?;
        Some(least.bytes(resolved.server.sessions(clients)))
    }

    fn cache(&self, subject: &Value, memory_bytes: Option<u64>) -> Option<AppliedSetting> {
        let (resolved, engine) = self.parts(subject).ok()?;
        let terms = OpenTerms {
            memory_bytes,
            settings: resolved.settings,
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

    /// What serves the pages and is not there: a run would not begin. And rows that an engine alone can't keep in
    /// memory though there is no limit.
    fn remark(&self, subject: &Value, memory_bytes: Option<u64>, _: EngineState) -> Option<String> {
        let (resolved, engine) = self.parts(subject).ok()?;
        let rows = self.size(subject).map_or(0, |size| size.rows);
        let outgrown = match memory_bytes {
            None => resolved.outgrows(engine, rows),
            Some(_) => None,
        };
        let remarks: Vec<String> =
            served::lacks(resolved.server).into_iter().chain(outgrown).collect();
        (!remarks.is_empty()).then(|| remarks.join("\n"))
    }

    fn prepare(&self, subject: &Value) -> Result<Box<dyn PreparedTarget>, TrialError> {
        let (resolved, engine) = self.parts(subject)?;
        let workload = self.workload(&resolved.workload)?;
        let text = match &resolved.text {
            Some(path) => {
                TextSource::from_file(path).map_err(|error| TrialError::User(error.to_string()))?
            }
            None => TextSource::generated(resolved.seed),
        };
        let prepared = workload.prepare(&WorkloadParameters {
            scale: &resolved.scale,
            seed: resolved.seed,
            text: Arc::new(text),
            rows: resolved.rows.clone(),
            levels: resolved.levels.clone(),
        });
        let writing = written::writing(prepared.statements());
        let kinds =
            Kinds::from_operations(workload.operations(), |number| prepared.has_operation(number));
        let none =
            || TrialError::User(format!("{} has no operation at these levels", workload.name()));
        let kinds = kinds.ok_or_else(none)?;
        Ok(Box::new(Ready { engine, prepared, kinds, writing, resolved }))
    }

    fn ready(&self, subject: &Value, reuse: bool) -> Result<(), Vec<String>> {
        let (resolved, engine) = self.parts(subject).map_err(|error| vec![error.to_string()])?;
        let problems = [
            engine.ready(&resolved.settings, reuse).err(),
            served::ready(resolved.server, engine).err(),
        ];
        let problems: Vec<String> = problems.into_iter().flatten().flatten().collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Nothing can be read back from an engine that stores nothing, and of somebody else's database
    /// there is no image.
    fn can_be_asked(&self, subject: &Value) -> bool {
        let can =
            |engine: &dyn Engine| engine.about().stores && engine.home() != EngineHome::External;
        self.parts(subject).is_ok_and(|(_, engine)| can(engine))
    }

    fn is_log(&self, subject: &Value, file: &Path) -> bool {
        self.parts(subject).is_ok_and(|(_, engine)| engine.is_log(file))
    }

    fn claim(&self, subject: &Value) -> Result<DatabaseClaim, TrialError> {
        let (_, engine) = self.parts(subject)?;
        engine.claim().map_err(|error| TrialError::Engine(error.to_string()))
    }

    fn settings(&self, subject: &Value, place: &TargetPlace) -> Vec<AppliedSetting> {
        let Ok((resolved, engine)) = self.parts(subject) else { return Vec::new() };
        let terms = terms(&resolved, place);
        let noted = |setting: bakeoff_engines::Setting| AppliedSetting {
            name: setting.name,
            value: setting.value,
            reason: setting.reason.map(Into::into),
        };
        let held = engine.settings(&terms).into_iter();
        let held = held.filter(|setting| resolved.server.keeps(&setting.name));
        let mut settings: Vec<AppliedSetting> = held.map(noted).collect();
        // What is asked of somebody else's database is no setting of its server's.
        for (name, value) in terms.settings {
            if !settings.iter().any(|setting| setting.name == name) {
                settings.push(AppliedSetting { name, value, reason: None });
            }
        }
        settings.extend(resolved.server.settings(engine));
        settings.extend(served::installed(resolved.server, engine));
        settings
    }
}

impl PreparedTarget for Ready {
    fn load(
        &self,
        place: &TargetPlace,
        loaded: &mut dyn FnMut(u64, u64),
    ) -> Result<(), TrialError> {
        // Nothing need be durable before the drain.
        let level = self.engine.loads_at().unwrap_or_else(|| self.loosest());
        let database = self.database(place, level)?;
        fill::fill(&*self.prepared, &*database, loaded)
    }

    fn open<'a>(&'a self, place: &TargetPlace) -> Result<Box<dyn RunningTarget + 'a>, TrialError> {
        if self.resolved.server != PageServer::None {
            return Ok(Box::new(ServedSite::open(self, place)?));
        }
        let database = self.database(place, self.resolved.durability)?;
        Ok(Box::new(OpenDatabase::new(self, database)))
    }

    fn serve(
        &self,
        place: &TargetPlace,
        input: &mut dyn BufRead,
        output: &MessageOutput<'_>,
    ) -> Result<(), TrialError> {
        served::serve(self, place, input, output)
    }

    fn answers(&self, place: &TargetPlace, seed: u64) -> Result<ImageAnswers, TrialError> {
        let ResolvedTables { workload, scale, levels, .. } = &self.resolved;
        let levels = levels.iter().map(|(name, level)| format!(" {name}={level}"));
        let asked = AnswersRequest {
            prepared: &*self.prepared,
            operations: &|number| self.kinds.any_name(number).to_owned(),
            work: format!("{workload} {scale}{}", levels.collect::<String>()),
            seed,
        };
        // What it answers is thrown away.
        let database = self.database(place, self.loosest())?;
        listen(asked, &*database).map_err(|error| TrialError::Engine(error.to_string()))
    }

    fn acknowledged(&self, claims: &[Vec<u8>], off_at_ns: u64) -> u64 {
        self.prepared.audited().map_or(0, |audited| audited.acknowledged(claims, off_at_ns))
    }
}
