//! Idle seconds of equal levels, however they come, and of levels of which one stands still.
//! `--nocapture` prints the table of docs/statistics.md.

use bakeoff_stats::CONFIDENCE;
use bakeoff_stats::idle::{IdleDifference, IdleTrial};

use crate::chance::{Chance, share};

/// Whole seconds of a trial.
const SECONDS: u32 = 60;

/// How the idle seconds of a trial come.
#[derive(Clone, Copy)]
enum IdleCourse {
    /// So many stretches on average, of so many seconds on average.
    Stretches(f64, f64),
    /// As stretches of one second, but their number differs from trial to trial: twice its mean in half
    /// of the trials.
    Uneven(f64),
    /// In this share of trials so many stretches of so many seconds, in the others none.
    Sometimes(f64, u32, u32),
}
use IdleCourse::{Sometimes, Stretches, Uneven};

impl IdleCourse {
    fn draw_trial(self, chance: &mut Chance) -> IdleTrial {
        let mut stretches = match self {
            Stretches(count, length) => {
                let count = draw_count(chance, count);
                (0..count).map(|_| 1 + draw_count(chance, length - 1.0)).collect()
            }
            Uneven(count) => {
                let count = if chance.uniform() < 0.5 { 2.0 * count } else { 0.0 };
                vec![1; draw_count(chance, count) as usize]
            }
            Sometimes(often, count, length) => match chance.uniform() < often {
                true => vec![length; count as usize],
                false => Vec::new(),
            },
        };
        let mut left = SECONDS;
        for length in &mut stretches {
            *length = left.min(*length);
            left -= *length;
        }
        stretches.retain(|length| *length > 0);
        IdleTrial { seconds: SECONDS, stretches }
    }
}

/// Poisson: the number of exponential waits that fit into the mean.
fn draw_count(chance: &mut Chance, mean: f64) -> u32 {
    let (mut count, mut at) = (0, -(1.0 - chance.uniform()).ln());
    while at < mean {
        count += 1;
        at -= (1.0 - chance.uniform()).ln();
    }
    count
}

/// In what share of runs of so many blocks the p-value is this or less.
fn find_share(levels: [IdleCourse; 2], blocks: usize, p: f64, chance: &mut Chance) -> f64 {
    share(2_000, || {
        let pairs = (0..blocks).map(|_| levels.map(|it| it.draw_trial(chance)).into());
        let found = IdleDifference::from_pairs(&pairs.collect::<Vec<_>>(), CONFIDENCE);
        found.is_some_and(|it| it.p <= p)
    })
}

const BLOCKS: [usize; 3] = [3, 5, 8];

/// Of twelve comparisons the first has to be below a twelfth of 5 %.
const LEVELS: [f64; 2] = [0.05, 0.05 / 12.0];

#[test]
fn equal_levels_are_seldom_called_clear_and_standstills_are_found() {
    let mut chance = Chance::new(90);
    println!("| idle seconds | 3 blocks | 5 blocks | 8 blocks |\n|---|---|---|---|");
    let mut tell = |name: &str, levels: [IdleCourse; 2]| {
        let found = BLOCKS.map(|n| LEVELS.map(|p| find_share(levels, n, p, &mut chance)));
        let cells = found.map(|it| it.map(|it| format!("{:.1} %", 100.0 * it)).join(", "));
        println!("| {name} | {} |", cells.join(" | "));
        found
    };
    for (name, equal) in [
        ("4 single ones", Stretches(4.0, 1.0)),
        ("1 stretch of 5", Stretches(1.0, 5.0)),
        ("4 stretches of 5", Stretches(4.0, 5.0)),
        ("0 or 8 single ones", Uneven(4.0)),
        ("10 in half of trials", Sometimes(0.5, 10, 1)),
        ("40 in half of trials", Sometimes(0.5, 40, 1)),
        ("40 in a fifth of trials", Sometimes(0.2, 40, 1)),
        ("a stretch of 20 in half of trials", Sometimes(0.5, 1, 20)),
    ] {
        for [alone, of_twelve] in tell(name, [equal; 2]) {
            assert!(alone < 0.065 && of_twelve < 0.008, "{name}: {alone} {of_twelve}");
        }
    }
    let none = Stretches(0.0, 1.0);
    for (name, levels, least) in [
        ("4 single ones, none", [Stretches(4.0, 1.0), none], [0.0, 0.9, 0.99]),
        ("10 single ones, none", [Stretches(10.0, 1.0), none], [0.7, 0.99, 0.99]),
        ("20 single ones, 5", [Stretches(20.0, 1.0), Stretches(5.0, 1.0)], [0.5, 0.95, 0.99]),
        ("4 stretches of 5, none", [Stretches(4.0, 5.0), none], [0.0, 0.7, 0.95]),
    ] {
        for ([alone, _], least) in tell(name, levels).into_iter().zip(least) {
            assert!(alone >= least, "{name}: {alone}");
        }
    }
}
