//! What stands beside the finding in the sentence of a run: how much it is worth, and what is not
//! in it.

use std::collections::BTreeSet;

use bakeoff_analysis::{
    ALL_OPERATIONS, Attempts, Comparison, ConditionState, ConditionView, Document,
    OtherwiseCounted, RatioIs,
};
use bakeoff_results::Status;

use crate::amount;
use crate::durability;
use crate::layout::{self, ConditionLevels, DocumentLayout};
use crate::verdict::{Contrast, LeaderOutcome, OperationCase};
use crate::words;

/// What was still running when its trial was cut off, where no word of the finding tells it: how
/// many cells have it, and of the slowest how long it took at least.
pub fn cut_off<'a>(layout: &DocumentLayout<'a>, cases: &[OperationCase<'a>]) -> Option<String> {
    if layout.contenders().len() < 2 {
        return None;
    }
    let mut slowest: Option<(f64, String)> = None;
    let mut cells = BTreeSet::new();
    for operation in layout.operations() {
        for condition in &layout.conditions {
            // Where a rate of all operations is compared, that says it of each.
            let is_of =
                |it: &&OperationCase| it.operation == operation || it.operation == ALL_OPERATIONS;
            let case = cases.iter().find(|it| is_of(it) && it.condition == *condition);
            let told = |level: &str| {
                case.is_some_and(|it| it.outcome == LeaderOutcome::Won && it.leader != level)
            };
            for level in layout.contenders().into_iter().filter(|level| !told(level)) {
                let figures = layout.figures(operation, condition, level);
                let Some(mean) = figures.filter(|it| it.unfinished > 0).and_then(|it| it.mean_s)
                else {
                    continue;
                };
                cells.insert((condition.clone(), level));
                if slowest.as_ref().is_none_or(|(most, _)| mean > *most) {
                    let leader = case.map(|case| case.leader).filter(|leader| *leader != level);
                    slowest = Some((mean, bound(layout, operation, condition, level, leader)));
                }
            }
        }
    }
    let (_, slowest) = slowest?;
    Some(match cells.len() {
        1 => format!("operations were cut off while they were running: {slowest}"),
        n => format!(
            "operations of {} were cut off while they were running; the slowest: {slowest}",
            words::many(n, "cell")
        ),
    })
}

/// What the leads would be if the warm-up counted, and if the trials that were set aside did, where a lead would
/// be another: "if the warm-up counted, sqlite would take 2.7 times as long as lmdb in create_issue and not 5.1 times".
pub fn otherwise_counted<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
) -> Vec<String> {
    type Otherwise = fn(&Comparison) -> Option<OtherwiseCounted>;
    let kinds: [(&str, Otherwise); 2] = [
        ("if the warm-up counted", |it| it.with_warm_up),
        ("if the trials that were set aside counted", |it| it.with_set_aside),
    ];
    let clause = |(lead, otherwise): (&str, Otherwise)| {
        let differing = cases.iter().filter_map(|case| {
            let pair = layout.pair(case.operation, &case.condition, case.leader, case.next)?;
            let other = otherwise(&pair)?;
            let is_won = case.outcome == LeaderOutcome::Won;
            let differs = other.is_outside(&pair) || is_won && other.verdict != pair.verdict;
            differs.then_some((case, other))
        });
        let differing: Vec<(&OperationCase<'a>, OtherwiseCounted)> = differing.collect();
        let (case, other) = differing.first()?;
        let more = match differing.len() {
            1 => String::new(),
            number => format!(" (so too in {})", words::many(number - 1, "more comparison")),
        };
        let [leader, next] =
            [case.leader, case.next].map(|level| words::contender(layout.compare, level));
        let merit = layout.merit(case.operation, &case.condition).filter(|it| it.is_rate());
        let what = match case.operation {
            ALL_OPERATIONS => String::new(),
            operation => format!(" in {operation}"),
        };
        let pair = layout.pair(case.operation, &case.condition, case.leader, case.next)?;
        let [would, told] = [other.ratio, case.contrast.ratio].map(words::two);
        let place = format!("{what}{}", layout.place(&case.condition));
        let how = match merit {
            Some(merit) => {
                let counted = amount::counted(merit);
                format!("{leader} would serve {would} times as many {counted} a second as {next}")
            }
            None => format!("{next} would take {would} times as long as {leader}"),
        };
        let word = other.verdict.word();
        Some(match other.is_outside(&pair) {
            true => format!("{lead}, {how}{place}, and not {told} times{more}"),
            false => format!("{lead}, {next} against {leader}{place} would be {word}{more}"),
        })
    };
    kinds.into_iter().filter_map(clause).collect()
}

/// "process_issues takes lmdb over 2.50 s with 4 clients, at least 31.0 times as long as sqlite".
fn bound<'a>(
    layout: &DocumentLayout<'a>,
    operation: &'a str,
    condition: &ConditionLevels<'a>,
    level: &'a str,
    leader: Option<&str>,
) -> String {
    let name = words::contender(layout.compare, level);
    let mean = layout.figures(operation, condition, level).and_then(|it| it.mean_s);
    let ratio = leader.and_then(|leader| {
        let contrast =
            Contrast::from_comparison(&layout.pair(operation, condition, leader, level)?)?;
        let times = words::times(contrast.ratio, contrast.is);
        let leader = words::contender(layout.compare, leader);
        (contrast.is == RatioIs::AtLeast).then(|| format!(", {times} times as long as {leader}"))
    });
    format!(
        "{operation} takes {name} over {}{}{}",
        words::seconds(mean.unwrap_or_default()),
        layout.place(condition),
        ratio.unwrap_or_default()
    )
}

/// The levels that had only deferred work: their figures are those before the first checkpoint or
/// compaction.
pub fn fresh(layout: &DocumentLayout<'_>) -> Option<String> {
    if layout.contenders().len() < 2 {
        return None;
    }
    let clause = |level: &&str| {
        let debts =
            layout.conditions.iter().filter_map(|condition| layout.cell(condition, level)?.debt);
        let debts: Vec<_> = debts.collect();
        let fresh = debts.iter().filter(|debt| debt.fresh == Some(true)).count();
        let name = words::contender(layout.compare, level);
        (fresh > 0).then(|| match debts.len() {
            all if all == fresh => name,
            all => format!("{name} (in {fresh} of {})", words::many(all, "cell")),
        })
    };
    let names: Vec<String> = layout.contenders().iter().filter_map(clause).collect();
    let (verb, who) = if names.len() == 1 { ("has", "it") } else { ("have", "they") };
    (!names.is_empty()).then(|| {
        let names = words::list(&names);
        format!(
            "all this is before the first checkpoint or compaction: {names} {verb} written back nothing of what \
             {who} deferred"
        )
    })
}

/// Differences that a level shows against itself, too.
pub fn below_noise(cases: &[OperationCase<'_>]) -> Option<String> {
    let number = cases.iter().filter(|case| case.outcome == LeaderOutcome::Noise).count();
    let text = match number {
        0 => return None,
        1 => "1 difference is no larger than what one level shows against itself, and counts as undecided".into(),
        _ => format!("{number} differences are no larger than what one level shows against itself, and count as undecided"),
    };
    Some(text)
}

/// Differences that would have a word if nothing else had been compared.
pub fn held_back(layout: &DocumentLayout<'_>) -> Option<String> {
    let held: Vec<&Comparison> = layout.contending().filter(|it| it.is_held_back()).collect();
    let over = held.iter().map(|comparison| comparison.adjusted_over).max()?;
    let over = words::count(over.into());
    Some(match held.len() {
        1 => format!(
            "1 difference would be clear by itself, and is not as one of {over} comparisons: more \
             repetitions may decide it"
        ),
        n => format!(
            "{n} differences would be clear by themselves, and are not among {over} comparisons: more \
             repetitions may decide them"
        ),
    })
}

/// So many conditions are told by their levels; of more their number is told.
const NAMED: usize = 2;

/// The conditions that ended without a decision, in a run that goes on until there is one: "some comparisons are
/// still undecided with every commit kept (lmdb against fjall), because the run’s time was over"; of all
/// "some comparisons are still undecided, because the run’s time was over".
pub fn not_decided(layout: &DocumentLayout<'_>) -> Option<String> {
    let conditions = &layout.document.conditions;
    let reasons = [
        (ConditionState::OutOfReach, "no further verdict was likely"),
        (ConditionState::MaxRepetitions, "the most repetitions were reached"),
        (ConditionState::MaxTime, "the run’s time was over"),
    ];
    let told = reasons.into_iter().filter_map(|(state, why)| {
        let open: Vec<&ConditionView> = conditions.iter().filter(|it| it.state == state).collect();
        let place = match open.len() {
            0 => return None,
            number if number == conditions.len() => String::new(),
            number if number <= NAMED => {
                let place = |it: &&ConditionView| levels(layout, it) + &open_pairs(layout, it);
                words::list(&open.iter().map(place).collect::<Vec<String>>())
            }
            number => format!("in {number} of {}", words::many(conditions.len(), "condition")),
        };
        let space = if place.is_empty() { "" } else { " " };
        Some(format!("{space}{place}, because {why}"))
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("some comparisons are still undecided{}", told.join(";")))
}

/// " (lmdb against fjall)": the pairs of a condition that have no word; empty where they are many.
fn open_pairs(layout: &DocumentLayout<'_>, condition: &ConditionView) -> String {
    let mut pairs: Vec<String> = Vec::new();
    for comparison in layout.contending() {
        let of_it = |(factor, level)| comparison.levels.get(factor) == Some(level);
        let is_open = !comparison.verdict.is_decided() && condition.levels.iter().all(of_it);
        if is_open {
            let [level, baseline] = [&comparison.level, &comparison.baseline]
                .map(|level| words::contender(layout.compare, level));
            let pair = format!("{level} against {baseline}");
            if !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
    }
    match pairs.len() {
        1..=NAMED => format!(" ({})", words::list(&pairs)),
        _ => String::new(),
    }
}

/// "with every commit kept and 4 clients": the levels that set a condition apart; empty where none does.
fn levels(layout: &DocumentLayout<'_>, condition: &ConditionView) -> String {
    let level = |factor: &&str| {
        let level = condition.levels.get(*factor)?;
        let is_promise = *factor == durability::FACTOR && layout.has_engines();
        Some(if is_promise { durability::told(level) } else { words::level(factor, level) })
    };
    let levels: Vec<String> = layout.varying.iter().filter_map(level).collect();
    if levels.is_empty() { String::new() } else { format!("with {}", words::list(&levels)) }
}

/// The levels that were tried in vain while others finished.
pub fn missing(layout: &DocumentLayout<'_>, cases: &[OperationCase<'_>]) -> Option<String> {
    let missing: Vec<String> = layout
        .contenders()
        .into_iter()
        .filter(|level| layout.conditions.iter().all(|s| layout.cell(s, level).is_none()))
        .map(|level| words::contender(layout.compare, level))
        .collect();
    let verb = if missing.len() == 1 { "has" } else { "have" };
    (!missing.is_empty() && !cases.is_empty())
        .then(|| format!("{} {verb} no trial that counts", words::list(&missing)))
}

/// How many trials don't count. Those that were set aside and run again are none of them.
pub fn lost(document: &Document) -> Option<String> {
    let attempts = Attempts::from_trials(&document.trials);
    let standing = || document.trials.iter().filter(|trial| !attempts.set_aside(trial));
    let all = words::many(standing().count(), "trial");
    match standing().filter(|trial| !trial.valid).count() {
        0 => None,
        1 => Some(format!("1 of {all} failed or was disturbed and does not count")),
        n => Some(format!("{n} of {all} failed or were disturbed and do not count")),
    }
}

/// So much of an error's text is told, in characters: servers say more than a sentence has room for.
const TOLD_OF_ERROR: usize = 200;

/// The first trial that failed or in which an operation ended in an error, and what was said then. Trials that were
/// set aside and run again are left out.
pub fn first_error(layout: &DocumentLayout<'_>) -> Option<String> {
    let trials = &layout.document.trials;
    let attempts = Attempts::from_trials(trials);
    let mut standing = trials.iter().filter(|trial| !attempts.set_aside(trial));
    let (trial, error) = standing.find_map(|trial| Some((trial, trial.first_error()?)))?;
    let factors = layout.varying.iter().copied().chain([layout.compare]);
    let levels = factors.filter_map(|it| Some(words::level(it, trial.levels.get(it)?)));
    let place = words::list(&levels.collect::<Vec<_>>());
    let place = if place.is_empty() { place } else { format!(" with {place}") };
    let line = error.lines().next().unwrap_or_default().trim_end_matches('.');
    let mut told: String = line.chars().take(TOLD_OF_ERROR).collect();
    if told.len() < line.len() {
        told.push('…');
    }
    Some(format!("the first error was in block {}{place}: {told}", trial.block))
}

/// How far a run came that has not finished.
pub fn progress(document: &Document) -> Option<String> {
    let ended = layout::ended(document);
    let most = if document.run.run.sequential.is_some() { "at most " } else { "" };
    // A planner may have gone beyond the plan.
    let planned = (document.run.run.planned as usize).max(ended);
    let how = match document.run.status {
        Status::Finished => return None,
        Status::Interrupted => "the run was interrupted",
        Status::Unfinished => "the run has not finished",
    };
    let cuts = document.run.run.cuts.as_ref().filter(|plan| plan.planned > 0).map(|plan| {
        let planned = words::many(plan.planned as usize, "power cut");
        format!("{} of {planned}", document.cuts.len())
    });
    let trials = format!("{ended} of {most}{}", words::many(planned, "trial"));
    let trials = (planned > 0 || cuts.is_none()).then_some(trials);
    let parts: Vec<String> = trials.into_iter().chain(cuts).collect();
    Some(format!("{how} after {}", words::list(&parts)))
}
