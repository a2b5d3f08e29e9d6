//! Images of the data: how often each engine is loaded, and which load a trial has.

use crate::Experiment;
use crate::level::{has_alias, without_alias};
use crate::message::{ExperimentProblem, LocatedValue};
use crate::random::SplitMix64;

pub(crate) const MOST_LOADS: u32 = 20;

/// Makes the seeds of the images differ from other seeds.
const ROWS: u64 = 8;

pub(crate) fn check_images(images: u64) -> Result<u32, ExperimentProblem> {
    match u32::try_from(images) {
        Ok(images @ 1..=MOST_LOADS) => Ok(images),
        _ => Err(ExperimentProblem::new(format!("data can't be loaded {images} times"))
            .with_help(format!("valid: 1 to {MOST_LOADS}"))),
    }
}

/// Each image needs a block of each condition. Looks of a planner that repeats are planned for
/// blocks that do not depend on each other, and one that seeks has one block of each condition.
pub(crate) fn check_blocks(
    experiment: &Experiment,
    given: Option<&LocatedValue<u32>>,
) -> Option<ExperimentProblem> {
    let given = given.filter(|given| given.value > 1)?;
    let (images, blocks) = (given.value, experiment.repetitions);
    if experiment.bounds.is_some() || experiment.limit.is_some() {
        let title = format!("the planner `{}` takes one image of the data", experiment.planner);
        let help = "leave `images` out, or let `repetitions` say how often everything is run";
        return Some(ExperimentProblem::new(title).at_place(&given.place).with_help(help));
    }
    // Without repetitions there are power cuts alone, which use the first image.
    (blocks > 0 && images > blocks).then(|| {
        let times = if blocks == 1 { "once".to_owned() } else { format!("{blocks} times") };
        ExperimentProblem::new(format!(
            "each block is run {times}, which is too seldom for {images} images"
        ))
        .at_place(&given.place)
        .with_help(format!("give `images` {blocks} at most, or `repetitions` {images} at least"))
    })
}

/// The seed of the rows of an image, from 0: the same for every engine. The first has the
/// experiment's.
pub(crate) fn seed_of_rows(seed: u64, image: u32) -> u64 {
    match image {
        0 => seed,
        // TOML and SQLite have integers up to 2^63 - 1.
        _ => SplitMix64::from_words(&[seed, ROWS, image.into()]).next() >> 1,
    }
}

/// The image of each of these levels in a block of that repetition. An alias has another one than
/// its base, so that the two differ by all that engines' figures differ by.
pub(crate) fn assign_images(images: u32, repetition: u32, levels: &[String]) -> Vec<u32> {
    let image = |(place, level): (usize, &String)| {
        let base = without_alias(level);
        let is_earlier = |other: &&String| has_alias(other) && without_alias(other) == base;
        let further = match has_alias(level) && images > 1 {
            true => 1 + levels[..place].iter().filter(is_earlier).count() as u32 % (images - 1),
            false => 0,
        };
        (repetition + further) % images
    };
    levels.iter().enumerate().map(image).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_level_has_the_image_of_its_block_and_an_alias_another() {
        let levels = ["a", "b", "a@again", "a@more"].map(str::to_owned);
        let of = |images| [0, 1, 2].map(|block| assign_images(images, block, &levels));
        assert_eq!(of(1), [[0; 4], [0; 4], [0; 4]]);
        assert_eq!(of(2), [[0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1]]);
        assert_eq!(of(3), [[0, 0, 1, 2], [1, 1, 2, 0], [2, 2, 0, 1]]);
    }

    #[test]
    fn the_first_image_has_the_seed_of_the_experiment_and_no_other_has() {
        let seeds: std::collections::BTreeSet<u64> =
            (0..20).map(|it| seed_of_rows(1, it)).collect();
        assert_eq!((seeds.len(), seed_of_rows(1, 0)), (20, 1));
        assert!(seeds.iter().all(|seed| i64::try_from(*seed).is_ok()));
        assert_ne!(seed_of_rows(1, 1), seed_of_rows(2, 1));
    }
}
