//! A first place that costs 5 %, and one that costs nothing.

use bakeoff_stats::order::{OrderedBlock, estimate_first_place};

use crate::chance::{Chance, share};

/// Eight conditions of three blocks of three levels, at 5 % of noise, as a preset has them.
fn draw_run(chance: &mut Chance, penalty: f64) -> Vec<Vec<OrderedBlock>> {
    let mut block = |number: usize| -> OrderedBlock {
        let whole = 0.2 * chance.normal();
        let mut trial = |level: usize| {
            let is_first = level == number % 3;
            let late = if is_first { penalty.ln() } else { 0.0 };
            (whole + 0.5 * level as f64 + 0.05 * chance.normal() + late, is_first)
        };
        (0..3).map(&mut trial).collect()
    };
    (0..8).map(|_| (0..3).map(&mut block).collect()).collect()
}

#[test]
fn a_penalty_for_the_first_place_is_found_and_none_is_not() {
    let found = |seed: u64, penalty: f64| {
        let mut chance = Chance::new(seed);
        share(2_000, || estimate_first_place(&draw_run(&mut chance, penalty)).unwrap().p < 0.05)
    };
    let (there, none) = (found(70, 1.05), found(71, 1.0));
    println!("a penalty of 5 % is found in {there:.3} of runs, none in {none:.3}");
    assert!(there >= 0.8, "{there}");
    assert!(none <= 0.06, "{none}");
}
