//! Answers that have come and do not count as received yet: a network that the client keeps by itself.

use std::collections::BTreeMap;

use bakeoff_load::{ClockNanos, OperationOutcome};

use super::slot::OperationStart;

/// What has come of a lane's request.
#[derive(Debug)]
pub struct Come {
    /// The lane.
    pub lane: usize,
    /// What is known of the request from its start.
    pub begun: OperationStart,
    /// What came of it.
    pub done: OperationOutcome,
}

/// Answers that have come and do not count as received yet.
#[derive(Debug, Default)]
pub struct OnTheWay(BTreeMap<(ClockNanos, usize), Come>);

impl OnTheWay {
    /// Keeps an answer until a moment.
    pub fn keep(&mut self, until: ClockNanos, come: Come) {
        self.0.insert((until, come.lane), come);
    }

    /// When the next one counts as received; `None` where there is none.
    pub fn next(&self) -> Option<ClockNanos> {
        self.0.keys().next().map(|(until, _)| *until)
    }

    /// One that counts as received by now, the earliest first.
    pub fn received(&mut self, now: ClockNanos) -> Option<Come> {
        let first = self.0.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_received_at_its_time_and_never_before() {
        let come = |lane| Come { lane, begun: (0, 0, 0), done: OperationOutcome::default() };
        let mut answers = OnTheWay::default();
        assert_eq!((answers.next(), answers.received(u64::MAX).is_none()), (None, true));
        answers.keep(30, come(0));
        answers.keep(10, come(2));
        answers.keep(10, come(1));
        assert_eq!(answers.next(), Some(10));
        let mut at = |now| answers.received(now).map(|come| come.lane);
        assert_eq!(
            [at(9), at(10), at(29), at(29), at(30), at(90)],
            [None, Some(1), Some(2), None, Some(0), None]
        );
    }
}
