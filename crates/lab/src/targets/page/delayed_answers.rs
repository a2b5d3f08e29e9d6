//! Answers that have come but do not count as received yet: a simulated network delay.

use std::collections::BTreeMap;

use bakeoff_load::{ClockNanos, OperationOutcome};

use super::slot::OperationStart;

#[derive(Debug)]
pub struct DelayedAnswer {
    pub lane: usize,
    pub begun: OperationStart,
    pub done: OperationOutcome,
}

#[derive(Debug, Default)]
pub struct DelayedAnswers(BTreeMap<(ClockNanos, usize), DelayedAnswer>);

impl DelayedAnswers {
    pub fn keep(&mut self, until: ClockNanos, come: DelayedAnswer) {
        self.0.insert((until, come.lane), come);
    }

    pub fn next(&self) -> Option<ClockNanos> {
        self.0.keys().next().map(|(until, _)| *until)
    }

    pub fn take_received(&mut self, now: ClockNanos) -> Option<DelayedAnswer> {
        let first = self.0.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_received_at_its_time_and_never_before() {
        let come =
            |lane| DelayedAnswer { lane, begun: (0, 0, 0), done: OperationOutcome::default() };
        let mut answers = DelayedAnswers::default();
        assert_eq!((answers.next(), answers.take_received(u64::MAX).is_none()), (None, true));
        answers.keep(30, come(0));
        answers.keep(10, come(2));
        answers.keep(10, come(1));
        assert_eq!(answers.next(), Some(10));
        let mut at = |now| answers.take_received(now).map(|come| come.lane);
        assert_eq!(
            [at(9), at(10), at(29), at(29), at(30), at(90)],
            [None, Some(1), Some(2), None, Some(0), None]
        );
    }
}
