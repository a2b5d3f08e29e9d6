//! The built-in paces: the closed loop, and the open one with its schedule of starts.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bakeoff_stats::backlog::keeps_up;
use hdrhistogram::Histogram;

use crate::arrivals::ArrivalRandom;
use crate::clock::{LONGEST_SPIN, to_seconds};
use crate::halt::StopSignal;
use crate::outcome::OpenLoopOutcome;
use crate::{ArrivalProcess, ClockNanos, DriverClock, Pacer};

/// The share of the processors' time that all drivers may spin away: a server gets the rest.
const SPIN_SHARE: f64 = 0.05;

/// To sleep and to wake takes a processor about 10 microseconds, and to wake an idle server as many:
/// a driver that has starts in shorter gaps sleeps for several of them. In nanoseconds.
const SHORTEST_SLEEP: ClockNanos = 50_000;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    Closed,
    Open {
        /// Above 0.
        per_second: f64,
        arrivals: &'static ArrivalProcess,
        seed: u64,
    },
}

impl Pace {
    pub(crate) fn begin(self, drivers: usize) -> StartedPace {
        match self {
            Self::Closed => StartedPace::Closed,
            Self::Open { per_second, arrivals, seed } => {
                let front = ArrivalCursor::new(per_second, arrivals, seed);
                let processors = std::thread::available_parallelism().map_or(1, usize::from);
                StartedPace::Open {
                    per_second,
                    waits: StartWaits {
                        spin_time: spin_time(per_second, processors),
                        shortest_sleep: shortest_sleep(per_second, drivers),
                    },
                    due: Box::new(Mutex::new(DueStarts::new(front))),
                }
            }
        }
    }
}

pub(crate) enum StartedPace {
    Closed,
    Open { per_second: f64, waits: StartWaits, due: Box<Mutex<DueStarts>> },
}

/// How drivers wait for starts.
#[derive(Clone, Copy)]
pub(crate) struct StartWaits {
    spin_time: ClockNanos,
    shortest_sleep: ClockNanos,
}

/// Drivers spin before each start for so long.
fn spin_time(per_second: f64, processors: usize) -> ClockNanos {
    let share = SPIN_SHARE * processors as f64 / per_second * 1e9;
    (share as ClockNanos).min(LONGEST_SPIN)
}

fn shortest_sleep(per_second: f64, drivers: usize) -> ClockNanos {
    let gap = drivers as f64 / per_second * 1e9;
    if gap < SHORTEST_SLEEP as f64 { SHORTEST_SLEEP } else { 0 }
}

impl StartedPace {
    pub fn make_pacer<'a>(
        &'a self,
        clock: DriverClock,
        halt: &'a StopSignal<'a>,
    ) -> Box<dyn Pacer + 'a> {
        match self {
            Self::Closed => Box::new(ClosedLoop { halt }),
            Self::Open { due, waits, .. } => {
                Box::new(OpenPacer { clock, halt, due, waits: *waits })
            }
        }
    }

    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open { .. })
    }

    fn lock_starts(&self) -> Option<MutexGuard<'_, DueStarts>> {
        match self {
            Self::Closed => None,
            // No code panics while it is locked.
            Self::Open { due, .. } => Some(due.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// The window lasts at least until `until`, which only grows.
    pub fn extend_window(&self, until: ClockNanos) {
        if let Some(mut due) = self.lock_starts() {
            due.counted.step_to(until);
        }
    }

    /// Counts what was due by the window's end and has not started. Returns whether the clients
    /// kept up.
    pub fn end_window(&self, end: ClockNanos) -> bool {
        self.lock_starts().is_none_or(|mut due| due.end_window(end))
    }

    /// Whether clients are behind with what was due before `end`.
    pub fn is_behind(&self, end: ClockNanos) -> bool {
        self.lock_starts().is_some_and(|mut due| !due.end_window(end))
    }

    pub fn has_waiting(&self, end: ClockNanos) -> bool {
        self.lock_starts().is_some_and(|due| due.next.due_at() < end)
    }

    pub fn outcome(&self, start_delay: Histogram<u64>) -> Option<OpenLoopOutcome> {
        let Self::Open { per_second, .. } = self else { return None };
        let due = self.lock_starts()?;
        let (not_started, most_waiting) = (due.not_started, due.backlog.max(due.not_started));
        let (per_second, due) = (*per_second, due.due);
        Some(OpenLoopOutcome { per_second, due, not_started, most_waiting, start_delay })
    }
}

struct ClosedLoop<'a> {
    halt: &'a StopSignal<'a>,
}

impl Pacer for ClosedLoop<'_> {
    fn next(&mut self, free: ClockNanos) -> Option<ClockNanos> {
        (!self.halt.is_on()).then_some(free)
    }

    /// A due start is not waited for.
    fn wait_until(&mut self, start: ClockNanos) -> Option<ClockNanos> {
        Some(start)
    }
}

struct OpenPacer<'a> {
    clock: DriverClock,
    halt: &'a StopSignal<'a>,
    due: &'a Mutex<DueStarts>,
    waits: StartWaits,
}

impl Pacer for OpenPacer<'_> {
    fn next(&mut self, free: ClockNanos) -> Option<ClockNanos> {
        if self.halt.is_on() {
            return None;
        }
        Some(self.due.lock().unwrap_or_else(PoisonError::into_inner).take_start(free))
    }

    fn spin_time(&self) -> ClockNanos {
        self.waits.spin_time
    }

    fn shortest_sleep(&self) -> ClockNanos {
        self.waits.shortest_sleep
    }

    fn wait_until(&mut self, start: ClockNanos) -> Option<ClockNanos> {
        self.clock.wait_until(start, self.waits.spin_time, || self.halt.is_on())
    }
}

pub(crate) struct DueStarts {
    next: ArrivalCursor,
    front: ArrivalCursor,
    /// Drivers take starts ahead, so `next` doesn't tell how many lie before the window's end.
    counted: ArrivalCursor,
    backlog: u64,
    /// When the window ended.
    due: u64,
    not_started: u64,
}

impl DueStarts {
    fn new(front: ArrivalCursor) -> Self {
        let (next, counted) = (front.clone(), front.clone());
        Self { next, front, counted, backlog: 0, due: 0, not_started: 0 }
    }

    fn take_start(&mut self, now: ClockNanos) -> ClockNanos {
        let start = self.next.due_at();
        self.next.step();
        self.backlog = self.backlog.max(self.count_waiting(now + 1));
        start
    }

    /// Due before `end` and not taken.
    fn count_waiting(&mut self, end: ClockNanos) -> u64 {
        self.front.step_to(end);
        self.front.count.saturating_sub(self.next.count)
    }

    fn end_window(&mut self, end: ClockNanos) -> bool {
        self.counted.step_to(end);
        self.due = self.counted.count;
        self.not_started = self.due.saturating_sub(self.next.count);
        keeps_up(self.due as f64, self.not_started as f64)
    }
}

/// A point in the endless row of starts, the same for a seed.
#[derive(Clone)]
struct ArrivalCursor {
    /// In nanoseconds.
    mean_gap: f64,
    arrivals: &'static ArrivalProcess,
    random: ArrivalRandom,
    count: u64,
    /// Mean gaps from the beginning. For even gaps a whole number, so that no error adds up.
    gaps: f64,
}

impl ArrivalCursor {
    fn new(per_second: f64, arrivals: &'static ArrivalProcess, seed: u64) -> Self {
        let mut random = ArrivalRandom::new(seed);
        let gaps = (arrivals.gap)(0, &mut random);
        Self { mean_gap: 1e9 / per_second, arrivals, random, count: 0, gaps }
    }

    fn due_at(&self) -> ClockNanos {
        (self.gaps * self.mean_gap) as ClockNanos
    }

    fn step(&mut self) {
        self.count += 1;
        self.gaps += (self.arrivals.gap)(self.count, &mut self.random);
    }

    fn step_to(&mut self, end: ClockNanos) {
        while self.due_at() < end {
            self.step();
        }
    }
}

impl OpenLoopOutcome {
    /// The 99th percentile of delays; `None` without starts.
    pub fn start_delay_p99_s(&self) -> Option<f64> {
        let delays = &self.start_delay;
        (!delays.is_empty()).then(|| to_seconds(delays.value_at_quantile(0.99)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ARRIVALS;

    const SECOND: ClockNanos = 1_000_000_000;

    fn due(per_second: f64, arrivals: &'static ArrivalProcess) -> DueStarts {
        DueStarts::new(ArrivalCursor::new(per_second, arrivals, 7))
    }

    /// The starts that are taken up to a moment.
    fn taken(due: &mut DueStarts, end: ClockNanos) -> Vec<ClockNanos> {
        std::iter::from_fn(|| (due.next.due_at() < end).then(|| due.take_start(0))).collect()
    }

    /// However many starts there are, they take a twentieth of the processors together.
    #[test]
    fn drivers_spin_where_starts_are_rare_and_sleep_for_several_where_they_are_many() {
        for (per_second, processors, spins, sleeps) in [
            (0.001, 1, 120_000, 0),
            (500.0, 1, 100_000, 0),
            (20_000.0, 1, 2_500, 0),
            (72_000.0, 1, 694, 50_000),
            (72_000.0, 128, 88_888, 0),
            (1e9, 1, 0, 50_000),
        ] {
            let waits = (spin_time(per_second, processors), shortest_sleep(per_second, processors));
            assert_eq!(waits, (spins, sleeps), "{per_second}, {processors}");
            assert!(spins as f64 / 1e9 * per_second <= SPIN_SHARE * processors as f64);
        }
    }

    #[test]
    fn even_starts_do_not_drift() {
        let mut due = due(3.0, &ArrivalProcess::EVEN);
        let starts = taken(&mut due, 1_000 * SECOND);
        assert_eq!(starts.len(), 3000);
        assert_eq!((starts[0], starts[3], starts[2997]), (0, SECOND, 999 * SECOND));
        assert!(due.end_window(1_000 * SECOND) && due.not_started == 0);
    }

    #[test]
    fn poisson_gaps_are_exponential() {
        let starts = taken(&mut due(1000.0, &ArrivalProcess::POISSON), 100 * SECOND);
        let count = starts.len() as f64;
        assert!((count - 100_000.0).abs() < 1500.0, "{count}");
        let gaps: Vec<f64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        let variation = variance.sqrt() / mean;
        assert!((0.97..1.03).contains(&variation), "{variation}");
    }

    /// The last of the first thousand starts of the seed 7, and FNV-1a of all: those of the first
    /// version. Who repeats an experiment gets the starts that it had.
    #[test]
    fn a_seed_keeps_its_starts() {
        let kept: [(&'static ArrivalProcess, f64, ClockNanos, u64); 6] = [
            (&ArrivalProcess::EVEN, 3.0, 333_000_000_000, 0x4259_fc65_bf6b_04fc),
            (&ArrivalProcess::EVEN, 1000.0, 999_000_000, 0x4697_a6c9_6760_5845),
            (&ArrivalProcess::EVEN, 300.7, 3_322_248_087, 0x3308_834b_c96c_2ddd),
            (&ArrivalProcess::POISSON, 3.0, 335_435_023_262, 0x4b62_fd85_3154_afcf),
            (&ArrivalProcess::POISSON, 1000.0, 1_006_305_069, 0x5ded_dedf_e9bd_81ff),
            (&ArrivalProcess::POISSON, 300.7, 3_346_541_635, 0xc199_e688_5c01_d617),
        ];
        for (arrivals, per_second, last, hash) in kept {
            let mut due = due(per_second, arrivals);
            let starts: Vec<ClockNanos> = (0..1000).map(|_| due.take_start(0)).collect();
            let fnv = starts.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, start| {
                (hash ^ start).wrapping_mul(0x0000_0100_0000_01b3)
            });
            assert_eq!((starts[999], fnv), (last, hash), "{arrivals:?} {per_second}");
        }
    }

    #[test]
    fn what_is_due_and_not_taken_is_counted_for_both_arrivals() {
        for arrivals in ARRIVALS {
            let mut due = due(1000.0, arrivals);
            // Nobody was free for the first second.
            due.take_start(SECOND);
            assert!((850..=1150).contains(&due.backlog), "{arrivals:?}: {}", due.backlog);
            let first = 1 + taken(&mut due, SECOND / 2).len() as u64;
            assert!(!due.end_window(10 * SECOND), "{arrivals:?}: it is far behind");
            let left = due.not_started;
            assert_eq!(left, taken(&mut due, 10 * SECOND).len() as u64, "{arrivals:?}");
            assert!((9_500..=10_500).contains(&(first + left)), "{arrivals:?}");
            assert!(due.end_window(10 * SECOND), "{arrivals:?}: all have started");
        }
    }
}
