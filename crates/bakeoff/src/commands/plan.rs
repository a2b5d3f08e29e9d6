//! `bakeoff run --dry-run`: prints the plan of a run, and roughly how long it takes.

use std::collections::BTreeSet;

use bakeoff_engines::{AS_IS, Engine, EngineHome};
use bakeoff_experiment::{
    Bounds, Cell, Cpus, Cuts, EngineState, Experiment, Factor, LevelSubstitute, MemoryLimit,
    TrialBlock, without_alias,
};
use bakeoff_lab::plan::describe_left_out;
use bakeoff_lab::targets::{self, GroupLimit, tables};
use bakeoff_lab::{MediumKind, Plan, ResolvedTrial, RunEstimate};
use bakeoff_results::published::Publication;
use bakeoff_results::{AppliedSetting, ENOUGH_OPERATIONS};

use super::past_noise::PastNoise;
use super::strength;
use crate::find_limit;
use crate::progress::format_span;

const LONG: usize = 20;
const MORE: usize = 10;
/// Slow operations are mentioned if they could make the trials this many times as long.
const MUCH_LONGER: f64 = 1.5;

pub fn describe_plan(plan: &Plan<'_>, medium: MediumKind, past: Option<&PastNoise>) -> String {
    let experiment = plan.experiment;
    // For a run until decided, the part that is run in any case.
    let sure = match experiment.bounds {
        Some(bounds) => &plan.first_repetitions(bounds.min_repetitions),
        None => plan,
    };
    let blocks = &sure.trials.blocks;
    let estimate = RunEstimate::from_plan(medium, sure);
    let mut total = describe_total(sure, &estimate);
    if let Some(bounds) = experiment.bounds {
        total += &describe_longest(&RunEstimate::from_plan(medium, plan), plan, bounds);
    }
    if experiment.limit.is_some() {
        total += &describe_search(plan.trials.count_trials(), &estimate);
    }
    let lines: String = blocks.iter().map(|block| format_block(experiment, block)).collect();
    let again = if blocks.len() > LONG { &*total } else { "" };
    let planner = describe_planner(plan);
    let strength = [strength::describe_strength(plan, past), strength::describe_order(plan)];
    let strength: String = strength.into_iter().flatten().map(|it| it + "\n").collect();
    let clients = clients_within(plan).map_or_else(String::new, |it| it + "\n");
    let remarks: String = collect_remarks(plan).into_iter().map(|it| it + "\n").collect();
    let memory = describe_memory(plan) + &on_memory(plan);
    let left_out = left_out(plan) + &describe_published(experiment);
    let equal = all_else_equal(plan);
    format!(
        "{}\n{total}{strength}{planner}{equal}{lines}{clients}{remarks}{memory}{left_out}{again}",
        plan.registry.experiment_title(experiment)
    )
}

/// Which engines share their processor quota with the clients, and what that means.
pub fn clients_within(plan: &Plan<'_>) -> Option<String> {
    let limited = plan.resolved_cells().filter(|trial| trial.cell.cpus() != Cpus::Unlimited);
    let shares = |trial: &ResolvedTrial| {
        let inside = trial.engine?.home() == EngineHome::Process && !tables::is_served(&trial.cell);
        inside.then(|| trial.cell.base(Factor::ENGINE).to_owned())
    };
    let engines: BTreeSet<String> = limited.filter_map(shares).collect();
    let names: Vec<String> = engines.into_iter().collect();
    (!names.is_empty()).then(|| {
        format!(
            "cpus: {} in the clients' process, so that what the clients do themselves is within the \
             quota; a server's clients are outside of it",
            names.join(", ") + if names.len() == 1 { " works" } else { " work" }
        )
    })
}

pub fn collect_remarks(plan: &Plan<'_>) -> Vec<String> {
    let remark = |(engine, cell): (Option<&'static dyn Engine>, &Cell)| {
        let level = cell.level(Factor::DURABILITY)?;
        let promises = engine?.about().promises;
        let remark = promises.iter().find(|it| it.durability.name() == level)?.remark?;
        Some(format!("{} at durability {level}: {remark}", cell.base(Factor::ENGINE)))
    };
    let run = plan.resolved_cells().map(|trial| (trial.engine, &trial.cell));
    let cut = plan.cuts.iter().map(|cut| (cut.engine, &cut.cell));
    let unchecked = plan.resolved().filter_map(|trial| {
        let why = trial.engine?.find_unchecked()?;
        let name = trial.cell.base(Factor::ENGINE);
        Some(format!("{name}: its tables and indexes are not checked after trials: {why}"))
    });
    let as_is = plan.resolved_cells().filter_map(|trial| {
        let own = trial.cell.level(Factor::DURABILITY)? == AS_IS;
        let promised = trial.engine.filter(|_| own)?.find_own_level().ok()?;
        let name = trial.cell.base(Factor::ENGINE);
        Some(format!("{name} as it is: it {}, by its settings", promised.describe_loss()))
    });
    run.chain(cut)
        .filter_map(remark)
        .chain(as_is)
        .chain(unchecked)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}

/// The levels that all trials have; with power cuts alone, those of the cuts.
fn all_else_equal(plan: &Plan<'_>) -> String {
    let experiment = plan.experiment;
    let cut = cut_cell(plan).filter(|_| plan.trials.count_trials() == 0);
    let is_had = |factor: Factor, level: &str| {
        cut.is_none_or(|cell| cell.base(factor) == without_alias(level))
    };
    let factors = experiment.factors.iter().filter(|(factor, _)| **factor != experiment.compare);
    let fixed = factors.filter_map(|(factor, levels)| match levels.as_slice() {
        [level] if is_had(*factor, level) => Some(format!("{factor} {level}")),
        _ => None,
    });
    let fixed: Vec<String> = fixed.collect();
    if fixed.is_empty() { String::new() } else { format!("all else equal: {}\n", fixed.join(", ")) }
}

fn cut_cell<'p>(plan: &'p Plan<'_>) -> Option<&'p Cell> {
    plan.cuts.first().map(|cut| &cut.cell)
}

/// The bytes of each memory limit that is a share of the data, and each engine's cache under it.
fn describe_memory(plan: &Plan<'_>) -> String {
    let (mut shares, mut caches) = (BTreeSet::new(), BTreeSet::new());
    for ResolvedTrial { cell, spec, .. } in plan.resolved_cells() {
        let (memory, subject) = (cell.memory(), &spec.setup.subject);
        let rows = subject.size().map(|size| size.rows);
        let limit =
            GroupLimit { memory, cpus: Cpus::Unlimited }.resolve_for_data(rows.unwrap_or(0));
        let limit = limit.memory_bytes;
        if let MemoryLimit::Share(_) = memory {
            let (Some(limit), Some(rows)) = (limit, rows) else { continue };
            shares.insert(describe_share(memory, limit, rows, spec.setup.home));
        }
        if let Some(cache) = subject.cache_setting(limit) {
            let engine = cell.base(Factor::ENGINE);
            caches.insert(format!(
                "cache at memory {memory}: {engine} has {}\n",
                describe_setting(&cache)
            ));
        }
    }
    shares.into_iter().chain(caches).collect()
}

fn on_memory(plan: &Plan<'_>) -> String {
    let remark = |ResolvedTrial { cell, spec, .. }: &ResolvedTrial| {
        let subject = &spec.setup.subject;
        let loaded = subject.size().map_or(0, |size| size.rows);
        let limit = GroupLimit { memory: cell.memory(), cpus: Cpus::Unlimited };
        let remark = subject.plan_remark(limit.resolve_for_data(loaded).memory_bytes, cell.state());
        remark.map(|remark| remark + "\n")
    };
    plan.resolved_cells().filter_map(remark).collect::<BTreeSet<_>>().into_iter().collect()
}

fn describe_share(memory: MemoryLimit, limit: u64, data: u64, home: targets::TargetHome) -> String {
    let of = match home {
        targets::TargetHome::Files => "files",
        _ => "rows",
    };
    let (limit, data) = (limit as f64 / 1e6, data as f64 / 1e6);
    format!("memory {memory}: about {limit:.1} MB, for {data:.1} MB of {of}\n")
}

fn describe_setting(AppliedSetting { name, value, reason }: &AppliedSetting) -> String {
    match reason {
        Some(reason) => format!("{name} = {value} bytes: {reason}"),
        None => format!("{name} = {value}: your setting"),
    }
}

/// How long the searches for the highest rate may take; `estimate` is for their first trials.
fn describe_search(searches: usize, estimate: &RunEstimate) -> String {
    let what = match searches {
        1 => "this is what a search begins".to_owned(),
        searches => format!("these are what {searches} searches begin"),
    };
    let most = find_limit::MOST;
    let [usual, longest] = [MORE, most].map(|more| searches * (1 + more));
    let time_s = estimate.loads_s + estimate.trials_s * (1 + MORE) as f64;
    format!(
        "{what} with: each has some {MORE} trials more, and at most {most}; in all some {usual} trials in about \
         {}, and at most {longest} trials\n",
        format_span(round_seconds(time_s))
    )
}

/// How long a run until decided may take at most.
fn describe_longest(estimate: &RunEstimate, plan: &Plan<'_>, bounds: Bounds) -> String {
    let RunEstimate { loads_s, trials_s, .. } = estimate;
    let most_s = round_seconds(loads_s + trials_s);
    let time_s = bounds.max_time.map_or(most_s, |time| time.as_secs_f64().min(most_s));
    let ended = if time_s < most_s { ", when --max-time ends it" } else { "" };
    format!(
        "these are the first {} repetitions, which is the least; a condition that is not decided \
         then goes on: at most {} in {}, about {}{ended}\n",
        bounds.min_repetitions,
        format_count(plan.trials.count_trials(), "trial"),
        format_count(plan.trials.blocks.len(), "block"),
        format_span(time_s),
    )
}

fn describe_planner(plan: &Plan<'_>) -> String {
    let others = &plan.registry.planners()[1..];
    let other = others.iter().find(|planner| planner.name == plan.experiment.planner);
    other.map_or_else(String::new, |it| format!("planner {}: {}\n", it.name, it.summary))
}

/// The published figures, and how many belong to levels that are run.
fn describe_published(experiment: &Experiment) -> String {
    let counts = experiment.published.as_ref().zip(experiment.published_figures());
    counts.map_or_else(String::new, |(article, (all, run))| {
        let of = &article.published;
        format!(
            "beside it: {run} of {all} figures of \u{201c}{}\u{201d} ({}), by shape alone\n{}",
            of.source,
            of.date,
            bases_not_run(experiment, of)
        )
    })
}

fn bases_not_run(experiment: &Experiment, of: &Publication) -> String {
    let line = |(name, level): (&String, &String)| {
        let (_, levels) = experiment.factors.iter().find(|(factor, _)| factor.name() == name)?;
        let is_run = levels.iter().any(|it| without_alias(it) == level);
        (!is_run).then(|| {
            format!(
                "the base of published figures, {name} {level}, is not run, so that nothing can be said of \
                 them: add it to the levels of {name}\n"
            )
        })
    };
    let bases = of.tables.iter().flat_map(|table| &table.base);
    bases.filter_map(line).collect::<BTreeSet<String>>().into_iter().collect()
}

fn left_out(plan: &Plan<'_>) -> String {
    plan.left_out.iter().map(|it| describe_left_out(it) + "\n").collect()
}

fn describe_total(plan: &Plan<'_>, estimate: &RunEstimate) -> String {
    let (mut total, experiment) = (String::new(), plan.experiment);
    let trials = plan.trials.count_trials();
    if trials > 0 {
        let sooner = experiment.operations.map_or_else(String::new, |operations| {
            format!(", sooner after {operations} operations of each kind")
        });
        total += &format!(
            "{} in {}, {} s each{sooner}, about {} with the loading\n",
            format_count(trials, "trial"),
            format_count(plan.trials.blocks.len(), "block"),
            experiment.seconds,
            format_span(round_seconds(estimate.loads_s + estimate.trials_s)),
        );
        total += &describe_images(experiment, estimate);
        total += &describe_conditioning(plan, estimate);
        if estimate.most_s > MUCH_LONGER * estimate.trials_s {
            total += &format!(
                "slow operations make the trials longer, {} at most: each goes on until {ENOUGH_OPERATIONS} \
                 operations of each kind have ended\n",
                format_span(round_seconds(estimate.most_s))
            );
        }
    }
    if let Some(cuts) = &experiment.cuts {
        let then = if trials > 0 { "then" } else { "no trials, and" };
        total += &format!("{then} {}\n", describe_cuts(plan, cuts, estimate));
        total += conditioned_cuts(plan);
    }
    total
}

fn describe_images(experiment: &Experiment, estimate: &RunEstimate) -> String {
    match experiment.images {
        1 => String::new(),
        images => format!(
            "each engine's data are loaded {images} times, with other rows each time, in about {} of that \
             time: the blocks of a condition take turns on these images, and an alias has another one than \
             its base\n",
            format_span(round_seconds(estimate.loads_s))
        ),
    }
}

/// The conditioning's time is not in the trials' time: it is learnt in the run.
fn describe_conditioning(plan: &Plan<'_>, estimate: &RunEstimate) -> String {
    let is_steady = |trial: &&ResolvedTrial| trial.drive.state == EngineState::Steady;
    let steady = plan.resolved().filter(is_steady).count();
    let conditionings = plan.trials.count_conditionings();
    if steady == 0 {
        return String::new();
    }
    let are = if steady == 1 { "1 trial is".into() } else { format!("{steady} trials are") };
    let shared = match conditionings < steady {
        true => format!(
            " ({}: trials that differ in `neighbours` alone follow one)",
            format_count(conditionings, "preconditioning")
        ),
        false => String::new(),
    };
    format!(
        "{are} preconditioned first{shared}, which is not in that time. It takes an embedded engine seconds \
         or minutes, and took servers 17 to 40 minutes each at the scale large in 512 MB: up to {} in \
         all\n",
        format_span(round_seconds(estimate.conditioning_s))
    )
}

fn conditioned_cuts(plan: &Plan<'_>) -> &'static str {
    match plan.cuts.iter().any(|cut| cut.cell.state() == EngineState::Steady) {
        false => "",
        true => {
            "the clients of the power cuts precondition each engine first, for every ten cuts anew, \
             which is not in that time: it takes an embedded engine seconds, and a server minutes\n"
        }
    }
}

fn format_count(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn describe_cuts(plan: &Plan<'_>, cuts: &Cuts, estimate: &RunEstimate) -> String {
    if let Some(images) = cuts.every {
        return format!(
            "{} at every moment of a run of up to {} writes: up to {images} different images of each \
             engine at each level {}, drawn by {}, from {} seeds but for drop-all: about {}",
            format_count(plan.planned_cuts(), "power cut"),
            bakeoff_lab::procedures::cut::every::WRITES,
            describe_file_systems(&cuts.file_systems),
            cuts.keep.join(", "),
            bakeoff_lab::procedures::cut::every::SEEDS,
            format_span(round_seconds(estimate.cuts_s)),
        );
    }
    let which = match cuts.only {
        Some(number) => format!("number {number}"),
        None => cuts.count.to_string(),
    };
    format!(
        "{}, {which} of each {} at each level {}{}, judged by {}{}: about {}",
        format_count(plan.planned_cuts(), "power cut"),
        cuts.by.promise[0],
        describe_file_systems(&cuts.file_systems),
        in_place(plan.experiment, cuts),
        cuts.keep.join(", "),
        at_work(plan, cuts),
        format_span(round_seconds(estimate.cuts_s)),
    )
}

/// How many clients work when the power goes, and which level power cuts use of each factor with
/// several.
fn at_work(plan: &Plan<'_>, cuts: &Cuts) -> String {
    let Some(cell) = cut_cell(plan) else { return String::new() };
    let is_told = |(factor, levels): &(&Factor, &Vec<String>)| {
        let is_one = levels.len() > 1 && without_alias(&levels[0]) == cell.base(**factor);
        is_one && **factor != Factor::CLIENTS && !cuts.by.promise.contains(*factor)
    };
    let told = plan.experiment.factors.iter().filter(is_told);
    let told: Vec<String> =
        told.map(|(factor, _)| format!(", {factor} {}", cell.base(*factor))).collect();
    format!("; {} at work{}", format_count(cell.clients(), "client"), told.concat())
}

/// The levels that power cuts use instead of levels that promise nothing.
fn in_place(experiment: &Experiment, cuts: &Cuts) -> String {
    let cut = |it: &&LevelSubstitute| match it.factor == cuts.by.promise[1] {
        true => {
            experiment.run_levels(it.factor).iter().any(|level| without_alias(level) == it.level)
        }
        false => experiment
            .run_levels(it.factor)
            .first()
            .is_some_and(|level| without_alias(level) == it.level),
    };
    let taken = cuts.by.instead.iter().filter(cut);
    let taken: Vec<String> =
        taken.map(|it| format!("{} {} instead of {}", it.factor, it.cut, it.level)).collect();
    if taken.is_empty() { String::new() } else { format!(", with {}", taken.join(", ")) }
}

fn describe_file_systems(file_systems: &[String]) -> String {
    match file_systems {
        [one] => format!("on the file system {one}"),
        all => format!("on each of the file systems {}", all.join(", ")),
    }
}

/// To about two digits: more would be pretence.
pub fn round_seconds(seconds: f64) -> f64 {
    let step = match seconds {
        s if s > 3600.0 => 300.0,
        s if s > 600.0 => 60.0,
        s if s > 60.0 => 10.0,
        s if s > 20.0 => 5.0,
        _ => 1.0,
    };
    (seconds / step).ceil() * step
}

fn format_block(experiment: &Experiment, block: &TrialBlock) -> String {
    let first = &block.trials[0].cell;
    let others = experiment.factors.keys().filter(|factor| **factor != experiment.compare);
    let terms: Vec<String> = others
        .filter(|factor| experiment.run_levels(**factor).len() > 1)
        .map(|factor| format!("{} {}", factor.name(), first.aliased_level(*factor)))
        .collect();
    let order: Vec<&str> =
        block.trials.iter().map(|trial| trial.cell.aliased_level(experiment.compare)).collect();
    format!(
        "block {:>3}  repetition {:>2}  {:<32}  {} {}\n",
        block.number,
        block.repetition,
        terms.join(", "),
        experiment.compare.name(),
        order.join(", ")
    )
}
