//! Pairs of several loaded images: a variance between images, and one between the trials of an
//! image.
//!
//! Two loads of the same table differ in their rows and in their layout on disk, and all trials of
//! an image share what its load brought. So these trials are no independent pairs. A classical
//! analysis of variance tells both parts apart; where images differ by more than their trials, what
//! counts is the means of the images. Source: T. Kalibera and R. Jones, "Rigorous benchmarking in
//! reasonable time" (ISMM 2013), of executions and the iterations within them. The pooled test is
//! our own, and simulated (tests/simulations/images.rs).

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use crate::mean;
use crate::moderated::Variance;

/// Images count as alike where chance alone would have them differ as much in this share of runs.
/// With a smaller share, few images that differ would too often pass as alike.
pub const ALIKE: f64 = 0.25;

/// What the logarithms of one comparison's pairs tell of its images.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageVariance {
    /// The mean square between images: of a pair, as [`ImageVariance::within`].
    between: Variance,
    /// The mean square between the pairs of an image.
    within: Variance,
    /// The pairs of an image: in uneven numbers, what takes the place of their mean there.
    pairs_each: f64,
}

/// The spread of logarithms, as standard deviations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImageSpread {
    /// Of images, without what their trials add.
    pub between: f64,
    /// Of the trials of an image.
    pub within: f64,
}

impl ImageVariance {
    /// Of logarithms, each with its image. `None` with a single image, and where no image has two:
    /// its difference from others and that of its trials are then one.
    pub fn from_logs(logs: &[(u32, f64)]) -> Option<Self> {
        let images = group_by_image(logs);
        let [all, count] = [logs.len(), images.len()].map(|n| n as f64);
        if images.len() < 2 || logs.len() == images.len() {
            return None;
        }
        let center = mean(&logs.iter().map(|(_, log)| *log).collect::<Vec<_>>());
        let (mut between, mut within, mut squared_sizes) = (0.0, 0.0, 0.0);
        for own in images.values() {
            let (size, middle) = (own.len() as f64, mean(own));
            between += size * (middle - center).powi(2);
            within += own.iter().map(|log| (log - middle).powi(2)).sum::<f64>();
            squared_sizes += size * size;
        }
        let of = |squares: f64, freedom: f64| Variance { value: squares / freedom, freedom };
        Some(Self {
            between: of(between, count - 1.0),
            within: of(within, all - count),
            pairs_each: (all - squared_sizes / all) / (count - 1.0),
        })
    }

    fn squares(&self) -> f64 {
        self.between.value * self.between.freedom + self.within.value * self.within.freedom
    }

    fn freedom(&self) -> f64 {
        self.between.freedom + self.within.freedom
    }
}

/// Whether the images of these comparisons differ by no more than their trials: an F test over all
/// of them together, each scaled by its own variance, so that no noisy one hides the others. `true`
/// where there is nothing to tell it by.
pub fn are_images_alike(all: &[ImageVariance]) -> bool {
    let scaled = all.iter().filter(|it| it.squares() > 0.0).map(|it| {
        let scale = it.squares() / it.freedom();
        [it.between, it.within].map(|part| (part.value * part.freedom / scale, part.freedom))
    });
    let [between, within] = scaled.fold([(0.0, 0.0); 2], |sum, of| {
        [0, 1].map(|part| (sum[part].0 + of[part].0, sum[part].1 + of[part].1))
    });
    let Ok(fisher) = FisherSnedecor::new(between.1, within.1) else { return true };
    let [between, within] = [between, within].map(|(squares, freedom)| squares / freedom);
    within > 0.0 && fisher.sf(between / within) >= ALIKE
}

/// Of these comparisons together, by their mean squares. `None` without any.
pub fn estimate_image_spread(all: &[ImageVariance]) -> Option<ImageSpread> {
    if all.is_empty() {
        return None;
    }
    let within = mean(&all.iter().map(|it| it.within.value).collect::<Vec<_>>());
    let added = |it: &ImageVariance| (it.between.value - it.within.value) / it.pairs_each;
    let between = mean(&all.iter().map(added).collect::<Vec<_>>());
    Some(ImageSpread { between: between.max(0.0).sqrt(), within: within.sqrt() })
}

/// The mean of each image, in their order.
pub fn average_images(logs: &[(u32, f64)]) -> Vec<f64> {
    group_by_image(logs).values().map(|own| mean(own)).collect()
}

fn group_by_image(logs: &[(u32, f64)]) -> BTreeMap<u32, Vec<f64>> {
    let mut images: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (image, log) in logs {
        images.entry(*image).or_default().push(*log);
    }
    images
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
    }

    /// Means 2, 5 and 8 around 5: squares between 2 · (9 + 0 + 9) = 36 with 2 degrees of freedom, and
    /// within 2 + 2 + 2 = 6 with 3. F = 18 / 2 = 9; p = (1 + 2 · 9 / 3) ^ -1.5 = 0.054.
    #[test]
    fn an_analysis_worked_by_hand() {
        let logs = [(0, 1.0), (0, 3.0), (1, 4.0), (1, 6.0), (2, 7.0), (2, 9.0)];
        let it = ImageVariance::from_logs(&logs).unwrap();
        close(it.between.value, 18.0);
        close(it.within.value, 2.0);
        close(it.pairs_each, 2.0);
        let spread = estimate_image_spread(std::slice::from_ref(&it)).unwrap();
        close(spread.between, 8.0_f64.sqrt());
        close(spread.within, 2.0_f64.sqrt());
        assert_eq!(average_images(&logs), [2.0, 5.0, 8.0]);
        assert!(!are_images_alike(&[it]));
        assert_eq!(estimate_image_spread(&[]), None);
    }

    /// Uneven: three pairs of one image and one of another. n₀ = (4 - 10 / 4) / 1 = 1.5.
    #[test]
    fn uneven_images_count_by_their_pairs() {
        let logs = [(0, 1.0), (0, 2.0), (0, 3.0), (1, 6.0)];
        let it = ImageVariance::from_logs(&logs).unwrap();
        close(it.pairs_each, 1.5);
        close(it.between.value, 3.0 + 9.0);
        close(it.within.value, 1.0);
    }

    /// F at 25 % is 2.28 for (2, 3) degrees of freedom: Means at ±d have F = d² · 2 / 2.
    #[test]
    fn images_are_alike_up_to_the_printed_quantile() {
        let at = |d: f64| {
            let logs = [-d, 0.0, d]
                .into_iter()
                .zip(0..)
                .flat_map(|(middle, image)| [(image, middle - 1.0), (image, middle + 1.0)]);
            are_images_alike(&[ImageVariance::from_logs(&logs.collect::<Vec<_>>()).unwrap()])
        };
        assert!(at(2.27_f64.sqrt()) && !at(2.29_f64.sqrt()));
    }

    #[test]
    fn one_image_or_one_pair_of_each_tells_nothing() {
        assert_eq!(ImageVariance::from_logs(&[(0, 1.0), (0, 2.0)]), None);
        assert_eq!(ImageVariance::from_logs(&[(0, 1.0), (1, 2.0), (2, 9.0)]), None);
        assert_eq!(ImageVariance::from_logs(&[]), None);
        assert!(are_images_alike(&[]));
        // Without any spread, too.
        let none = ImageVariance::from_logs(&[(0, 1.0), (0, 1.0), (1, 1.0), (1, 1.0)]);
        assert!(are_images_alike(&[none.unwrap()]));
        // Trials without spread on images that differ.
        let sure = ImageVariance::from_logs(&[(0, 1.0), (0, 1.0), (1, 2.0), (1, 2.0)]);
        assert!(!are_images_alike(&[sure.unwrap()]));
    }
}
