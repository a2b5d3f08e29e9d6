//! Builds an experiment from a file and flags, and collects its errors.

use std::collections::BTreeMap;
use std::sync::Arc;

use bakeoff_engines::{AS_IS, DEFAULT};

use crate::engines::TRUST;
use crate::keys::Layer;
use crate::layer::LocatedLevels;
use crate::message::{Error, ExperimentProblem, LocatedValue, SourceSpan, SourceText, one_of};
use crate::options::HasOptions;
use crate::{
    Bounds, Experiment, Factor, FlagOverrides, PlannerNames, RowOrigin, Vocabulary, WorkloadNames,
    engine_settings, file, images, level,
};

mod bounds_checks;
mod cuts;
mod limit;
mod options;
mod power;
mod priced;
mod rows;

pub const MOST_TRIALS: u64 = 100_000;

const DEFAULT_SECONDS: f64 = 10.0;
const DEFAULT_REPETITIONS: u32 = 5;
const DEFAULT_SEED: u64 = 1;

impl Experiment {
    /// Loads a preset or a file, and lays the flags over it. The error lists all problems. Panics
    /// if the vocabulary has [`Vocabulary::find_problems`].
    pub fn load(
        preset_or_path: &str,
        changes: &FlagOverrides,
        vocabulary: &Vocabulary,
    ) -> Result<Self, Error> {
        let problems = vocabulary.find_problems();
        assert!(problems.is_empty(), "{}", problems.join("; "));
        let source = Arc::new(file::open_source(preset_or_path, &vocabulary.presets)?);
        let mut problems = Vec::new();
        let (mut layer, quick) =
            file::read_layers(&source, vocabulary, changes.quick, &mut problems);
        match quick {
            Some(quick) if changes.quick => layer = layer.under(quick),
            None if changes.quick && problems.is_empty() => problems.push(
                ExperimentProblem::new("`--quick` asks for the table `[quick]`, and there is none")
                    .at_place(&SourceSpan { source: Arc::clone(&source), span: None })
                    .with_help(
                        "add a line `[quick]`, and below it the keys that make the run short",
                    ),
            ),
            _ => {}
        }
        let own = &vocabulary.with_disks(&layer.disks);
        let workload = named_workload(&layer, vocabulary);
        let asked = workload.map(|it| compared_factor(&layer, it));
        layer = layer.under(changes.to_layer(own, workload, &mut problems));
        if asked != workload.map(|it| compared_factor(&layer, it)) {
            // The title asks for something that is no longer compared.
            layer.title = None;
        }
        problems.extend(bounds_checks::idle_flags(changes, find_planner(&layer, vocabulary)));
        problems.extend(cuts::idle_flags(changes, &layer));
        if problems.is_empty() {
            trust_engines(&layer, &source, vocabulary)?;
            Self::from_layer(layer, &source, own)
        } else {
            Err(problems.into())
        }
    }

    /// Checks keys that depend on each other.
    fn from_layer(
        mut layer: Layer,
        source: &Arc<SourceText>,
        vocabulary: &Vocabulary,
    ) -> Result<Self, Error> {
        let place = SourceSpan { source: Arc::clone(source), span: None };
        let mut problems = engine_settings::expand_settings(&mut layer, vocabulary);
        let workload = require_named(&layer, vocabulary, &place)?;
        let limit = value_of(&layer.find_limit);
        let compare = compared_factor(&layer, workload);
        let factors = with_defaults(&layer.factors, workload, compare);
        let cuts = cuts::settle_cuts(&layer, workload, &factors, vocabulary);
        let (asked, clash) = (cuts::place_of_cuts(&layer).cloned(), cuts::find_clash(&layer));
        let planner = find_planner(&layer, vocabulary);
        let bounds = || {
            let (least, most) =
                (value_of(&layer.min_repetitions), value_of(&layer.max_repetitions));
            Bounds::new(least, most, value_of(&layer.max_time))
        };
        let bounds = planner.repeats.then(bounds);
        problems.extend(check_together(&layer.factors, compare, &workload.scales));
        let rows_from = || match layer.text {
            None => RowOrigin::default(workload, vocabulary),
            Some(_) => None,
        };
        let name = value_of(&layer.name).unwrap_or_else(|| file::default_name(source));
        let mut experiment = Self {
            title: value_of(&layer.title).unwrap_or_else(|| name.clone()),
            name,
            workload: workload.name.clone(),
            text: value_of(&layer.text),
            rows_from: value_of(&layer.rows_from).or_else(rows_from),
            rows_strict: value_of(&layer.rows_strict).unwrap_or(false),
            compare,
            factors,
            disks: layer.disks,
            settings: layer.settings,
            seconds: value_of(&layer.seconds).unwrap_or(DEFAULT_SECONDS),
            operations: value_of(&layer.operations),
            repetitions: value_of(&layer.repetitions).unwrap_or(DEFAULT_REPETITIONS),
            images: value_of(&layer.images).unwrap_or(1),
            seed: value_of(&layer.seed).unwrap_or(DEFAULT_SEED),
            noise_floor: value_of(&layer.noise_floor).unwrap_or(false) && limit.is_none(),
            priced: value_of(&layer.priced).unwrap_or(false),
            planner: planner.name.to_owned(),
            bounds,
            limit,
            cuts,
            published: layer.published,
            application: layer.application,
            moves: Vec::new(),
        };
        experiment.moves = experiment.find_moves(vocabulary);
        let wrong = power::check_power_cuts(
            &experiment,
            &layer.factors,
            asked.as_ref(),
            workload,
            vocabulary,
        );
        problems.extend(wrong);
        problems.extend(clash);
        problems.extend(options::check_options(&layer.factors, &experiment, vocabulary));
        problems.extend(bounds_checks::no_room(&experiment));
        problems.extend(bounds_checks::nothing_to_decide(&experiment));
        problems.extend(images::check_blocks(&experiment, layer.images.as_ref()));
        problems.extend(limit::check_limit(&experiment, workload, planner));
        problems.extend(priced::check_priced(&experiment));
        problems.extend(rows::check_rows(&experiment, workload, vocabulary));
        if experiment.count_trials() > MOST_TRIALS {
            problems.push(too_many(&experiment));
        }
        if problems.is_empty() {
            return Ok(experiment);
        }
        let problems: Vec<ExperimentProblem> =
            problems.into_iter().map(|it| it.at_place(&place)).collect();
        Err(problems.into())
    }
}

/// Refuses levels that ask for trust and that the file names, not a flag, unless the file is
/// trusted. A database would get a password of the environment; an option may be a program.
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
        vocabulary.engines.asks_for_trust(level::without_alias(&given.value), options)
    };
    let mut problems = Vec::new();
    let mut refuse = |title: Option<String>, given: &LocatedValue<String>, named: &str| {
        let mend = format!("name {named}LEVELS");
        let problem = |title| {
            ExperimentProblem::new(title).at_place(&given.place).with_help(mend).with_help(TRUST)
        };
        problems.extend(title.map(problem));
    };
    for given in engines().filter(in_file) {
        refuse(asks(given, &[]), given, "all engines on the command line: --engine ");
    }
    for (factor, levels) in &layer.factors {
        let Factor::Option(option) = factor else { continue };
        let is_given =
            |given: &&LocatedValue<String>| level::without_alias(&given.value) != DEFAULT;
        for given in levels.iter().filter(in_file).filter(is_given) {
            let pair = [(&*option.name, level::without_alias(&given.value))];
            let with_it = engines()
                .filter(|it| vocabulary.engines.has(level::without_alias(&it.value), &option.name));
            let title = with_it.into_iter().find_map(|engine| asks(engine, &pair));
            let named = format!("all its levels on the command line: --factor {factor}=");
            refuse(title, given, &named);
        }
    }
    for (factor, levels) in &layer.factors {
        let sockets = levels.iter().filter(in_file).filter(|it| is_socket(&it.value));
        for given in sockets.filter(|_| factor.name() == PAGE_URL) {
            let title = format!("the file makes bakeoff send requests to `{}`", given.value);
            refuse(Some(title), given, "it on the command line: --url ");
        }
    }
    for (factor, levels) in &layer.factors {
        let secrets = levels.iter().filter(in_file).filter(|it| it.value.contains('$'));
        for given in secrets.filter(|_| factor.name() == PAGE_HEADER) {
            let title = "the file sends variables of your environment to a server".to_owned();
            refuse(Some(title), given, "it on the command line: --header ");
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.into()) }
}

/// Factors of the workload `page`.
const PAGE_URL: &str = "url";
const PAGE_HEADER: &str = "header";

/// A socket of this machine may belong to an administrator's service.
fn is_socket(url: &str) -> bool {
    // A reader of URLs leaves these out.
    let plain: String = url.chars().filter(|it| !it.is_ascii_control()).collect();
    plain.trim_start().to_ascii_lowercase().starts_with("http+unix:")
}

fn value_of<T: Clone>(given: &Option<LocatedValue<T>>) -> Option<T> {
    given.as_ref().map(|given| given.value.clone())
}

fn named_workload<'v>(layer: &Layer, vocabulary: &'v Vocabulary) -> Option<&'v WorkloadNames> {
    vocabulary.find_workload(&layer.workload.as_ref()?.value)
}

fn require_named<'v>(
    layer: &Layer,
    vocabulary: &'v Vocabulary,
    place: &SourceSpan,
) -> Result<&'v WorkloadNames, Error> {
    let workload = named_workload(layer, vocabulary);
    let takes_engine = workload.is_none_or(|workload| workload.has_factor(Factor::ENGINE));
    let mut problems = Vec::new();
    if workload.is_none() {
        let workloads: Vec<&str> = vocabulary.workloads.iter().map(|w| &*w.name).collect();
        problems.push(explain_missing("workload", &workloads, place));
    }
    if takes_engine && !layer.factors.contains_key(&Factor::ENGINE) {
        problems.push(explain_missing("engine", &vocabulary.engines.names(), place));
    }
    workload.filter(|_| problems.is_empty()).ok_or_else(|| problems.into())
}

/// The named one; with a limit, the first that searches for one; else the first.
fn find_planner(layer: &Layer, vocabulary: &Vocabulary) -> PlannerNames {
    let named = layer.planner.as_ref().and_then(|name| vocabulary.find_planner(&name.value).ok());
    let seeks = || {
        layer.find_limit.as_ref()?;
        vocabulary.planners.iter().copied().find(|planner| planner.seeks)
    };
    named.or_else(seeks).unwrap_or(vocabulary.planners[0])
}

/// A search for a limit compares rates.
fn compared_factor(layer: &Layer, workload: &WorkloadNames) -> Factor {
    match layer.find_limit {
        Some(_) => Factor::RATE,
        None => {
            value_of(&layer.compare).unwrap_or_else(|| default_compare(workload, &layer.factors))
        }
    }
}

/// The engine if the workload has it, else the first factor with several levels, else the first.
fn default_compare(workload: &WorkloadNames, given: &BTreeMap<Factor, LocatedLevels>) -> Factor {
    if workload.has_factor(Factor::ENGINE) {
        return Factor::ENGINE;
    }
    let several = |factor: &&Factor| given.get(factor).is_some_and(|levels| levels.len() > 1);
    let options = given.keys().filter(|factor| matches!(factor, Factor::Option(_)));
    let mut all = workload.factors.iter().chain(options);
    *all.find(several).unwrap_or(&workload.factors[0])
}

fn explain_missing(key: &str, valid: &[&str], place: &SourceSpan) -> ExperimentProblem {
    ExperimentProblem::new(format!("the experiment names no {key}"))
        .at_place(place)
        .with_help(format!("add a line `{key} = \"NAME\"`; valid: {}", valid.join(", ")))
}

fn too_many(experiment: &Experiment) -> ExperimentProblem {
    let trials = experiment.count_trials();
    let key = if experiment.bounds.is_some() { "max_repetitions" } else { "repetitions" };
    ExperimentProblem::new(format!(
        "the experiment comes to {trials} trials; at most {MOST_TRIALS} are run"
    ))
    .with_help(format!(
        "every level of one factor meets every level of the others in every repetition: name fewer \
             levels, or lower `{key}`"
    ))
}

fn check_together(
    factors: &BTreeMap<Factor, LocatedLevels>,
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
                let problem =
                    ExperimentProblem::new(title).at_place(&given.place).with_help(format!(
                        "write `{}`, or compare by `{factor}`",
                        level::without_alias(&given.value)
                    ));
                problems.push(problem);
            }
            if factor == Factor::SCALE {
                let scale = level::without_alias(&given.value);
                if let Err(problem) = one_of("scale", scale, scales) {
                    problems.push(problem.at_place(&given.place));
                }
            }
        }
    }
    problems
}

fn with_defaults(
    given: &BTreeMap<Factor, LocatedLevels>,
    workload: &WorkloadNames,
    compare: Factor,
) -> BTreeMap<Factor, Vec<String>> {
    let mut engines = given.get(&Factor::ENGINE).into_iter().flatten();
    let by_url = engines.any(|engine| engine.value.contains("://"));
    let levels = |factor: Factor| match given.get(&factor) {
        Some(levels) => levels.iter().map(|level| level.value.clone()).collect(),
        None if factor == Factor::DURABILITY && by_url => vec![AS_IS.to_owned()],
        None => vec![factor.default_level().unwrap_or_else(|| &workload.scales[0]).to_owned()],
    };
    let always = workload.factors.iter().filter(|factor| **factor != Factor::PLACEMENT);
    let factors = always.chain(given.keys()).chain([&compare]);
    factors.map(|factor| (*factor, levels(*factor))).collect()
}
