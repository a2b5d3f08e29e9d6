//! Looks through a run for all that a reader should be warned of.

mod answers;
mod cache;
mod figures;
mod lost;
mod machine;
mod memory;
mod merged;
mod program;
mod rates;
mod waits;
mod window;
mod work;

use bakeoff_results::{Disturbed, Levels, Run, TrialSummary};
use bakeoff_stats::serial::Serial;

use crate::comparison::Comparison;
use crate::document::{Attempts, Document};
use crate::over_machines::by_member;
use crate::warning::{Warning, sort};

pub(crate) use work::unsynced_cells;

pub use lost::unprotected;
pub use machine::share_of_others;
pub use memory::in_memory;

/// All warnings of a run, the worst first.
pub(crate) fn all(
    document: &Document,
    trials: &[TrialSummary],
    counted: &[&TrialSummary],
    blocks: &[Disturbed],
    serial: &[(Levels, Serial)],
) -> Vec<Warning> {
    let run = &document.run.run;
    let cells = &document.cells;
    let compared: Vec<&Comparison> = document.comparisons.iter().chain(&document.between).collect();
    let attempts = Attempts::from_trials(trials);
    let (aside, standing): (Vec<&TrialSummary>, Vec<&TrialSummary>) =
        trials.iter().partition(|trial| attempts.set_aside(trial));
    let engines = run.engines.iter().filter_map(|it| Some((&*it.name, it.transport?)));
    let pairs = [lost::lost(run, &standing), work::unsteady(run, counted)];
    let singles = [
        answers::differ(run),
        answers::broken(run, counted),
        lost::left_out(run),
        lost::external(run),
        memory::lay(run, counted),
        program::debug_build(run),
        program::uncommitted(run, trials, &document.cuts),
        program::taken_over(run, trials, &document.cuts),
        machine::began_busy(run),
        machine::disturbed(counted, blocks),
        machine::shared(run, counted),
        machine::drifted(&by_member(run, &document.canaries)),
        machine::disagree(run, document.machines.as_ref()),
        merged::clocks(run, trials),
        merged::disks(run, counted),
        figures::noise(run, &document.noise),
        figures::correlated(run, serial),
        work::unsynced(run, cells, counted),
        work::behind(run, cells),
        work::cut_off(run, counted),
        window::never_steady(run, counted),
        window::not_turned_over(run, counted),
        cache::answered(run, counted),
        cache::not_known(run, counted),
        window::conditioned_anew(run, counted),
        window::drain_cut_off(run, counted),
        window::went_on(run, counted),
        figures::stalled(run, cells, counted),
        work::errors(run, counted),
        machine::starved(run, counted),
        machine::strayed(run, counted),
        machine::too_fast(run, counted),
        machine::busy_clients(run, counted),
        rates::clients_starved(run, counted),
        rates::not_counted(run, counted),
        work::unbalanced(run, counted),
        window::warm_up(run, counted),
        work::retries(run, counted),
        figures::warm_up_decides(run, &document.comparisons),
        lost::set_aside_decides(run, &compared),
        figures::few_in_trials(run, counted),
        figures::few_for_quantile(run, counted, cells),
        lost::set_aside(&aside, blocks, (run, &compared)),
    ];
    let found = pairs.into_iter().flatten().chain(singles).flatten();
    let waited = waits::waited(run, counted, &compared);
    let mut warnings: Vec<Warning> = found.chain(waited).chain(unprotected(engines)).collect();
    sort(&mut warnings);
    warnings
}

/// How often something occurs, and where it is worst.
struct WarningTally<'a> {
    times: usize,
    of: usize,
    /// How bad it is at its worst, and where that is.
    worst: Option<(f64, &'a Levels)>,
}

impl<'a> WarningTally<'a> {
    /// Goes through `items`; `how_bad` is above 0 where there is something to say.
    fn from_items<T>(
        items: impl IntoIterator<Item = T>,
        levels: impl Fn(&T) -> &'a Levels,
        how_bad: impl Fn(&T) -> f64,
    ) -> Self {
        let mut tally = Self { times: 0, of: 0, worst: None };
        for item in items {
            tally.of += 1;
            let bad = how_bad(&item);
            if bad > 0.0 {
                tally.times += 1;
                if tally.worst.is_none_or(|(worst, _)| bad > worst) {
                    tally.worst = Some((bad, levels(&item)));
                }
            }
        }
        tally
    }

    /// As [`Tally::of`], over trials.
    fn of_trials(trials: &[&'a TrialSummary], how_bad: impl Fn(&'a TrialSummary) -> f64) -> Self {
        Self::from_items(trials.iter().copied(), |trial| &trial.levels, |trial| how_bad(trial))
    }

    /// What is said of it: how often, of how many, the worst, and where.
    fn say(
        &self,
        run: &Run,
        sentence: impl FnOnce(usize, usize, f64, &str) -> Warning,
    ) -> Option<Warning> {
        let (worst, levels) = self.worst?;
        Some(sentence(self.times, self.of, worst, &place(run, levels)))
    }
}

/// The levels of the factors that the run varies, in the plan's order.
pub(crate) fn place(run: &Run, levels: &Levels) -> String {
    let varied = run.factors.iter().filter(|(_, known)| known.len() > 1);
    let words: Vec<String> = varied
        .filter_map(|(factor, _)| levels.get(factor).map(|level| format!("{factor} {level}")))
        .collect();
    if words.is_empty() { "the only cell".to_owned() } else { words.join(", ") }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// "2 of 32 trials".
fn part(number: usize, of: usize) -> String {
    part_of(number, of, "trial")
}

/// "2 of 32 cells", "1 of 1 cell".
fn part_of(number: usize, of: usize, noun: &str) -> String {
    let plural = if of == 1 { "" } else { "s" };
    format!("{number} of {of} {noun}{plural}")
}
