//! The target `tables`: a workload's clients on an engine's sessions, or as visitors of a web server that
//! makes a workload's pages.

mod external;
mod fill;
mod kinds;
mod meter;
mod open;
pub mod rows;
mod served;
mod server;
mod written;

use std::collections::BTreeSet;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bakeoff_engines::urls::{self, Secret};
use bakeoff_engines::{Claim, Database, Durability, Engine, Home, Terms, find_among};
use bakeoff_experiment::{Cell, CutBy, Declared, Factor, WorkloadNames, engine as engine_name};
use bakeoff_factor::Levels;
use bakeoff_results::AppliedSetting;
use bakeoff_results::measure::DATABASE_GROUP;
use bakeoff_workloads::site::Site;
use bakeoff_workloads::{Parameters, Prepared, RowsFile, Text, Workload};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::kinds::Kinds;
use self::open::Open;
use self::served::Served;
use self::server::{GZIP, SERVER, Server, WithPhp, compresses};
use super::{
    About, GroupLimit, GroupSetup, MostClients, Running, Setup, Size, Subject, Target, Wanted,
};
use crate::TrialError;
use crate::answers::{Asked, Told, listen};
use crate::options;
use crate::place::Place;
use crate::place::images::Recipe;
use crate::process::Output;
use crate::refusal::{self, Refusal};

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
pub struct Tables {
    engines: Vec<&'static dyn Engine>,
    workloads: Vec<&'static dyn Workload>,
}

/// What it makes of a trial's levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Resolved {
    engine: String,
    /// The URL, with its password, of a database that somebody else runs. It goes to the trial's
    /// process through a pipe, and nowhere else.
    url: Option<Secret>,
    workload: String,
    scale: String,
    seed: u64,
    /// A file to take text from; made up when there is none.
    text: Option<PathBuf>,
    /// The file that its rows come from, and which state of it.
    rows: Option<RowsFile>,
    durability: Durability,
    /// Settings of the user's own, by name.
    settings: Vec<(String, String)>,
    /// The levels of the factors that the workload declares.
    levels: Levels,
    /// What stands between the clients and the engine.
    server: Server,
    /// Whether it compresses the pages.
    gzip: bool,
}

impl Tables {
    /// Of these engines and workloads.
    pub fn new(engines: Vec<&'static dyn Engine>, workloads: Vec<&'static dyn Workload>) -> Self {
        Self { engines, workloads }
    }

    fn workload(&self, name: &str) -> Result<&'static dyn Workload, TrialError> {
        let found = self.workloads.iter().copied().find(|workload| workload.name() == name);
        found.ok_or_else(|| TrialError::User(format!("there is no workload {name}")))
    }

    /// The subject as it was resolved, with its engine.
    fn parts(&self, subject: &Value) -> Result<(Resolved, &'static dyn Engine), TrialError> {
        let wrong = |error| TrialError::process(format!("no subject: {error}"));
        let resolved: Resolved = serde_json::from_value(subject.clone()).map_err(wrong)?;
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
    served::ready(Server::Php, engine).map_err(|problems| problems.join("; "))
}

/// Whether nginx and php-fpm can serve pages over any of these engines on this machine: over which, and what
/// keeps them from the others.
///
/// # Errors
/// What is missing or too old, and what brings it, where they can serve none.
pub fn try_php(engines: impl Iterator<Item = &'static dyn Engine>) -> Result<String, String> {
    let (mut reached, mut problems) = (Vec::new(), BTreeSet::new());
    for engine in engines.filter(|engine| WithPhp::of(*engine).is_some()) {
        match served::ready(Server::Php, engine) {
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
    Server::of(cell) != Server::None
}

/// The factors of a workload over tables: the lab's own, and those that it declares.
fn factors(workload: &dyn Workload) -> Vec<Factor> {
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
    levels: &Levels,
) -> Option<String> {
    let runs = engine.runs()?;
    let parameters =
        Parameters { levels: levels.clone(), ..Parameters::new(scale, 0, Arc::new(Text::short())) };
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
fn levels(workload: &dyn Workload, cell: &Cell) -> Levels {
    let level = |factor: &'static Declared| {
        (factor.name.to_owned(), cell.base(Factor::Declared(factor)).to_owned())
    };
    workload.factors().into_iter().map(level).collect()
}

impl Target for Tables {
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

    fn about(&self, workload: &str) -> Option<About> {
        let workload = self.workload(workload).ok()?;
        let scales = workload.scales().iter();
        Some(About {
            summary: workload.summary().into(),
            operations: workload.operations(),
            figure_of_merit: workload.figure_of_merit(),
            counts: workload.counts(),
            scales: scales.map(|it| (it.name.clone(), it.summary.clone().into())).collect(),
        })
    }

    fn resolve(&self, wanted: &Wanted<'_>) -> Result<Setup, Refusal> {
        let Wanted { experiment, cell, workload } = wanted;
        let refused = |why: &str| Refusal::of(cell, &[Factor::ENGINE, Factor::DURABILITY], why);
        let engine = options::engine(&self.engines, cell)?;
        let name = engine.about().name;
        let external = engine.home() == Home::External;
        if external {
            external::check(cell)?;
        }
        let level = cell.base(Factor::DURABILITY);
        let durability =
            Durability::parse(level).ok_or_else(|| refused("there is no such level"))?;
        refusal::gives(engine, cell, durability)?;
        let workload = self.workload(workload).map_err(|error| refused(&error.to_string()))?;
        // Another workload than the experiment's own has scales and factors of its own.
        let own = workload.name() == experiment.workload;
        let (scale, levels) = match own {
            true => (cell.base(Factor::SCALE), levels(workload, cell)),
            false => (&*workload.scales()[0].name, Levels::default()),
        };
        let server = if own && workload.is_site() { Server::of(cell) } else { Server::None };
        server.check(engine, cell)?;
        if let Some(why) = cannot_run(engine, workload, scale, &levels) {
            let varied = factors(workload).into_iter().filter(|factor| {
                matches!(factor, Factor::Declared(_)) && experiment.levels(*factor).len() > 1
            });
            let of: Vec<Factor> = [Factor::ENGINE].into_iter().chain(varied).collect();
            return Err(Refusal::of(cell, &of, why));
        }
        // What is set for an engine holds for each of its levels.
        let own = experiment.settings.get(engine_name(name)).into_iter().flatten();
        let shaping = workload.factors().into_iter().filter(|factor| workload.shapes_rows(factor));
        let declared: String =
            shaping.map(|factor| format!(" {}={}", factor.name, levels.of(factor))).collect();
        let rows = rows::at_scale(experiment, workload, scale)
            .map_err(|error| Refusal::of(cell, &[Factor::SCALE], error.to_string()))?;
        let from = rows.as_ref().map(|file| format!(" rows {:016x}", file.fingerprint()));
        let declared = declared + &from.unwrap_or_default();
        let resolved = Resolved {
            engine: name.into(),
            url: urls::url(name).cloned(),
            workload: workload.name().into(),
            scale: scale.into(),
            seed: experiment.seed,
            text: experiment.text.clone(),
            rows,
            durability,
            settings: own.map(|(name, value)| (name.clone(), value.clone())).collect(),
            levels,
            server,
            gzip: server != Server::None && compresses(cell),
        };
        let (groups, shared) = match external {
            true => Default::default(),
            false => server.groups(engine, database(engine, cell)),
        };
        Ok(Setup {
            target: self.name(),
            recipe: Recipe {
                key: format!("{} {scale}{declared} {name}", workload.name()),
                about: format!("{} {scale}{declared} into {name}", workload.name()),
                into: name.into(),
            },
            subject: serde_json::to_value(&resolved).expect("it is plain data"),
            groups,
            shared,
            home: engine.home().into(),
        })
    }

    fn size(&self, subject: &Value) -> Option<Size> {
        let (resolved, engine) = self.parts(subject).ok()?;
        let workload = self.workload(&resolved.workload).ok()?;
        let rows = match (&resolved.rows, workload.rows_from_file(&resolved.scale)) {
            (Some(file), Some(count)) => file.bytes_of(count),
            _ => workload.size(&resolved.scale, &resolved.levels),
        };
        let empty = match engine.home() {
            Home::Process => EMBEDDED_BYTES,
            Home::Server => SERVER_BYTES,
            Home::External => 0,
        };
        // What a row was before takes as much room again.
        let aged = (rows as f64 * workload.age(&resolved.levels)) as u64;
        Some(Size { rows, aged, disk: empty + PER_ROW_BYTE * (rows + aged) })
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
        let with_php = resolved.server == Server::Php && engine.home() == Home::Process;
        let known = group == DATABASE_GROUP && resolved.settings.is_empty() && !with_php;
        let rows = self.size(subject).map_or(0, |size| size.rows);
        let entries = self.workload(&resolved.workload).map_or(0, |it| it.entries(&resolved.scale));
        let least = known.then(|| engine.least_memory(rows, entries)).flatten()?;
        Some(least.bytes(resolved.server.sessions(clients)))
    }

    fn cache(&self, subject: &Value, memory_bytes: u64) -> Option<AppliedSetting> {
        let (resolved, engine) = self.parts(subject).ok()?;
        let terms = Terms {
            memory_bytes: Some(memory_bytes),
            settings: resolved.settings,
            ..Terms::new(resolved.durability)
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

    /// What serves the pages and is not there; a run would not begin.
    fn remark(&self, subject: &Value, _: Option<u64>) -> Option<String> {
        served::lacks(self.parts(subject).ok()?.0.server)
    }

    fn prepare(&self, subject: &Value) -> Result<Box<dyn Subject>, TrialError> {
        let (resolved, engine) = self.parts(subject)?;
        let workload = self.workload(&resolved.workload)?;
        let text = match &resolved.text {
            Some(path) => {
                Text::from_file(path).map_err(|error| TrialError::User(error.to_string()))?
            }
            None => Text::generated(resolved.seed),
        };
        let prepared = workload.prepare(&Parameters {
            scale: &resolved.scale,
            seed: resolved.seed,
            text: Arc::new(text),
            rows: resolved.rows.clone(),
            levels: resolved.levels.clone(),
        });
        let writing = written::writing(prepared.statements());
        let kinds = Kinds::of(workload.operations(), |number| prepared.has_operation(number));
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
        let can = |engine: &dyn Engine| engine.about().stores && engine.home() != Home::External;
        self.parts(subject).is_ok_and(|(_, engine)| can(engine))
    }

    fn is_log(&self, subject: &Value, file: &Path) -> bool {
        self.parts(subject).is_ok_and(|(_, engine)| engine.is_log(file))
    }

    fn claim(&self, subject: &Value) -> Result<Claim, TrialError> {
        let (_, engine) = self.parts(subject)?;
        engine.claim().map_err(|error| TrialError::Engine(error.to_string()))
    }

    fn settings(&self, subject: &Value, place: &Place) -> Vec<AppliedSetting> {
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
        settings
    }
}

/// The group of an engine's processes: the trial's own, where it works in that.
fn database(engine: &dyn Engine, cell: &Cell) -> GroupSetup {
    GroupSetup {
        name: DATABASE_GROUP,
        has_server: engine.home() == Home::Server,
        files: Some(""),
        limit: GroupLimit { memory: cell.memory(), cpus: cell.cpus() },
    }
}

/// The terms that an engine is opened under in a place.
fn terms(resolved: &Resolved, place: &Place) -> Terms {
    let group = place.group(DATABASE_GROUP);
    let mut settings = resolved.settings.clone();
    if place.reuse {
        settings.push(("reuse".into(), "yes".into()));
    }
    Terms {
        durability: resolved.durability,
        memory_bytes: group.and_then(|group| group.limit.memory_bytes),
        settings,
        runtime: group.and_then(|group| group.runtime.clone()),
        groups: group.map(|group| group.cgroups.clone()).unwrap_or_default(),
    }
}

/// A workload with its text, and the engine that is to hold it.
struct Ready {
    engine: &'static dyn Engine,
    prepared: Box<dyn Prepared>,
    kinds: Kinds,
    /// Which statements write, by their numbers.
    writing: Vec<bool>,
    resolved: Resolved,
}

impl Ready {
    /// The weakest level that it can be opened at, but where the level is the owner's choice, or the user's
    /// settings leave no other.
    fn loosest(&self) -> Durability {
        match self.engine.home() {
            Home::Process | Home::Server if self.engine.gives(Durability::None).is_ok() => {
                Durability::None
            }
            Home::Process | Home::Server | Home::External => self.resolved.durability,
        }
    }

    /// The workload's pages.
    fn site(&self) -> Result<&dyn Site, TrialError> {
        let none = || TrialError::User(format!("{} has no pages", self.resolved.workload));
        self.prepared.site().ok_or_else(none)
    }

    /// Opens the engine at a level.
    fn database(
        &self,
        place: &Place,
        durability: Durability,
    ) -> Result<Box<dyn Database>, TrialError> {
        // Not before: the workload's texts are not the engine's to find room for.
        if self.engine.home() == Home::Process {
            place.join(DATABASE_GROUP)?;
        }
        let terms = Terms { durability, ..terms(&self.resolved, place) };
        let (schema, statements) = (self.prepared.schema(), self.prepared.statements());
        // A database that somebody else runs has its files where they are.
        let directory = place.directory.as_deref().unwrap_or("".as_ref());
        let opened = self.engine.open(directory, &terms, schema, statements);
        let name = self.engine.about().name;
        opened.map_err(|error| TrialError::Engine(format!("{name} can't be opened: {error}")))
    }
}

impl Subject for Ready {
    fn load(&self, place: &Place, loaded: &mut dyn FnMut(u64, u64)) -> Result<(), TrialError> {
        // Nothing need be durable before the drain.
        let level = self.engine.loads_at().unwrap_or_else(|| self.loosest());
        let database = self.database(place, level)?;
        fill::fill(&*self.prepared, &*database, loaded)
    }

    fn open<'a>(&'a self, place: &Place) -> Result<Box<dyn Running + 'a>, TrialError> {
        if self.resolved.server != Server::None {
            return Ok(Box::new(Served::open(self, place)?));
        }
        let database = self.database(place, self.resolved.durability)?;
        Ok(Box::new(Open::new(self, database)))
    }

    fn serve(
        &self,
        place: &Place,
        input: &mut dyn BufRead,
        output: &Output<'_>,
    ) -> Result<(), TrialError> {
        served::serve(self, place, input, output)
    }

    fn answers(&self, place: &Place, seed: u64) -> Result<Told, TrialError> {
        let Resolved { workload, scale, levels, .. } = &self.resolved;
        let levels = levels.iter().map(|(name, level)| format!(" {name}={level}"));
        let asked = Asked {
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

#[cfg(test)]
mod tests {
    use bakeoff_workloads::{Name, Scale};

    use super::*;

    static WIDTH: Declared = Declared {
        name: "width",
        summary: "bytes of a row",
        syntax: "a number",
        default: "10",
        canonical: |text| Ok(text.into()),
    };

    /// A workload of ten rows whose width is a factor, but for its size.
    struct Wide;

    static ONLY: [Scale; 1] = [Scale::new("only", "ten rows", 100)];

    impl Workload for Wide {
        fn name(&self) -> &'static str {
            "wide"
        }

        fn summary(&self) -> &'static str {
            "has a size"
        }

        fn scales(&self) -> &'static [Scale] {
            &ONLY
        }

        fn factors(&self) -> Vec<&'static Declared> {
            vec![&WIDTH]
        }

        fn size(&self, _: &str, levels: &Levels) -> u64 {
            10 * levels.of(&WIDTH).parse::<u64>().expect("a checked level")
        }

        fn operations(&self) -> Vec<Name> {
            Vec::new()
        }

        fn prepare(&self, _: &Parameters<'_>) -> Box<dyn Prepared> {
            unreachable!("nobody runs it")
        }
    }

    #[test]
    fn a_size_is_that_of_the_levels() {
        let sqlite = bakeoff_engines::find("sqlite").expect("an engine");
        let point = bakeoff_workloads::find("point").expect("a workload");
        let text_oltp = bakeoff_workloads::find("text-oltp").expect("a workload");
        let tables = Tables::new(vec![sqlite], vec![&Wide, point, text_oltp]);
        let sized = |workload: &str, scale: &str, levels: Levels, rows: Option<RowsFile>| {
            let resolved = Resolved {
                engine: "sqlite".into(),
                url: None,
                workload: workload.into(),
                scale: scale.into(),
                seed: 1,
                text: None,
                rows,
                durability: Durability::Strict,
                settings: Vec::new(),
                levels,
                server: Server::None,
                gzip: false,
            };
            let subject = serde_json::to_value(&resolved).expect("plain data");
            tables.size(&subject).expect("it is known")
        };
        let size = |workload: &str, scale: &str, levels| sized(workload, scale, levels, None);
        let wide = |width: &str| Levels::from_iter([("width".to_owned(), width.to_owned())]);
        assert_eq!(size("wide", "only", Levels::default()).rows, 100);
        let large = size("wide", "only", wide("1000000"));
        assert_eq!(large.rows, 10_000_000);
        assert_eq!(large.disk, EMBEDDED_BYTES + 3 * 10_000_000);
        assert_eq!(size("point", "large", Levels::default()).rows, 105_000_000);

        // Of a file it is the mean of its rows, as often as the scale has rows.
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rows.tsv");
        std::fs::write(&path, "Ape\tAn ape.\nBee\tA bee, a small one.\n").expect("a file");
        let rows = RowsFile::survey(&path).expect("it is right");
        let of_file = sized("text-oltp", "small", Levels::default(), Some(rows));
        assert_eq!(of_file.rows, 16 * 10_000);
    }

    #[test]
    fn with_php_in_the_databases_group_the_least_memory_is_not_known() {
        let engines = ["postgres", "sqlite"].map(|name| bakeoff_engines::find(name).unwrap());
        let point = bakeoff_workloads::find("point").expect("a workload");
        let tables = Tables::new(engines.to_vec(), vec![point]);
        let subject = |engine: &str, server: Server| {
            let resolved = Resolved {
                engine: engine.into(),
                url: None,
                workload: "point".into(),
                scale: "small".into(),
                seed: 1,
                text: None,
                rows: None,
                durability: Durability::Strict,
                settings: Vec::new(),
                levels: Levels::default(),
                server,
                gzip: false,
            };
            serde_json::to_value(&resolved).expect("plain data")
        };
        let least = |engine: &str, server: Server| {
            tables.least_memory(&subject(engine, server), DATABASE_GROUP, 1)
        };
        assert!(least("sqlite", Server::BuiltIn).is_some());
        assert_eq!(least("sqlite", Server::Php), None);
        // PHP is in a group of its own, with as many sessions as the built-in server has.
        assert_eq!(least("postgres", Server::Php), least("postgres", Server::BuiltIn));
        assert!(least("postgres", Server::Php) > least("postgres", Server::None));
        let most = |server| tables.most_clients(&subject("postgres", server)).number;
        assert_eq!([Server::None, Server::BuiltIn, Server::Php].map(most), [1024, 20_000, 4_000]);
    }
}
