//! Clients, servers and disk daemons that waited for a processor, and whether a verdict could be another
//! without that.
//!
//! In a closed loop a mean latency is S / (1 - x): S is what it would be without waiting, and x the share of
//! the clients' time in which the thread that they waited for waited for a processor itself. The kernel
//! tells no x, but the delays of all threads. What the clients' own threads waited, c, is a part of x as it
//! is: an embedded engine works on them. Of what the threads of servers waited, s, a part k between 0 and 1
//! is: they wait at the same time, or while no client waits for them. That part may be another one for each
//! level, since engines differ in their threads. So x = c + k s, and without waiting the ratio r of a level
//! to its baseline would be r (1 - x_level) / (1 - x_baseline), which lies between
//! r (1 - c_level - s_level) / (1 - c_baseline) and r (1 - c_level) / (1 - c_baseline - s_baseline). A
//! verdict that holds at both ends holds whatever the two parts are.

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
        let decided = self.decided(run, counted, comparisons);
        let open = || self.in_open_loop(run, counted);
        decided.or_else(open).or_else(|| self.alike(run, counted))
    }

    /// That a verdict could be another.
    fn decided(
        &self,
        run: &Run,
        counted: &[&TrialSummary],
        comparisons: &[&Comparison],
    ) -> Option<Warning> {
        let waits = Waits::of(counted, self.share);
        let decided: Vec<(f64, &Levels)> =
            comparisons.iter().filter_map(|it| waits.decides(it, self.most)).collect();
        let tally = Tally { of: comparisons.len(), ..Tally::of(decided, |it| it.1, |it| it.0) };
        tally.say(run, |n, m, worst, at| {
            let text = format!(
                "in {} the verdict could be another if nothing had waited for a processor; threads of {} \
                 did, at worst for {} of the clients' time, at {at}: processors were short in these trials",
                part_of(n, m, "comparison"),
                self.who,
                percent(worst)
            );
            Warning::new(self.kinds[0], text).remedy(FEWER)
        })
    }

    /// That they waited where operations were due at a rate: nothing tells what came of that.
    fn in_open_loop(&self, run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
        let open: Vec<&TrialSummary> = counted.iter().copied().filter(|it| is_open(it)).collect();
        Tally::of_trials(&open, |trial| self.above(trial)).say(run, |n, m, worst, at| {
            let text = format!(
                "in {} at a rate the threads of {} waited for a processor for over {} of the clients' time, \
                 at worst {}, at {at}: each such wait holds up the operations that are due behind it, too",
                part(n, m),
                self.who,
                percent(self.most),
                percent(worst)
            );
            Warning::new(self.kinds[0], text).remedy(FEWER)
        })
    }

    /// That they waited, and no comparison goes by it.
    fn alike(&self, run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
        Tally::of_trials(counted, |trial| self.above(trial)).say(run, |n, m, worst, at| {
            let text = format!(
                "in {} the threads of {} waited for a processor for over {} of the clients' time, at worst \
                 {}, at {at}: no comparison of two levels of {} could have another verdict without it; what \
                 a change of another factor buys may, and times of single cells may be too long by as much",
                part(n, m),
                self.who,
                percent(self.most),
                percent(worst),
                run.compare
            );
            Warning::new(self.kinds[1], text).remedy(FEWER)
        })
    }

    /// What they waited in a trial, where that is told at all; or else 0.
    fn above(&self, trial: &TrialSummary) -> f64 {
        (self.share)(trial).filter(|share| *share > self.most).unwrap_or_default()
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

/// What was waited in a trial, in shares of the clients' time.
#[derive(Clone, Copy)]
struct Waited {
    /// By the threads that are told of.
    share: f64,
    /// By the clients' own: each of these waits holds a client up.
    clients: f64,
    /// By those of servers: some of these waits may hold nobody up.
    servers: f64,
    /// Whether operations were due at a rate: what waits then makes those behind it wait, too.
    open: bool,
}

impl Waited {
    /// What is left of the clients' time without the waiting, where such a part of what servers waited
    /// held clients up, and above 0; `None` where the clients' threads did nothing but wait.
    fn rest(&self, part: f64) -> Option<f64> {
        let own = 1.0 - self.clients;
        (own > 0.0).then(|| (own - part * self.servers).max(f64::MIN_POSITIVE))
    }
}

/// What each trial waited, by its cell and its block.
struct Waits<'a>(BTreeMap<&'a Levels, BTreeMap<u32, Waited>>);

impl<'a> Waits<'a> {
    /// What is not known of a trial counts as no waiting.
    fn of(counted: &[&'a TrialSummary], share: fn(&TrialSummary) -> Option<f64>) -> Self {
        let mut waits: BTreeMap<&'a Levels, BTreeMap<u32, Waited>> = BTreeMap::new();
        for trial in counted {
            let waited = Waited {
                share: share(trial).unwrap_or_default(),
                clients: of_clients(trial).unwrap_or_default(),
                servers: of_servers(trial).unwrap_or_default(),
                open: is_open(trial),
            };
            waits.entry(&trial.levels).or_default().insert(trial.block, waited);
        }
        Self(waits)
    }

    /// A cell of a comparison: its levels, and what was waited in each of its blocks.
    fn cell(&self, it: &Comparison, level: &str) -> Option<(&'a Levels, &BTreeMap<u32, Waited>)> {
        let mut levels = it.levels.clone();
        levels.insert(it.factor.clone(), level.to_owned());
        self.0.get_key_value(&levels).map(|(levels, blocks)| (*levels, blocks))
    }

    /// What was waited at most, and in which cell, where that is over `most` and a comparison's verdict
    /// could be another without it; `None` where it could not.
    fn decides(&self, it: &Comparison, most: f64) -> Option<(f64, &'a Levels)> {
        word(it.verdict)?;
        let ((baseline, old), (level, new)) =
            self.cell(it, &it.baseline).zip(self.cell(it, &it.level))?;
        let pair = |(block, one): (&u32, &Waited)| Some((*one, *new.get(block)?));
        let pairs: Vec<(Waited, Waited)> = old.iter().filter_map(pair).collect();
        let worst = |of: fn(&(Waited, Waited)) -> f64| pairs.iter().map(of).fold(0.0, f64::max);
        let of_baseline = (worst(|pair| pair.0.share), baseline);
        let of_level = (worst(|pair| pair.1.share), level);
        let worst = if of_baseline.0 > of_level.0 { of_baseline } else { of_level };
        if worst.0 <= most {
            return None;
        }
        let closed = !pairs.iter().any(|(one, other)| one.open || other.open);
        let ends = shifts(&pairs).filter(|_| closed);
        let holds = ends.is_some_and(|ends| ends.iter().all(|shift| keeps(it, *shift)));
        (!holds).then_some(worst)
    }
}

/// What a ratio is to be multiplied by without the waiting, at least and at most: of pairs of what the
/// baseline and what the level waited. `None` without a pair, and where clients did nothing but wait.
fn shifts(pairs: &[(Waited, Waited)]) -> Option<[f64; 2]> {
    let mut logs = [0.0; 2];
    for (baseline, level) in pairs {
        logs[0] += (level.rest(1.0)? / baseline.rest(0.0)?).ln();
        logs[1] += (level.rest(0.0)? / baseline.rest(1.0)?).ln();
    }
    (!pairs.is_empty()).then(|| logs.map(|log| (log / pairs.len() as f64).exp()))
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

    fn waited(clients: f64, servers: f64) -> Waited {
        Waited { share: clients, clients, servers, open: false }
    }

    /// Levels that take 10 and 13 ms where nobody waits, on machines where all of what the clients' threads
    /// wait holds clients up, and of the servers' waits another part for each.
    #[test]
    fn the_ratio_without_waiting_lies_between_the_two_shifts() {
        let (baseline_s, level_s) = (0.010, 0.013);
        let cases = [
            (waited(0.0, 0.0), waited(0.0, 0.3)),
            (waited(0.0, 0.3), waited(0.0, 0.0)),
            (waited(0.1, 0.2), waited(0.2, 0.2)),
            (waited(0.3, 0.0), waited(0.0, 0.4)),
        ];
        for (baseline, level) in cases {
            let [least, most] = shifts(&[(baseline, level); 3]).unwrap();
            for step in 0..36 {
                let [one, other] = [step % 6, step / 6].map(|part| f64::from(part) / 5.0);
                let measured = |service_s: f64, waited: Waited, part: f64| {
                    service_s / (1.0 - waited.clients - part * waited.servers)
                };
                let ratio = measured(level_s, level, one) / measured(baseline_s, baseline, other);
                let ends = (ratio * least - 1e-12)..=(ratio * most + 1e-12);
                assert!(ends.contains(&(level_s / baseline_s)), "{ends:?}, {one} and {other}");
            }
        }
    }

    /// An embedded engine waits on its clients' threads, and a server may wait beside them.
    #[test]
    fn equal_waits_move_no_ratio_where_they_are_the_clients_own_alone() {
        let own = |baseline, level| (waited(baseline, 0.0), waited(level, 0.0));
        assert_eq!(shifts(&[own(0.9, 0.9), own(0.1, 0.1)]), Some([1.0; 2]));
        // One block to the one side, one as far to the other.
        let both = shifts(&[own(0.1, 0.4), own(0.4, 0.1)]).unwrap();
        assert!(both.iter().all(|shift| (shift - 1.0).abs() < 1e-12), "{both:?}");
        let [least, most] = shifts(&[(waited(0.0, 0.6), waited(0.0, 0.6))]).unwrap();
        assert!((least - 0.4).abs() < 1e-12 && (most - 2.5).abs() < 1e-12, "{least} {most}");
    }

    #[test]
    fn more_than_all_of_the_time_tells_nothing() {
        assert_eq!((shifts(&[(waited(1.0, 0.0), waited(0.1, 0.0))]), shifts(&[])), (None, None));
        let [least, most] = shifts(&[(waited(0.0, 1.7), waited(0.0, 1.7))]).unwrap();
        assert!(0.0 < least && least < 1e-9 && most > 1e9 && most.is_finite(), "{least} {most}");
    }
}
