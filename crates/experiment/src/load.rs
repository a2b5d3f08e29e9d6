//! From what was said, in a file and by flags, to an experiment, and what is wrong with it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bakeoff_factor::DEFAULT;

use crate::engines::TRUST;
use crate::keys::Layer;
use crate::layer::GivenLevels;
use crate::message::{Error, ExperimentProblem, LocatedValue, SourceSpan, SourceText, one_of};
use crate::options::Holders;
use crate::{
    Bounds, Experiment, Factor, FlagOverrides, PlannerNames, RowsFrom, Vocabulary, WorkloadNames,
    file, level,
};

mod cuts;
mod decided;
mod limit;
mod options;
mod power;
mod priced;
mod rows;

/// How many trials a plan may have.
pub const MOST_TRIALS: u64 = 100_000;

const DEFAULT_SECONDS: f64 = 10.0;
const DEFAULT_REPETITIONS: u32 = 5;
const DEFAULT_SEED: u64 = 1;

impl Experiment {
    /// Loads a preset, or a file by its path, and lays the flags' changes over it.
    ///
    /// # Errors
    /// Whatever is wrong with the file or the flags, all of it at once.
    ///
    /// # Panics
    /// When the vocabulary has [`Vocabulary::problems`].
    pub fn load(
        preset_or_path: &str,
        changes: &FlagOverrides,
        vocabulary: &Vocabulary,
    ) -> Result<Self, Error> {
        let problems = vocabulary.problems();
        assert!(problems.is_empty(), "{}", problems.join("; "));
        let source = Arc::new(file::open(preset_or_path, &vocabulary.presets)?);
        let mut problems = Vec::new();
        let (mut layer, quick) = file::read(&source, vocabulary, changes.quick, &mut problems);
        match quick {
            Some(quick) if changes.quick => layer = layer.under(quick),
            None if changes.quick && problems.is_empty() => problems.push(
                ExperimentProblem::new("`--quick` asks for the table `[quick]`, and there is none")
                    .at(&SourceSpan { source: Arc::clone(&source), span: None })
                    .help("add a line `[quick]`, and below it the keys that make the run short"),
            ),
            _ => {}
        }
        let own = &vocabulary.with_disks(&layer.disks);
        let workload = named_workload(&layer, vocabulary);
        let asked = workload.map(|it| compared(&layer, it));
        layer = layer.under(changes.layer(own, workload, &mut problems));
        if asked != workload.map(|it| compared(&layer, it)) {
            // The file's title asks for what is no longer compared.
            layer.title = None;
        }
        problems.extend(decided::idle_flags(changes, planner(&layer, vocabulary)));
        problems.extend(cuts::idle_flags(changes, &layer));
        if problems.is_empty() {
            trust_engines(&layer, &source, vocabulary)?;
            Self::settle(layer, &source, own)
        } else {
            Err(problems.into())
        }
    }

    /// Makes the experiment out of all that was said, and checks what can only be checked
    /// together.
    fn settle(
        layer: Layer,
        source: &Arc<SourceText>,
        vocabulary: &Vocabulary,
    ) -> Result<Self, Error> {
        let place = SourceSpan { source: Arc::clone(source), span: None };
        let workload = named(&layer, vocabulary, &place)?;
        let limit = value(&layer.find_limit);
        let compare = compared(&layer, workload);
        let factors = with_defaults(&layer.factors, workload, compare);
        let cuts = cuts::settle(&layer, workload, &factors, vocabulary);
        let (asked, clash) = (cuts::asked(&layer).cloned(), cuts::clashes(&layer));
        let planner = planner(&layer, vocabulary);
        let bounds = || {
            let (least, most) = (value(&layer.min_repetitions), value(&layer.max_repetitions));
            Bounds::new(least, most, value(&layer.max_time))
        };
        let bounds = planner.repeats.then(bounds);
        let mut problems = check_together(&layer.factors, compare, &workload.scales);
        let rows_from = || match layer.text {
            None => RowsFrom::default(workload, vocabulary),
            Some(_) => None,
        };
        let name = value(&layer.name).unwrap_or_else(|| file::default_name(source));
        let experiment = Self {
            title: value(&layer.title).unwrap_or_else(|| name.clone()),
            name,
            workload: workload.name.clone(),
            text: value(&layer.text),
            rows_from: value(&layer.rows_from).or_else(rows_from),
            rows_strict: value(&layer.rows_strict).unwrap_or(false),
            compare,
            factors,
            disks: layer.disks,
            settings: layer.settings,
            seconds: value(&layer.seconds).unwrap_or(DEFAULT_SECONDS),
            operations: value(&layer.operations),
            repetitions: value(&layer.repetitions).unwrap_or(DEFAULT_REPETITIONS),
            seed: value(&layer.seed).unwrap_or(DEFAULT_SEED),
            noise_floor: value(&layer.noise_floor).unwrap_or(false) && limit.is_none(),
            priced: value(&layer.priced).unwrap_or(false),
            planner: planner.name.clone(),
            bounds,
            limit,
            cuts,
            published: layer.published,
        };
        let wrong = power::check(&experiment, &layer.factors, asked.as_ref(), workload, vocabulary);
        problems.extend(wrong);
        problems.extend(clash);
        problems.extend(options::check(&layer.factors, &experiment, vocabulary));
        problems.extend(decided::no_room(&experiment));
        problems.extend(decided::nothing_to_decide(&experiment));
        problems.extend(limit::check(&experiment, workload, planner));
        problems.extend(priced::check(&experiment));
        problems.extend(rows::check(&experiment, workload, vocabulary));
        if experiment.trials() > MOST_TRIALS {
            problems.push(too_many(&experiment));
        }
        if problems.is_empty() {
            return Ok(experiment);
        }
        let problems: Vec<ExperimentProblem> =
            problems.into_iter().map(|it| it.at(&place)).collect();
        Err(problems.into())
    }
}

/// Refuses levels of engines and of their options that ask for trust and that the file itself names,
/// rather than a flag, unless it is trusted. To a database bakeoff would send a password that stands in
/// the environment, and what it knows of the machine; an option may be a program.
fn trust_engines(
    layer: &Layer,
    file: &Arc<SourceText>,
    vocabulary: &Vocabulary,
) -> Result<(), Error> {
    let in_file = |given: &&LocatedValue<String>| {
        !vocabulary.trusts && Arc::ptr_eq(&given.place.source, file)
    };
    let engines = || layer.factors.get(&Factor::ENGINE).into_iter().flatten();
    let asks = |given: &LocatedValue<String>, options: &[(&str, &str)]| {
        vocabulary.engines.asks_for_trust(level::base(&given.value), options)
    };
    let mut problems = Vec::new();
    let mut refuse = |title: Option<String>, given: &LocatedValue<String>, named: &str| {
        let mend = format!("name {named}LEVELS");
        let problem = |title| ExperimentProblem::new(title).at(&given.place).help(mend).help(TRUST);
        problems.extend(title.map(problem));
    };
    for given in engines().filter(in_file) {
        refuse(asks(given, &[]), given, "all engines on the command line: --engine ");
    }
    for (factor, levels) in &layer.factors {
        let Factor::Option(option) = factor else { continue };
        let is_given = |given: &&LocatedValue<String>| level::base(&given.value) != DEFAULT;
        for given in levels.iter().filter(in_file).filter(is_given) {
            let pair = [(&*option.name, level::base(&given.value))];
            let with_it =
                engines().filter(|it| vocabulary.engines.has(level::base(&it.value), &option.name));
            let title = with_it.into_iter().find_map(|engine| asks(engine, &pair));
            let named = format!("all its levels on the command line: --factor {factor}=");
            refuse(title, given, &named);
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.into()) }
}

/// What a key says.
fn value<T: Clone>(given: &Option<LocatedValue<T>>) -> Option<T> {
    given.as_ref().map(|given| given.value.clone())
}

fn named_workload<'v>(layer: &Layer, vocabulary: &'v Vocabulary) -> Option<&'v WorkloadNames> {
    vocabulary.workload(&layer.workload.as_ref()?.value)
}

/// The workload, where that is named, and an engine, too, where it has that factor.
fn named<'v>(
    layer: &Layer,
    vocabulary: &'v Vocabulary,
    place: &SourceSpan,
) -> Result<&'v WorkloadNames, Error> {
    let workload = named_workload(layer, vocabulary);
    let takes_engine = workload.is_none_or(|workload| workload.has(Factor::ENGINE));
    let mut problems = Vec::new();
    if workload.is_none() {
        let workloads: Vec<&str> = vocabulary.workloads.iter().map(|w| &*w.name).collect();
        problems.push(missing("workload", &workloads, place));
    }
    if takes_engine && !layer.factors.contains_key(&Factor::ENGINE) {
        problems.push(missing("engine", &vocabulary.engines.names(), place));
    }
    workload.filter(|_| problems.is_empty()).ok_or_else(|| problems.into())
}

/// The planner that is named; where a limit is looked for, the first that does that; else the first.
fn planner<'v>(layer: &Layer, vocabulary: &'v Vocabulary) -> &'v PlannerNames {
    let named = layer.planner.as_ref().and_then(|name| vocabulary.planner(&name.value).ok());
    let seeks = || {
        layer.find_limit.as_ref()?;
        vocabulary.planners.iter().find(|planner| planner.seeks)
    };
    named.or_else(seeks).unwrap_or(&vocabulary.planners[0])
}

/// The compared factor: the rate where the highest is looked for, else the one that is named.
fn compared(layer: &Layer, workload: &WorkloadNames) -> Factor {
    match layer.find_limit {
        Some(_) => Factor::RATE,
        None => value(&layer.compare).unwrap_or_else(|| default_compare(workload, &layer.factors)),
    }
}

/// The compared factor where an experiment names none: the engine where the workload has it, else
/// the first with several levels, else the first.
fn default_compare(workload: &WorkloadNames, given: &BTreeMap<Factor, GivenLevels>) -> Factor {
    if workload.has(Factor::ENGINE) {
        return Factor::ENGINE;
    }
    let several = |factor: &&Factor| given.get(factor).is_some_and(|levels| levels.len() > 1);
    let options = given.keys().filter(|factor| matches!(factor, Factor::Option(_)));
    let mut all = workload.factors.iter().chain(options);
    *all.find(several).unwrap_or(&workload.factors[0])
}

fn missing(key: &str, valid: &[&str], place: &SourceSpan) -> ExperimentProblem {
    ExperimentProblem::new(format!("the experiment names no {key}"))
        .at(place)
        .help(format!("add a line `{key} = \"NAME\"`; valid: {}", valid.join(", ")))
}

fn too_many(experiment: &Experiment) -> ExperimentProblem {
    let trials = experiment.trials();
    let key = if experiment.bounds.is_some() { "max_repetitions" } else { "repetitions" };
    ExperimentProblem::new(format!(
        "the experiment comes to {trials} trials; at most {MOST_TRIALS} are run"
    ))
    .help(format!(
        "every level of one factor meets every level of the others in every repetition: name fewer \
             levels, or lower `{key}`"
    ))
}

/// Aliases and scales, which are right or wrong only beside other keys.
fn check_together(
    factors: &BTreeMap<Factor, GivenLevels>,
    compare: Factor,
    scales: &[String],
) -> Vec<ExperimentProblem> {
    let mut problems = Vec::new();
    for (&factor, levels) in factors {
        for given in levels {
            if factor != compare && level::has_alias(&given.value) {
                let title = format!(
                    "an alias enters a level into a comparison once more, and `{factor}` is not \
                     compared"
                );
                let problem = ExperimentProblem::new(title).at(&given.place).help(format!(
                    "write `{}`, or compare by `{factor}`",
                    level::base(&given.value)
                ));
                problems.push(problem);
            }
            if factor == Factor::SCALE {
                let scale = level::base(&given.value);
                if let Err(problem) = one_of("scale", scale, scales) {
                    problems.push(problem.at(&given.place));
                }
            }
        }
    }
    problems
}

/// The levels of every factor that the workload has, of the options that are given, and of the
/// compared factor.
fn with_defaults(
    given: &BTreeMap<Factor, GivenLevels>,
    workload: &WorkloadNames,
    compare: Factor,
) -> BTreeMap<Factor, Vec<String>> {
    let levels = |factor: Factor| match given.get(&factor) {
        Some(levels) => levels.iter().map(|level| level.value.clone()).collect(),
        None => vec![factor.default_level().unwrap_or_else(|| &workload.scales[0]).to_owned()],
    };
    let factors = workload.factors.iter().chain(given.keys()).chain([&compare]);
    factors.map(|factor| (*factor, levels(*factor))).collect()
}
