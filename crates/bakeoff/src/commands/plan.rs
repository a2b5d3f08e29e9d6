//! The plan of a run, and roughly how long it takes: `bakeoff run --dry-run`.

use std::collections::BTreeSet;

use bakeoff_engines::EngineHome;
use bakeoff_experiment::{
    Bounds, Cell, Cpus, Cuts, EngineState, Experiment, Factor, LevelSubstitute, MemoryLimit,
    PlannedTrial, TrialBlock, base,
};
use bakeoff_lab::possible::line as refused;
use bakeoff_lab::targets::{self, GroupLimit, tables};
use bakeoff_lab::{MediumKind, Possible, Registry, RunEstimate, spec};
use bakeoff_results::published::Publication;
use bakeoff_results::{AppliedSetting, ENOUGH_OPERATIONS};

use crate::find_limit;
use crate::progress::span;

/// A plan of more blocks has its total at its end, too.
const LONG: usize = 20;
/// Trials that a search has beside its first one, as searches usually go.
const MORE: usize = 10;
/// Slow operations are spoken of where they could make the trials so many times as long.
const MUCH_LONGER: f64 = 1.5;

/// The plan, for a reader, of a run whose data lie on this.
pub fn describe(
    registry: &Registry,
    experiment: &Experiment,
    possible: &Possible,
    medium: MediumKind,
) -> String {
    // Of what goes on until it is decided, the part that is run in any case.
    let sure = match experiment.bounds {
        Some(bounds) => &possible.first_repetitions(bounds.min_repetitions),
        None => possible,
    };
    let blocks = &sure.plan.blocks;
    let estimate = RunEstimate::on(medium, registry, experiment, sure);
    let mut total = total(experiment, sure, &estimate);
    if let Some(bounds) = experiment.bounds {
        let whole = RunEstimate::on(medium, registry, experiment, possible);
        total += &more(&whole, possible, bounds);
    }
    if experiment.limit.is_some() {
        total += &searched(possible.plan.trials(), &estimate);
    }
    let lines: String = blocks.iter().map(|block| line(experiment, block)).collect();
    let again = if blocks.len() > LONG { &*total } else { "" };
    let planner = planner(registry, experiment);
    let clients = clients_within(registry, possible).map_or_else(String::new, |it| it + "\n");
    let remarks: String =
        remarks(registry, experiment, possible).into_iter().map(|it| it + "\n").collect();
    let memory =
        memory(registry, experiment, possible) + &on_memory(registry, experiment, possible);
    let left_out = left_out(possible) + &published(experiment);
    let equal = all_else_equal(experiment, possible);
    format!(
        "{}\n{total}{planner}{equal}{lines}{clients}{remarks}{memory}{left_out}{again}",
        registry.title(experiment)
    )
}

/// Which engines' quota of processors their clients share, if any does, and what that means.
pub fn clients_within(registry: &Registry, possible: &Possible) -> Option<String> {
    let trials = possible.plan.blocks.iter().flat_map(|block| &block.trials);
    let limited = trials.filter(|trial| trial.cell.cpus() != Cpus::Unlimited);
    let shares = |trial: &PlannedTrial| {
        let engine = spec::engine(registry, &trial.cell).ok()?;
        let inside = engine.home() == EngineHome::Process && !tables::is_served(&trial.cell);
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

/// What engines say of the levels of durability that they are run or cut at.
pub fn remarks(registry: &Registry, experiment: &Experiment, possible: &Possible) -> Vec<String> {
    let remark = |cell: &Cell| {
        let engine = spec::engine(registry, cell).ok()?;
        let level = cell.level(Factor::DURABILITY)?;
        let promises = engine.about().promises;
        let remark = promises.iter().find(|it| it.durability.name() == level)?.remark?;
        Some(format!("{} at durability {level}: {remark}", cell.base(Factor::ENGINE)))
    };
    let trials = possible.plan.blocks.iter().flat_map(|block| &block.trials);
    let run = trials.filter_map(|trial| remark(&trial.cell));
    let cut = possible.cuts.iter().map(|(engine, level)| experiment.cut_cell(engine, level));
    run.chain(cut.filter_map(|cell| remark(&cell))).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The levels that every trial has, and where there are power cuts alone, of these the ones that cuts have.
fn all_else_equal(experiment: &Experiment, possible: &Possible) -> String {
    let cut = cut_cell(experiment, possible).filter(|_| possible.plan.trials() == 0);
    let is_had = |factor: Factor, level: &str| {
        cut.as_ref().is_none_or(|cell| cell.base(factor) == base(level))
    };
    let factors = experiment.factors.iter().filter(|(factor, _)| **factor != experiment.compare);
    let fixed = factors.filter_map(|(factor, levels)| match levels.as_slice() {
        [level] if is_had(*factor, level) => Some(format!("{factor} {level}")),
        _ => None,
    });
    let fixed: Vec<String> = fixed.collect();
    if fixed.is_empty() { String::new() } else { format!("all else equal: {}\n", fixed.join(", ")) }
}

/// The cell of the first power cut; `None` where no power is cut.
fn cut_cell(experiment: &Experiment, possible: &Possible) -> Option<Cell> {
    let (subject, promised) = possible.cuts.first()?;
    Some(experiment.cut_cell(subject, promised))
}

/// How many bytes each limit of memory is that is a share of the data, and the cache that each engine keeps for
/// itself under each limit; as far as the size of the data is known before they are loaded.
fn memory(registry: &Registry, experiment: &Experiment, possible: &Possible) -> String {
    let Ok(target) = registry.target_of(&experiment.workload) else { return String::new() };
    let (mut shares, mut caches) = (BTreeSet::new(), BTreeSet::new());
    for block in &possible.plan.blocks {
        for PlannedTrial { cell, .. } in &block.trials {
            let memory = cell.memory();
            let resolved = bakeoff_lab::resolve(registry, experiment, cell, block.number);
            let Ok((trial, _)) = resolved else { continue };
            let subject = &trial.setup.subject;
            let rows = target.size(subject).map(|size| size.rows);
            let limit =
                GroupLimit { memory, cpus: Cpus::Unlimited }.resolve_for_data(rows.unwrap_or(0));
            let limit = limit.memory_bytes;
            if let MemoryLimit::Share(_) = memory {
                let (Some(limit), Some(rows)) = (limit, rows) else { continue };
                shares.insert(share(memory, limit, rows, trial.setup.home));
            }
            if let Some(cache) = target.cache(subject, limit) {
                let engine = cell.base(Factor::ENGINE);
                caches
                    .insert(format!("cache at memory {memory}: {engine} has {}\n", words(&cache)));
            }
        }
    }
    shares.into_iter().chain(caches).collect()
}

/// What the target has to say of each of its subjects, each line once.
fn on_memory(registry: &Registry, experiment: &Experiment, possible: &Possible) -> String {
    let Ok(target) = registry.target_of(&experiment.workload) else { return String::new() };
    let (mut remarks, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for block in &possible.plan.blocks {
        for PlannedTrial { cell, .. } in &block.trials {
            // Its repetitions say the same.
            if !seen.insert(cell) {
                continue;
            }
            let resolved = bakeoff_lab::resolve(registry, experiment, cell, block.number);
            let Ok((trial, _)) = resolved else { continue };
            let subject = &trial.setup.subject;
            let loaded = target.size(subject).map_or(0, |size| size.rows);
            let limit = GroupLimit { memory: cell.memory(), cpus: Cpus::Unlimited }
                .resolve_for_data(loaded);
            let remark = target.remark(subject, limit.memory_bytes, cell.state());
            remarks.extend(remark.map(|remark| remark + "\n"));
        }
    }
    remarks.into_iter().collect()
}

/// A line on how many bytes a share of the data is.
fn share(memory: MemoryLimit, limit: u64, data: u64, home: targets::TargetHome) -> String {
    let of = match home {
        targets::TargetHome::Files => "files",
        _ => "rows",
    };
    let (limit, data) = (limit as f64 / 1e6, data as f64 / 1e6);
    format!("memory {memory}: about {limit:.1} MB, for {data:.1} MB of {of}\n")
}

/// A setting with the reason for it.
fn words(AppliedSetting { name, value, reason }: &AppliedSetting) -> String {
    match reason {
        Some(reason) => format!("{name} = {value} bytes: {reason}"),
        None => format!("{name} = {value}: your setting"),
    }
}

/// What so many searches for the highest rate come to, of whose first trials this is the estimate.
fn searched(searches: usize, estimate: &RunEstimate) -> String {
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
        span(rounded(time_s))
    )
}

/// What a run comes to at most that goes on until it is decided.
fn more(estimate: &RunEstimate, possible: &Possible, bounds: Bounds) -> String {
    let RunEstimate { loads_s, trials_s, .. } = estimate;
    let most_s = rounded(loads_s + trials_s);
    let time_s = bounds.max_time.map_or(most_s, |time| time.as_secs_f64().min(most_s));
    let ended = if time_s < most_s { ", when --max-time ends it" } else { "" };
    format!(
        "these are the first {} repetitions, which is the least; a condition that is not decided \
         then goes on: at most {} in {}, about {}{ended}\n",
        bounds.min_repetitions,
        count(possible.plan.trials(), "trial"),
        count(possible.plan.blocks.len(), "block"),
        span(time_s),
    )
}

/// What decides which blocks are run, where it is not the plan alone.
fn planner(registry: &Registry, experiment: &Experiment) -> String {
    let others = &registry.planners()[1..];
    let other = others.iter().find(|planner| planner.name == experiment.planner);
    other.map_or_else(String::new, |it| format!("planner {}: {}\n", it.name, it.summary))
}

/// What somebody else measured, and how much of it is of levels that are run.
fn published(experiment: &Experiment) -> String {
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

/// Levels that published figures are divided by and that are not run.
fn bases_not_run(experiment: &Experiment, of: &Publication) -> String {
    let line = |(name, level): (&String, &String)| {
        let (_, levels) = experiment.factors.iter().find(|(factor, _)| factor.name() == name)?;
        let is_run = levels.iter().any(|it| base(it) == level);
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

/// What can't be had, with the reasons.
fn left_out(possible: &Possible) -> String {
    possible.left_out.iter().map(|it| refused(it) + "\n").collect()
}

/// How many trials and power cuts there are, and how long they take.
fn total(experiment: &Experiment, possible: &Possible, estimate: &RunEstimate) -> String {
    let mut total = String::new();
    let trials = possible.plan.trials();
    if trials > 0 {
        let sooner = experiment.operations.map_or_else(String::new, |operations| {
            format!(", sooner after {operations} operations of each kind")
        });
        total += &format!(
            "{} in {}, {} s each{sooner}, about {} with the loading\n",
            count(trials, "trial"),
            count(possible.plan.blocks.len(), "block"),
            experiment.seconds,
            span(rounded(estimate.loads_s + estimate.trials_s)),
        );
        total += &conditioned(possible, estimate);
        if estimate.most_s > MUCH_LONGER * estimate.trials_s {
            total += &format!(
                "slow operations make the trials longer, {} at most: each goes on until {ENOUGH_OPERATIONS} \
                 operations of each kind have ended\n",
                span(rounded(estimate.most_s))
            );
        }
    }
    if let Some(cuts) = &experiment.cuts {
        let then = if trials > 0 { "then" } else { "no trials, and" };
        total += &format!("{then} {}\n", describe_cuts(experiment, possible, cuts, estimate));
        total += conditioned_cuts(experiment, possible);
    }
    total
}

/// What is not in the time of trials that are to be steady: it is learnt in the run.
fn conditioned(possible: &Possible, estimate: &RunEstimate) -> String {
    let trials = possible.plan.blocks.iter().flat_map(|block| &block.trials);
    let steady = trials.filter(|trial| trial.cell.state() == EngineState::Steady).count();
    let conditionings = possible.plan.conditionings();
    if steady == 0 {
        return String::new();
    }
    let are = if steady == 1 { "1 trial is".into() } else { format!("{steady} trials are") };
    let shared = match conditionings < steady {
        true => format!(
            " ({}: trials that differ in `neighbours` alone follow one)",
            count(conditionings, "preconditioning")
        ),
        false => String::new(),
    };
    format!(
        "{are} preconditioned first{shared}, which is not in that time. It takes an embedded engine seconds \
         or minutes, and took servers 17 to 40 minutes each at the scale large in 512 MB: up to {} in \
         all\n",
        span(rounded(estimate.conditioning_s))
    )
}

/// What is not in the time of power cuts at `steady`.
fn conditioned_cuts(experiment: &Experiment, possible: &Possible) -> &'static str {
    let mut cells = possible.cuts.iter().map(|(engine, level)| experiment.cut_cell(engine, level));
    match cells.any(|cell| cell.state() == EngineState::Steady) {
        false => "",
        true => {
            "the clients of the power cuts precondition each engine first, for every ten cuts anew, \
             which is not in that time: it takes an embedded engine seconds, and a server minutes\n"
        }
    }
}

fn count(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn describe_cuts(
    experiment: &Experiment,
    possible: &Possible,
    cuts: &Cuts,
    estimate: &RunEstimate,
) -> String {
    if let Some(images) = cuts.every {
        return format!(
            "{} at every moment of a run of up to {} writes: up to {images} different images of each \
             engine at each level {}, drawn by {}, from {} seeds but for drop-all: about {}",
            count(possible.planned_cuts(experiment), "power cut"),
            bakeoff_lab::procedures::cut::every::WRITES,
            on(&cuts.file_systems),
            cuts.keep.join(", "),
            bakeoff_lab::procedures::cut::every::SEEDS,
            span(rounded(estimate.cuts_s)),
        );
    }
    let which = match cuts.only {
        Some(number) => format!("number {number}"),
        None => cuts.count.to_string(),
    };
    format!(
        "{}, {which} of each {} at each level {}{}, judged by {}{}: about {}",
        count(possible.planned_cuts(experiment), "power cut"),
        cuts.by.promise[0],
        on(&cuts.file_systems),
        in_place(experiment, cuts),
        cuts.keep.join(", "),
        at_work(experiment, possible, cuts),
        span(rounded(estimate.cuts_s)),
    )
}

/// How many clients are at work when the power goes, and the one level that cuts have of each other factor that has
/// several. Of what promises all levels are cut, and what is taken in the place of a level is told by itself.
fn at_work(experiment: &Experiment, possible: &Possible, cuts: &Cuts) -> String {
    let Some(cell) = cut_cell(experiment, possible) else { return String::new() };
    let is_told = |(factor, levels): &(&Factor, &Vec<String>)| {
        let is_one = levels.len() > 1 && base(&levels[0]) == cell.base(**factor);
        is_one && **factor != Factor::CLIENTS && !cuts.by.promise.contains(*factor)
    };
    let told = experiment.factors.iter().filter(is_told);
    let told: Vec<String> =
        told.map(|(factor, _)| format!(", {factor} {}", cell.base(*factor))).collect();
    format!("; {} at work{}", count(cell.clients(), "client"), told.concat())
}

/// The levels that power cuts have in the place of others, at which nothing is promised.
fn in_place(experiment: &Experiment, cuts: &Cuts) -> String {
    let cut = |it: &&LevelSubstitute| match it.factor == cuts.by.promise[1] {
        true => experiment.levels(it.factor).iter().any(|level| base(level) == it.level),
        false => experiment.levels(it.factor).first().is_some_and(|level| base(level) == it.level),
    };
    let taken = cuts.by.instead.iter().filter(cut);
    let taken: Vec<String> =
        taken.map(|it| format!("{} {} instead of {}", it.factor, it.cut, it.level)).collect();
    if taken.is_empty() { String::new() } else { format!(", with {}", taken.join(", ")) }
}

/// The file systems of power cuts, in words.
fn on(file_systems: &[String]) -> String {
    match file_systems {
        [one] => format!("on the file system {one}"),
        all => format!("on each of the file systems {}", all.join(", ")),
    }
}

/// To two digits or so: more would be pretence.
pub fn rounded(seconds: f64) -> f64 {
    let step = match seconds {
        s if s > 3600.0 => 300.0,
        s if s > 600.0 => 60.0,
        s if s > 60.0 => 10.0,
        s if s > 20.0 => 5.0,
        _ => 1.0,
    };
    (seconds / step).ceil() * step
}

/// A block in a line, with the numbers that the reports have.
fn line(experiment: &Experiment, block: &TrialBlock) -> String {
    let first = &block.trials[0].cell;
    let others = experiment.factors.keys().filter(|factor| **factor != experiment.compare);
    let terms: Vec<String> = others
        .filter(|factor| experiment.levels(**factor).len() > 1)
        .map(|factor| format!("{} {}", factor.name(), first.get(*factor)))
        .collect();
    let order: Vec<&str> =
        block.trials.iter().map(|trial| trial.cell.get(experiment.compare)).collect();
    format!(
        "block {:>3}  repetition {:>2}  {:<32}  {} {}\n",
        block.number,
        block.repetition,
        terms.join(", "),
        experiment.compare.name(),
        order.join(", ")
    )
}
