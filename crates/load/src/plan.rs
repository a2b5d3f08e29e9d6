//! How to drive, and the pieces of time that follow from it.

use std::time::Duration;

use crate::clock::nanoseconds;
use crate::schedule::Pace;

/// How to drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// How many clients there are.
    pub clients: usize,
    /// How many drivers stand for them, at most as many; each has a thread.
    pub drivers: usize,
    /// How many kinds of operations there are.
    pub kinds: usize,
    /// How long they run.
    pub duration: Duration,
    /// The share of the duration that is left out of the window at each end: at least 0, below
    /// 0.5.
    pub trim: f64,
    /// When operations start.
    pub pace: Pace,
}

impl Plan {
    /// A closed loop of clients with a driver each, nothing left out of the window.
    pub const fn closed(clients: usize, kinds: usize, duration: Duration) -> Self {
        Self { clients, drivers: clients, kinds, duration, trim: 0.0, pace: Pace::Closed }
    }
}

/// The window that a plan keeps: all but its trim at each end, in nanoseconds.
pub(crate) fn window(plan: &Plan) -> (u64, u64) {
    let whole = nanoseconds(plan.duration);
    let cut = (whole as f64 * plan.trim).round() as u64;
    (cut, whole - cut)
}

/// Where slots begin and end, ascending, in nanoseconds: at every full second, at the window's
/// edges, and at both ends of the plan. So the window is a union of slots.
pub(crate) fn edges(plan: &Plan) -> Vec<u64> {
    let whole = nanoseconds(plan.duration);
    let (from, to) = window(plan);
    let mut edges: Vec<u64> = (0..whole).step_by(1_000_000_000).chain([from, to, whole]).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges_of(seconds: f64, trim: f64) -> Vec<u64> {
        let duration = Duration::from_secs_f64(seconds);
        edges(&Plan { clients: 1, drivers: 1, kinds: 1, duration, trim, pace: Pace::Closed })
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn edges_are_full_seconds_and_the_windows() {
        assert_eq!(edges_of(1.5, 0.1), [0, 150, 1000, 1350, 1500].map(|edge| edge * MS));
        assert_eq!(edges_of(0.3, 0.1), [0, 30, 270, 300].map(|edge| edge * MS));
        assert_eq!(edges_of(2.0, 0.0), [0, 1000, 2000].map(|edge| edge * MS));
    }

    #[test]
    fn an_edge_that_falls_on_a_second_is_there_once() {
        for seconds in [10.0, 20.0, 30.0, 70.0] {
            assert_eq!(edges_of(seconds, 0.1).len(), seconds as usize + 1);
        }
    }
}
