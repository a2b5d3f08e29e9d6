//! Clients, servers and disk daemons that waited for a processor, and whether a verdict could be
//! another without that.
//!
//! In a closed loop a mean latency is S / (1 - x): S is what it would be without waiting, and x the
//! share of the clients' time in which the thread that they waited for waited for a processor
//! itself. The kernel does not tell x, but the delays of all threads. What the clients' own threads
//! waited, c, is a full part of x: an embedded engine works on them. Of what the threads of servers
//! waited, s, a part k between 0 and 1 is: they wait at the same time, or while no client waits for
//! them. The part may differ between levels, since engines differ in their threads. So x = c + k s,
//! and without waiting the ratio r of a level to its baseline would be
//! r (1 - x_level) / (1 - x_baseline), which lies between
//! r (1 - c_level - s_level) / (1 - c_baseline) and r (1 - c_level) / (1 - c_baseline - s_baseline).
//! A verdict that holds at both ends, by the interval and beyond the noise floor, holds whatever the
//! two parts are; any other is withheld.

use bakeoff_results::measure::{CPU_THROTTLED, DRIVERS, RUN_DELAY};
use bakeoff_results::{Measure, Measures, Scope, TrialSummary};

use crate::littles_law::find_concurrency;
use crate::open_loop::is_open;

/// The share of the clients' time that their own threads may wait without a warning.
pub(crate) const CLIENTS_MOST: f64 = 0.05;

/// The same for the threads of all that serve the clients.
pub(crate) const SERVERS_MOST: f64 = 0.10;

/// In shares of the clients' time. What is not known counts as no waiting.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProcessorWait {
    /// Each wait of a client's own thread holds a client up.
    pub clients: f64,
    /// Servers and the disk's daemon: some of these waits may hold nobody up. Above 1 where several
    /// threads waited at once.
    pub servers: f64,
    /// In an open loop what waits makes those behind it wait, too.
    pub open: bool,
}

impl ProcessorWait {
    pub fn from_trial(trial: &TrialSummary) -> Self {
        Self {
            clients: of_clients(trial).unwrap_or_default(),
            servers: of_servers(trial).unwrap_or_default(),
            open: is_open(trial),
        }
    }

    fn is_told(&self) -> bool {
        self.clients > CLIENTS_MOST || self.servers > SERVERS_MOST
    }

    /// What is left of the clients' time without the waiting, if this part of the servers' waits
    /// held clients up; `None` where the clients' threads did nothing but wait.
    fn remaining_share(&self, part: f64) -> Option<f64> {
        let own = 1.0 - self.clients;
        (own > 0.0).then(|| (own - part * self.servers).max(f64::MIN_POSITIVE))
    }
}

/// `keeps` says whether the ratio keeps its verdict when it and its interval are multiplied by a
/// number.
pub(crate) fn could_turn(
    keeps: impl Fn(f64) -> bool,
    [baseline, level]: [&[ProcessorWait]; 2],
) -> bool {
    let all = || baseline.iter().chain(level);
    if !all().any(ProcessorWait::is_told) {
        return false;
    }
    let closed = !all().any(|waited| waited.open);
    let shifts = find_shifts(baseline, level).filter(|_| closed);
    !shifts.is_some_and(|ends| ends.into_iter().all(keeps))
}

/// The least and the greatest factor for the ratio without the waiting.
fn find_shifts(baseline: &[ProcessorWait], level: &[ProcessorWait]) -> Option<[f64; 2]> {
    let mean = |side: &[ProcessorWait], part: f64| {
        let logs = side.iter().map(|it| Some(it.remaining_share(part)?.ln()));
        let sum = logs.sum::<Option<f64>>()?;
        (!side.is_empty()).then(|| sum / side.len() as f64)
    };
    let least = mean(level, 1.0)? - mean(baseline, 0.0)?;
    let most = mean(level, 0.0)? - mean(baseline, 1.0)?;
    Some([least.exp(), most.exp()])
}

/// If a group used up its quota of processors, the kernel takes its threads for ready to run while
/// they wait for the next period. That says nothing of the machine.
fn quota_used_up(measures: &Measures) -> bool {
    measures.iter().any(|reading| reading.name == CPU_THROTTLED.name && reading.value > 0.0)
}

/// The share of the clients' time in which their threads were ready and had no processor; `None`
/// where an engine on these threads had used up its quota.
pub(crate) fn of_clients(trial: &TrialSummary) -> Option<f64> {
    let of = |measure: &Measure| trial.measures.get(measure, &Scope::Clients);
    // The threads of a server tell their own delay.
    if quota_used_up(&trial.measures) && trial.measures.of_database(&RUN_DELAY).is_none() {
        return None;
    }
    Some(of(&RUN_DELAY)? / (trial.ran_s? * of(&DRIVERS)?))
}

/// Waits for an engine's own quota are not in it.
pub(crate) fn of_servers(trial: &TrialSummary) -> Option<f64> {
    let quota = quota_used_up(&trial.measures);
    let told = |scope: &Scope| match scope {
        Scope::Processes(_) => !quota || *scope == Scope::DISK_DAEMON,
        _ => false,
    };
    let delays = trial.measures.iter().filter(|it| it.name == RUN_DELAY.name && told(&it.scope));
    let delay = delays.map(|it| it.value).sum::<f64>();
    Some(delay / (trial.ran_s? * find_concurrency(trial)?))
}

#[cfg(test)]
mod tests {
    use bakeoff_stats::{Decision, MARGIN};

    use super::*;

    fn waited(clients: f64, servers: f64) -> ProcessorWait {
        ProcessorWait { clients, servers, open: false }
    }

    fn of_pairs(pairs: &[(ProcessorWait, ProcessorWait)]) -> Option<[f64; 2]> {
        let (baseline, level): (Vec<ProcessorWait>, Vec<ProcessorWait>) =
            pairs.iter().copied().unzip();
        find_shifts(&baseline, &level)
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
            let [least, most] = of_pairs(&[(baseline, level); 3]).unwrap();
            for step in 0..36 {
                let [one, other] = [step % 6, step / 6].map(|part| f64::from(part) / 5.0);
                let measured = |service_s: f64, waited: ProcessorWait, part: f64| {
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
        assert_eq!(of_pairs(&[own(0.9, 0.9), own(0.1, 0.1)]), Some([1.0; 2]));
        // One block to the one side, one as far to the other.
        let both = of_pairs(&[own(0.1, 0.4), own(0.4, 0.1)]).unwrap();
        assert!(both.iter().all(|shift| (shift - 1.0).abs() < 1e-12), "{both:?}");
        let [least, most] = of_pairs(&[(waited(0.0, 0.6), waited(0.0, 0.6))]).unwrap();
        assert!((least - 0.4).abs() < 1e-12 && (most - 2.5).abs() < 1e-12, "{least} {most}");
    }

    #[test]
    fn more_than_all_of_the_time_tells_nothing() {
        assert_eq!(
            (of_pairs(&[(waited(1.0, 0.0), waited(0.1, 0.0))]), of_pairs(&[])),
            (None, None)
        );
        let [least, most] = of_pairs(&[(waited(0.0, 1.7), waited(0.0, 1.7))]).unwrap();
        assert!(0.0 < least && least < 1e-9 && most > 1e9 && most.is_finite(), "{least} {most}");
    }

    /// 1.2 to 1.4 times as long, on machines where the level's servers waited.
    #[test]
    fn a_verdict_turns_where_the_interval_without_the_waiting_says_something_else() {
        type Ends = (f64, f64);
        let turns_from =
            |verdict: Decision, ends: Ends, baseline: ProcessorWait, level: ProcessorWait| {
                let of =
                    |shift: f64| Decision::from_interval(ends.0 * shift, ends.1 * shift, MARGIN);
                let keeps = |shift: f64| of(shift) == verdict;
                could_turn(keeps, [&[baseline; 4], &[level; 4]])
            };
        let turns =
            |ends: Ends, baseline, level| turns_from(Decision::Slower, ends, baseline, level);
        let (none, ends) = (waited(0.0, 0.0), (1.2, 1.4));
        // 1.2 (1 - 0.12) is above 1.05, and 1.2 (1 - 0.13) is not.
        assert!(!turns(ends, none, waited(0.0, 0.12)) && turns(ends, none, waited(0.0, 0.13)));
        assert!(!turns(ends, waited(0.0, 0.9), none), "the baseline would be faster still");
        assert!(!turns((1.2, f64::INFINITY), none, waited(0.0, 0.12)), "a lower bound");
        // Below the shares that are told, nothing is withheld.
        let near = (1.06, 1.4);
        assert!(!turns(near, none, waited(0.0, 0.09)) && !turns(near, none, waited(0.04, 0.0)));
        assert!(turns(near, none, waited(0.06, 0.0)));
        let open = ProcessorWait { open: true, ..waited(0.0, 0.12) };
        assert!(turns(ends, none, open), "nothing tells what came of it");
        let same = turns_from(Decision::Same, (0.99, 1.01), none, waited(0.06, 0.0));
        assert!(same, "1.01 (1 - 0.06) is no longer within the margin");
    }
}
