//! Whether the images that a comparison's pairs come from differ by more than the trials of an
//! image: see [`bakeoff_stats::images`].

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_stats::images::{ImageVariance, are_images_alike, estimate_image_spread};
use serde::{Deserialize, Serialize};

use crate::comparison::Comparison;
use crate::verdict::ComparisonCase;

/// What all comparisons of two levels tell of their images. Spreads are standard deviations of
/// ratios, as shares.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImagesView {
    pub images: u32,
    /// Without what trials add.
    pub between_images: f64,
    pub between_trials: f64,
    /// Whether images differ by more than trials do, so that intervals are over the means of images.
    pub counts_images: bool,
}

/// The images of each pair of levels; none of levels whose pairs come from one image, or from each
/// image once: then pairs are independent anyway.
pub(crate) struct ImageFindings(BTreeMap<ComparedLevels, ImagesView>);

impl ImageFindings {
    pub fn from_family(family: &[ComparisonCase]) -> Self {
        let mut all: BTreeMap<ComparedLevels, (u32, Vec<ImageVariance>)> = BTreeMap::new();
        for case in family.iter().filter(|case| !case.is_wordless()) {
            let Some(logs) = case.sample.list_logs() else { continue };
            let Some(variance) = ImageVariance::from_logs(&logs) else { continue };
            let images = logs.iter().map(|(image, _)| image).collect::<BTreeSet<_>>().len() as u32;
            let (most, variances) = all.entry(key_of(&case.comparison)).or_default();
            *most = images.max(*most);
            variances.push(variance);
        }
        let view = |(levels, (images, all)): (_, (u32, Vec<ImageVariance>))| {
            let spread = estimate_image_spread(&all)?;
            let view = ImagesView {
                images,
                between_images: spread.between.exp_m1(),
                between_trials: spread.within.exp_m1(),
                counts_images: !are_images_alike(&all),
            };
            Some((levels, view))
        };
        Self(all.into_iter().filter_map(view).collect())
    }

    pub fn find(&self, comparison: &Comparison) -> Option<ImagesView> {
        self.0.get(&key_of(comparison)).copied()
    }
}

/// The metric, the baseline and the level: a p99 scatters more than a mean.
type ComparedLevels = (String, String, String);

fn key_of(it: &Comparison) -> ComparedLevels {
    (it.metric.clone(), it.baseline.clone(), it.level.clone())
}
