//! What a window makes of a mean where operations are few and long: those that end in it, those that
//! start in it, and what the lab counts.
//!
//! One client alternates two kinds of operation (11 : 20 of a cycle), each lasting a gamma-distributed
//! time. A run lasts 4 s, the first 0.4 s of it warm up. `cargo test --test simulations -- --nocapture`
//! prints the table of docs/statistics.md.

use crate::chance::Chance;
use bakeoff_stats::CONFIDENCE;
use bakeoff_stats::paired::estimate_ratio;

/// How long clients work at least, and how long that warms up, in seconds.
const TIME: f64 = 4.0;
const WARM: f64 = 0.4;
/// Of each kind so many are waited for: half as many as the lab waits for, which leaves more to chance.
const AT_LEAST: usize = 10;
/// The shares of a cycle that its two operations take.
const KINDS: [f64; 2] = [11.0 / 31.0, 20.0 / 31.0];
const BLOCKS: usize = 5;
const TRIES: usize = 2_000;

/// Mean durations of both kinds by some rule; `None` where it has no operation.
type Means = [Option<f64>; 2];

/// The operations of a client, in order: which kind, from when to when.
fn operations(chance: &mut Chance, cycle: f64, cv: f64) -> Vec<(usize, f64, f64)> {
    let (mut all, mut now, mut counted) = (Vec::new(), 0.0, [0; 2]);
    while now < TIME || counted.iter().any(|count| *count < AT_LEAST) {
        let kind = all.len() % 2;
        let end = now + cycle * KINDS[kind] * chance.gamma(cv);
        counted[kind] += usize::from(counts(now, end));
        all.push((kind, now, end));
        now = end;
    }
    all
}

/// What the lab counts: what starts after the warm-up, and what started in it and lasted until the
/// time was over.
fn counts(start: f64, end: f64) -> bool {
    start >= WARM || end >= TIME
}

fn means(operations: &[(usize, f64, f64)], counts: impl Fn(f64, f64) -> bool) -> Means {
    [0, 1].map(|kind| {
        let of = operations.iter().filter(|(k, start, end)| *k == kind && counts(*start, *end));
        let (sum, count) =
            of.fold((0.0, 0.0), |(s, n), (_, start, end)| (s + end - start, n + 1.0));
        (count > 0.0).then(|| sum / count)
    })
}

/// By the rule of old, operations that end in the middle eight tenths; all that end in time; and
/// what counts now.
fn by_each_rule(operations: &[(usize, f64, f64)]) -> [Means; 3] {
    [
        means(operations, |_, end| (WARM..TIME - WARM).contains(&end)),
        means(operations, |_, end| end < TIME),
        means(operations, counts),
    ]
}

/// What a rule makes of the ratio of two levels.
#[derive(Default)]
struct Made {
    logs: f64,
    covered: u32,
    ratios: u32,
    lost: u32,
    blocks: u32,
}

impl Made {
    /// How far the typical ratio is off, as a share.
    fn bias(&self) -> f64 {
        (self.logs / f64::from(self.ratios)).exp() - 1.0
    }

    fn coverage(&self) -> f64 {
        f64::from(self.covered) / f64::from(self.ratios)
    }

    fn lost(&self) -> f64 {
        f64::from(self.lost) / f64::from(self.blocks)
    }

    /// Takes what one run of some blocks says of a kind.
    fn take(&mut self, pairs: &[Option<(f64, f64)>], truth: f64) {
        let whole: Vec<(f64, f64)> = pairs.iter().copied().flatten().collect();
        self.blocks += pairs.len() as u32;
        self.lost += (pairs.len() - whole.len()) as u32;
        let Ok(estimate) = estimate_ratio(&whole, CONFIDENCE) else { return };
        let (Some(low), Some(high)) = (estimate.low, estimate.high) else { return };
        self.ratios += 1;
        self.logs += (estimate.ratio / truth).ln();
        self.covered += u32::from(low <= truth && truth <= high);
    }
}

/// Bias and coverage of the ratio of a slow level to a fast one with a cycle of 0.15 s: by each rule,
/// of both kinds.
fn simulate(chance: &mut Chance, cycle: f64, cv: f64) -> [[Made; 2]; 3] {
    const FAST: f64 = 0.15;
    let mut made: [[Made; 2]; 3] = Default::default();
    for _ in 0..TRIES {
        let blocks: Vec<_> = (0..BLOCKS)
            .map(|_| [FAST, cycle].map(|cycle| by_each_rule(&operations(chance, cycle, cv))))
            .collect();
        for (rule, made) in made.iter_mut().enumerate() {
            for (kind, made) in made.iter_mut().enumerate() {
                let pair = |[fast, slow]: &[[Means; 3]; 2]| fast[rule][kind].zip(slow[rule][kind]);
                made.take(&blocks.iter().map(pair).collect::<Vec<_>>(), cycle / FAST);
            }
        }
    }
    made
}

/// Found with 20,000 tries: at most 2.1 % off at a CV of 0.6 or less, 5 % at 1, and 94 to 95 %
/// covered. With 600 tries the coverage is known to 1 point.
#[test]
fn operations_followed_to_their_end_keep_the_ratio() {
    let mut chance = Chance::new(21);
    println!("| cycle, CV | ended in the window | ended in time | started, followed to the end |");
    println!("|---|---|---|---|");
    for (cycle, cv) in
        [(0.5, 0.3), (1.5, 0.3), (2.3, 0.6), (3.0, 0.3), (3.0, 0.6), (4.0, 0.6), (4.0, 1.0)]
    {
        let made = simulate(&mut chance, cycle, cv);
        let text = made.each_ref().map(|kinds| {
            let texts = kinds.each_ref().map(|made| {
                format!("{:+.1} %, {:.0} %", 100.0 * made.bias(), 100.0 * made.coverage())
            });
            let lost = kinds.iter().map(Made::lost).fold(0.0, f64::max);
            let lost =
                if lost > 0.0 { format!("; {:.0} % lost", 100.0 * lost) } else { String::new() };
            format!("{}{lost}", texts.join("; "))
        });
        println!("| {cycle} s, {cv} | {} |", text.join(" | "));
        let [ends, _, new] = &made;
        let most = if cv > 0.9 { 0.055 } else { 0.025 };
        for made in new {
            assert!(made.bias().abs() < most, "{cycle} s, {cv}: {} off", made.bias());
            assert!(made.coverage() > 0.92, "{cycle} s, {cv}: {} covered", made.coverage());
            assert!(made.lost == 0, "{} of {} blocks lost", made.lost, made.blocks);
        }
        // The test can tell: of long operations the old rule loses blocks, and what it keeps is
        // too short.
        if cycle >= 3.0 {
            assert!(ends[1].lost() > 0.02 && ends[1].bias() < -0.05, "{}", ends[1].bias());
        }
    }
}

/// Without the ten that are waited for, a kind is missing from runs that are short beside it.
#[test]
fn waiting_for_ten_of_each_kind_leaves_no_gap() {
    let mut chance = Chance::new(22);
    let (mut without, mut with) = (0, 0);
    for _ in 0..500 {
        let operations = operations(&mut chance, 6.0, 0.6);
        let in_time = means(&operations, |start, _| (WARM..TIME).contains(&start));
        without += u32::from(in_time.contains(&None));
        with += u32::from(means(&operations, |start, _| start >= WARM).contains(&None));
    }
    println!("a kind is missing in {} % of runs without waiting, in {with} with it", without / 5);
    assert!(with == 0 && without > 100, "{without} {with}");
}
