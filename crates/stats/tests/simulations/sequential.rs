//! Stopping as soon as a word is reached, on made-up runs of which the truth is known.
//! `cargo test --test simulations -- --nocapture` prints the tables of docs/statistics.md.

use crate::chance::{Chance, estimate_untrimmed, share};
use bakeoff_stats::paired::CONFIDENCE;
use bakeoff_stats::sequential::{FUTILE_FROM, MOST, find_confidence, is_reachable, plan_looks};
use bakeoff_stats::serial::correlate_lag1;
use bakeoff_stats::{Decision, Estimate, MARGIN};

/// The looks at one comparison, or at one of several.
struct Rule {
    looks: Vec<u32>,
    confidence: f64,
}

impl Rule {
    fn of(comparisons: u32) -> Self {
        let looks = plan_looks(MOST);
        let confidence = find_confidence(&looks, comparisons).unwrap();
        Self { looks, confidence }
    }

    /// What is decided, and after how many blocks.
    fn run(&self, chance: &mut Chance, truth: f64, sd: f64) -> (Decision, u32) {
        let blocks = chance.noisy_blocks(MOST as usize, truth, sd);
        let estimate = |look: &u32| estimate_untrimmed(&blocks[..*look as usize], self.confidence);
        let ends = |it: &Estimate| self.decides(it) != Decision::Undecided || self.is_futile(it);
        let mut looks = self.looks.iter().map(estimate);
        let last = looks.find(ends).unwrap_or_else(|| estimate(&MOST));
        (self.decides(&last), last.pairs as u32)
    }

    /// The word of a look; a spiky one goes on.
    fn decides(&self, estimate: &Estimate) -> Decision {
        match estimate.decide(MARGIN) {
            Decision::Spiky => Decision::Undecided,
            decision => decision,
        }
    }

    fn is_futile(&self, estimate: &Estimate) -> bool {
        let pairs = estimate.pairs as u32;
        let half = (estimate.high.unwrap() / estimate.low.unwrap()).ln() / 2.0;
        let reachable =
            || is_reachable((estimate.ratio.ln(), half), (pairs, MOST), self.confidence, MARGIN);
        pairs >= FUTILE_FROM && !reachable()
    }

    /// The share of wrong words, of words at all, and the mean number of blocks.
    fn tries(&self, tries: u32, truth: f64, sd: f64) -> [f64; 3] {
        let mut chance = Chance::new(61);
        let (mut wrong, mut words, mut blocks) = (0, 0, 0);
        let right = match truth.ln() {
            log if log > MARGIN.ln_1p() => Decision::Slower,
            log if log < -MARGIN.ln_1p() => Decision::Faster,
            _ => Decision::Same,
        };
        for _ in 0..tries {
            let (decision, after) = self.run(&mut chance, truth, sd);
            words += u32::from(decision != Decision::Undecided);
            wrong += u32::from(decision != Decision::Undecided && decision != right);
            blocks += after;
        }
        [wrong, words, blocks].map(|n| f64::from(n) / f64::from(tries))
    }
}

/// The table of docs/statistics.md.
fn table(tries: u32) {
    println!(
        "| noise of a trial | true ratio | wrong words | words | blocks |\n|---|---|---|---|---|"
    );
    let rule = Rule::of(1);
    for (sd, truth, least, most) in [
        (0.01, 1.0, 3.0, 5.5),
        (0.03, 1.0, 11.0, 13.0),
        (0.05, 1.0, 3.0, 20.0),
        (0.10, 1.0, 3.0, 20.0),
        (0.20, 1.0, 3.0, 20.0),
        (0.05, 1.2, 5.2, 6.4),
        (0.10, 1.5, 4.2, 5.6),
        (0.05, 1.05, 3.0, 20.0),
        (0.10, 2.0, 3.0, 4.6),
    ] {
        let [wrong, words, blocks] = rule.tries(tries, truth, sd);
        println!(
            "| {:.0} % | {truth} | {:.1} % | {:.0} % | {blocks:.1} |",
            100.0 * sd,
            100.0 * wrong,
            100.0 * words
        );
        assert!(wrong <= 0.03, "{truth} at {sd}: {wrong}");
        assert!((least..=most).contains(&blocks), "{truth} at {sd}: {blocks}");
    }
}

#[test]
fn words_are_seldom_wrong_and_soon_there() {
    table(2_000);
}

#[test]
#[ignore = "soak: about 1 min"]
fn words_are_seldom_wrong_and_soon_there_soak() {
    table(40_000);
}

/// The intervals of all looks together miss the true ratio in one of twenty runs; plain 95 %
/// intervals in one of five, which is why nobody may stop by these.
#[test]
fn the_intervals_of_all_looks_hold_the_truth_together() {
    let misses = |confidence: f64| {
        let (mut chance, looks) = (Chance::new(62), plan_looks(MOST));
        share(10_000, || {
            let blocks = chance.noisy_blocks(MOST as usize, 1.2, 0.1);
            looks.iter().any(|look| {
                let estimate = estimate_untrimmed(&blocks[..*look as usize], confidence);
                !(estimate.low.unwrap()..=estimate.high.unwrap()).contains(&1.2)
            })
        })
    };
    let [together, plain] = [Rule::of(1).confidence, CONFIDENCE].map(misses);
    println!("missed at some look: {together:.3}, by plain intervals {plain:.3}");
    assert!((0.043..0.057).contains(&together), "{together}");
    assert!(plain > 0.19, "{plain}");
}

/// Sixteen comparisons of equal levels, at 10 % of noise: a wrong word anywhere.
#[test]
fn a_family_is_seldom_wrong_anywhere() {
    let rule = Rule::of(16);
    let mut chance = Chance::new(63);
    let wrong = share(600, || {
        (0..16).any(|_| {
            let decision = rule.run(&mut chance, 1.0, 0.1).0;
            matches!(decision, Decision::Faster | Decision::Slower)
        })
    });
    println!("a wrong word among 16: {wrong:.3}");
    assert!(wrong <= 0.03, "{wrong}");
}

/// Pairs that follow the one before them by a half make repeated looks wrong in 15 % of runs: how often
/// the correlation is noticed in 20 blocks, and how often where there is none.
#[test]
fn correlated_blocks_are_noticed_at_times() {
    let rule = Rule::of(1);
    let series = |chance: &mut Chance, follow: f64| -> Vec<f64> {
        let mut last = chance.normal();
        let noise = (1.0 - follow * follow).sqrt();
        let next = |_| {
            last = follow * last + noise * chance.normal();
            0.2 * last
        };
        (0..MOST).map(next).collect()
    };
    let [followed, free] = [0.5, 0.0].map(|follow| {
        let mut chance = Chance::new(64);
        let mut wrong = 0;
        let noticed = share(4_000, || {
            let logs = series(&mut chance, follow);
            let pairs: Vec<(f64, f64)> = logs.iter().map(|log| (1.0, log.exp())).collect();
            let mut looks = rule.looks.iter();
            let word = looks.find_map(|look| {
                let estimate = estimate_untrimmed(&pairs[..*look as usize], rule.confidence);
                Some(rule.decides(&estimate)).filter(|it| *it != Decision::Undecided)
            });
            wrong += u32::from(matches!(word, Some(Decision::Faster | Decision::Slower)));
            correlate_lag1(&logs).is_some_and(|serial| serial.p < 0.05)
        });
        let wrong = f64::from(wrong) / 4_000.0;
        println!("{follow}: noticed in {noticed:.3}, wrong words in {wrong:.3}");
        (noticed, wrong)
    });
    assert!(followed.0 > 0.4 && followed.1 > 0.08, "{followed:?}");
    assert!(free.0 < 0.06 && free.1 < 0.05, "{free:?}");
}
