use std::path::PathBuf;
use std::sync::Arc;

use bakeoff_engines::DeclaredLevels;
use bakeoff_engines::urls::{self, Secret};
use bakeoff_engines::{
    AS_IS, Durability, Engine, EngineHome, OpenTerms, Preparation, Statement, find_among,
};
use bakeoff_experiment::{Cell, Declared, Experiment, Factor, without_alias};
use bakeoff_results::measure::DATABASE_GROUP;
use bakeoff_workloads::{
    PREPARED, PreparedWorkload, RowsFile, TextSource, Workload, WorkloadParameters,
    fingerprint_parts,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::server::{GZIP, PageServer, SERVER, wants_gzip};
use super::{TARGET, TablesSubject, program, rows};
use crate::place::TargetPlace;
use crate::place::images::Recipe;
use crate::refusal::{self, Refusal};
use crate::targets::{GroupLimit, GroupSetup, Setup, WantedLevels, describe_image};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResolvedTables {
    pub engine: String,
    /// Includes the password. It goes to the trial's process through a pipe, and nowhere else.
    pub url: Option<Secret>,
    pub workload: String,
    /// For a workload that the trial's process doesn't have.
    pub definition: Option<Value>,
    pub scale: String,
    /// Which load of the data, from 0.
    pub image: u32,
    /// Of the rows of this image.
    pub seed: u64,
    pub text: Option<PathBuf>,
    /// Includes the state of the file.
    pub rows: Option<RowsFile>,
    pub durability: Durability,
    /// Whether that is what a server by URL promises.
    pub as_is: bool,
    pub settings: Vec<(String, String)>,
    pub levels: DeclaredLevels,
    pub preparation: Preparation,
    pub server: PageServer,
    pub gzip: bool,
}

impl ResolvedTables {
    pub fn from_wanted(
        wanted: &WantedLevels<'_>,
        engine: &dyn Engine,
        workload: &dyn Workload,
        durability: Durability,
    ) -> Result<Self, Refusal> {
        let WantedLevels { experiment, cell, image, .. } = *wanted;
        let name = engine.about().name;
        // A substitute workload has other scales and factors.
        let own = workload.name() == experiment.workload;
        let (scale, levels) = match own {
            true => (cell.base(Factor::SCALE), declared_levels(workload, cell)),
            false => (&*workload.scales()[0].name, DeclaredLevels::default()),
        };
        let server =
            if own && workload.is_site() { PageServer::from_cell(cell) } else { PageServer::None };
        server.check(engine, cell)?;
        if own && workload.program().is_some() {
            program::check_cell(engine, workload, cell)?;
        }
        if let Some(why) = cannot_run(engine, workload, scale, &levels) {
            let varied = workload_factors(workload).into_iter().filter(|factor| {
                matches!(factor, Factor::Declared(_)) && experiment.run_levels(*factor).len() > 1
            });
            let of: Vec<Factor> = [Factor::ENGINE].into_iter().chain(varied).collect();
            return Err(Refusal::from_cell(cell, &of, why));
        }
        let settings = experiment.settings_of(name);
        refusal::check_settings(engine, cell, durability, &settings)?;
        let rows = rows::at_scale(experiment, workload, scale)
            .map_err(|error| Refusal::from_cell(cell, &[Factor::SCALE], error.to_string()))?;
        Ok(Self {
            engine: name.into(),
            url: urls::find_url(name).cloned(),
            workload: workload.name().into(),
            definition: workload.to_definition(),
            scale: scale.into(),
            image,
            seed: experiment.row_seed(image),
            text: experiment.text.clone(),
            rows,
            durability,
            as_is: cell.level(Factor::DURABILITY) == Some(AS_IS),
            settings,
            preparation: workload.find_preparation(&levels),
            levels,
            server,
            gzip: server != PageServer::None && wants_gzip(cell),
        })
    }

    pub fn into_setup(
        self,
        cell: &Cell,
        engine: &'static dyn Engine,
        workload: &'static dyn Workload,
    ) -> Setup {
        let Self { engine: name, workload: loaded, scale, .. } = &self;
        let shaped = self.row_shape(workload);
        // It tells images apart; users don't see it.
        let from = self.rows.as_ref().map(|file| format!(" rows {:016x}", file.fingerprint()));
        let from = from.unwrap_or_default();
        let image = describe_image(self.image);
        let defined = self.definition.as_ref().map(fingerprint_definition).unwrap_or_default();
        let (groups, shared) = match engine.home() {
            EngineHome::External => Default::default(),
            EngineHome::Process | EngineHome::Server => {
                self.server.make_groups(engine, database_group(engine, cell))
            }
        };
        Setup {
            target: TARGET,
            recipe: Recipe {
                key: format!("{loaded}{defined} {scale}{shaped}{from}{image} {name}"),
                about: format!("{loaded} {scale}{shaped}{image} into {name}"),
                into: name.clone(),
            },
            groups,
            shared,
            home: engine.home().into(),
            subject: Arc::new(TablesSubject { resolved: self, engine, workload }),
        }
    }

    /// A warning if the rows exceed the engine's own cache, memory is not limited, and the engine
    /// bypasses the page cache, which other engines have besides their own.
    pub fn cache_overflow(&self, engine: &dyn Engine, rows: u64) -> Option<String> {
        let terms =
            OpenTerms { settings: self.settings.clone(), ..OpenTerms::new(self.durability) };
        let cache = engine.cache(&terms).filter(|cache| cache.direct && cache.bytes < rows)?;
        let settings = engine.settings(&terms);
        // Only the engine can convert a user's value to bytes.
        let is_own = settings.iter().any(|it| it.name == cache.setting && it.reason.is_none());
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        (!is_own).then(|| {
            format!(
                "{}: {:.0} MB of rows don't fit its own cache of {:.0} MB, and it reads past the system's page \
                 cache. Where memory is unlimited, an engine that reads through the page cache has the rest of \
                 this machine's memory, too: give all the same limit by `--memory`, or set {}",
                self.engine,
                megabytes(rows),
                megabytes(cache.bytes),
                cache.setting
            )
        })
    }

    fn row_shape(&self, workload: &dyn Workload) -> String {
        let shaping = workload.factors().into_iter().filter(|factor| workload.shapes_rows(factor));
        shaping.map(|factor| format!(" {}={}", factor.name, self.levels.level_of(factor))).collect()
    }
}

/// Two applications of one name must not share an image.
fn fingerprint_definition(definition: &Value) -> String {
    let text = definition.to_string();
    format!(" {:016x}", fingerprint_parts([text.as_bytes()]))
}

/// The level at which an engine is opened: that of the cell, or what the servers by URL promise.
pub fn cell_durability(
    engines: &[&'static dyn Engine],
    engine: &dyn Engine,
    wanted: &WantedLevels<'_>,
) -> Result<Durability, Refusal> {
    let cell = wanted.cell;
    let of = [Factor::ENGINE, Factor::DURABILITY];
    let level = cell.base(Factor::DURABILITY);
    if level == AS_IS {
        let promised = find_promise(engines, engine, wanted.experiment);
        let durability = promised.map_err(|why| Refusal::from_cell(cell, &of, why))?;
        return match engine.home() {
            EngineHome::External => Ok(durability),
            EngineHome::Process | EngineHome::Server => {
                refusal::check_durability(engine, cell, durability)?;
                match engine.find_kept_level(durability, &[]) {
                    Ok(kept) if kept == durability => Ok(durability),
                    _ => Err(Refusal::from_cell(
                        cell,
                        &of,
                        format!(
                            "its settings do not promise {}, as the servers by URL do",
                            durability.name()
                        ),
                    )),
                }
            }
        };
    }
    let none = || Refusal::from_cell(cell, &of, "there is no such level");
    let durability = Durability::from_name(level).ok_or_else(none)?;
    refusal::check_durability(engine, cell, durability)?;
    Ok(durability)
}

/// What an engine promises that is run as it is. Beside servers by URL, one that bakeoff starts
/// promises the same as they do.
fn find_promise(
    engines: &[&'static dyn Engine],
    engine: &dyn Engine,
    experiment: &Experiment,
) -> Result<Durability, String> {
    let levels = experiment.run_levels(Factor::ENGINE);
    let named = levels.iter().filter_map(|level| find_among(engines, without_alias(level)).ok());
    let mut by_url = named.filter(|other| other.home() == EngineHome::External);
    let Some(first) = by_url.next() else { return engine.find_own_level() };
    let promised = match engine.home() {
        EngineHome::External => engine.find_own_level()?,
        EngineHome::Process | EngineHome::Server => first.find_own_level()?,
    };
    // A server that can't be asked is refused by itself.
    let is_same = |other: &dyn Engine| other.find_own_level().is_ok_and(|level| level == promised);
    let differs = |other: &&'static dyn Engine| other.find_own_level().is_ok() && !is_same(*other);
    match std::iter::once(first).chain(by_url).find(differs) {
        None => Ok(promised),
        Some(_) => Err("the servers by URL promise different levels: choose one that all give, none, relaxed or strict, \
                        by `durability`"
            .into()),
    }
}

pub fn workload_factors(workload: &dyn Workload) -> Vec<Factor> {
    let declared = workload.factors().into_iter().map(Factor::Declared);
    let of_sites = [Factor::Declared(&SERVER), Factor::Declared(&GZIP)];
    let of_sites = of_sites.into_iter().filter(|_| workload.is_site());
    Factor::OWN.into_iter().chain(declared).chain(of_sites).collect()
}

fn cannot_run(
    engine: &dyn Engine,
    workload: &dyn Workload,
    scale: &str,
    levels: &DeclaredLevels,
) -> Option<String> {
    if workload.find_preparation(levels) == Preparation::EachExecution && !engine.prepares() {
        let engine = engine.about().name;
        return Some(format!(
            "{engine} has no SQL, so that no text can be sent to it with each execution\nit runs --factor {}={}",
            PREPARED.name, PREPARED.default
        ));
    }
    let runs = engine.statement_check()?;
    let parameters = WorkloadParameters {
        levels: levels.clone(),
        ..WorkloadParameters::new(scale, 0, Arc::new(TextSource::generate_short()))
    };
    let prepared = workload.prepare(&parameters);
    let needed = prepared.statements().len() - prepared.count_optional();
    let mut needed = prepared.statements()[..needed].iter();
    needed.find_map(|statement| {
        let why = runs(prepared.schema(), statement).err()?;
        let (engine, statement) = (engine.about().name, &statement.name);
        let instead = workload.find_levels_for(&|schema, it| runs(schema, it).is_ok());
        let instead = instead.map(|levels| format!("\nit runs --factor {levels}"));
        Some(format!(
            "{engine} can't run the statement `{statement}` of {}: {why}{}",
            workload.name(),
            instead.unwrap_or_default()
        ))
    })
}

/// The statements that an engine is opened with: without the optional ones, if it can't run all of
/// them.
pub fn usable_statements<'p>(
    engine: &dyn Engine,
    prepared: &'p dyn PreparedWorkload,
) -> &'p [Statement] {
    let all = prepared.statements();
    let needed = all.len() - prepared.count_optional();
    let runs_all = engine.statement_check().is_none_or(|runs| {
        all[needed..].iter().all(|statement| runs(prepared.schema(), statement).is_ok())
    });
    if runs_all { all } else { &all[..needed] }
}

fn declared_levels(workload: &dyn Workload, cell: &Cell) -> DeclaredLevels {
    let level = |factor: &'static Declared| {
        (factor.name.to_owned(), cell.base(Factor::Declared(factor)).to_owned())
    };
    workload.factors().into_iter().map(level).collect()
}

fn database_group(engine: &dyn Engine, cell: &Cell) -> GroupSetup {
    GroupSetup {
        name: DATABASE_GROUP,
        has_server: engine.home() == EngineHome::Server,
        files: Some(""),
        limit: GroupLimit { memory: cell.memory(), cpus: cell.cpus() },
    }
}

pub fn open_terms(resolved: &ResolvedTables, place: &TargetPlace) -> OpenTerms {
    let group = place.find_group(DATABASE_GROUP);
    let mut settings = resolved.settings.clone();
    if place.reuse {
        settings.push(("reuse".into(), "yes".into()));
    }
    OpenTerms {
        durability: resolved.durability,
        as_is: resolved.as_is,
        preparation: resolved.preparation,
        memory_bytes: group.and_then(|group| group.limit.memory_bytes),
        settings,
        runtime: group.and_then(|group| group.runtime.clone()),
        groups: group.map(|group| group.cgroups.clone()).unwrap_or_default(),
    }
}
