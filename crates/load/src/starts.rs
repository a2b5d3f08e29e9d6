//! Chooses the lane that starts an operation next, and when: for drivers with many operations in
//! flight on one thread.

use std::collections::VecDeque;

use crate::{ClockNanos, Pacer};

#[derive(Debug)]
pub struct Starts {
    /// With the time since when, the longest first.
    free: VecDeque<(usize, ClockNanos)>,
    /// The pacer gives a start to one driver only, so it waits for its lane here.
    pending: Option<(usize, ClockNanos)>,
    over: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextAction {
    Start {
        /// It is busy from now on.
        lane: usize,
        intended: ClockNanos,
        now: ClockNanos,
    },
    At(ClockNanos),
    Busy,
    Over,
}

impl Starts {
    pub fn new(lanes: usize, now: ClockNanos) -> Self {
        let free = (0..lanes).map(|lane| (lane, now)).collect();
        Self { free, pending: None, over: false }
    }

    /// `free` is what the recorder returned.
    pub fn free_lane(&mut self, lane: usize, free: Option<ClockNanos>) {
        match free {
            Some(since) => self.free.push_back((lane, since)),
            None => self.over = true,
        }
    }

    /// A due start is late, never skipped, also after the end.
    pub fn next(&mut self, pacer: &mut dyn Pacer, now: impl Fn() -> ClockNanos) -> NextAction {
        if let Some((lane, intended)) = self.pending {
            let now = now();
            if now >= intended {
                self.pending = None;
                return NextAction::Start { lane, intended, now };
            }
            if !self.over {
                return NextAction::At(intended);
            }
            self.pending = None;
        }
        if self.over {
            return NextAction::Over;
        }
        let Some((lane, since)) = self.free.pop_front() else { return NextAction::Busy };
        let Some(intended) = pacer.next(since) else {
            self.over = true;
            return NextAction::Over;
        };
        let now = if intended > since { now() } else { since };
        if intended > now {
            self.pending = Some((lane, intended));
            return NextAction::At(intended);
        }
        NextAction::Start { lane, intended, now }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives these starts one after the other.
    struct Given(Vec<ClockNanos>);

    impl Pacer for Given {
        fn next(&mut self, _: ClockNanos) -> Option<ClockNanos> {
            (!self.0.is_empty()).then(|| self.0.remove(0))
        }

        fn wait_until(&mut self, _: ClockNanos) -> Option<ClockNanos> {
            panic!("a driver with operations in flight waits for these")
        }
    }

    /// Starts each lane as soon as it is free.
    struct AtOnce;

    impl Pacer for AtOnce {
        fn next(&mut self, free: ClockNanos) -> Option<ClockNanos> {
            Some(free)
        }

        fn wait_until(&mut self, _: ClockNanos) -> Option<ClockNanos> {
            panic!("what is due at once is not waited for")
        }
    }

    #[test]
    fn free_lanes_start_in_the_order_in_which_they_became_free() {
        let mut starts = Starts::new(2, 5);
        let never =
            || -> ClockNanos { panic!("nobody asks for the time where a start is due at once") };
        let start = |lane, now| NextAction::Start { lane, intended: now, now };
        assert_eq!(starts.next(&mut AtOnce, never), start(0, 5));
        assert_eq!(starts.next(&mut AtOnce, never), start(1, 5));
        assert_eq!(starts.next(&mut AtOnce, never), NextAction::Busy);
        starts.free_lane(1, Some(7));
        starts.free_lane(0, Some(9));
        assert_eq!(starts.next(&mut AtOnce, never), start(1, 7));
        assert_eq!(starts.next(&mut AtOnce, never), start(0, 9));
        starts.free_lane(0, None);
        assert_eq!(starts.next(&mut AtOnce, never), NextAction::Over);
    }

    #[test]
    fn a_start_to_come_is_kept_until_it_is_due() {
        let (mut starts, mut pacer) = (Starts::new(3, 0), Given(vec![100, 50]));
        assert_eq!(starts.next(&mut pacer, || 10), NextAction::At(100));
        assert_eq!(starts.next(&mut pacer, || 99), NextAction::At(100));
        assert_eq!(pacer.0, [50], "the pacer is not asked again");
        let late = NextAction::Start { lane: 0, intended: 100, now: 130 };
        assert_eq!(starts.next(&mut pacer, || 130), late);
        let next = NextAction::Start { lane: 1, intended: 50, now: 131 };
        assert_eq!(starts.next(&mut pacer, || 131), next, "what was due is late");
        assert_eq!(starts.next(&mut pacer, || 132), NextAction::Over, "the pacer has no more");
        assert_eq!(starts.next(&mut pacer, || 133), NextAction::Over);
    }

    #[test]
    fn after_the_end_what_is_due_starts_and_nothing_else() {
        for (now, after) in [(100, true), (99, false)] {
            let (mut starts, mut pacer) = (Starts::new(2, 0), Given(vec![0, 100, 200]));
            let first = NextAction::Start { lane: 0, intended: 0, now: 0 };
            assert_eq!(starts.next(&mut pacer, || 0), first);
            assert_eq!(starts.next(&mut pacer, || 1), NextAction::At(100));
            starts.free_lane(0, None);
            let due = NextAction::Start { lane: 1, intended: 100, now };
            assert_eq!(starts.next(&mut pacer, || now), if after { due } else { NextAction::Over });
            assert_eq!(starts.next(&mut pacer, || 300), NextAction::Over);
        }
    }
}
