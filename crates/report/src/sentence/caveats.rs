//! Caveats beside the finding.

use std::collections::BTreeSet;

use bakeoff_analysis::layout::{self, ConditionLevels, DocumentLayout};
use bakeoff_analysis::{
    ALL_OPERATIONS, Attempts, Comparison, ConditionState, ConditionView, Contrast, Document,
    LeaderOutcome, OperationCase, OtherwiseCounted, RatioBound,
};
use bakeoff_results::{OwnFactor, Status};

use crate::amount;
use crate::durability;
use crate::words;

/// Operations that a trial's end cut off, if the finding does not mention them: how many cells, and
/// the slowest's least time.
pub fn cut_off<'a>(layout: &DocumentLayout<'a>, cases: &[OperationCase<'a>]) -> Option<String> {
    if layout.contenders().len() < 2 {
        return None;
    }
    let mut slowest: Option<(f64, String)> = None;
    let mut cells = BTreeSet::new();
    for operation in layout.operations() {
        for condition in &layout.conditions {
            // A compared rate of all operations covers each of them.
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
                    slowest =
                        Some((mean, describe_bound(layout, operation, condition, level, leader)));
                }
            }
        }
    }
    let (_, slowest) = slowest?;
    Some(match cells.len() {
        1 => format!("operations were cut off while they were running: {slowest}"),
        n => format!(
            "operations of {} were cut off while they were running; the slowest: {slowest}",
            words::count_nouns(n, "cell")
        ),
    })
}

/// Leads that would differ with other trials: "if the warm-up counted, sqlite would take 2.7 times
/// as long as lmdb in create_issue and not 5.1 times".
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
            number => format!(" (so too in {})", words::count_nouns(number - 1, "more comparison")),
        };
        let [leader, next] =
            [case.leader, case.next].map(|level| words::name_contender(layout.compare, level));
        let merit = layout.merit(case.operation, &case.condition).filter(|it| it.is_rate());
        let what = match case.operation {
            ALL_OPERATIONS => String::new(),
            operation => format!(" in {operation}"),
        };
        let pair = layout.pair(case.operation, &case.condition, case.leader, case.next)?;
        let [would, told] = [other.ratio, case.contrast.ratio].map(words::format_two);
        let place = format!("{what}{}", words::describe_place(layout, &case.condition));
        let how = match merit {
            Some(merit) => {
                let counted = amount::counted_noun(merit);
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
fn describe_bound<'a>(
    layout: &DocumentLayout<'a>,
    operation: &'a str,
    condition: &ConditionLevels<'a>,
    level: &'a str,
    leader: Option<&str>,
) -> String {
    let name = words::name_contender(layout.compare, level);
    let mean = layout.figures(operation, condition, level).and_then(|it| it.mean_s);
    let ratio = leader.and_then(|leader| {
        let contrast =
            Contrast::from_comparison(&layout.pair(operation, condition, leader, level)?)?;
        let times = words::format_times(contrast.ratio, contrast.is);
        let leader = words::name_contender(layout.compare, leader);
        (contrast.is == RatioBound::AtLeast).then(|| format!(", {times} times as long as {leader}"))
    });
    format!(
        "{operation} takes {name} over {}{}{}",
        words::format_seconds(mean.unwrap_or_default()),
        words::describe_place(layout, condition),
        ratio.unwrap_or_default()
    )
}

/// Levels whose figures are from before the first checkpoint or compaction.
pub fn name_fresh(layout: &DocumentLayout<'_>) -> Option<String> {
    if layout.contenders().len() < 2 {
        return None;
    }
    let clause = |level: &&str| {
        let debts =
            layout.conditions.iter().filter_map(|condition| layout.cell(condition, level)?.debt);
        let debts: Vec<_> = debts.collect();
        let fresh = debts.iter().filter(|debt| debt.fresh == Some(true)).count();
        let name = words::name_contender(layout.compare, level);
        (fresh > 0).then(|| match debts.len() {
            all if all == fresh => name,
            all => format!("{name} (in {fresh} of {})", words::count_nouns(all, "cell")),
        })
    };
    let names: Vec<String> = layout.contenders().iter().filter_map(clause).collect();
    let (verb, who) = if names.len() == 1 { ("has", "it") } else { ("have", "they") };
    (!names.is_empty()).then(|| {
        let names = words::join_list(&names);
        format!(
            "all this is before the first checkpoint or compaction: {names} {verb} written back nothing of what \
             {who} deferred"
        )
    })
}

/// Differences no larger than a level's from itself.
pub fn below_noise(cases: &[OperationCase<'_>]) -> Option<String> {
    let number = cases.iter().filter(|case| case.outcome == LeaderOutcome::Noise).count();
    let text = match number {
        0 => return None,
        1 => "1 difference is no larger than what one level shows against itself, and counts as undecided".into(),
        _ => format!("{number} differences are no larger than what one level shows against itself, and count as undecided"),
    };
    Some(text)
}

/// Differences that have no verdict only because of the number of comparisons.
pub fn held_back(layout: &DocumentLayout<'_>) -> Option<String> {
    let held: Vec<&Comparison> =
        layout.contending_comparisons().filter(|it| it.is_held_back()).collect();
    let over = held.iter().map(|comparison| comparison.adjusted_over).max()?;
    let over = words::format_count(over.into());
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

/// At most this many conditions are named; of more the number is given.
const NAMED: usize = 2;

/// "some comparisons are still undecided with every commit kept (lmdb against fjall), because the
/// run reached its time limit".
pub fn not_decided(layout: &DocumentLayout<'_>) -> Option<String> {
    let conditions = &layout.document.conditions;
    let reasons = [
        (ConditionState::OutOfReach, "no further verdict was likely"),
        (ConditionState::MaxRepetitions, "the most repetitions were reached"),
        (ConditionState::MaxTime, "the run reached its time limit"),
    ];
    let told = reasons.into_iter().filter_map(|(state, why)| {
        let open: Vec<&ConditionView> = conditions.iter().filter(|it| it.state == state).collect();
        let place = match open.len() {
            0 => return None,
            number if number == conditions.len() => String::new(),
            number if number <= NAMED => {
                let place =
                    |it: &&ConditionView| describe_levels(layout, it) + &open_pairs(layout, it);
                words::join_list(&open.iter().map(place).collect::<Vec<String>>())
            }
            number => {
                format!("in {number} of {}", words::count_nouns(conditions.len(), "condition"))
            }
        };
        let space = if place.is_empty() { "" } else { " " };
        Some(format!("{space}{place}, because {why}"))
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("some comparisons are still undecided{}", told.join(";")))
}

/// " (lmdb against fjall)"; empty where pairs are many.
fn open_pairs(layout: &DocumentLayout<'_>, condition: &ConditionView) -> String {
    let mut pairs: Vec<String> = Vec::new();
    for comparison in layout.contending_comparisons() {
        let of_it = |(factor, level)| comparison.levels.get(factor) == Some(level);
        let is_open = !comparison.verdict.is_decided() && condition.levels.iter().all(of_it);
        if is_open {
            let [level, baseline] = [&comparison.level, &comparison.baseline]
                .map(|level| words::name_contender(layout.compare, level));
            let pair = format!("{level} against {baseline}");
            if !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
    }
    match pairs.len() {
        1..=NAMED => format!(" ({})", words::join_list(&pairs)),
        _ => String::new(),
    }
}

/// "with every commit kept and 4 clients"; may be empty.
fn describe_levels(layout: &DocumentLayout<'_>, condition: &ConditionView) -> String {
    let level = |factor: &&str| {
        let level = condition.levels.get(*factor)?;
        let is_promise = *factor == OwnFactor::Durability && layout.has_engines();
        Some(if is_promise {
            durability::describe_level(level)
        } else {
            words::phrase_level(factor, level)
        })
    };
    let levels: Vec<String> = layout.varying.iter().filter_map(level).collect();
    if levels.is_empty() { String::new() } else { format!("with {}", words::join_list(&levels)) }
}

pub fn name_missing(layout: &DocumentLayout<'_>, cases: &[OperationCase<'_>]) -> Option<String> {
    let missing: Vec<String> = layout
        .contenders()
        .into_iter()
        .filter(|level| layout.conditions.iter().all(|s| layout.cell(s, level).is_none()))
        .map(|level| words::name_contender(layout.compare, level))
        .collect();
    let verb = if missing.len() == 1 { "has" } else { "have" };
    (!missing.is_empty() && !cases.is_empty())
        .then(|| format!("{} {verb} no trial that counts", words::join_list(&missing)))
}

/// Without those that were set aside and run again.
pub fn count_lost(document: &Document) -> Option<String> {
    let attempts = Attempts::from_trials(&document.trials);
    let standing = || document.trials.iter().filter(|trial| !attempts.set_aside(trial));
    let all = words::count_nouns(standing().count(), "trial");
    match standing().filter(|trial| !trial.valid).count() {
        0 => None,
        1 => Some(format!("1 of {all} failed or was disturbed and does not count")),
        n => Some(format!("{n} of {all} failed or were disturbed and do not count")),
    }
}

/// In characters: servers' messages are longer than a sentence has room for.
const TOLD_OF_ERROR: usize = 200;

/// The error of the first trial or operation that failed, without trials that were set aside and
/// run again.
pub fn first_error(layout: &DocumentLayout<'_>) -> Option<String> {
    let trials = &layout.document.trials;
    let attempts = Attempts::from_trials(trials);
    let mut standing = trials.iter().filter(|trial| !attempts.set_aside(trial));
    let (trial, error) = standing.find_map(|trial| Some((trial, trial.first_error()?)))?;
    let factors = layout.varying.iter().copied().chain([layout.compare]);
    let levels = factors.filter_map(|it| Some(words::phrase_level(it, trial.levels.get(it)?)));
    let place = words::join_list(&levels.collect::<Vec<_>>());
    let place = if place.is_empty() { place } else { format!(" with {place}") };
    let (line, _) = words::sentence_and_log(error);
    let mut told: String = line.chars().take(TOLD_OF_ERROR).collect();
    if told.len() < line.len() {
        told.push('…');
    }
    Some(format!("the first error was in block {}{place}: {told}", trial.block))
}

pub fn describe_progress(document: &Document) -> Option<String> {
    let ended = layout::count_ended(document);
    let most = if document.run.run.sequential.is_some() { "at most " } else { "" };
    // A planner may have gone beyond the plan.
    let planned = (document.run.run.planned as usize).max(ended);
    let how = match document.run.status {
        Status::Finished => return None,
        Status::Interrupted => "the run was interrupted",
        Status::Unfinished => "the run has not finished",
    };
    let cuts = document.run.run.cuts.as_ref().filter(|plan| plan.planned > 0).map(|plan| {
        let planned = words::count_nouns(plan.planned as usize, "power cut");
        format!("{} of {planned}", document.cuts.len())
    });
    let trials = format!("{ended} of {most}{}", words::count_nouns(planned, "trial"));
    let trials = (planned > 0 || cuts.is_none()).then_some(trials);
    let parts: Vec<String> = trials.into_iter().chain(cuts).collect();
    Some(format!("{how} after {}", words::join_list(&parts)))
}
