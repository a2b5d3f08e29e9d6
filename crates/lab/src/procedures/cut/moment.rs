//! The moment at which the power goes, drawn from a seed.

use std::time::Duration;

use bakeoff_devices::trigger::{Awaited, Trigger};
use bakeoff_engines::{Durability, PaymentCall, PaymentSignature};
use bakeoff_experiment::random::SplitMix64;
use bakeoff_results::Promised;

/// The most writes and syncs that are waited for.
const WRITES: u64 = 2_000;
const SYNCS: u64 = 500;
/// The longest time that is waited for, in milliseconds; and where the last second may be lost, so
/// that more than that second was there to lose.
const SHORT_MS: u64 = 400;
const LONG_MS: u64 = 2_500;
/// The longest time that is waited for in a recovery, in microseconds.
const AGAIN_US: u64 = 1_000_000;

/// The most calls that are waited for of those of a signature: a checkpoint has many writes, and
/// few syncs; and a log turns over seldom.
const SIGNATURE_WRITES: u64 = 300;
const SIGNATURE_SYNCS: u64 = 4;
const SIGNATURE_HEADERS: u64 = 1;

/// When the power goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutMoment {
    /// What takes it.
    pub trigger: Trigger,
    /// When it goes if that does not come, counted from the start of the clients: an engine that
    /// never syncs has no n-th sync.
    pub limit: Duration,
}

impl CutMoment {
    /// Draws one: a third within a write, a third within a sync, a third after a time. Counts are
    /// as often between 1 and 2 as between 100 and 200, so that what is done first is met, too.
    pub fn draw(seed: u64, promised: Promised) -> Self {
        let mut random = SplitMix64::new(seed);
        let mut below = |end: u64| random.below(end as usize) as u64;
        let mut limit = Duration::from_millis(SHORT_MS / 2 + below(SHORT_MS));
        let trigger = match below(3) {
            0 => Trigger::Writes(spread(WRITES, below(1 << 32))),
            1 => Trigger::Syncs(spread(SYNCS, below(1 << 32))),
            _ => {
                let may_lose_some = matches!(promised, Promised::Whole { .. });
                let long = may_lose_some && below(2) == 0;
                let most = if long { LONG_MS } else { SHORT_MS };
                let after = Duration::from_micros(below(most * 1000));
                limit += after;
                Trigger::After(after)
            }
        };
        Self { trigger, limit }
    }

    /// Draws the one at which it goes again, while an engine recovers: by itself, or when `limit`
    /// is over. The first things that a recovery does are met as often as the many later ones.
    pub fn draw_again(seed: u64, limit: Duration) -> Self {
        let mut random = SplitMix64::new(seed);
        let mut below = |end: u64| random.below(end as usize) as u64;
        let (kind, bits) = (below(3), below(1 << 32));
        let trigger = match kind {
            0 => Trigger::Writes(spread(WRITES, bits)),
            1 => Trigger::Syncs(spread(SYNCS, bits)),
            _ => Trigger::After(Duration::from_micros(spread(AGAIN_US, bits))),
        };
        Self { trigger, limit }
    }

    /// Draws one while the engine pays a debt, by one of its signatures. It is waited for
    /// no longer than `limit`.
    pub fn place(seed: u64, signatures: &[PaymentSignature], limit: Duration) -> Self {
        let mut random = SplitMix64::new(seed);
        let signature = random.below(signatures.len());
        let most = match signatures[signature].call {
            PaymentCall::Write => SIGNATURE_WRITES,
            PaymentCall::WriteBelow(_) => SIGNATURE_HEADERS,
            PaymentCall::Sync => SIGNATURE_SYNCS,
        };
        let count = spread(most, random.below(1 << 32) as u64);
        Self { trigger: Trigger::Signature { signature, count }, limit }
    }

    /// What the engine does then, of a moment that was placed by one of these signatures.
    pub fn payment(&self, signatures: &[PaymentSignature]) -> Option<&'static str> {
        match self.trigger {
            Trigger::Signature { signature, .. } => {
                signatures.get(signature).map(|signature| signature.payment)
            }
            Trigger::Writes(_) | Trigger::Syncs(_) | Trigger::After(_) => None,
        }
    }

    /// As a disk waits for it.
    pub fn awaited(&self) -> Awaited {
        Awaited { trigger: self.trigger, within: Some(self.limit) }
    }

    /// In words; `signatures` are those by which it may have been placed.
    pub fn describe(&self, signatures: &[PaymentSignature]) -> String {
        match self.trigger {
            Trigger::Signature { signature, count } => signed(signatures.get(signature), count),
            Trigger::Writes(count) => format!("within write {count}"),
            Trigger::Syncs(count) => format!("within sync {count}"),
            Trigger::After(time) => format!("after {:.3} s", time.as_secs_f64()),
        }
    }
}

/// Within a call of a signature.
fn signed(signature: Option<&PaymentSignature>, count: u64) -> String {
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

/// A number from 1 to `most`, even on a logarithmic scale, by 32 random bits.
fn spread(most: u64, bits: u64) -> u64 {
    let share = bits as f64 / 2f64.powi(32);
    ((most as f64 + 1.0).powf(share) as u64).clamp(1, most)
}

/// The seed of a cut: its own for each engine or disk, level and number.
pub fn seed(experiment: u64, subject: &str, level: &str, number: u32) -> u64 {
    let durability = Durability::parse(level);
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

    #[test]
    fn moments_go_from_the_very_first_to_hundreds_of_milliseconds() {
        let draw = |number| {
            let seed = seed(1, "sqlite", "strict", number);
            CutMoment::draw(seed, Promised::Everything)
        };
        let all: Vec<_> = (0..600).map(draw).collect();
        let counts = |kind: fn(&Trigger) -> Option<u64>| {
            all.iter().filter_map(|moment| kind(&moment.trigger)).collect::<Vec<_>>()
        };
        let writes = counts(|it| if let Trigger::Writes(count) = it { Some(*count) } else { None });
        let syncs = counts(|it| if let Trigger::Syncs(count) = it { Some(*count) } else { None });
        let millis = counts(|it| match it {
            Trigger::After(time) => Some(time.as_millis() as u64),
            _ => None,
        });
        for (kind, most) in [(&writes, WRITES), (&syncs, SYNCS), (&millis, SHORT_MS)] {
            assert!((150..250).contains(&kind.len()), "{}", kind.len());
            assert!(kind.iter().any(|count| *count < most / 100), "no early one");
            assert!(kind.iter().any(|count| *count > most / 2), "no late one");
            assert!(kind.iter().all(|count| *count <= most));
        }
        assert!(writes.iter().chain(&syncs).all(|count| *count > 0));
    }

    #[test]
    fn a_level_that_may_lose_a_second_is_given_more_to_lose() {
        let late = |promised| {
            let draws = (0..100).map(|number| CutMoment::draw(number, promised));
            draws.filter(|moment| moment.limit > Duration::from_secs(1)).count()
        };
        let relaxed = Promised::Whole { window_s: Some(1.0), most_lost: None };
        assert!(late(relaxed) > 5 && late(Promised::Everything) == 0);
    }

    #[test]
    fn a_recovery_is_met_at_its_start_and_later() {
        let limit = Duration::from_secs(60);
        let all: Vec<_> = (0..600).map(|seed| CutMoment::draw_again(seed, limit)).collect();
        let among = |first: fn(&Trigger) -> bool| {
            let number = all.iter().filter(|moment| first(&moment.trigger)).count();
            assert!((20..150).contains(&number), "{number}");
        };
        among(|it| matches!(it, Trigger::Writes(1..=9)));
        among(|it| matches!(it, Trigger::Writes(10..)));
        among(|it| matches!(it, Trigger::Syncs(1..=9)));
        among(|it| matches!(it, Trigger::Syncs(10..)));
        among(|it| matches!(it, Trigger::After(time) if time.as_micros() < 1000));
        among(|it| matches!(it, Trigger::After(time) if time.as_micros() >= 1000));
    }

    #[test]
    fn a_moment_is_placed_in_each_of_the_payments_and_soon_or_late_in_it() {
        static SIGNATURES: [PaymentSignature; 3] = [
            PaymentSignature::writes("checkpoint", &["pages"]),
            PaymentSignature::headers("turn of the log", 32, &["log"]),
            PaymentSignature::syncs("checkpoint", &["pages", "index"]),
        ];
        let limit = Duration::from_secs(60);
        let all: Vec<_> = (0..600).map(|seed| CutMoment::place(seed, &SIGNATURES, limit)).collect();
        for (signature, most) in
            [(0, SIGNATURE_WRITES), (1, SIGNATURE_HEADERS), (2, SIGNATURE_SYNCS)]
        {
            let counts = all.iter().filter_map(|moment| match moment.trigger {
                Trigger::Signature { signature: of, count } if of == signature => Some(count),
                _ => None,
            });
            let counts: Vec<u64> = counts.collect();
            assert!((150..250).contains(&counts.len()), "{}", counts.len());
            assert!(counts.contains(&1) && counts.iter().any(|count| 2 * *count > most));
            assert!(counts.iter().all(|count| (1..=most).contains(count)));
        }
        let moment =
            |signature| CutMoment { trigger: Trigger::Signature { signature, count: 2 }, limit };
        let said = |signature| moment(signature).describe(&SIGNATURES);
        assert_eq!(said(0), "within write 2 of pages");
        assert_eq!(said(1), "within write 2 of the first 32 bytes of log");
        assert_eq!(said(2), "within sync 2 of pages, index");
        assert_eq!(moment(1).payment(&SIGNATURES), Some("turn of the log"));
    }

    #[test]
    fn each_cut_has_a_seed_of_its_own_that_stays() {
        let seeds = [
            seed(1, "sqlite", "strict", 0),
            seed(2, "sqlite", "strict", 0),
            seed(1, "lmdb", "strict", 0),
            seed(1, "sqlite", "relaxed", 0),
            seed(1, "sqlite", "strict", 1),
            seed(1, "null", "fsync:1", 0),
            seed(1, "null", "fsync:2", 0),
        ];
        let different: std::collections::BTreeSet<_> = seeds.iter().collect();
        assert_eq!(different.len(), seeds.len());
        assert_eq!(seeds[0], seed(1, "sqlite", "strict", 0));
    }
}
