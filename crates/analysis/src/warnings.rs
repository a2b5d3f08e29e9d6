mod answers;
mod cache;
mod figures;
mod lost;
mod machine;
mod memory;
mod merged;
mod order;
mod paths;
mod placement;
mod processor_waits;
mod program;
mod rates;
mod timed_disk;
mod window;
mod work;

use bakeoff_results::{Disturbed, Levels, Run, TrialSummary};
use bakeoff_stats::serial::SerialCorrelation;

use crate::attempts::Attempts;
use crate::comparison::Comparison;
use crate::document::Document;
use crate::over_machines::by_member;
use crate::warning::{Warning, sort};

pub(crate) use work::unsynced_cells;

pub use lost::warn_of_unprotected_connections;
pub use machine::share_of_others;
pub use memory::in_memory;

pub(crate) fn collect_warnings(
    document: &Document,
    trials: &[TrialSummary],
    counted: &[&TrialSummary],
    blocks: &[Disturbed],
    serial: &[(Levels, SerialCorrelation)],
) -> Vec<Warning> {
    let run = &document.run.run;
    let cells = &document.cells;
    let compared: Vec<&Comparison> = document.comparisons.iter().chain(&document.between).collect();
    let attempts = Attempts::from_trials(trials);
    let (aside, standing): (Vec<&TrialSummary>, Vec<&TrialSummary>) =
        trials.iter().partition(|trial| attempts.set_aside(trial));
    let engines = run.engines.iter().filter_map(|it| Some((&*it.name, it.transport?)));
    let pairs =
        [lost::warn_of_lost_trials(run, &standing), work::warn_of_unsteady_trials(run, counted)];
    let singles = [
        answers::warn_of_unlike_answers(run),
        answers::warn_of_broken_data(run, counted),
        lost::warn_of_left_out_cells(run),
        lost::warn_of_external_engines(run),
        memory::warn_of_data_in_memory(run, counted),
        program::warn_of_debug_build(run),
        program::warn_of_uncommitted_changes(run, trials, &document.cuts),
        program::warn_of_takeovers(run, trials, &document.cuts),
        machine::warn_of_busy_start(run),
        machine::warn_of_disturbances(counted, blocks),
        machine::warn_of_shared_machine(run, counted),
        machine::warn_of_drift(&by_member(run, &document.canaries)),
        machine::warn_of_disagreement(run, document.machines.as_ref()),
        merged::warn_of_clocks(run, trials),
        merged::warn_of_other_disks(run, counted),
        figures::warn_of_noise(run, &document.noise),
        figures::warn_of_correlated_blocks(run, serial),
        order::warn_of_first_place(run, counted),
        work::warn_of_missing_syncs(run, cells, counted),
        work::warn_of_falling_behind(run, cells),
        work::warn_of_cut_off_trials(run, counted),
        paths::warn_of_unequal_work(run, counted),
        window::warn_of_never_steady(run, counted),
        window::warn_of_unturned_debts(run, counted),
        cache::warn_of_cached_files(run, counted),
        placement::note_refused_policy(run, counted),
        cache::warn_of_unknown_cache(run, counted),
        window::warn_of_new_conditioning(run, counted),
        window::warn_of_cut_off_drains(run, counted),
        window::warn_of_long_windows(run, counted),
        placement::warn_of_two_placements(run, counted),
        figures::warn_of_stalls(run, cells, counted),
        work::warn_of_errors(run, counted),
        machine::warn_of_starved_neighbours(run, counted),
        machine::warn_of_strayed_disk(run, counted),
        machine::warn_of_fast_disk(run, counted),
        machine::warn_of_disk_calls(run, counted),
        timed_disk::warn_of_changed_disks(run),
        machine::warn_of_busy_clients(run, counted),
        rates::warn_of_starved_clients(run, counted),
        rates::warn_of_uncounted_rates(run, counted),
        work::warn_of_unbalanced_clients(run, counted),
        window::warn_of_long_warm_ups(run, counted),
        work::warn_of_retries(run, counted),
        paths::note_paths(run, counted),
        figures::warn_if_warm_up_decides(run, &document.comparisons),
        lost::warn_if_set_aside_decides(run, &compared),
        figures::warn_of_few_in_trials(run, counted),
        figures::warn_of_missing_quantiles(run, counted, cells),
        lost::warn_of_set_aside_trials(&aside, blocks, (run, &compared)),
    ];
    let found = pairs.into_iter().flatten().chain(singles).flatten();
    let waited = processor_waits::warn_of_waiting(run, counted, &compared);
    let mut warnings: Vec<Warning> =
        found.chain(waited).chain(warn_of_unprotected_connections(engines)).collect();
    sort(&mut warnings);
    warnings
}

/// How often something occurs, and where it is worst, in words for a sentence.
struct WarningTally {
    /// "2 of 32 trials".
    part: String,
    number: usize,
    was: &'static str,
    worst: f64,
    /// The worst in percent.
    share: String,
    at: String,
}

/// `how_bad` is above 0 where something occurs; `None` where that is nowhere.
fn tally_items<'a, T>(
    run: &Run,
    noun: &str,
    items: impl IntoIterator<Item = T>,
    levels: impl Fn(&T) -> &'a Levels,
    how_bad: impl Fn(&T) -> f64,
) -> Option<WarningTally> {
    let (mut number, mut of) = (0, 0);
    let mut worst: Option<(f64, &Levels)> = None;
    for item in items {
        of += 1;
        let bad = how_bad(&item);
        if bad > 0.0 {
            number += 1;
            if worst.is_none_or(|(worst, _)| bad > worst) {
                worst = Some((bad, levels(&item)));
            }
        }
    }
    let (worst, levels) = worst?;
    Some(WarningTally {
        part: part_of(number, of, noun),
        number,
        was: if number == 1 { "was" } else { "were" },
        worst,
        share: format_percent(worst),
        at: describe_place(run, levels),
    })
}

fn tally_trials<'a>(
    run: &Run,
    trials: &[&'a TrialSummary],
    how_bad: impl Fn(&'a TrialSummary) -> f64,
) -> Option<WarningTally> {
    let trials = trials.iter().copied();
    tally_items(run, "trial", trials, |trial| &trial.levels, |trial| how_bad(trial))
}

pub(crate) fn describe_place(run: &Run, levels: &Levels) -> String {
    let varied = run.factors.iter().filter(|(_, known)| known.len() > 1);
    let words: Vec<String> = varied
        .filter_map(|(factor, _)| levels.get(factor).map(|level| format!("{factor} {level}")))
        .collect();
    if words.is_empty() { "the only cell".to_owned() } else { words.join(", ") }
}

fn format_percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn format_part(number: usize, of: usize) -> String {
    part_of(number, of, "trial")
}

fn part_of(number: usize, of: usize, noun: &str) -> String {
    let plural = if of == 1 { "" } else { "s" };
    format!("{number} of {of} {noun}{plural}")
}
