//! The window: which operations count.
//!
//! Those that start in it, followed to their ends, and those that started before it and last until
//! its time is over. It ends when the time is over *and* enough of every kind have ended: a window
//! of what *ended* in it would drop the slow ones (3 to 27 % of the mean in a trial of three or
//! four operations). If a plan says how many are enough, its time is over when so many are known to
//! have ended.

use crate::clock::to_nanoseconds;
use crate::{ClockNanos, DrivePlan};

#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub from: ClockNanos,
    /// The earliest end; earlier if enough operations have ended.
    pub until: ClockNanos,
    pub cap: ClockNanos,
    least: u64,
    enough: Option<u64>,
    pub end: Option<ClockNanos>,
}

impl Window {
    pub fn new(plan: &DrivePlan) -> Self {
        let [from, until, cap] = [plan.warm_up, plan.duration, plan.cap].map(to_nanoseconds);
        Self { from, until, cap, least: plan.least, enough: plan.enough, end: None }
    }

    /// Ends the window at `now` if `fewest` of each kind have ended. If `in_time` of each were
    /// enough, it ended at `until`, however late that is known.
    pub fn end_if_due(&mut self, now: ClockNanos, fewest: u64, in_time: u64) {
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

    pub fn stop(&mut self, now: ClockNanos) {
        self.end.get_or_insert(now.min(self.cap));
    }

    /// To leave out an operation that lasted from before the window until its end would drop it for
    /// being slow.
    pub fn counts_operation(&self, intended: ClockNanos, ended: ClockNanos) -> bool {
        let lasted = intended >= self.from || ended >= self.until;
        lasted && self.end.is_none_or(|end| intended < end)
    }

    /// As far as is known.
    pub fn contains(&self, moment: ClockNanos) -> bool {
        moment >= self.from && moment < self.end.unwrap_or(self.cap)
    }

    pub fn counts_under_way(&self, intended: ClockNanos) -> bool {
        self.counts_operation(intended, self.until)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn window(least: u64) -> Window {
        let plan = DrivePlan { least, ..DrivePlan::closed_loop(1, 1, Duration::from_nanos(100)) };
        Window::new(&DrivePlan { warm_up: Duration::from_nanos(10), ..plan })
    }

    #[test]
    fn it_ends_with_the_time_where_enough_have_ended() {
        let mut window = window(10);
        window.end_if_due(99, 50, 50);
        assert_eq!(window.end, None);
        window.end_if_due(117, 10, 10);
        assert_eq!(window.end, Some(100));
        let counts = [9, 10, 99, 100].map(|intended| window.counts_operation(intended, intended));
        assert_eq!(counts, [false, true, true, false]);
        assert_eq!([99, 100].map(|ended| window.counts_operation(9, ended)), [false, true]);
        assert_eq!([9, 99, 100].map(|it| window.counts_under_way(it)), [true, true, false]);
    }

    #[test]
    fn enough_of_each_kind_end_it_before_its_time() {
        let mut window = Window { enough: Some(20), ..window(10) };
        window.end_if_due(10, 20, 20);
        assert_eq!(window.end, None, "it has not begun");
        window.end_if_due(50, 19, 19);
        assert_eq!(window.end, None);
        window.end_if_due(60, 20, 20);
        assert_eq!((window.end, window.until), (Some(60), 60));
        let counts = [9, 10, 59, 60].map(|intended| window.counts_operation(intended, intended));
        assert_eq!(counts, [false, true, true, false]);
        assert!(window.counts_operation(9, 60), "it was there for all of it");
        let mut slow = Window { end: None, until: 100, ..window };
        slow.end_if_due(100, 19, 19);
        assert_eq!(slow.end, Some(100), "its time is over, and ten have ended");
    }

    #[test]
    fn it_waits_for_the_rarest_kind_up_to_the_cap() {
        let mut window = window(10);
        window.end_if_due(100, 9, 9);
        assert!(window.end.is_none() && window.counts_operation(150, 150));
        window.end_if_due(170, 10, 9);
        window.end_if_due(300, 90, 9);
        assert_eq!(window.end, Some(170), "it ends once");
        let mut never = Window { end: None, ..window };
        never.end_if_due(999, 9, 0);
        assert_eq!(never.end, None);
        never.end_if_due(1007, 9, 0);
        assert_eq!(never.end, Some(1000));
    }
}
