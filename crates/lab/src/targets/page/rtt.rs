//! The network between clients and server, as a time: an answer that has come counts as received a round trip
//! later, and its connection sends nothing before that. The server works without it.

use std::collections::BTreeMap;
use std::time::Duration;

use bakeoff_experiment::Declared;
use bakeoff_load::{Done, Nanos};

/// The longest round trip.
const LONGEST: Duration = Duration::from_secs(10);

/// How long a round trip takes.
pub static RTT: Declared = Declared {
    name: "rtt",
    summary: "time of a round trip between client and server, kept by the client: an answer counts as received so \
              much later, and on a new connection twice that",
    syntax: "0, or a time up to 10s, as 500us, 1ms or 32ms",
    default: "0",
    canonical: |text| match parse(text) {
        Some(time) => Ok(written(time)),
        None => Err(format!("`{text}` is no time of a round trip\nvalid: {}", RTT.syntax)),
    },
};

/// The time that a level is.
pub fn parse(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let each: u64 = match unit {
        "us" | "µs" => 1,
        "ms" => 1_000,
        "s" => 1_000_000,
        _ => return None,
    };
    let microseconds = number.parse::<u64>().ok()?.checked_mul(each)?;
    Some(Duration::from_micros(microseconds)).filter(|time| *time <= LONGEST)
}

/// A time in the largest unit that leaves no rest.
fn written(time: Duration) -> String {
    let microseconds = time.as_micros();
    match microseconds {
        0 => "0".to_owned(),
        _ if microseconds.is_multiple_of(1_000_000) => format!("{}s", microseconds / 1_000_000),
        _ if microseconds.is_multiple_of(1_000) => format!("{}ms", microseconds / 1_000),
        _ => format!("{microseconds}us"),
    }
}

/// What has come of a lane's request.
#[derive(Debug)]
pub struct Come {
    /// The lane.
    pub lane: usize,
    /// When the request was to start, and when it did.
    pub times: (Nanos, Nanos),
    /// What came of it.
    pub done: Done,
}

/// Answers that have come and do not count as received yet.
#[derive(Debug, Default)]
pub struct OnTheWay(BTreeMap<(Nanos, usize), Come>);

impl OnTheWay {
    /// Keeps an answer until a moment.
    pub fn keep(&mut self, until: Nanos, come: Come) {
        self.0.insert((until, come.lane), come);
    }

    /// When the next one counts as received; `None` where there is none.
    pub fn next(&self) -> Option<Nanos> {
        self.0.keys().next().map(|(until, _)| *until)
    }

    /// One that counts as received by now, the earliest first.
    pub fn received(&mut self, now: Nanos) -> Option<Come> {
        let first = self.0.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_one_form() {
        for (text, form) in [
            ("0", "0"),
            ("0ms", "0"),
            ("1ms", "1ms"),
            ("1000us", "1ms"),
            ("1500µs", "1500us"),
            ("32ms", "32ms"),
            ("2000ms", "2s"),
            ("10s", "10s"),
        ] {
            assert_eq!((RTT.canonical)(text).as_deref(), Ok(form), "{text}");
            assert_eq!((RTT.canonical)(form).as_deref(), Ok(form), "{form} once more");
        }
    }

    #[test]
    fn what_is_no_time_is_refused_with_what_is_valid() {
        let huge = format!("{}s", u64::MAX);
        for text in ["", "32", "ms", "-1ms", "1.5ms", "1 ms", "1m", "11s", "1MS", huge.as_str()] {
            let error = (RTT.canonical)(text).unwrap_err();
            assert!(error.contains("no time of a round trip\nvalid: 0, or"), "{text}: {error}");
        }
    }

    #[test]
    fn an_answer_is_received_at_its_time_and_never_before() {
        let come = |lane| Come { lane, times: (0, 0), done: Done::default() };
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
