//! Comparisons whose pairs come from several images of the data.

use bakeoff_analysis::{Comparison, Document, Verdict};
use bakeoff_results::measure::IMAGE;
use bakeoff_results::{Scope, Trial};

use crate::known::{blocks_that_take, compared, document, set};

/// A little noise of each trial, never the same for two levels. Of three images, the two trials of each
/// are as far above their mean as below it.
fn ripple(block: u32, level: &str) -> f64 {
    let size =
        f64::from(1 + block % 3) * (level.len() as f64 + f64::from(level.as_bytes()[0]) / 64.0);
    1.0 + if block < 3 { size } else { -size } / 4_000.0
}

/// Six blocks; an image is the more favourable to `beta` the higher its number, by `step` each.
fn trials(images: u32, step: f64) -> Vec<Trial> {
    let takes = |block: u32, level: &str| {
        let favour = if level == "beta" { step * f64::from(block % images) } else { 0.0 };
        10.0 * ripple(block, level) * (1.0 - favour)
    };
    blocks_that_take(6, takes)
}

fn on_images(images: u32, mut trials: Vec<Trial>) -> Document {
    for trial in &mut trials {
        let image = f64::from(1 + trial.block % images);
        set(trial, &IMAGE, Scope::Trial, image);
    }
    document(&trials)
}

fn ends(it: &Comparison) -> (f64, f64) {
    (it.low.expect("it has pairs"), it.high.expect("it has pairs"))
}

#[test]
fn images_that_differ_count_instead_of_their_trials() {
    let by_pairs = document(&trials(3, 0.05));
    let by_images = on_images(3, trials(3, 0.05));
    let [pairs, images] = [&by_pairs, &by_images].map(|it| compared(it, "alpha", "beta"));
    assert_eq!(pairs.images, None);
    let view = images.images.expect("three images");
    assert_eq!((view.images, view.counts_images), (3, true));
    // Ratios of 1, 0.95 and 0.9, each with noise far below 1 %.
    assert!((0.04..0.07).contains(&view.between_images), "{view:?}");
    assert!((0.0002..0.01).contains(&view.between_trials), "{view:?}");
    assert_eq!(images.blocks, 6);
    // Two degrees of freedom of three images, and at most twice as many that are borrowed.
    assert!(images.freedom.unwrap() <= 6.0 && images.borrows_variance(), "{:?}", images.freedom);
    let ((low, high), (lower, higher)) = (ends(pairs), ends(images));
    assert!(lower < low && high < higher, "{lower} {low} {high} {higher}");
    assert!((pairs.ratio.unwrap() / images.ratio.unwrap() - 1.0).abs() < 1e-9);
    // Of levels whose images are alike the pairs count: their intervals are not wider for it.
    let alike = compared(&by_images, "alpha", "gamma");
    assert!(!alike.images.expect("three images").counts_images);
    assert_eq!(alike.verdict, Verdict::Same);
}

#[test]
fn images_that_are_alike_change_no_interval() {
    let [one, three] = [document(&trials(3, 0.0)), on_images(3, trials(3, 0.0))];
    for level in ["beta", "gamma"] {
        let [one, three] = [&one, &three].map(|it| compared(it, "alpha", level));
        let view = three.images.expect("three images");
        assert!(!view.counts_images, "{view:?}");
        assert_eq!(Comparison { images: None, ..three.clone() }, *one);
    }
}

#[test]
fn images_with_one_block_each_are_pairs() {
    let [one, six] = [document(&trials(6, 0.02)), on_images(6, trials(6, 0.02))];
    assert_eq!(six.comparisons, one.comparisons);
    let all = six.comparisons.iter().chain(&six.between).chain(&six.noise);
    assert!(all.clone().count() > 0 && all.into_iter().all(|it| it.images.is_none()));
}
