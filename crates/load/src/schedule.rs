//! The built-in paces: the closed loop, and the open one with its schedule of starts.

use std::sync::{Mutex, PoisonError};

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use crate::clock::seconds;
use crate::halt::Halt;
use crate::outcome::OpenLoop;
use crate::slot::histogram;
use crate::{Clock, Nanos, Pacer};

/// When operations start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Each client starts its next operation when its last one has ended.
    Closed,
    /// Operations are due at times that no client decides; whichever client is free takes the next.
    Open {
        /// How many are due a second, above 0.
        per_second: f64,
        /// How they are spread.
        arrivals: Arrivals,
        /// Seeds the spread.
        seed: u64,
    },
}

/// How the operations of an open loop are spread over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// All gaps are the same.
    Even,
    /// A Poisson process: gaps are exponential, as of many users who know nothing of each other.
    Poisson,
}

impl Pace {
    /// What the drivers of a drive share.
    pub(crate) fn begin(self, end: Nanos) -> Begun {
        match self {
            Self::Closed => Begun::Closed,
            Self::Open { per_second, arrivals, seed } => {
                let front = Front::new(per_second, arrivals, seed);
                let due = Due { next: front.clone(), front, backlog: 0, end };
                Begun::Open { per_second, due: Mutex::new(due) }
            }
        }
    }
}

/// A pace under way.
pub(crate) enum Begun {
    Closed,
    Open { per_second: f64, due: Mutex<Due> },
}

impl Begun {
    /// A driver's pacer.
    pub fn pacer<'a>(&'a self, clock: Clock, halt: &'a Halt<'a>) -> Box<dyn Pacer + 'a> {
        match self {
            Self::Closed => Box::new(ClosedLoop { halt }),
            Self::Open { due, .. } => Box::new(OpenPacer { clock, halt, due }),
        }
    }

    /// Whether starts are due by themselves.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open { .. })
    }

    /// What came of the schedule of a drive that ran until `ran`; `None` for a closed loop.
    pub fn finish(self, ran: Nanos) -> Option<OpenLoop> {
        let Self::Open { per_second, due } = self else { return None };
        let mut due = due.into_inner().unwrap_or_else(PoisonError::into_inner);
        due.end = due.end.min(ran);
        let not_started = due.waiting(due.end);
        Some(OpenLoop {
            per_second,
            not_started,
            most_waiting: due.backlog.max(not_started),
            start_delay: histogram(),
        })
    }
}

/// The closed loop.
struct ClosedLoop<'a> {
    halt: &'a Halt<'a>,
}

impl Pacer for ClosedLoop<'_> {
    fn next(&mut self, free: Nanos) -> Option<Nanos> {
        (!self.halt.is_on()).then_some(free)
    }

    /// A start that is due at once is not waited for.
    fn wait(&mut self, start: Nanos) -> Option<Nanos> {
        Some(start)
    }
}

/// One driver's hand on the schedule that all share.
struct OpenPacer<'a> {
    clock: Clock,
    halt: &'a Halt<'a>,
    due: &'a Mutex<Due>,
}

impl Pacer for OpenPacer<'_> {
    fn next(&mut self, free: Nanos) -> Option<Nanos> {
        if self.halt.is_on() {
            return None;
        }
        // Nothing panics while it is locked.
        self.due.lock().unwrap_or_else(PoisonError::into_inner).take(free)
    }

    fn wait(&mut self, start: Nanos) -> Option<Nanos> {
        self.clock.wait(start, || self.halt.is_on())
    }
}

/// The starts of an open loop: which is the next to be taken, and how many are due.
pub(crate) struct Due {
    /// The next start that nobody has taken.
    next: Front,
    /// The first start that is still to come.
    front: Front,
    /// The most that were due and not taken.
    backlog: u64,
    /// No start is due from here on.
    end: Nanos,
}

impl Due {
    /// Takes the next start, at the time `now`.
    fn take(&mut self, now: Nanos) -> Option<Nanos> {
        let start = self.next.at();
        if start >= self.end {
            return None;
        }
        self.next.step();
        self.backlog = self.backlog.max(self.waiting(now));
        Some(start)
    }

    /// How many starts are due at `now` and not taken.
    fn waiting(&mut self, now: Nanos) -> u64 {
        let now = now.min(self.end - u64::from(self.end > 0));
        while self.front.at() <= now {
            self.front.step();
        }
        self.front.count.saturating_sub(self.next.count)
    }
}

/// A point in the endless row of starts: the same row for the same seed.
#[derive(Clone)]
struct Front {
    /// Nanoseconds between two starts, on average.
    gap: f64,
    /// Where gaps are drawn from, unless they are all the same.
    random: Option<Xoshiro256PlusPlus>,
    /// How many starts lie before this one.
    count: u64,
    at: f64,
}

impl Front {
    fn new(per_second: f64, arrivals: Arrivals, seed: u64) -> Self {
        let random = match arrivals {
            Arrivals::Even => None,
            Arrivals::Poisson => Some(Xoshiro256PlusPlus::seed_from_u64(seed)),
        };
        let mut front = Self { gap: 1e9 / per_second, random, count: 0, at: 0.0 };
        front.at = front.gap();
        if front.random.is_none() {
            front.at = 0.0;
        }
        front
    }

    fn at(&self) -> Nanos {
        self.at as Nanos
    }

    fn gap(&mut self) -> f64 {
        match &mut self.random {
            None => self.gap,
            // Inversion: 1 - u is above 0.
            Some(random) => -self.gap * (1.0 - random.random::<f64>()).ln(),
        }
    }

    fn step(&mut self) {
        self.count += 1;
        self.at = match self.random {
            // By multiplication, so that no error adds up.
            None => self.count as f64 * self.gap,
            Some(_) => self.at + self.gap(),
        };
    }
}

impl OpenLoop {
    /// The 99th percentile of the delays, in seconds; `None` when nothing has started.
    pub fn start_delay_p99_s(&self) -> Option<f64> {
        let delays = &self.start_delay;
        (!delays.is_empty()).then(|| seconds(delays.value_at_quantile(0.99)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(per_second: f64, arrivals: Arrivals, end_s: f64) -> Due {
        let front = Front::new(per_second, arrivals, 7);
        Due { next: front.clone(), front, backlog: 0, end: (end_s * 1e9) as Nanos }
    }

    #[test]
    fn even_starts_do_not_drift_and_end_with_the_time() {
        let mut due = due(3.0, Arrivals::Even, 1_000.0);
        let starts: Vec<Nanos> = std::iter::from_fn(|| due.take(0)).collect();
        assert_eq!(starts.len(), 3000);
        assert_eq!((starts[0], starts[3], starts[2997]), (0, 1_000_000_000, 999_000_000_000));
        assert_eq!(due.waiting(u64::MAX), 0);
    }

    #[test]
    fn poisson_gaps_are_exponential() {
        let mut due = due(1000.0, Arrivals::Poisson, 100.0);
        let starts: Vec<Nanos> = std::iter::from_fn(|| due.take(0)).collect();
        let count = starts.len() as f64;
        assert!((count - 100_000.0).abs() < 1500.0, "{count}");
        let gaps: Vec<f64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        let variation = variance.sqrt() / mean;
        assert!((0.97..1.03).contains(&variation), "{variation}");
    }

    #[test]
    fn what_is_due_and_not_taken_is_counted_for_both_arrivals() {
        for arrivals in [Arrivals::Even, Arrivals::Poisson] {
            let mut due = due(1000.0, arrivals, 10.0);
            // Nobody was free for the first second.
            due.take(1_000_000_000);
            assert!((850..=1150).contains(&due.backlog), "{arrivals:?}: {}", due.backlog);
            let taken = 1 + std::iter::from_fn(|| due.take(0)).take(500).count() as u64;
            let left = due.waiting(u64::MAX);
            let all = std::iter::from_fn(|| due.take(0)).count() as u64;
            assert_eq!(left, all, "{arrivals:?}");
            assert!((9_500..=10_500).contains(&(taken + left)), "{arrivals:?}");
        }
    }
}
