//! Clients, servers and disk daemons that waited for a processor, and whether a verdict could be another
//! without that.
//!
//! In a closed loop a mean latency is S / (1 - x): S is what it would be without waiting, and x the share of
//! the clients' time in which the thread that they waited for waited for a processor itself. The kernel
//! tells no x, but w, the delays of all threads, of which x is a part: threads wait at the same time, or
//! while no client waits for them. Without the waiting the ratio r of a level to its baseline would be
//! r (1 - x_level) / (1 - x_baseline). That part being k for both, since they share the machine, x = k w,
//! and the ratio lies between r (k = 0) and r (1 - w_level) / (1 - w_baseline) (k = 1), for it moves in one
//! direction with k. So where both waited alike the ratio stays, however long they waited; and a verdict
//! that holds at both ends holds whatever k is.

use std::collections::BTreeMap;

use bakeoff_results::measure::{CPU_THROTTLED, DRIVERS, RUN_DELAY};
use bakeoff_results::{Levels, Measure, Measures, Run, Scope, TrialSummary};
use bakeoff_stats::{Decision, MARGIN};

use super::{Tally, part, part_of, percent};
use crate::comparison::{Comparison, Verdict};
use crate::littles_law::concurrency;
use crate::open_loop::is_open;
use crate::warning::{Warning, WarningKind};

/// What helps where there are too few processors.
const FEWER: &str = "take fewer clients, or a machine with more processors";

/// Threads whose waiting is told.
pub(super) struct Threads {
    /// Whose they are.
    who: &'static str,
    /// The share of the clients' time that they may wait without a word.
    most: f64,
    /// What they waited, as such a share; `None` where that is not known.
    share: fn(&TrialSummary) -> Option<f64>,
    /// What is told where a verdict could be another without it, and where none could.
    kinds: [WarningKind; 2],
}

/// The clients' own.
pub(super) const CLIENTS: Threads = Threads {
    who: "the clients",
    most: 0.05,
    share: of_clients,
    kinds: [WarningKind::ClientsWaited, WarningKind::ClientsWaitedAlike],
};

/// Those of all processes that serve them.
pub(super) const SERVERS: Threads = Threads {
    who: "an engine's processes or of the disk's daemon",
    most: 0.10,
    share: of_servers,
    kinds: [WarningKind::ServersWaited, WarningKind::ServersWaitedAlike],
};

impl Threads {
    /// That they waited for a processor: worst where a verdict could be another without it.
    pub(super) fn waited(
        &self,
        run: &Run,
        counted: &[&TrialSummary],
        comparisons: &[&Comparison],
    ) -> Option<Warning> {
        let Self { who, most, share, kinds: [voids, notes] } = self;
        let waits = Waits::of(counted, *share);
        let judged = comparisons.iter().copied();
        let decided = Tally::of(judged, |it| &it.levels, |it| waits.decides(it, *most));
        let decides = decided.say(run, |n, m, worst, at| {
            let text = format!(
                "in {} the verdict could be another if no thread of {who} had waited for a processor, at \
                 worst for {} of the clients' time, at {at}: processors were short in these trials, and not \
                 for all alike",
                part_of(n, m, "comparison"),
                percent(worst)
            );
            Warning::new(*voids, text).remedy(FEWER)
        });
        decides.or_else(|| {
            let above = |trial| share(trial).filter(|share| share > most).unwrap_or_default();
            Tally::of_trials(counted, above).say(run, |n, m, worst, at| {
                let text = format!(
                    "in {} the threads of {who} waited for a processor for over {} of the clients' time, at \
                     worst {}, at {at}: no verdict could be another without it, but times of single cells \
                     may be too long by as much",
                    part(n, m),
                    percent(*most),
                    percent(worst)
                );
                Warning::new(*notes, text).remedy(FEWER)
            })
        })
    }
}

/// Whether a group of processes had used its quota of processors up: the kernel takes its threads for
/// ready to run while they wait for the next period, which says nothing of the machine.
fn quota_used_up(measures: &Measures) -> bool {
    measures.iter().any(|reading| reading.name == CPU_THROTTLED.name && reading.value > 0.0)
}

/// The share of the clients' time in which their threads were ready to run and had no processor; `None`
/// where an engine that works on these threads had used its quota up.
fn of_clients(trial: &TrialSummary) -> Option<f64> {
    let of = |measure: &Measure| trial.measures.get(measure, &Scope::Clients);
    // The threads of a server tell their own delay.
    if quota_used_up(&trial.measures) && trial.measures.of_database(&RUN_DELAY).is_none() {
        return None;
    }
    Some(of(&RUN_DELAY)? / (trial.ran_s? * of(&DRIVERS)?))
}

/// What the threads of all processes that serve a trial's clients waited for a processor, over the clients'
/// time. What an engine waits for its own quota is not in it.
fn of_servers(trial: &TrialSummary) -> Option<f64> {
    let quota = quota_used_up(&trial.measures);
    let told = |scope: &Scope| match scope {
        Scope::Processes(_) => !quota || *scope == Scope::DISK_DAEMON,
        _ => false,
    };
    let delays = trial.measures.iter().filter(|it| it.name == RUN_DELAY.name && told(&it.scope));
    let delay = delays.map(|it| it.value).sum::<f64>();
    Some(delay / (trial.ran_s? * concurrency(trial)?))
}

/// What was waited in a trial.
#[derive(Clone, Copy)]
struct Waited {
    /// By the threads that are told of.
    share: f64,
    /// By clients and servers together: an operation waits for one after the other.
    all: f64,
    /// Whether operations were due at a rate: what waits then makes those behind it wait, too.
    open: bool,
}

/// What each trial waited, by its cell and its block.
struct Waits<'a>(BTreeMap<&'a Levels, BTreeMap<u32, Waited>>);

impl<'a> Waits<'a> {
    fn of(counted: &[&'a TrialSummary], share: fn(&TrialSummary) -> Option<f64>) -> Self {
        let mut waits: BTreeMap<&'a Levels, BTreeMap<u32, Waited>> = BTreeMap::new();
        for trial in counted {
            let Some(share) = share(trial) else { continue };
            let all = [of_clients(trial), of_servers(trial)].into_iter().flatten().sum();
            let waited = Waited { share, all, open: is_open(trial) };
            waits.entry(&trial.levels).or_default().insert(trial.block, waited);
        }
        Self(waits)
    }

    /// The baseline and the level of a comparison in each block that has both.
    fn pairs(&self, it: &Comparison) -> Vec<(Waited, Waited)> {
        let cell = |level: &str| {
            let mut levels = it.levels.clone();
            levels.insert(it.factor.clone(), level.to_owned());
            self.0.get(&levels)
        };
        let Some((baseline, level)) = cell(&it.baseline).zip(cell(&it.level)) else {
            return Vec::new();
        };
        let pair = |(block, one): (&u32, &Waited)| Some((*one, *level.get(block)?));
        baseline.iter().filter_map(pair).collect()
    }

    /// What was waited at most, where that is over `most` and a comparison's verdict could be another
    /// without it; 0 where it could not.
    fn decides(&self, it: &Comparison, most: f64) -> f64 {
        let pairs = self.pairs(it);
        let all = || pairs.iter().flat_map(|(baseline, level)| [baseline, level]);
        let worst = all().map(|waited| waited.share).fold(0.0, f64::max);
        if worst <= most || word(it.verdict).is_none() {
            return 0.0;
        }
        let shares: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (a.all, b.all)).collect();
        let shift = shift(&shares).filter(|_| !all().any(|waited| waited.open));
        match shift.is_some_and(|shift| keeps(it, shift)) {
            true => 0.0,
            false => worst,
        }
    }
}

/// What a ratio is to be multiplied by, if all that was waited held clients up: of pairs of what the
/// baseline and what the level waited. `None` without a pair, and where one may have done nothing but wait.
fn shift(pairs: &[(f64, f64)]) -> Option<f64> {
    let log = |(baseline, level): &(f64, f64)| {
        let [baseline, level] = [1.0 - baseline, 1.0 - level];
        (baseline > 0.0 && level > 0.0).then(|| (level / baseline).ln())
    };
    let logs = pairs.iter().map(log).collect::<Option<Vec<f64>>>()?;
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

/// Whether a comparison has the same verdict if its ratio is multiplied so.
fn keeps(it: &Comparison, shift: f64) -> bool {
    let low = it.low.unwrap_or(0.0) * shift;
    let high = it.high.unwrap_or(f64::INFINITY) * shift;
    word(it.verdict) == Some(Decision::of(low, high, MARGIN))
}

/// What an interval has to say for a verdict; `None` for one that says nothing of which is faster.
fn word(verdict: Verdict) -> Option<Decision> {
    match verdict {
        Verdict::Faster => Some(Decision::Faster),
        Verdict::Slower => Some(Decision::Slower),
        Verdict::Same => Some(Decision::Same),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Levels that take 10 and 13 ms where nobody waits, on machines where some of what their threads wait
    /// holds clients up.
    #[test]
    fn the_ratio_without_waiting_lies_between_what_was_measured_and_what_is_shifted() {
        let (baseline_s, level_s) = (0.010, 0.013);
        for (of_baseline, of_level) in [(0.0, 0.3), (0.3, 0.0), (0.2, 0.2), (0.05, 0.11)] {
            let shift = shift(&[(of_baseline, of_level); 3]).unwrap();
            for step in 0..=10 {
                let part = f64::from(step) / 10.0;
                let measured = |service_s: f64, waited: f64| service_s / (1.0 - part * waited);
                let ratio = measured(level_s, of_level) / measured(baseline_s, of_baseline);
                let (one, other) = (ratio, ratio * shift);
                let (low, high) = (one.min(other) - 1e-12, one.max(other) + 1e-12);
                assert!((low..=high).contains(&(level_s / baseline_s)), "{low} to {high}, {part}");
            }
        }
    }

    #[test]
    fn equal_waits_move_no_ratio_and_more_than_all_of_the_time_tells_nothing() {
        assert_eq!(shift(&[(0.9, 0.9), (0.1, 0.1)]), Some(1.0));
        // One block to the one side, one as far to the other.
        let both = shift(&[(0.1, 0.4), (0.4, 0.1)]).unwrap();
        assert!((both - 1.0).abs() < 1e-12, "{both}");
        assert_eq!((shift(&[(1.0, 0.1)]), shift(&[(0.1, 1.7)]), shift(&[])), (None, None, None));
    }
}
