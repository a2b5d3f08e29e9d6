//! An experiment: a workload, its factors and how to measure.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use toml::{Table, Value};

use crate::layer::{Layer, Levels};
use crate::message::{Place, Problem, Source};
use crate::plan::{self, Plan};
use crate::{Changes, Cuts, Error, Factor, Vocabulary, WorkloadNames, cuts, file, level};

/// How many trials a plan may have.
pub const MOST_TRIALS: u64 = 100_000;

/// Settings of a server, by name, as it takes them.
pub type Settings = BTreeMap<String, String>;

const DEFAULT_SECONDS: f64 = 10.0;
const DEFAULT_REPETITIONS: u32 = 5;
const DEFAULT_SEED: u64 = 1;

/// A workload, its factors and how to measure; every level is valid.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Its name; it may become part of a folder's.
    pub name: String,
    /// One line on what it asks.
    pub title: String,
    /// The workload's name.
    pub workload: String,
    /// Where the workload's text comes from, an absolute path; `None` for text that is made up.
    pub text: Option<PathBuf>,
    /// The compared factor; its first level is what the others are held against.
    pub compare: Factor,
    /// The levels of every factor that the workload has, canonical, in the order in which they were
    /// given.
    pub factors: BTreeMap<Factor, Vec<String>>,
    /// The devices of the experiment's own, by name.
    pub disks: BTreeMap<String, Table>,
    /// The settings of servers that take the place of bakeoff's, by engine.
    pub settings: BTreeMap<String, Settings>,
    /// How many seconds the clients of a trial run.
    pub seconds: f64,
    /// How often each block is run.
    pub repetitions: u32,
    /// The seed of everything that is random.
    pub seed: u64,
    /// Whether the compared factor's first level is entered once more, under the alias `again`:
    /// what is measured between the two is noise.
    pub noise_floor: bool,
    /// The power cuts that are made after the trials, if any.
    pub cuts: Option<Cuts>,
}

impl Experiment {
    /// Loads a preset, or a file by its path, and lays the flags' changes over it.
    ///
    /// # Errors
    /// Whatever is wrong with the file or the flags, all of it at once.
    ///
    /// # Panics
    /// When the vocabulary is not sound: a workload without a factor, or a declared factor whose name
    /// is taken or whose default is not in its canonical form.
    pub fn load(
        preset_or_path: &str,
        changes: &Changes,
        vocabulary: &Vocabulary,
    ) -> Result<Self, Error> {
        vocabulary.check();
        let source = Arc::new(file::open(preset_or_path)?);
        let mut problems = Vec::new();
        let (mut layer, quick) = file::read(&source, vocabulary, changes.quick, &mut problems);
        match quick {
            Some(quick) if changes.quick => layer = layer.under(quick),
            None if changes.quick && problems.is_empty() => problems.push(
                Problem::new("`--quick` asks for the table `[quick]`, and there is none")
                    .at(&Place { source: Arc::clone(&source), span: None })
                    .help("add a line `[quick]`, and below it the keys that make the run short"),
            ),
            _ => {}
        }
        let own = &vocabulary.with_disks(layer.disks.keys());
        let workload = layer.workload.as_deref().and_then(|name| vocabulary.workload(name));
        layer = layer.under(changes.layer(own, workload, &mut problems));
        if problems.is_empty() {
            Self::settle(layer, &source, vocabulary)
        } else {
            Err(problems.into())
        }
    }

    /// The levels of a factor that are run: those given, and the one that the noise floor needs; none
    /// where the workload has no such factor.
    pub fn levels(&self, factor: Factor) -> Vec<String> {
        let mut levels = self.factors.get(&factor).cloned().unwrap_or_default();
        if self.noise_floor && factor == self.compare {
            levels.extend(level::again(&levels));
        }
        levels
    }

    /// All trials, in the order in which they run: the same for the same experiment, always.
    pub fn plan(&self) -> Plan {
        plan::lay_out(self)
    }

    /// How many trials the plan has; saturates.
    fn trials(&self) -> u64 {
        let levels = self.factors.keys().map(|factor| self.levels(*factor).len() as u64);
        levels.fold(self.repetitions.into(), u64::saturating_mul)
    }

    /// The experiment as a file, every key given; loading it gives the same experiment.
    pub fn to_toml(&self) -> String {
        let mut toml = String::new();
        let mut put = |key: &str, value: Value| {
            writeln!(toml, "{key} = {value}").expect("a string takes everything");
        };
        put("name", self.name.as_str().into());
        put("title", self.title.as_str().into());
        put("workload", self.workload.as_str().into());
        if let Some(text) = &self.text {
            put("text", text.to_string_lossy().as_ref().into());
        }
        put("compare", self.compare.name().into());
        for (factor, levels) in &self.factors {
            put(factor.name(), levels.clone().into());
        }
        put("seconds", self.seconds.into());
        put("repetitions", i64::from(self.repetitions).into());
        put("seed", Value::Integer(self.seed as i64));
        put("noise_floor", self.noise_floor.into());
        if let Some(cuts) = &self.cuts {
            put("cuts", i64::from(cuts.count).into());
            put("keep", cuts.keep.clone().into());
            put("cut_recovery", cuts.recovery.into());
            if let Some(only) = cuts.only {
                put("cut_number", i64::from(only).into());
            }
        }
        let mut put = |name: &str, tables: Table| {
            if !tables.is_empty() {
                let all = Table::from_iter([(name.to_owned(), Value::Table(tables))]);
                write!(toml, "\n{all}").expect("a string takes everything");
            }
        };
        let own = self.disks.iter().map(|(name, table)| (name.clone(), table.clone().into()));
        put(file::DISKS, own.collect());
        let settings = self.settings.iter().map(|(engine, settings)| {
            let own = settings.iter().map(|(name, value)| (name.clone(), value.clone().into()));
            (engine.clone(), Value::Table(own.collect()))
        });
        put(file::SETTINGS, settings.collect());
        toml
    }

    /// Makes the experiment out of all that was said, and checks what can only be checked
    /// together.
    fn settle(layer: Layer, source: &Arc<Source>, vocabulary: &Vocabulary) -> Result<Self, Error> {
        let place = Place { source: Arc::clone(source), span: None };
        let workload = named(&layer, vocabulary, &place)?;
        let compare = layer.compare.unwrap_or_else(|| default_compare(workload, &layer.factors));
        let factors = with_defaults(&layer.factors, workload);
        let cuts = cuts::settle(&layer, workload, &factors, vocabulary);
        let asked = cuts::asked(&layer).cloned();
        let mut problems = check_together(&layer.factors, compare, &workload.scales);
        let name = layer.name.unwrap_or_else(|| file::default_name(source));
        let experiment = Self {
            title: layer.title.unwrap_or_else(|| name.clone()),
            name,
            workload: workload.name.clone(),
            text: layer.text,
            compare,
            factors,
            disks: layer.disks,
            settings: layer.settings,
            seconds: layer.seconds.unwrap_or(DEFAULT_SECONDS),
            repetitions: layer.repetitions.unwrap_or(DEFAULT_REPETITIONS),
            seed: layer.seed.unwrap_or(DEFAULT_SEED),
            noise_floor: layer.noise_floor.unwrap_or(false),
            cuts,
        };
        let wrong = cuts::check(&experiment, &layer.factors, asked.as_ref(), workload, vocabulary);
        problems.extend(wrong);
        if experiment.trials() > MOST_TRIALS {
            problems.push(too_many(experiment.trials()));
        }
        if problems.is_empty() {
            return Ok(experiment);
        }
        let problems: Vec<Problem> = problems.into_iter().map(|it| it.at(&place)).collect();
        Err(problems.into())
    }
}

/// The workload, where that is named, and an engine, too, where it has that factor.
fn named<'v>(
    layer: &Layer,
    vocabulary: &'v Vocabulary,
    place: &Place,
) -> Result<&'v WorkloadNames, Error> {
    let workload = layer.workload.as_deref().and_then(|name| vocabulary.workload(name));
    let takes_engine = workload.is_none_or(|workload| workload.has(Factor::Engine));
    let mut problems = Vec::new();
    if workload.is_none() {
        let workloads: Vec<&str> = vocabulary.workloads.iter().map(|w| &*w.name).collect();
        problems.push(missing("workload", &workloads, place));
    }
    if takes_engine && !layer.factors.contains_key(&Factor::Engine) {
        problems.push(missing("engine", &vocabulary.engines.names(), place));
    }
    workload.filter(|_| problems.is_empty()).ok_or_else(|| problems.into())
}

/// The compared factor where an experiment names none: the engine where the workload has it, else
/// the first with several levels, else the first.
fn default_compare(workload: &WorkloadNames, given: &BTreeMap<Factor, Levels>) -> Factor {
    if workload.has(Factor::Engine) {
        return Factor::Engine;
    }
    let several = |factor: &&Factor| given.get(factor).is_some_and(|levels| levels.len() > 1);
    *workload.factors.iter().find(several).unwrap_or(&workload.factors[0])
}

fn missing(key: &str, valid: &[&str], place: &Place) -> Problem {
    Problem::new(format!("the experiment names no {key}"))
        .at(place)
        .help(format!("add a line `{key} = \"NAME\"`; valid: {}", valid.join(", ")))
}

fn too_many(trials: u64) -> Problem {
    Problem::new(format!("the experiment comes to {trials} trials; at most {MOST_TRIALS} are run"))
        .help(
            "every level of one factor meets every level of the others in every repetition: \
               name fewer levels, or lower `repetitions`",
        )
}

/// Aliases and scales, which are right or wrong only beside other keys.
fn check_together(
    factors: &BTreeMap<Factor, Levels>,
    compare: Factor,
    scales: &[String],
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (&factor, levels) in factors {
        for given in levels {
            if factor != compare && level::has_alias(&given.value) {
                let title = format!(
                    "an alias enters a level into a comparison once more, and `{factor}` is not \
                     compared"
                );
                let problem = Problem::new(title).at(&given.place).help(format!(
                    "write `{}`, or compare by `{factor}`",
                    level::base(&given.value)
                ));
                problems.push(problem);
            }
            if factor == Factor::Scale {
                let scale = level::base(&given.value);
                if let Err(problem) = level::one_of("scale", scale, scales) {
                    problems.push(problem.at(&given.place));
                }
            }
        }
    }
    problems
}

/// The levels of every factor that the workload has.
fn with_defaults(
    given: &BTreeMap<Factor, Levels>,
    workload: &WorkloadNames,
) -> BTreeMap<Factor, Vec<String>> {
    let levels = |factor: Factor| match given.get(&factor) {
        Some(levels) => levels.iter().map(|level| level.value.clone()).collect(),
        None => vec![factor.default_level().unwrap_or_else(|| &workload.scales[0]).to_owned()],
    };
    workload.factors.iter().map(|factor| (*factor, levels(*factor))).collect()
}
