//! The executor's threads, on devices whose times are known beforehand. They can't be early; when they
//! are to be on time is held in virtual time, and how well they are in `benches/disk`.

mod planned;
mod virtual_time;

use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};

use bakeoff_testkit::{PATIENCE, Since, wait_until};

use super::*;
use planned::{MS, Planned, one};

const TIMED: ExecutorOptions = ExecutorOptions { timing: true, null: false };
/// So long that who waits for it hangs.
const HOUR: Nanos = 3_600_000 * MS;
/// The longest time before its end at which an answer is begun.
const LEAD: Nanos = MS / 2;

fn executor(times: &[Nanos]) -> Arc<Executor> {
    Arc::new(Executor::start(Planned::station(times).0, TIMED))
}

/// What an executor says of its accuracy when so much work is done: an answer counts when it has
/// ended, a moment after it was heard.
fn accuracy(executor: &Executor, count: u64) -> Accuracy {
    wait_until("the last answer's end", || executor.accuracy().modelled.count >= count);
    let accuracy = executor.accuracy();
    assert_eq!(accuracy.modelled.count, count);
    accuracy
}

#[test]
fn nothing_is_done_before_its_time() {
    let times: Vec<Nanos> = (0..20).map(|n| (2 + n * 7 % 11) * MS + n * 12_345).collect();
    let executor = executor(&times);
    for (n, time) in (0..).zip(&times) {
        let since = Since::now();
        executor.perform_and_wait(one(n));
        assert!(since.at_least(Duration::from_nanos(time - LEAD)), "{time} ns were modelled");
    }
    let accuracy = accuracy(&executor, 20);
    assert_eq!(accuracy.slow, 20);
    let mean = times.iter().sum::<Nanos>() as f64 / 20.0 / 1e3;
    // As precise as the histogram.
    assert!((accuracy.modelled.mean_us / mean - 1.0).abs() < 0.001, "{accuracy:?}");
}

#[test]
fn all_who_wait_in_a_queue_are_answered_once() {
    let executor = executor(&[2 * MS]);
    let since = Since::now();
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| (0..5).for_each(|n| executor.perform_and_wait(one(n))));
        }
    });
    assert!(since.at_least(Duration::from_nanos(80 * 2 * MS - LEAD)), "one after the other");
    accuracy(&executor, 80);
    assert_eq!(executor.counts().reads, 80);
}

#[test]
fn the_way_here_and_back_is_a_part_of_the_time() {
    let executor = executor(&[5 * MS]);
    executor.set_round_trip(2 * MS);
    for n in 0..20 {
        let since = Since::now();
        executor.perform_and_wait(one(n));
        assert!(since.at_least(Duration::from_nanos(3 * MS - LEAD)));
    }
    let accuracy = accuracy(&executor, 20);
    assert!((accuracy.modelled.p50_us - 5_000.0).abs() < 50.0, "{accuracy:?}");
}

/// The threads that give three answers of a device that takes so long, one after the other.
fn answering(time: Nanos, quick: bool) -> Vec<String> {
    let executor = executor(&[time]);
    let (told, heard) = channel();
    let answer = |n| {
        let told = told.clone();
        let name = || thread::current().name().unwrap_or_default().to_owned();
        let then = Box::new(move || told.send(name()).unwrap());
        match quick {
            true => executor.perform_quick(executor.now(), one(n), then),
            false => executor.perform(executor.now(), one(n), then),
        }
        heard.recv_timeout(PATIENCE).unwrap()
    };
    (0..3).map(answer).collect()
}

#[test]
fn what_waits_for_nobody_is_answered_by_the_thread_that_keeps_a_fast_device_s_time() {
    for (time, quick, by) in [
        (MS / 10, true, "disk-timing"),
        (MS / 10, false, "disk-reply-"),
        (2 * MS, true, "disk-reply-"),
    ] {
        let names = answering(time, quick);
        assert!(names.iter().all(|name| name.starts_with(by)), "{time} ns, {quick}: {names:?}");
    }
}

#[test]
fn all_threads_end_when_an_answer_of_the_thread_that_keeps_the_time_drops_the_executor() {
    for _ in 0..20 {
        let executor = executor(&[MS / 10]);
        let (shared, last) = (Arc::downgrade(&executor.shared), Arc::clone(&executor));
        let (go, told) = channel();
        let then = move || {
            told.recv().unwrap();
            drop(last);
        };
        executor.perform_quick(executor.now(), one(0), Box::new(then));
        drop(executor);
        go.send(()).unwrap();
        // Each thread holds it until its end.
        wait_until("the threads' end", || shared.upgrade().is_none());
    }
}

/// Whether work is done when the call that asks for it returns, on the thread that asks.
fn at_once(executor: &Executor, work: DeviceWork) -> bool {
    let by = Arc::new(Mutex::new(None));
    let told = Arc::clone(&by);
    let then = move || *told.lock().unwrap() = Some(thread::current().id());
    executor.perform(executor.now(), work, Box::new(then));
    *by.lock().unwrap() == Some(thread::current().id())
}

#[test]
fn nothing_waits_without_work_or_timing_or_on_a_device_that_takes_no_time() {
    let slow = executor(&[HOUR]);
    assert!(at_once(&slow, DeviceWork::default()));
    assert!(at_once(&slow, DeviceWork { steps: vec![vec![], vec![]], ..DeviceWork::default() }));
    assert!(!at_once(&slow, one(0)));
    slow.set_timing(false);
    assert!(!slow.is_timed() && at_once(&slow, one(0)));

    let null = ExecutorOptions { timing: true, null: true };
    let null = Executor::start(Planned::station(&[HOUR]).0, null);
    assert!(at_once(&null, one(0)));
    null.set_timing(true);
    assert!(!null.is_timed() && at_once(&null, one(0)));
}

/// Sends many to wait for an hour each, and returns where they say that they were told.
fn stuck(executor: &Executor, many: usize) -> Receiver<usize> {
    let (told, heard) = channel();
    for n in 0..many {
        let told = told.clone();
        executor.perform(executor.now(), one(n as u64), Box::new(move || told.send(n).unwrap()));
    }
    thread::sleep(Duration::from_millis(50));
    assert_eq!(heard.try_recv(), Err(TryRecvError::Empty), "an hour has not passed");
    heard
}

/// Sees that each is told once: nobody is left who could tell anything.
fn all_told(heard: &Receiver<usize>, many: usize) {
    let mut told: Vec<usize> = (0..many).map(|_| heard.recv_timeout(PATIENCE).unwrap()).collect();
    told.sort();
    assert_eq!(told, (0..many).collect::<Vec<_>>());
    assert_eq!(heard.recv_timeout(PATIENCE), Err(RecvTimeoutError::Disconnected));
}

#[test]
fn who_waits_is_told_when_the_timing_goes_off_and_at_the_end() {
    let executor = executor(&[HOUR]);
    let heard = stuck(&executor, 50);
    executor.set_timing(false);
    all_told(&heard, 50);
    executor.set_timing(true);
    let heard = stuck(&executor, 50);
    executor.stop();
    all_told(&heard, 50);
    assert!(at_once(&executor, one(0)), "a stopped one makes nobody wait");
    assert_eq!(executor.accuracy().modelled.count, 0, "none was done by the model");

    let dropped = self::executor(&[HOUR]);
    let heard = stuck(&dropped, 50);
    drop(dropped);
    all_told(&heard, 50);
}

#[test]
fn a_slow_answer_makes_no_other_late() {
    let executor = executor(&[5 * MS]);
    let (told, heard) = channel();
    let (end, ended) = channel::<()>();
    let mut ended = Some(ended);
    for n in 0..3_u64 {
        let (told, ended) = (told.clone(), ended.take());
        let answer = move || {
            told.send(n).unwrap();
            // The first one ends when this test has heard the others.
            let _ = ended.map(|ended| ended.recv());
        };
        executor.perform(executor.now(), one(n), Box::new(answer));
    }
    let mut answers: Vec<_> = (0..3).map(|_| heard.recv_timeout(PATIENCE).unwrap()).collect();
    answers.sort();
    assert_eq!(answers, [0, 1, 2]);
    end.send(()).unwrap();
    accuracy(&executor, 3);
}

#[test]
fn a_ticker_pauses_until_it_asked_to_be_called_and_no_longer_than_a_tick() {
    let pauses =
        [Some(15 * MS), Some(5 * MS), Some(HOUR), None].map(|next| compute_pause(next, 5 * MS));
    assert_eq!(pauses, [Duration::from_millis(10), Duration::ZERO, TICK, TICK]);
}

#[test]
fn the_ticker_is_called_when_it_asked_and_its_work_is_done() {
    let executor = executor(&[MS]);
    let (told, heard) = channel();
    let ticks = Arc::new(AtomicUsize::new(0));
    let (mut last, count) = (0, Arc::clone(&ticks));
    executor.set_ticker(move |now| {
        assert!(now >= last, "time goes on");
        last = now;
        count.fetch_add(1, Ordering::Relaxed);
        let told = told.clone();
        let then = Box::new(move || told.send(now).unwrap_or_default());
        ExecutorTick { due: vec![(one(now), then)], next: Some(now + 10 * MS) }
    });
    let mut calls: Vec<Nanos> = (0..10).map(|_| heard.recv_timeout(PATIENCE).unwrap()).collect();
    // Several threads answer.
    calls.sort();
    assert!(calls[9] - calls[0] >= 85 * MS, "{calls:?}");
    assert!(executor.counts().reads >= 10);
    executor.stop();
    let done = 10 + heard.try_iter().count();
    assert_eq!(done, ticks.load(Ordering::Relaxed), "each call's work, and no call any more");
    assert_eq!(heard.try_recv(), Err(TryRecvError::Disconnected), "the ticker is gone");
}
