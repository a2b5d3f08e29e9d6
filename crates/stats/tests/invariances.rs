//! What must hold for any numbers.

use bakeoff_stats::family::Adjustment;
use bakeoff_stats::paired::{estimate_ratio, ratio_of_logs};
use bakeoff_stats::{
    CONFIDENCE, Decision, Estimate, MARGIN, canary, drift, quantile, steady, warmup,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn pairs() -> impl Strategy<Value = Vec<(f64, f64)>> {
    vec((1e-6..1e3, 1e-6..1e3), 1..12)
}

fn estimate(pairs: &[(f64, f64)]) -> Estimate {
    estimate_ratio(pairs, CONFIDENCE).unwrap()
}

/// All figures of an estimate, as logarithms.
fn logs(e: &Estimate) -> [Option<f64>; 4] {
    [Some(e.ratio), e.low, e.high, e.hodges_lehmann].map(|figure| figure.map(f64::ln))
}

fn assert_close(a: [Option<f64>; 4], b: [Option<f64>; 4]) {
    for (a, b) in a.into_iter().zip(b) {
        match (a, b) {
            (Some(a), Some(b)) => assert!((a - b).abs() <= 1e-9 * (1.0 + a.abs()), "{a} {b}"),
            _ => assert_eq!(a, b),
        }
    }
}

proptest! {
    #[test]
    fn swapping_the_levels_inverts_the_ratio(pairs in pairs()) {
        let swapped: Vec<_> = pairs.iter().map(|&(a, b)| (b, a)).collect();
        let [ratio, low, high, robust] = logs(&estimate(&pairs)).map(|log| log.map(|log| -log));
        assert_close([ratio, high, low, robust], logs(&estimate(&swapped)));
    }

    #[test]
    fn swapping_the_levels_swaps_the_word(pairs in vec((0.9..1.1f64, 0.9..1.1f64), 2..12)) {
        let swapped: Vec<_> = pairs.iter().map(|&(a, b)| (b, a)).collect();
        let expected = match estimate(&pairs).decide(MARGIN) {
            Decision::Faster => Decision::Slower,
            Decision::Slower => Decision::Faster,
            other => other,
        };
        prop_assert_eq!(estimate(&swapped).decide(MARGIN), expected);
    }

    #[test]
    fn what_a_block_does_to_both_its_trials_cancels(
        pairs in vec((1e-6..1e3, 1e-6..1e3, 1e-3..1e3), 1..12)
    ) {
        let plain: Vec<_> = pairs.iter().map(|&(a, b, _)| (a, b)).collect();
        let scaled: Vec<_> = pairs.iter().map(|&(a, b, scale)| (a * scale, b * scale)).collect();
        assert_close(logs(&estimate(&plain)), logs(&estimate(&scaled)));
    }

    #[test]
    fn the_order_of_the_blocks_does_not_matter(
        (pairs, shuffled) in pairs().prop_flat_map(|p| (Just(p.clone()), Just(p).prop_shuffle()))
    ) {
        assert_close(logs(&estimate(&pairs)), logs(&estimate(&shuffled)));
    }

    #[test]
    fn an_interval_holds_its_ratio_and_widens_with_confidence(pairs in pairs()) {
        let (at_95, at_99) = (estimate(&pairs), estimate_ratio(&pairs, 0.99).unwrap());
        if let (Some(low), Some(high)) = (at_95.low, at_95.high) {
            prop_assert!(low <= at_95.ratio && at_95.ratio <= high);
            prop_assert!(at_99.low.unwrap() <= low && high <= at_99.high.unwrap());
        }
    }

    #[test]
    fn p_and_interval_agree(pairs in vec((0.5..2.0, 0.5..2.0), 2..12)) {
        let estimate = estimate(&pairs);
        let outside = estimate.low.unwrap() > 1.0 || estimate.high.unwrap() < 1.0;
        let p = estimate.p.unwrap();
        prop_assume!((p - 0.05).abs() > 1e-6);
        prop_assert_eq!(p < 0.05, outside);
    }

    #[test]
    fn nothing_panics(series in vec(any::<f64>(), 0..40), other in any::<f64>()) {
        let pairs: Vec<_> = series.iter().map(|&value| (value, other)).collect();
        for estimate in [estimate_ratio(&pairs, CONFIDENCE), ratio_of_logs(&series, other)].iter().flatten() {
            estimate.decide(MARGIN);
        }
        Adjustment::Holm.adjust_p_values(&series.iter().copied().map(Some).collect::<Vec<_>>());
        steady::fit_slope(&series).map(|slope| slope.steadiness());
        canary::is_off(&series, other);
        quantile::is_backed(7, other);
        prop_assert!(warmup::mser5(&series).is_none_or(|cut| 2 * cut <= series.len()));
        prop_assert!(drift::find_drift(&series).is_none_or(|drift| (0.0..=1.0).contains(&drift.p)));
    }

    #[test]
    fn holm_keeps_the_order_and_lies_between_nothing_and_bonferroni(p in vec(0.0..1.0f64, 1..20)) {
        let adjusted: Vec<f64> = Adjustment::Holm.adjust_p_values(&p.iter().copied().map(Some).collect::<Vec<_>>())
            .into_iter()
            .map(Option::unwrap)
            .collect();
        for (i, a) in p.iter().enumerate() {
            prop_assert!(*a <= adjusted[i] && adjusted[i] <= (a * p.len() as f64).min(1.0) + 1e-12);
            for (j, b) in p.iter().enumerate() {
                prop_assert!(a > b || adjusted[i] <= adjusted[j]);
            }
        }
    }

    #[test]
    fn a_trend_does_not_depend_on_units(series in vec(1.0..100.0f64, 4..30)) {
        let scaled: Vec<f64> = series.iter().map(|value| value * 8.0).collect();
        prop_assert_eq!(drift::mann_kendall(&series), drift::mann_kendall(&scaled));
        prop_assert_eq!(drift::find_drift(&series).unwrap().change, drift::find_drift(&scaled).unwrap().change);
        prop_assert_eq!(steady::fit_slope(&series), steady::fit_slope(&scaled));
        prop_assert_eq!(warmup::mser5(&series), warmup::mser5(&scaled));
    }
}
