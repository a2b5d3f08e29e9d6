//! Images of earlier moments: made from what was remembered since, and by a walk through a history
//! that was kept, against those that were made at the moments themselves.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_devices::plug::{
    Contents, CrashImage, HistoryMoment, ImageFingerprint, Keep, Metadata, PendingState, Recorded,
    Walk,
};
use proptest::test_runner::{TestCaseError, TestRunner};

use crate::commands::{Command, commands};
use crate::driver::Driver;
use crate::model::{Fate, Picture};
use crate::seen::picture;

/// What is seen of an image by whoever does not know the numbers of files: of each name, the first
/// name of the same thing, what kind of thing it is, its mode and its bytes.
type Shown = BTreeMap<String, (String, String, u32, Option<Vec<u8>>)>;

fn shown(picture: Picture, image: &CrashImage<'_>) -> Shown {
    let mut first = BTreeMap::new();
    for (path, (ino, ..)) in &picture {
        first.entry(*ino).or_insert_with(|| path.clone());
    }
    let kind = |ino| format!("{:?}", image.item(ino).unwrap().kind);
    let each = picture.into_iter();
    each.map(|(path, (ino, mode, bytes))| (path, (first[&ino].clone(), kind(ino), mode, bytes)))
        .collect()
}

fn pictures(state: &PendingState, contents: &dyn Contents) -> Result<Vec<Picture>, String> {
    let each = |(keep, seed)| {
        let image = state.image(keep, seed, contents).map_err(|error| error.to_string())?;
        picture(&image, contents)
    };
    choices().map(each).collect()
}

fn choices() -> impl Iterator<Item = (Keep, u64)> {
    Keep::ALL.into_iter().flat_map(|keep| [(keep, 0), (keep, 1)])
}

/// What was kept of a history, written and read again.
fn kept(driver: &Driver) -> Recorded {
    let history = driver.pending.history().unwrap();
    let recorded =
        history.to_recorded(history.current_moment(), 7, &driver.store).unwrap().unwrap();
    let text = serde_json::to_string(&recorded).unwrap();
    let again: Recorded = serde_json::from_str(&text).unwrap();
    again.with_bytes(recorded.bytes().to_vec()).unwrap()
}

/// A history that is recorded, and after each command the moment with the images that its twins
/// have of it.
struct Told {
    driver: Driver,
    seen: Vec<(HistoryMoment, [Vec<Picture>; 2])>,
}

impl Told {
    /// Records from the command `first` on; what was pending then is settled, or not.
    fn new(commands: &[Command], metadata: Metadata, first: usize, settles: bool) -> Self {
        let mut driver = Driver::with_twins(metadata);
        let (before, recorded) = commands.split_at(first);
        before.iter().for_each(|command| driver.run(command));
        if settles {
            driver.settle();
        }
        driver.pending.record_by(|| 3);
        let mut told = Self { driver, seen: Vec::new() };
        told.see();
        for command in recorded {
            told.driver.run(command);
            told.see();
        }
        told
    }

    fn see(&mut self) {
        let moment = self.driver.pending.history().unwrap().current_moment();
        let of = |twin: usize| {
            pictures(self.driver.twins[twin].state(), &self.driver.store).expect("images")
        };
        self.seen.push((moment, [of(0), of(1)]));
    }

    /// What is looked up of a moment by one kind of metadata, if it is known.
    fn look_up(&self, moment: HistoryMoment, metadata: Metadata) -> Option<Vec<Picture>> {
        let history = self.driver.pending.history().unwrap();
        let earlier = history.contents_at(moment, &self.driver.store);
        Some(pictures(&history.pending_at(moment, metadata)?, &earlier).expect("images"))
    }
}

fn run_all(test: impl Fn(&[Command], Metadata) -> Result<(), String>) {
    for metadata in Metadata::ALL {
        let result = TestRunner::new(crate::config(crate::cases() / 4))
            .run(&commands(60), |it| test(&it, metadata).map_err(TestCaseError::fail));
        result.unwrap_or_else(|error| panic!("{metadata}: {error}"));
    }
}

#[test]
fn an_earlier_moment_is_seen_as_it_was() {
    run_all(|commands, recorded_as| {
        let later = commands.len() / 3;
        for (first, settles) in [(0, false), (later, false), (later, true)] {
            let told = Told::new(commands, recorded_as, first, settles);
            let mut acts = told.driver.history.acts.iter();
            let is_clean = first == 0 || settles && acts.all(|(_, fate)| *fate != Fate::Lost);
            for (number, metadata) in Metadata::ALL.into_iter().enumerate() {
                for (step, (moment, images)) in told.seen.iter().enumerate() {
                    let again = told.look_up(*moment, metadata);
                    // What was pending at the start may be durable by the other kind.
                    let is_unknown = again.is_none() && metadata != recorded_as && !is_clean;
                    if !is_unknown && again.as_ref() != Some(&images[number]) {
                        return Err(format!("{metadata}, from {first}, step {step}"));
                    }
                }
            }
        }
        Ok(())
    });
}

#[test]
fn a_walk_shows_every_moment_and_images_alike_have_one_identity() {
    run_all(|commands, recorded_as| {
        let told = Told::new(commands, recorded_as, 0, false);
        let recorded = kept(&told.driver);
        let mut known: BTreeMap<ImageFingerprint, Shown> = BTreeMap::new();
        for metadata in Metadata::ALL {
            let mut walk = Walk::new(&recorded, metadata);
            let moments: Vec<_> = told.driver.pending.history().unwrap().moments().collect();
            for (number, moment) in moments.iter().enumerate() {
                assert_eq!(walk.moment(), number);
                let walked = pictures(walk.state(), &walk)?;
                if told.look_up(*moment, metadata).as_ref() != Some(&walked) {
                    return Err(format!("{metadata}, moment {number}: {walked:?}"));
                }
                for ((keep, seed), picture) in choices().zip(walked) {
                    let image = walk.image(keep, seed).unwrap();
                    let identity = walk.fingerprint(&image).map_err(|error| error.to_string())?;
                    let shown = shown(picture, &image);
                    let first = known.entry(identity).or_insert_with(|| shown.clone());
                    if *first != shown {
                        return Err(format!("one identity of {first:?} and of {shown:?}"));
                    }
                }
                let time = if number + 1 == moments.len() { 7 } else { 3 };
                assert_eq!((walk.step(), recorded.moment_end(number)), (time == 3, time));
            }
        }
        let different: BTreeSet<&Shown> = known.values().collect();
        if different.len() < known.len() {
            return Err(format!("{} identities of {} images", known.len(), different.len()));
        }
        Ok(())
    });
}

#[test]
fn a_history_is_kept_up_to_a_moment_and_a_damaged_one_is_refused() {
    let write = |offset| Command::Write { file: 0, offset, length: 100, direct: false };
    let commands = [write(0), write(50), Command::SyncFile { file: 0, late: false }, write(9000)];
    let driver = Told::new(&commands, Metadata::Ordered, 0, false).driver;
    let history = driver.pending.history().unwrap();
    let third = history.moments().nth(3).unwrap();
    let recorded = history.to_recorded(third, 9, &driver.store).unwrap().unwrap();
    assert_eq!(
        (recorded.event_count(), recorded.count_kinds(), recorded.moment_end(3)),
        (3, [2, 1, 0], 9)
    );
    let mut walk = Walk::new(&recorded, Metadata::Posix);
    assert!(walk.go_to(2));
    assert_eq!(walk.describe_next_event(), "inside a sync of a");
    assert!(!walk.go_to(1), "it goes on alone");
    assert!(!walk.go_to(4) && walk.describe_next_event() == "the end");
    let a = walk.image(Keep::DropAll, 0).unwrap();
    let content = a.item(driver.at("/a").2).unwrap().content.as_ref().unwrap();
    assert_eq!(content.size(), 5000, "what was written later is not there");
    let cut = recorded.clone().with_bytes(recorded.bytes()[1..].to_vec());
    assert!(cut.unwrap_err().to_string().contains("cut short"));
    let later = Told::new(&[write(0)], Metadata::Ordered, 1, false).driver;
    let history = later.pending.history().unwrap();
    assert!(history.to_recorded(history.current_moment(), 0, &later.store).unwrap().is_none());
}

#[test]
fn what_a_history_needed_is_given_back_at_its_end() {
    let mut driver = Driver::with_twins(Metadata::Ordered);
    let a = driver.at("/a");
    driver.remove(a.clone());
    driver.commit(false, true);
    assert!(driver.free.is_empty(), "an earlier moment shows it");
    assert_eq!(driver.pending.forget_history(), [a.2]);
}
