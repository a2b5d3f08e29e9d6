//! What the target makes of a trial's levels, and what an engine is opened with at them.

use std::path::PathBuf;
use std::sync::Arc;

use bakeoff_engines::urls::{self, Secret};
use bakeoff_engines::{Durability, Engine, EngineHome, OpenTerms};
use bakeoff_experiment::{Cell, Declared, Factor};
use bakeoff_factor::DeclaredLevels;
use bakeoff_results::measure::DATABASE_GROUP;
use bakeoff_workloads::{RowsFile, TextSource, Workload, WorkloadParameters};
use serde::{Deserialize, Serialize};

use super::server::{GZIP, PageServer, SERVER, compresses};
use super::{TARGET, rows};
use crate::place::TargetPlace;
use crate::place::images::Recipe;
use crate::refusal::{self, Refusal};
use crate::targets::{GroupLimit, GroupSetup, Setup, WantedLevels};

/// A trial's levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResolvedTables {
    /// The engine's name.
    pub engine: String,
    /// The URL, with its password, of a database that somebody else runs. It goes to the trial's
    /// process through a pipe, and nowhere else.
    pub url: Option<Secret>,
    /// The workload's name.
    pub workload: String,
    /// How much of it is loaded.
    pub scale: String,
    /// Seeds its rows, and its text where that is made up.
    pub seed: u64,
    /// A file to take text from; made up when there is none.
    pub text: Option<PathBuf>,
    /// The file that its rows come from, and which state of it.
    pub rows: Option<RowsFile>,
    /// What a commit promises.
    pub durability: Durability,
    /// Settings of the user's own, by name.
    pub settings: Vec<(String, String)>,
    /// The levels of the factors that the workload declares.
    pub levels: DeclaredLevels,
    /// What stands between the clients and the engine.
    pub server: PageServer,
    /// Whether it compresses the pages.
    pub gzip: bool,
}

impl ResolvedTables {
    /// Of what is wanted of an engine and a workload.
    ///
    /// # Errors
    /// Levels that don't go together; a file of rows that can't be used.
    pub fn from_wanted(
        wanted: &WantedLevels<'_>,
        engine: &dyn Engine,
        workload: &dyn Workload,
        durability: Durability,
    ) -> Result<Self, Refusal> {
        let WantedLevels { experiment, cell, .. } = *wanted;
        let name = engine.about().name;
        // Another workload than the experiment's own has scales and factors of its own.
        let own = workload.name() == experiment.workload;
        let (scale, levels) = match own {
            true => (cell.base(Factor::SCALE), levels(workload, cell)),
            false => (&*workload.scales()[0].name, DeclaredLevels::default()),
        };
        let server =
            if own && workload.is_site() { PageServer::from_cell(cell) } else { PageServer::None };
        server.check(engine, cell)?;
        if let Some(why) = cannot_run(engine, workload, scale, &levels) {
            let varied = factors(workload).into_iter().filter(|factor| {
                matches!(factor, Factor::Declared(_)) && experiment.levels(*factor).len() > 1
            });
            let of: Vec<Factor> = [Factor::ENGINE].into_iter().chain(varied).collect();
            return Err(Refusal::from_cell(cell, &of, why));
        }
        let settings = experiment.settings_of(name);
        refusal::keeps(engine, cell, durability, &settings)?;
        let rows = rows::at_scale(experiment, workload, scale)
            .map_err(|error| Refusal::from_cell(cell, &[Factor::SCALE], error.to_string()))?;
        Ok(Self {
            engine: name.into(),
            url: urls::url(name).cloned(),
            workload: workload.name().into(),
            scale: scale.into(),
            seed: experiment.seed,
            text: experiment.text.clone(),
            rows,
            durability,
            settings,
            levels,
            server,
            gzip: server != PageServer::None && compresses(cell),
        })
    }

    /// How its data come about, and who works for it; of the engine and the workload that it is of.
    pub fn setup(&self, cell: &Cell, engine: &dyn Engine, workload: &dyn Workload) -> Setup {
        let Self { engine: name, workload: loaded, scale, .. } = self;
        let shaped = self.shaped(workload);
        // It tells images apart, and a reader nothing.
        let from = self.rows.as_ref().map(|file| format!(" rows {:016x}", file.fingerprint()));
        let from = from.unwrap_or_default();
        let (groups, shared) = match engine.home() {
            EngineHome::External => Default::default(),
            EngineHome::Process | EngineHome::Server => {
                self.server.groups(engine, database(engine, cell))
            }
        };
        Setup {
            target: TARGET,
            recipe: Recipe {
                key: format!("{loaded} {scale}{shaped}{from} {name}"),
                about: format!("{loaded} {scale}{shaped} into {name}"),
                into: name.clone(),
            },
            subject: serde_json::to_value(self).expect("it is plain data"),
            groups,
            shared,
            home: engine.home().into(),
        }
    }

    /// That so many bytes of rows don't fit the engine's own cache where memory is not limited, and that it reads
    /// past the page cache, which others have beside theirs.
    pub fn outgrows(&self, engine: &dyn Engine, rows: u64) -> Option<String> {
        let terms =
            OpenTerms { settings: self.settings.clone(), ..OpenTerms::new(self.durability) };
        let cache = engine.cache(&terms).filter(|cache| cache.direct && cache.bytes < rows)?;
        let settings = engine.settings(&terms);
        // How much a value of the user's own is, its engine alone knows.
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

    /// The levels that its rows are shaped by beside the scale.
    fn shaped(&self, workload: &dyn Workload) -> String {
        let shaping = workload.factors().into_iter().filter(|factor| workload.shapes_rows(factor));
        shaping.map(|factor| format!(" {}={}", factor.name, self.levels.level_of(factor))).collect()
    }
}

/// The level of durability of a cell.
///
/// # Errors
/// There is no such level, or the engine does not give it.
pub fn durability(engine: &dyn Engine, cell: &Cell) -> Result<Durability, Refusal> {
    let level = Durability::parse(cell.base(Factor::DURABILITY));
    let none = || {
        Refusal::from_cell(cell, &[Factor::ENGINE, Factor::DURABILITY], "there is no such level")
    };
    let durability = level.ok_or_else(none)?;
    refusal::gives(engine, cell, durability)?;
    Ok(durability)
}

/// The factors of a workload over tables: the lab's own, and those that it declares.
pub fn factors(workload: &dyn Workload) -> Vec<Factor> {
    let declared = workload.factors().into_iter().map(Factor::Declared);
    let of_sites = [Factor::Declared(&SERVER), Factor::Declared(&GZIP)];
    let of_sites = of_sites.into_iter().filter(|_| workload.is_site());
    Factor::OWN.into_iter().chain(declared).chain(of_sites).collect()
}

/// The first statement of a workload that an engine can't run, and why.
fn cannot_run(
    engine: &dyn Engine,
    workload: &dyn Workload,
    scale: &str,
    levels: &DeclaredLevels,
) -> Option<String> {
    let runs = engine.runs()?;
    let parameters = WorkloadParameters {
        levels: levels.clone(),
        ..WorkloadParameters::new(scale, 0, Arc::new(TextSource::short()))
    };
    let prepared = workload.prepare(&parameters);
    let mut all = prepared.statements().iter();
    all.find_map(|statement| {
        let why = runs(prepared.schema(), statement).err()?;
        let (engine, statement) = (engine.about().name, &statement.name);
        Some(format!(
            "{engine} can't run the statement `{statement}` of {}: {why}",
            workload.name()
        ))
    })
}

/// A cell's levels of the factors that its workload declares.
fn levels(workload: &dyn Workload, cell: &Cell) -> DeclaredLevels {
    let level = |factor: &'static Declared| {
        (factor.name.to_owned(), cell.base(Factor::Declared(factor)).to_owned())
    };
    workload.factors().into_iter().map(level).collect()
}

/// The group of an engine's processes: the trial's own, where it works in that.
fn database(engine: &dyn Engine, cell: &Cell) -> GroupSetup {
    GroupSetup {
        name: DATABASE_GROUP,
        has_server: engine.home() == EngineHome::Server,
        files: Some(""),
        limit: GroupLimit { memory: cell.memory(), cpus: cell.cpus() },
    }
}

/// The terms that an engine is opened under in a place.
pub fn terms(resolved: &ResolvedTables, place: &TargetPlace) -> OpenTerms {
    let group = place.group(DATABASE_GROUP);
    let mut settings = resolved.settings.clone();
    if place.reuse {
        settings.push(("reuse".into(), "yes".into()));
    }
    OpenTerms {
        durability: resolved.durability,
        memory_bytes: group.and_then(|group| group.limit.memory_bytes),
        settings,
        runtime: group.and_then(|group| group.runtime.clone()),
        groups: group.map(|group| group.cgroups.clone()).unwrap_or_default(),
    }
}
