//! Draws all images of a history and tells them apart without writing any.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use bakeoff_devices::plug::{ImageFingerprint, Keep, Metadata, Recorded, Walk};
use bakeoff_experiment::random::SplitMix64;

use super::SEEDS;
use crate::TrialError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DistinctImage {
    pub moment: usize,
    pub keep: Keep,
    pub seed: u64,
    /// A bit for each rule that drew it.
    pub rules: u8,
}

pub struct ImageSurvey {
    pub drawn: u64,
    pub different: Vec<DistinctImage>,
}

const ROUNDS: u64 = 16;
/// A pass that finds less than one new image in this many known ones is the last.
const FEW: usize = 50;

/// Draws images of all moments from [`SEEDS`] seeds each, and from more seeds until enough differ
/// or hardly any new one comes. After each moment, `tell` gets the counts of drawn and of different
/// images.
pub fn survey_images(
    history: &Recorded,
    metadata: Metadata,
    (rules, enough): (&[Keep], usize),
    seed: u64,
    mut tell: impl FnMut(u64, usize) -> Result<(), TrialError>,
) -> Result<ImageSurvey, TrialError> {
    let (mut known, mut drawn) = (HashMap::<ImageFingerprint, DistinctImage>::new(), 0);
    for round in 0..ROUNDS {
        let before = known.len();
        let numbers = round * SEEDS..(round + 1) * SEEDS;
        let mut walk = Walk::new(history, metadata);
        loop {
            drawn += draw_images(&walk, rules, (seed, numbers.clone()), &mut known)?;
            tell(drawn, known.len())?;
            if !walk.step() {
                break;
            }
        }
        if known.len() >= enough || known.len() - before <= known.len() / FEW {
            break;
        }
    }
    let mut different: Vec<DistinctImage> = known.into_values().collect();
    different.sort_unstable_by_key(|it| (it.moment, it.keep as u8, it.seed));
    Ok(ImageSurvey { drawn, different })
}

fn draw_images(
    walk: &Walk<'_>,
    rules: &[Keep],
    (seed, numbers): (u64, Range<u64>),
    known: &mut HashMap<ImageFingerprint, DistinctImage>,
) -> Result<u64, TrialError> {
    let damaged = |error| TrialError::place_error("the recorded history", error);
    let (moment, mut drawn) = (walk.moment(), 0);
    for (place, keep) in rules.iter().enumerate() {
        // This rule leaves nothing to a seed.
        let is_one = *keep == Keep::DropAll;
        for number in numbers.clone().filter(|number| !is_one || *number == 0) {
            let seed = SplitMix64::from_words(&[seed, moment as u64, *keep as u64, number]).next();
            let image = walk.image(*keep, seed).map_err(damaged)?;
            let identity = walk.fingerprint(&image).map_err(damaged)?;
            drawn += 1;
            let this = DistinctImage { moment, keep: *keep, seed, rules: 1 << place };
            match known.entry(identity) {
                Entry::Vacant(free) => drop(free.insert(this)),
                Entry::Occupied(mut known) => {
                    let known = known.get_mut();
                    let rules = known.rules | this.rules;
                    // Clients had been promised more at a later moment.
                    *known = if moment >= known.moment { this } else { *known };
                    known.rules = rules;
                }
            }
        }
    }
    Ok(drawn)
}

pub fn pick_evenly(all: Vec<DistinctImage>, most: usize) -> Vec<DistinctImage> {
    let count = all.len();
    match count > most {
        true => (0..most).map(|number| all[number * count / most]).collect(),
        false => all,
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use bakeoff_devices::plug::{
        Before, Contents, EntryPlace, FileAttributes, Ino, NodeKind, Pending,
    };

    use super::*;

    /// A file of a byte.
    struct Only(u8);

    impl Contents for Only {
        fn read(&self, _: Ino, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
            let length = usize::from(offset == 0).min(buffer.len());
            buffer[..length].fill(self.0);
            Ok(length)
        }

        fn size(&self, _: Ino) -> std::io::Result<u64> {
            Ok(1)
        }
    }

    /// Images of a history in which a file's byte goes from 0 to 1, 2, 1 and 3, each synced but the last.
    fn survey(rules: &[Keep], enough: usize) -> ImageSurvey {
        let attributes = FileAttributes { mode: 0o755, uid: 0, gid: 0 };
        let mut pending = Pending::new(1, attributes, Metadata::Ordered);
        pending.adopt(EntryPlace { dir: 1, name: OsStr::new("a") }, 2, NodeKind::File, attributes);
        pending.record_by(|| 5);
        for (before, value) in [(0, 1), (1, 2), (2, 1), (1, 3)] {
            pending.write(2, 0, 1, 1, Before::Bytes(&[before]));
            if value < 3 {
                let mark = pending.current_mark();
                pending.sync_file(2, mark);
            }
        }
        let history = pending.history().unwrap();
        let recorded = history.to_recorded(history.current_moment(), 9, &Only(3)).unwrap().unwrap();
        survey_images(&recorded, Metadata::Ordered, (rules, enough), 1, |_, _| Ok(())).unwrap()
    }

    #[test]
    fn images_alike_are_one_which_belongs_to_its_latest_moment() {
        let ImageSurvey { drawn, different } = survey(&[Keep::DropAll], 1);
        assert_eq!(drawn, 8, "one of each moment");
        let moments: Vec<usize> = different.iter().map(|it| it.moment).collect();
        // What held 0 until the first sync, 2 until the third, and 1, twice, to the end.
        assert_eq!(moments, [1, 5, 7]);
        let both = survey(&[Keep::DropAll, Keep::Prefix], 1);
        assert_eq!(both.drawn, 8 * (1 + SEEDS));
        let latest = both.different.iter().find(|it| it.moment == 7 && it.rules == 3);
        assert!(latest.is_some(), "both rules leave 1: {:?}", both.different);
        assert!(both.different.iter().any(|it| it.rules == 2), "only a prefix leaves 3");
        let torn = || survey(&[Keep::Torn], 1).different;
        assert_eq!(torn(), torn(), "one seed");
    }

    #[test]
    fn more_is_drawn_until_enough_differ_or_hardly_another_does() {
        let [some, most] = [1, usize::MAX].map(|enough| survey(&[Keep::Subset], enough));
        assert_eq!(some.drawn, 8 * SEEDS, "one round is enough for one image");
        // The second round finds nothing new: each byte of each moment was drawn in the first.
        assert_eq!(most.drawn, 2 * 8 * SEEDS);
        assert_eq!(most.different.len(), some.different.len());
        let latest = |survey: &ImageSurvey| survey.different.iter().map(|it| it.moment).max();
        assert_eq!(latest(&most), latest(&some), "what is drawn again belongs where it did");
        // What is too much is taken evenly.
        let drawn = |moment| DistinctImage { moment, keep: Keep::Torn, seed: 1, rules: 1 };
        let all: Vec<DistinctImage> = (0..1000).map(drawn).collect();
        let some: Vec<usize> = pick_evenly(all.clone(), 10).iter().map(|it| it.moment).collect();
        assert_eq!(some, [0, 100, 200, 300, 400, 500, 600, 700, 800, 900]);
        assert_eq!(pick_evenly(all.clone(), 1000), all);
    }
}
