//! What a comparison would say if its warm-up counted, or the trials that were set aside.

use bakeoff_analysis::{Document, Verdict, WarningKind};
use bakeoff_results::Trial;

use crate::known::{assert_has, blocks_that_take, compared, document, measured, of_engine, told};

/// Beta takes twice as long, by a ripple.
fn twice(block: u32, engine: &str) -> f64 {
    if engine == "beta" { 20.0 * (1.0 + 0.01 * f64::from(block % 3)) } else { 10.0 }
}

fn beta(document: &Document) -> &bakeoff_analysis::Comparison {
    compared(document, "alpha", "beta")
}

#[test]
fn a_warm_up_that_changes_the_ratio_is_told_with_both_ratios() {
    let mut trials = blocks_that_take(6, twice);
    let plain = document(&trials);
    assert!(beta(&plain).with_warm_up.is_some_and(|it| !it.is_outside(beta(&plain))));
    for trial in of_engine(&mut trials, "beta") {
        // Its window is a tenth of all that it did, which went ten times as fast.
        let slot = &mut measured(trial).operations[0].slots[0];
        slot.histogram.record_n(2_000_000, 900).unwrap();
    }
    let document = document(&trials);
    let beta = beta(&document);
    let whole = beta.with_warm_up.expect("a ratio");
    assert!((beta.ratio.unwrap() - 2.02).abs() < 0.01 && whole.is_outside(beta), "{beta:?}");
    assert!((whole.ratio - 0.382).abs() < 0.01 && whole.verdict == Verdict::Faster, "{whole:?}");
    let told = told(&document, WarningKind::WarmUpDecides);
    assert_has(&told, &["engine beta, clients 1 to alpha: 0.38", "with the warm-up, 2.02"]);
}

/// A block that was run again: the first attempt has a ratio of 1.2, the others of 2.
#[test]
fn a_block_that_was_set_aside_is_told_with_its_ratio_and_what_it_would_change() {
    let mut all = blocks_that_take(5, twice);
    let plain = document(&all);
    assert!(plain.comparisons.iter().all(|it| it.with_set_aside.is_none()));
    assert_eq!(told(&plain, WarningKind::SetAsideDecides), "");
    let first = |trial: &Trial| trial.block == 4;
    let again = blocks_that_take(5, |_, engine| if engine == "beta" { 12.0 } else { 10.0 });
    let again = again.into_iter().filter(first);
    let again = again.map(|it| Trial { valid: false, reason: Some("disturbed".into()), ..it });
    all.iter_mut().filter(|trial| trial.block == 4).for_each(|trial| trial.attempt = 1);
    let place = all.iter().position(first).expect("a block");
    all.splice(place..place, again.collect::<Vec<_>>());
    let document = document(&all);
    let beta = beta(&document);
    assert_eq!((beta.blocks, beta.verdict), (5, Verdict::Slower));
    let all = beta.with_set_aside.expect("all pairs");
    assert_eq!(all.pairs, 6);
    let added = all.ratio_of_added(beta).expect("a pair");
    assert!((added - 1.2).abs() < 0.01, "{added}");
    assert!(all.is_outside(beta), "{all:?} {beta:?}");
    let aside = told(&document, WarningKind::SetAside);
    assert_has(&aside, &["they had a ratio of 1.20 in ", "is told"]);
    assert_has(&told(&document, WarningKind::SetAsideDecides), &["with all 6 pairs"]);
}
