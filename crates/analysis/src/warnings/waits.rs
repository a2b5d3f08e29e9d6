//! What is said of threads that waited for a processor.

use std::collections::BTreeMap;

use bakeoff_results::{Levels, Run, TrialSummary};

use super::{WarningTally, part, part_of, percent};
use crate::comparison::{Comparison, Verdict};
use crate::open_loop::is_open;
use crate::waits::{CLIENTS_MOST, ProcessorWait, SERVERS_MOST, of_clients, of_servers};
use crate::warning::{Warning, WarningKind};

/// What helps where there are too few processors.
const FEWER: &str = "take fewer clients, or a machine with more processors";

/// Threads whose waiting is told.
struct WaitingThreads {
    /// Whose they are, where engines are run and where none is.
    who: [&'static str; 2],
    /// The share of the clients' time that they may wait without a word.
    most: f64,
    /// What they waited, as such a share; `None` where that is not known.
    share: fn(&TrialSummary) -> Option<f64>,
    /// What is told in an open loop, and where all verdicts hold.
    kinds: [WarningKind; 2],
}

/// The clients' own, and those of all processes that serve them.
const THREADS: [WaitingThreads; 2] = [
    WaitingThreads {
        who: ["the clients", "the clients"],
        most: CLIENTS_MOST,
        share: of_clients,
        kinds: [WarningKind::ClientsWaited, WarningKind::ClientsWaitedAlike],
    },
    WaitingThreads {
        who: ["an engine's processes or of the disk's daemon", "the disk's daemon"],
        most: SERVERS_MOST,
        share: of_servers,
        kinds: [WarningKind::ServersWaited, WarningKind::ServersWaitedAlike],
    },
];

/// Whether a run has engines; one of files has none.
fn has_engines(run: &Run) -> bool {
    run.factors.iter().any(|(factor, _)| factor == "engine")
}

/// That threads waited for a processor, and what comes of it: worst where operations were due at a rate,
/// then where verdicts are withheld, and last where none could be another.
pub(super) fn waited(
    run: &Run,
    counted: &[&TrialSummary],
    comparisons: &[&Comparison],
) -> Vec<Warning> {
    let withheld = withheld(run, counted, comparisons);
    let of_threads = |it: &WaitingThreads| {
        let open = it.in_open_loop(run, counted);
        open.or_else(|| if withheld.is_some() { None } else { it.alike(run, counted) })
    };
    let told: Vec<Warning> = THREADS.iter().filter_map(of_threads).collect();
    withheld.into_iter().chain(told).collect()
}

/// That comparisons have no verdict, since it could be another without the waiting.
fn withheld(run: &Run, counted: &[&TrialSummary], comparisons: &[&Comparison]) -> Option<Warning> {
    let mut waits: BTreeMap<&Levels, f64> = BTreeMap::new();
    for trial in counted {
        let ProcessorWait { clients, servers, .. } = ProcessorWait::from_trial(trial);
        let most = waits.entry(&trial.levels).or_default();
        *most = most.max(clients + servers);
    }
    let worst = |it: &Comparison| {
        let cell = |level: &String| {
            let mut levels = it.levels.clone();
            levels.insert(it.factor.clone(), level.clone());
            waits.get_key_value(&levels).map(|(levels, share)| (*share, *levels))
        };
        let cells = [cell(&it.baseline), cell(&it.level)].into_iter().flatten();
        cells.reduce(|one, other| if other.0 > one.0 { other } else { one })
    };
    let is_withheld = |it: &&&Comparison| it.verdict == Verdict::ShortOfProcessors;
    let found = comparisons.iter().filter(is_withheld).filter_map(|it| worst(it));
    let tally = WarningTally {
        of: comparisons.len(),
        ..WarningTally::from_items(found, |it| it.1, |it| it.0)
    };
    tally.say(run, |n, m, worst, at| {
        let text = format!(
            "{} {} no verdict, since without the waiting for a processor it could be another: threads of \
             clients{} or the disk's daemon waited, all together at worst for {} of the clients' \
             time, at {at}",
            part_of(n, m, "comparison"),
            if n == 1 { "has" } else { "have" },
            if has_engines(run) { ", engines" } else { "" },
            percent(worst)
        );
        let remedy = format!("more blocks may decide it all the same; else {FEWER}");
        Warning::new(WarningKind::ShortOfProcessors, text).remedy(remedy)
    })
}

impl WaitingThreads {
    /// Whose they are in a run.
    fn who(&self, run: &Run) -> &'static str {
        let [with_engines, without] = self.who;
        if has_engines(run) { with_engines } else { without }
    }

    /// That they waited where operations were due at a rate: nothing tells what came of that.
    fn in_open_loop(&self, run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
        let open: Vec<&TrialSummary> = counted.iter().copied().filter(|it| is_open(it)).collect();
        WarningTally::of_trials(&open, |trial| self.above(trial)).say(run, |n, m, worst, at| {
            let text = format!(
                "in {} at a rate the threads of {} waited for a processor for over {} of the clients' time, \
                 at worst {}, at {at}: each such wait holds up the operations that are due behind it, too",
                part(n, m),
                self.who(run),
                percent(self.most),
                percent(worst)
            );
            Warning::new(self.kinds[0], text).remedy(FEWER)
        })
    }

    /// That they waited, and no verdict goes by it.
    fn alike(&self, run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
        WarningTally::of_trials(counted, |trial| self.above(trial)).say(run, |n, m, worst, at| {
            let several = if worst > 1.0 { " (several threads waited at once)" } else { "" };
            let text = format!(
                "in {} the threads of {} waited for a processor for over {} of the clients' time, at worst \
                 {}{several}, at {at}: every verdict holds without it, and the times of single cells may be \
                 too long by as much",
                part(n, m),
                self.who(run),
                percent(self.most),
                percent(worst)
            );
            Warning::new(self.kinds[1], text).remedy(FEWER)
        })
    }

    /// What they waited in a trial, where that is told at all; or else 0.
    fn above(&self, trial: &TrialSummary) -> f64 {
        (self.share)(trial).filter(|share| *share > self.most).unwrap_or_default()
    }
}
