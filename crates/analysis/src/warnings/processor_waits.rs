use std::collections::BTreeMap;

use bakeoff_results::{Levels, Run, TrialSummary};

use super::{WarningTally, format_percent, tally_items, tally_trials};
use crate::comparison::{Comparison, Verdict};
use crate::open_loop::is_open;
use crate::processor_waits::{CLIENTS_MOST, ProcessorWait, SERVERS_MOST, of_clients, of_servers};
use crate::warning::{Warning, WarningKind};

const FEWER: &str = "take fewer clients, or a machine with more processors";

struct WaitingThreads {
    who: [&'static str; 2],
    most: f64,
    share: fn(&TrialSummary) -> Option<f64>,
    /// In an open loop, and where all verdicts hold.
    kinds: [WarningKind; 2],
}

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

/// Worst in an open loop, then where verdicts are withheld, and last where all verdicts hold.
pub(super) fn warn_of_waiting(
    run: &Run,
    counted: &[&TrialSummary],
    comparisons: &[&Comparison],
) -> Vec<Warning> {
    let withheld = warn_of_withheld_verdicts(run, counted, comparisons);
    let of_threads = |it: &WaitingThreads| {
        let open = it.in_open_loop(run, counted);
        open.or_else(
            || if withheld.is_some() { None } else { it.warn_without_effect(run, counted) },
        )
    };
    let told: Vec<Warning> = THREADS.iter().filter_map(of_threads).collect();
    withheld.into_iter().chain(told).collect()
}

fn warn_of_withheld_verdicts(
    run: &Run,
    counted: &[&TrialSummary],
    comparisons: &[&Comparison],
) -> Option<Warning> {
    let mut waits: BTreeMap<&Levels, f64> = BTreeMap::new();
    for trial in counted {
        let ProcessorWait { clients, servers, .. } = ProcessorWait::from_trial(trial);
        let most = waits.entry(&trial.levels).or_default();
        *most = most.max(clients + servers);
    }
    let worst = |it: &Comparison| {
        let cell = |level: &String| {
            waits.get_key_value(&it.cell_at(level)).map(|(levels, share)| (*share, *levels))
        };
        let cells = [cell(&it.baseline), cell(&it.level)].into_iter().flatten();
        cells.reduce(|one, other| if other.0 > one.0 { other } else { one })
    };
    let bad = |it: &&Comparison| match it.verdict {
        Verdict::ShortOfProcessors => worst(it),
        _ => None,
    };
    let found = comparisons.iter().map(|it| bad(it).unwrap_or((0.0, &it.levels)));
    let WarningTally { number, part, share, at, .. } =
        tally_items(run, "comparison", found, |it| it.1, |it| it.0)?;
    let text = format!(
        "{part} {} no verdict, since without the waiting for a processor it could be another: \
         threads of clients{} or the disk's daemon waited, all together at worst for {share} of \
         the clients' time, at {at}",
        if number == 1 { "has" } else { "have" },
        if run.has_engines() { ", engines" } else { "" }
    );
    let remedy = format!("more blocks may decide it all the same; else {FEWER}");
    Some(Warning::new(WarningKind::ShortOfProcessors, text).with_remedy(remedy))
}

impl WaitingThreads {
    fn name_threads(&self, run: &Run) -> &'static str {
        let [with_engines, without] = self.who;
        if run.has_engines() { with_engines } else { without }
    }

    /// In an open loop the effect of the waits is unknown.
    fn in_open_loop(&self, run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
        let open: Vec<&TrialSummary> = counted.iter().copied().filter(|it| is_open(it)).collect();
        let WarningTally { part, share, at, .. } =
            tally_trials(run, &open, |trial| self.share_if_told(trial))?;
        let text = format!(
            "in {part} at a rate the threads of {} waited for a processor for over {} of the \
             clients' time, at worst {share}, at {at}: each such wait holds up the operations that \
             are due behind it, too",
            self.name_threads(run),
            format_percent(self.most)
        );
        Some(Warning::new(self.kinds[0], text).with_remedy(FEWER))
    }

    fn warn_without_effect(&self, run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
        let WarningTally { part, worst, share, at, .. } =
            tally_trials(run, counted, |trial| self.share_if_told(trial))?;
        let several = if worst > 1.0 { " (several threads waited at once)" } else { "" };
        let text = format!(
            "in {part} the threads of {} waited for a processor for over {} of the clients' time, \
             at worst {share}{several}, at {at}: every verdict holds without it, and the times of \
             single cells may be too long by as much",
            self.name_threads(run),
            format_percent(self.most)
        );
        Some(Warning::new(self.kinds[1], text).with_remedy(FEWER))
    }

    fn share_if_told(&self, trial: &TrialSummary) -> f64 {
        (self.share)(trial).filter(|share| *share > self.most).unwrap_or_default()
    }
}
