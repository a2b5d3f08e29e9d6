//! Finds rates that bakeoff's own clients could not send: such a trial says nothing of the server.

use bakeoff_load::OpenLoopOutcome;
use bakeoff_stats::backlog::keeps_up;

/// Drivers that were busy for more than this share of their time are why the rate was not kept.
/// Drivers that wait for answers are idle meanwhile.
const BUSY: f64 = 0.9;

/// Why a trial at a rate is no measurement: it did not keep up, and its drivers hardly ever waited.
/// `busy` is the share of time, 0 to 1, in which they did not wait.
pub fn why_unsent(open: Option<&OpenLoopOutcome>, busy: Option<f64>) -> Option<String> {
    let OpenLoopOutcome { per_second, due, not_started, .. } = open?;
    let busy = busy.filter(|busy| *busy >= BUSY)?;
    if keeps_up(*due as f64, *not_started as f64) {
        return None;
    }
    Some(format!(
        "bakeoff's clients can't send {per_second} requests a second on this machine: they waited for nothing in \
         {:.0} % of their time, and {not_started} of {due} requests had not started when the time was over; name a \
         lower --rate, or leave the clients more of the processors",
        busy * 100.0
    ))
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;

    use super::*;

    fn open(not_started: u64) -> OpenLoopOutcome {
        let start_delay = Histogram::new(3).unwrap();
        OpenLoopOutcome {
            per_second: 2e5,
            due: 1000,
            not_started,
            most_waiting: not_started,
            start_delay,
        }
    }

    #[test]
    fn a_rate_is_unsent_where_the_clients_fell_behind_and_did_not_wait() {
        let why = why_unsent(Some(&open(400)), Some(0.99)).expect("they can't");
        assert!(why.contains("200000 requests a second") && why.contains("400 of 1000"), "{why}");
        for (open, busy, which) in [
            (Some(open(400)), Some(0.6), "they waited: the server is slow"),
            (Some(open(400)), None, "nobody knows"),
            (Some(open(10)), Some(0.99), "it kept up"),
            (None, Some(0.99), "a closed loop"),
        ] {
            assert_eq!(why_unsent(open.as_ref(), busy), None, "{which}");
        }
    }
}
