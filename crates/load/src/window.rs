//! The window: which operations count.
//!
//! Those that start in it count, each followed to its end, and those that start before it and last
//! until its time is over: they were there for all of it. It ends when the time is over *and* of every
//! kind enough have ended: a window that took what *ended* in it would drop the slow ones, and their
//! mean would be too low (3 to 27 % in a trial of three or four operations). Where a plan says how many
//! are enough before that, its time is over as soon as so many are known to have ended.

use crate::clock::nanoseconds;
use crate::{ClockNanos, DrivePlan};

/// A plan's window while its drivers run.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub from: ClockNanos,
    /// When it ends at the earliest; where a number of operations has ended it before, when that was.
    pub until: ClockNanos,
    /// When what still runs is cut off.
    pub cap: ClockNanos,
    least: u64,
    enough: Option<u64>,
    /// When it has ended.
    pub end: Option<ClockNanos>,
}

impl Window {
    pub fn new(plan: &DrivePlan) -> Self {
        let [from, until, cap] = [plan.warm_up, plan.duration, plan.cap].map(nanoseconds);
        Self { from, until, cap, least: plan.least, enough: plan.enough, end: None }
    }

    /// Ends it at `now` if it is time, at least `fewest` operations of each kind having ended, and
    /// `in_time` of each before the time was over: where those were enough, it ended then, however
    /// late that is known.
    pub fn look(&mut self, now: ClockNanos, fewest: u64, in_time: u64) {
        if self.end.is_some() {
            return;
        }
        if now < self.until {
            if now > self.from && self.enough.is_some_and(|enough| fewest >= enough) {
                self.until = now;
                self.end = Some(now);
            }
            return;
        }
        if in_time >= self.least {
            self.end = Some(self.until);
        } else if fewest >= self.least {
            self.end = Some(now.min(self.cap));
        } else if now >= self.cap {
            self.end = Some(self.cap);
        }
    }

    /// Ends it at once.
    pub fn stop(&mut self, now: ClockNanos) {
        self.end.get_or_insert(now.min(self.cap));
    }

    /// Whether an operation counts that was to start at `intended` and is over since `ended`, as far
    /// as is known. To leave out one that lasted from before the window until its time was over would
    /// be to drop it for being slow.
    pub fn counts(&self, intended: ClockNanos, ended: ClockNanos) -> bool {
        let lasted = intended >= self.from || ended >= self.until;
        lasted && self.end.is_none_or(|end| intended < end)
    }

    /// Whether the moment lies in the window, as far as is known.
    pub fn holds(&self, moment: ClockNanos) -> bool {
        moment >= self.from && moment < self.end.unwrap_or(self.cap)
    }

    /// Whether one counts that is still in flight, the time being over.
    pub fn counts_under_way(&self, intended: ClockNanos) -> bool {
        self.counts(intended, self.until)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn window(least: u64) -> Window {
        let plan = DrivePlan { least, ..DrivePlan::closed(1, 1, Duration::from_nanos(100)) };
        Window::new(&DrivePlan { warm_up: Duration::from_nanos(10), ..plan })
    }

    #[test]
    fn it_ends_with_the_time_where_enough_have_ended() {
        let mut window = window(10);
        window.look(99, 50, 50);
        assert_eq!(window.end, None);
        window.look(117, 10, 10);
        assert_eq!(window.end, Some(100));
        let counts = [9, 10, 99, 100].map(|intended| window.counts(intended, intended));
        assert_eq!(counts, [false, true, true, false]);
        assert_eq!([99, 100].map(|ended| window.counts(9, ended)), [false, true]);
        assert_eq!([9, 99, 100].map(|it| window.counts_under_way(it)), [true, true, false]);
    }

    #[test]
    fn enough_of_each_kind_end_it_before_its_time() {
        let mut window = Window { enough: Some(20), ..window(10) };
        window.look(10, 20, 20);
        assert_eq!(window.end, None, "it has not begun");
        window.look(50, 19, 19);
        assert_eq!(window.end, None);
        window.look(60, 20, 20);
        assert_eq!((window.end, window.until), (Some(60), 60));
        let counts = [9, 10, 59, 60].map(|intended| window.counts(intended, intended));
        assert_eq!(counts, [false, true, true, false]);
        assert!(window.counts(9, 60), "it was there for all of it");
        let mut slow = Window { end: None, until: 100, ..window };
        slow.look(100, 19, 19);
        assert_eq!(slow.end, Some(100), "its time is over, and ten have ended");
    }

    #[test]
    fn it_waits_for_the_rarest_kind_up_to_the_cap() {
        let mut window = window(10);
        window.look(100, 9, 9);
        assert!(window.end.is_none() && window.counts(150, 150));
        window.look(170, 10, 9);
        window.look(300, 90, 9);
        assert_eq!(window.end, Some(170), "it ends once");
        let mut never = Window { end: None, ..window };
        never.look(999, 9, 0);
        assert_eq!(never.end, None);
        never.look(1007, 9, 0);
        assert_eq!(never.end, Some(1000));
    }
}
