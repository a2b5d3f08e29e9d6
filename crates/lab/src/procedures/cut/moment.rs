//! Draws the moment when the power goes from a seed.

use std::time::Duration;

use bakeoff_devices::trigger::{TimedTrigger, Trigger};
use bakeoff_engines::{Durability, PaymentCall, PaymentSignature};
use bakeoff_experiment::random::SplitMix64;
use bakeoff_results::DurabilityPromise;

const WRITES: u64 = 2_000;
const SYNCS: u64 = 500;
/// In milliseconds. If the last second may be lost, wait long enough that more than a second is
/// there to lose.
const SHORT_MS: u64 = 400;
const LONG_MS: u64 = 2_500;
const AGAIN_US: u64 = 1_000_000;

/// A checkpoint has many writes and few syncs, and a log turns over seldom.
const SIGNATURE_WRITES: u64 = 300;
const SIGNATURE_SYNCS: u64 = 4;
const SIGNATURE_HEADERS: u64 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutMoment {
    pub trigger: Trigger,
    /// When the power goes if the trigger does not come, counted from the clients' start: an engine
    /// that never syncs has no n-th sync.
    pub limit: Duration,
}

impl CutMoment {
    /// A third within a write, a third within a sync, a third after a time. Counts are logarithmic:
    /// as often between 1 and 2 as between 100 and 200, so that early work is met, too.
    pub fn draw_first(seed: u64, promised: DurabilityPromise) -> Self {
        let mut random = SplitMix64::new(seed);
        let mut below = |end: u64| random.below(end as usize) as u64;
        let mut limit = Duration::from_millis(SHORT_MS / 2 + below(SHORT_MS));
        let trigger = match below(3) {
            0 => Trigger::Writes(spread_logarithmically(WRITES, below(1 << 32))),
            1 => Trigger::Syncs(spread_logarithmically(SYNCS, below(1 << 32))),
            _ => {
                let may_lose_some = matches!(promised, DurabilityPromise::Whole { .. });
                let long = may_lose_some && below(2) == 0;
                let most = if long { LONG_MS } else { SHORT_MS };
                let after = Duration::from_micros(below(most * 1000));
                limit += after;
                Trigger::After(after)
            }
        };
        Self { trigger, limit }
    }

    /// The moment of the second cut, during recovery or at its `limit`. The first steps of a
    /// recovery are met as often as the many later ones.
    pub fn draw_again(seed: u64, limit: Duration) -> Self {
        let mut random = SplitMix64::new(seed);
        let mut below = |end: u64| random.below(end as usize) as u64;
        let (kind, bits) = (below(3), below(1 << 32));
        let trigger = match kind {
            0 => Trigger::Writes(spread_logarithmically(WRITES, bits)),
            1 => Trigger::Syncs(spread_logarithmically(SYNCS, bits)),
            _ => Trigger::After(Duration::from_micros(spread_logarithmically(AGAIN_US, bits))),
        };
        Self { trigger, limit }
    }

    /// Draws a moment while the engine pays a debt, shown by one of its signatures.
    pub fn draw_in_payment(seed: u64, signatures: &[PaymentSignature], limit: Duration) -> Self {
        let mut random = SplitMix64::new(seed);
        let signature = random.below(signatures.len());
        let most = match signatures[signature].call {
            PaymentCall::Write => SIGNATURE_WRITES,
            PaymentCall::WriteBelow(_) => SIGNATURE_HEADERS,
            PaymentCall::Sync => SIGNATURE_SYNCS,
        };
        let count = spread_logarithmically(most, random.below(1 << 32) as u64);
        Self { trigger: Trigger::Signature { signature, count }, limit }
    }

    pub fn paid_debt(&self, signatures: &[PaymentSignature]) -> Option<&'static str> {
        match self.trigger {
            Trigger::Signature { signature, .. } => {
                signatures.get(signature).map(|signature| signature.payment)
            }
            Trigger::Writes(_) | Trigger::Syncs(_) | Trigger::After(_) => None,
        }
    }

    pub fn to_awaited(self) -> TimedTrigger {
        TimedTrigger { trigger: self.trigger, within: Some(self.limit) }
    }

    pub fn describe_moment(&self, signatures: &[PaymentSignature]) -> String {
        match self.trigger {
            Trigger::Signature { signature, count } => {
                describe_signature(signatures.get(signature), count)
            }
            Trigger::Writes(count) => format!("within write {count}"),
            Trigger::Syncs(count) => format!("within sync {count}"),
            Trigger::After(time) => format!("after {:.3} s", time.as_secs_f64()),
        }
    }
}

fn describe_signature(signature: Option<&PaymentSignature>, count: u64) -> String {
    let (call, files) = match signature {
        Some(PaymentSignature { call: PaymentCall::Sync, files, .. }) => ("sync", files.join(", ")),
        Some(PaymentSignature { call: PaymentCall::WriteBelow(end), files, .. }) => {
            ("write", format!("the first {end} bytes of {}", files.join(", ")))
        }
        Some(PaymentSignature { files, .. }) => ("write", files.join(", ")),
        None => ("call", String::new()),
    };
    format!("within {call} {count} of {files}")
}

/// A number from 1 to `most`, even on a logarithmic scale, from 32 random bits.
fn spread_logarithmically(most: u64, bits: u64) -> u64 {
    let share = bits as f64 / 2f64.powi(32);
    ((most as f64 + 1.0).powf(share) as u64).clamp(1, most)
}

pub fn cut_seed(experiment: u64, subject: &str, level: &str, number: u32) -> u64 {
    let durability = Durability::from_name(level);
    let mut words = vec![experiment, number.into(), durability.map_or(u64::MAX, |it| it as u64)];
    words.extend(subject.bytes().map(u64::from));
    if durability.is_none() {
        words.push(u64::MAX);
        words.extend(level.bytes().map(u64::from));
    }
    SplitMix64::from_words(&words).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    /// The kinds and numbers of 600 moments: writes, syncs, microseconds, and those of each signature.
    fn draw(moment: impl Fn(u64) -> CutMoment) -> [Vec<u64>; 6] {
        let mut drawn = [const { Vec::new() }; 6];
        for number in 0..600 {
            let (kind, count) = match moment(number).trigger {
                Trigger::Writes(count) => (0, count),
                Trigger::Syncs(count) => (1, count),
                Trigger::After(time) => (2, time.as_micros() as u64),
                Trigger::Signature { signature, count } => (3 + signature, count),
            };
            drawn[kind].push(count);
        }
        drawn
    }

    #[test]
    fn moments_go_from_the_very_first_to_hundreds_of_milliseconds() {
        let [writes, syncs, micros, ..] = draw(|number| {
            let seed = cut_seed(1, "sqlite", "strict", number as u32);
            CutMoment::draw_first(seed, DurabilityPromise::Everything)
        });
        for (kind, most) in [(&writes, WRITES), (&syncs, SYNCS), (&micros, SHORT_MS * 1000)] {
            assert!((150..250).contains(&kind.len()), "{}", kind.len());
            assert!(kind.iter().any(|count| *count < most / 100), "no early one");
            assert!(kind.iter().any(|count| *count > most / 2), "no late one");
            assert!(kind.iter().all(|count| *count <= most));
        }
        assert!(writes.iter().chain(&syncs).all(|count| *count > 0));
        // A level that may lose a second is given more to lose.
        let late = |promised| {
            let draws = (0..100).map(|number| CutMoment::draw_first(number, promised));
            draws.filter(|moment| moment.limit > Duration::from_secs(1)).count()
        };
        let relaxed = DurabilityPromise::Whole { window_s: Some(1.0), most_lost: None };
        assert!(late(relaxed) > 5 && late(DurabilityPromise::Everything) == 0);
    }

    #[test]
    fn a_recovery_is_met_at_its_start_and_later() {
        let [writes, syncs, micros, ..] = draw(|seed| CutMoment::draw_again(seed, LIMIT));
        for (counts, early) in [(writes, 10), (syncs, 10), (micros, 1000)] {
            let number = counts.iter().filter(|count| **count < early).count();
            assert!((20..150).contains(&number), "{number}");
            assert!((20..150).contains(&(counts.len() - number)), "{}", counts.len() - number);
        }
    }

    #[test]
    fn a_moment_is_placed_in_each_of_the_payments_and_soon_or_late_in_it() {
        static SIGNATURES: [PaymentSignature; 3] = [
            PaymentSignature::writes("checkpoint", &["pages"]),
            PaymentSignature::headers("turn of the log", 32, &["log"]),
            PaymentSignature::syncs("checkpoint", &["pages", "index"]),
        ];
        let drawn = draw(|seed| CutMoment::draw_in_payment(seed, &SIGNATURES, LIMIT));
        for (signature, most, told) in [
            (0, SIGNATURE_WRITES, "within write 2 of pages"),
            (1, SIGNATURE_HEADERS, "within write 2 of the first 32 bytes of log"),
            (2, SIGNATURE_SYNCS, "within sync 2 of pages, index"),
        ] {
            let counts = &drawn[3 + signature];
            assert!((150..250).contains(&counts.len()), "{}", counts.len());
            assert!(counts.contains(&1) && counts.iter().any(|count| 2 * *count > most));
            assert!(counts.iter().all(|count| (1..=most).contains(count)));
            let trigger = Trigger::Signature { signature, count: 2 };
            let moment = CutMoment { trigger, limit: LIMIT };
            assert_eq!(moment.describe_moment(&SIGNATURES), told);
            assert_eq!(moment.paid_debt(&SIGNATURES), Some(SIGNATURES[signature].payment));
        }
    }

    #[test]
    fn each_cut_has_a_seed_of_its_own_that_stays() {
        let cuts = [
            (1, "sqlite", "strict", 0),
            (2, "sqlite", "strict", 0),
            (1, "lmdb", "strict", 0),
            (1, "sqlite", "relaxed", 0),
            (1, "sqlite", "strict", 1),
            (1, "null", "fsync:1", 0),
            (1, "null", "fsync:2", 0),
        ];
        let seeds = || cuts.map(|(seed, name, level, number)| cut_seed(seed, name, level, number));
        let different: std::collections::BTreeSet<_> = seeds().into_iter().collect();
        assert_eq!((different.len(), seeds()), (cuts.len(), seeds()));
    }
}
