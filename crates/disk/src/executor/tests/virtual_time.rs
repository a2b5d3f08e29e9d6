//! When answers are begun, and what is learnt of them, at made-up moments: no thread waits, and no
//! clock is read.

use std::collections::VecDeque;
use std::time::Duration;

use bakeoff_devices::device::Nanos;
use bakeoff_devices::ext4::DeviceWork;

use super::planned::{MS, Planned, four, one};
use crate::executor::accuracy::Accuracy;
use crate::executor::replies::Replies;
use crate::executor::schedule::Schedule;

const LEAD: Nanos = 50_000;

fn schedule(times: &[Nanos]) -> Schedule {
    Schedule::new(Planned::station(times).0, true)
}

fn submit(schedule: &mut Schedule, came: Nanos, work: DeviceWork) {
    schedule.submit_work(came, work, Box::new(|| ()), false);
}

/// The moments at which all that is in flight is done, if each event is looked at when it comes, and
/// how long each took: by the model, and for who waits.
fn ends(schedule: &mut Schedule, lead: Nanos) -> Vec<(Nanos, Nanos, Nanos)> {
    let mut ends = Vec::new();
    // Before the first event nobody has said what the lead is.
    schedule.catch_up(0, lead);
    while let Some(event) = schedule.next_event() {
        schedule.catch_up(event - 1, lead);
        assert_eq!(schedule.take_done().count(), 0, "before its time");
        schedule.catch_up(event, lead);
        ends.extend(schedule.take_done().filter_map(|done| done.timed).map(|timed| {
            let heard = Duration::from_nanos(event + lead);
            (event, timed.modelled, timed.achieved_latency(heard))
        }));
    }
    assert_eq!(schedule.waiting_count(), 0);
    ends
}

#[test]
fn an_answer_is_begun_by_the_lead_before_its_time_and_not_sooner() {
    let mut schedule = schedule(&[5 * MS, 3 * MS]);
    submit(&mut schedule, 7 * MS, one(0));
    submit(&mut schedule, 8 * MS, one(1));
    let expected = [(12 * MS - LEAD, 5 * MS, 5 * MS), (15 * MS - LEAD, 7 * MS, 7 * MS)];
    assert_eq!(ends(&mut schedule, LEAD), expected);
}

#[test]
fn the_way_here_and_back_is_taken_off() {
    let mut schedule = schedule(&[5 * MS]);
    schedule.set_round_trip(2 * MS);
    submit(&mut schedule, 10 * MS, one(0));
    assert_eq!(ends(&mut schedule, 0), [(13 * MS, 5 * MS, 5 * MS)]);
}

#[test]
fn what_was_done_before_work_came_is_a_part_of_its_time() {
    let mut schedule = schedule(&[5 * MS]);
    schedule.catch_up(12 * MS, 0);
    submit(&mut schedule, 10 * MS, one(0));
    assert_eq!(ends(&mut schedule, 0), [(15 * MS, 5 * MS, 5 * MS)]);
}

#[test]
fn the_next_step_begins_when_the_last_one_ended_and_not_when_a_thread_woke() {
    let (station, order) = Planned::station(&[MS]);
    let mut schedule = Schedule::new(station, true);
    submit(&mut schedule, 0, four());
    assert_eq!(*order.lock().unwrap(), [1, 2], "those of the first step together");
    schedule.catch_up(1000 * MS, 0);
    let timed: Vec<_> = schedule.take_done().filter_map(|done| done.timed).collect();
    assert_eq!((timed.len(), timed[0].modelled), (1, 4 * MS));
    assert_eq!(*order.lock().unwrap(), [1, 2, 3, 4]);
}

#[test]
fn the_device_stands_still_while_the_timing_is_off() {
    let mut schedule = schedule(&[20 * MS]);
    submit(&mut schedule, 0, one(0));
    schedule.set_timing(5 * MS, false);
    let timed: Vec<_> = schedule.take_done().map(|done| done.timed.is_some()).collect();
    assert_eq!(timed, [false], "let go before the model had it done");
    assert_eq!(schedule.next_event(), None);
    schedule.catch_up(500 * MS, 0);
    schedule.set_timing(1000 * MS, true);
    // It has 15 ms to go with the first one.
    submit(&mut schedule, 1000 * MS, one(1));
    assert_eq!(ends(&mut schedule, 0), [(1035 * MS, 35 * MS, 35 * MS)]);
}

/// An executor on a machine whose threads wake late: those that spin by the first of these, those
/// that sleep by the second.
struct Machine {
    schedule: Schedule,
    replies: Replies,
    late: [Nanos; 2],
    now: Nanos,
}

impl Machine {
    fn new(times: &[Nanos], late: [Nanos; 2]) -> Self {
        Self { schedule: schedule(times), replies: Replies::new(), late, now: 0 }
    }

    /// When the thread that keeps the time wakes next.
    fn woken(&self) -> Option<Nanos> {
        let late = self.late[usize::from(!self.schedule.is_fast())];
        Some(self.schedule.next_event()?.max(self.now) + late)
    }

    /// Has clients ask for one thing after the other, so many in all; how well the time was kept.
    fn serve(mut self, clients: usize, requests: u64) -> Accuracy {
        let mut asking = VecDeque::from(vec![0; clients]);
        let mut asked = 0;
        loop {
            let woken = self.woken();
            let first = asking.front().copied().filter(|_| asked < requests);
            self.now = match (first, woken) {
                (Some(came), woken) if woken.is_none_or(|woken| came <= woken) => {
                    asking.pop_front();
                    asked += 1;
                    submit(&mut self.schedule, came, one(asked));
                    came
                }
                (_, Some(woken)) => woken,
                (_, None) => return self.replies.accuracy(),
            };
            self.schedule.catch_up(self.now, self.replies.lead(self.schedule.is_fast()));
            let heard = Duration::from_nanos(self.now);
            for done in self.schedule.take_done() {
                self.replies.learn_lead(&done.timed.expect("the timing is on"), heard);
                asking.push_back(self.now);
            }
        }
    }
}

#[test]
fn latency_is_as_modelled() {
    // 2 to 20 ms in an order without a pattern.
    let patternless: Vec<Nanos> = (0..60).map(|n| (2 + n * 37 % 19) * MS + n * 12_345).collect();
    let turns = vec![MS / 5, MS + MS / 5, MS + MS / 5];
    for (times, late, clients, requests, slow, errors) in [
        (patternless, [12_000, 300_000], 1, 6_000, 6_000, (0.002, 0.005)),
        (vec![2 * MS], [12_000, 300_000], 16, 6_400, 6_400, (0.002, 0.005)),
        // Fast and slow work in turns: each way of waiting learns its own lead.
        (turns, [15_000, 150_000], 1, 6_000, 4_000, (0.005, 0.03)),
        (vec![MS / 5], [15_000, 300_000], 1, 2_000, 0, (0.0, 0.0)),
    ] {
        let accuracy = Machine::new(&times, late).serve(clients, requests);
        assert_eq!((accuracy.modelled.count, accuracy.slow), (requests, slow));
        let found = (accuracy.error_median, accuracy.error_p99);
        assert!(found.0 <= errors.0 && found.1 <= errors.1, "{clients} clients: {accuracy:?}");
        if clients == 16 {
            // Sixteen wait for a device that does one in 2 ms.
            assert!((31_900.0..32_100.0).contains(&accuracy.modelled.p50_us), "{accuracy:?}");
        }
        if slow == 0 {
            assert!((197.0..203.0).contains(&accuracy.achieved.p50_us), "{accuracy:?}");
            assert!((195.0..205.0).contains(&accuracy.achieved.p99_us), "{accuracy:?}");
        }
    }
}
