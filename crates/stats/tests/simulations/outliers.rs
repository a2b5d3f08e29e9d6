//! One trial in twenty takes 1.3 to 3 times as long: what the mean and the trimmed mean make of it.

use bakeoff_stats::paired::LogSummary;
use bakeoff_stats::{CONFIDENCE, Decision, Estimate, MARGIN};

use crate::chance::Chance;

fn draw_blocks(chance: &mut Chance, blocks: usize, ratio: f64, outliers: f64) -> Vec<(f64, f64)> {
    let mut blocks = chance.noisy_blocks(blocks, ratio, 0.05);
    for (a, b) in &mut blocks {
        for trial in [a, b] {
            let is_late = chance.uniform() < outliers;
            *trial *= if is_late { 1.3 + 1.7 * chance.uniform() } else { 1.0 };
        }
    }
    blocks
}

/// The share of runs whose interval covers the truth, and of those that say *slower*.
fn judge(seed: u64, blocks: usize, outliers: f64, of: fn(&[(f64, f64)]) -> Estimate) -> [f64; 2] {
    const RUNS: u32 = 4_000;
    let mut chance = Chance::new(seed);
    let mut tally = [0, 0];
    for _ in 0..RUNS {
        let it = of(&draw_blocks(&mut chance, blocks, 1.3, outliers));
        tally[0] += u32::from(it.low.unwrap() <= 1.3 && 1.3 <= it.high.unwrap());
        tally[1] += u32::from(it.decide(MARGIN) == Decision::Slower);
    }
    tally.map(|it| f64::from(it) / f64::from(RUNS))
}

#[test]
fn trimmed_means_find_what_outliers_hide() {
    let mean = |pairs: &[(f64, f64)]| {
        LogSummary::untrimmed_from_pairs(pairs).unwrap().estimate(CONFIDENCE).unwrap()
    };
    let trimmed =
        |pairs: &[(f64, f64)]| LogSummary::from_pairs(pairs).unwrap().estimate(CONFIDENCE).unwrap();
    println!(
        "| pairs, outliers | mean covers | finds | trimmed mean covers | finds |\n|---|---|---|---|---|"
    );
    for pairs in [5, 8, 10, 20] {
        for outliers in [0.0, 0.05] {
            let [before, now] = [mean, trimmed].map(|of| judge(50, pairs, outliers, of));
            let cells = before.iter().chain(&now).map(|it| format!("{:.1} %", 100.0 * it));
            let cells: Vec<String> = cells.collect();
            println!("| {pairs}, {:.0} % | {} |", 100.0 * outliers, cells.join(" | "));
            assert!(now[0] > 0.93, "{pairs}, {outliers}: {now:?}");
            assert!(pairs < 8 || now[1] > 0.9, "{pairs}, {outliers}: {now:?}");
            assert!(
                pairs < 8 || outliers == 0.0 || before[1] < now[1] - 0.05,
                "{pairs}: {before:?}"
            );
        }
    }
}
