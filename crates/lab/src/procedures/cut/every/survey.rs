//! All images of a history, drawn and told apart, and none of them written.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use bakeoff_devices::plug::{ImageFingerprint, Keep, Metadata, Recorded, Walk};
use bakeoff_experiment::random::SplitMix64;

use super::SEEDS;
use crate::TrialError;

/// An image that differs from the others: how it is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DistinctImage {
    /// The latest moment that has it.
    pub moment: usize,
    pub keep: Keep,
    pub seed: u64,
    /// Which of the rules drew it, a bit each in their order.
    pub rules: u8,
}

/// What was drawn.
pub struct ImageSurvey {
    /// How many images were.
    pub drawn: u64,
    /// Those that differ, in the order of their moments.
    pub different: Vec<DistinctImage>,
}

/// How often all moments are gone through at most.
const ROUNDS: u64 = 16;
/// Where a round finds no more new images than one in so many of those that are known, there is no other.
const FEW: usize = 50;

/// Draws images of all moments, from [`SEEDS`] seeds each, and from as many again until enough of them
/// differ, or hardly another one does. `tell` is told after each moment how many were drawn, and how
/// many of them differ.
///
/// # Errors
/// The history is damaged; what `tell` says.
pub fn survey(
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
            drawn += draw(&walk, rules, (seed, numbers.clone()), &mut known)?;
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

/// Draws images of a moment by each rule, from so many seeds of each; how many.
fn draw(
    walk: &Walk<'_>,
    rules: &[Keep],
    (seed, numbers): (u64, Range<u64>),
    known: &mut HashMap<ImageFingerprint, DistinctImage>,
) -> Result<u64, TrialError> {
    let damaged = |error| TrialError::place("the recorded history", error);
    let (moment, mut drawn) = (walk.moment(), 0);
    for (place, keep) in rules.iter().enumerate() {
        // Nothing of it is left to a seed.
        let is_one = *keep == Keep::DropAll;
        for number in numbers.clone().filter(|number| !is_one || *number == 0) {
            let seed = SplitMix64::from_words(&[seed, moment as u64, *keep as u64, number]).next();
            let image = walk.image(*keep, seed).map_err(damaged)?;
            let identity = walk.identity(&image).map_err(damaged)?;
            drawn += 1;
            let this = DistinctImage { moment, keep: *keep, seed, rules: 1 << place };
            match known.entry(identity) {
                Entry::Vacant(free) => drop(free.insert(this)),
                Entry::Occupied(mut known) => {
                    let known = known.get_mut();
                    let rules = known.rules | this.rules;
                    // The clients had been promised more at a later moment.
                    *known = if moment >= known.moment { this } else { *known };
                    known.rules = rules;
                }
            }
        }
    }
    Ok(drawn)
}

/// So many of all at most, evenly among them.
pub fn evenly(all: Vec<DistinctImage>, most: usize) -> Vec<DistinctImage> {
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

    /// A file of these bytes.
    struct Only(Vec<u8>);

    impl Contents for Only {
        fn read(&self, _: Ino, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
            let rest = self.0.get(offset as usize..).unwrap_or_default();
            let length = rest.len().min(buffer.len());
            buffer[..length].copy_from_slice(&rest[..length]);
            Ok(length)
        }

        fn size(&self, _: Ino) -> std::io::Result<u64> {
            Ok(self.0.len() as u64)
        }
    }

    /// A file in which a byte goes from 0 to 1, 2, 1 and 3, each synced but the last.
    fn history() -> Recorded {
        let attributes = FileAttributes { mode: 0o755, uid: 0, gid: 0 };
        let mut pending = Pending::new(1, attributes, Metadata::Ordered);
        pending.adopt(EntryPlace { dir: 1, name: OsStr::new("a") }, 2, NodeKind::File, attributes);
        pending.record_by(|| 5);
        let mut bytes = vec![0];
        for value in [1, 2, 1, 3] {
            pending.write(2, 0, 1, 1, Before::Bytes(&bytes));
            bytes = vec![value];
            if value < 3 {
                let mark = pending.mark();
                pending.sync_file(2, mark);
            }
        }
        let history = pending.history().unwrap();
        history.recorded(history.now(), 9, &Only(bytes)).unwrap().unwrap()
    }

    #[test]
    fn images_alike_are_one_which_belongs_to_its_latest_moment() {
        let of = |rules: &[Keep], enough| {
            survey(&history(), Metadata::Ordered, (rules, enough), 1, |_, _| Ok(())).unwrap()
        };
        let ImageSurvey { drawn, different } = of(&[Keep::DropAll], 1);
        assert_eq!(drawn, 8, "one of each moment");
        let moments: Vec<usize> = different.iter().map(|it| it.moment).collect();
        // What held 0 until the first sync, 2 until the third, and 1, twice, to the end.
        assert_eq!(moments, [1, 5, 7]);
        let both = of(&[Keep::DropAll, Keep::Prefix], 1);
        assert_eq!(both.drawn, 8 * (1 + SEEDS));
        let latest = both.different.iter().find(|it| it.moment == 7 && it.rules == 3);
        assert!(latest.is_some(), "both rules leave 1: {:?}", both.different);
        assert!(both.different.iter().any(|it| it.rules == 2), "only a prefix leaves 3");
        assert_eq!(of(&[Keep::Torn], 1).different, of(&[Keep::Torn], 1).different, "one seed");
    }

    #[test]
    fn more_is_drawn_until_enough_differ_or_hardly_another_does() {
        let of = |enough| {
            survey(&history(), Metadata::Ordered, (&[Keep::Subset], enough), 1, |_, _| Ok(()))
                .unwrap()
        };
        let [some, most] = [of(1), of(usize::MAX)];
        assert_eq!(some.drawn, 8 * SEEDS, "one round is enough for one image");
        // The second round finds nothing new: each byte of each moment was drawn in the first.
        assert_eq!(most.drawn, 2 * 8 * SEEDS);
        assert_eq!(most.different.len(), some.different.len());
        let latest = |survey: &ImageSurvey| survey.different.iter().map(|it| it.moment).max();
        assert_eq!(latest(&most), latest(&some), "what is drawn again belongs where it did");
    }

    #[test]
    fn what_is_too_much_is_taken_evenly() {
        let drawn = |moment| DistinctImage { moment, keep: Keep::Torn, seed: 1, rules: 1 };
        let all: Vec<DistinctImage> = (0..1000).map(drawn).collect();
        let some: Vec<usize> = evenly(all.clone(), 10).iter().map(|it| it.moment).collect();
        assert_eq!(some, [0, 100, 200, 300, 400, 500, 600, 700, 800, 900]);
        assert_eq!(evenly(all.clone(), 1000), all);
    }
}
