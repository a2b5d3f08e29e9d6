//! A walk through a history that was kept, against the same moments looked up one by one.

use std::collections::BTreeMap;

use bakeoff_devices::plug::{
    Contents, CrashImage, HistoryMoment, ImageFingerprint, Keep, Metadata, PendingState, Recorded,
    Walk,
};
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::commands::{Command, commands};
use crate::driver::Driver;
use crate::model::Picture;
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
    let recorded = history.recorded(history.now(), 7, &driver.store).unwrap().unwrap();
    let text = serde_json::to_string(&recorded).unwrap();
    let again: Recorded = serde_json::from_str(&text).unwrap();
    again.with_bytes(recorded.bytes().to_vec()).unwrap()
}

fn told(commands: &[Command], metadata: Metadata) -> Driver {
    let mut driver = Driver::new(metadata, None);
    driver.pending.record_by(|| 3);
    commands.iter().for_each(|command| driver.run(command));
    driver
}

fn same(commands: &[Command], recorded_as: Metadata) -> Result<(), String> {
    let driver = told(commands, recorded_as);
    let (history, recorded) = (driver.pending.history().unwrap(), kept(&driver));
    let mut known: BTreeMap<ImageFingerprint, Shown> = BTreeMap::new();
    for metadata in Metadata::ALL {
        let mut walk = Walk::new(&recorded, metadata);
        let moments: Vec<HistoryMoment> = history.moments().collect();
        for (number, moment) in moments.iter().enumerate() {
            assert_eq!(walk.moment(), number);
            let state = history.pending(*moment, metadata).unwrap();
            let earlier = history.earlier(*moment, &driver.store);
            let looked_up = pictures(&state, &earlier)?;
            let walked = pictures(walk.state(), &walk)?;
            if looked_up != walked {
                return Err(format!("{metadata}, moment {number}: {looked_up:?} {walked:?}"));
            }
            for ((keep, seed), picture) in choices().zip(walked) {
                let image = walk.image(keep, seed).unwrap();
                let identity = walk.identity(&image).map_err(|error| error.to_string())?;
                let shown = shown(picture, &image);
                let first = known.entry(identity).or_insert_with(|| shown.clone());
                if *first != shown {
                    return Err(format!("one identity of {first:?} and of {shown:?}"));
                }
            }
            let time = if number + 1 == moments.len() { 7 } else { 3 };
            assert_eq!((walk.step(), recorded.time(number)), (time == 3, time));
        }
    }
    let different: std::collections::BTreeSet<&Shown> = known.values().collect();
    if different.len() < known.len() {
        return Err(format!("{} identities of {} images", known.len(), different.len()));
    }
    Ok(())
}

#[test]
fn every_moment_of_a_walk_is_the_one_that_is_looked_up_and_images_alike_have_one_identity() {
    let cases = crate::cases() / 4;
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    for metadata in Metadata::ALL {
        let result = TestRunner::new(config.clone())
            .run(&commands(), |history| same(&history, metadata).map_err(TestCaseError::fail));
        result.unwrap_or_else(|error| panic!("{metadata}: {error}"));
    }
}

#[test]
fn a_history_is_kept_up_to_a_moment_and_a_damaged_one_is_refused() {
    let write = |offset| Command::Write { file: 0, offset, length: 100 };
    let commands = [write(0), write(50), Command::SyncFile { file: 0, late: false }, write(9000)];
    let driver = told(&commands, Metadata::Ordered);
    let history = driver.pending.history().unwrap();
    let third = history.moments().nth(3).unwrap();
    let recorded = history.recorded(third, 9, &driver.store).unwrap().unwrap();
    assert_eq!((recorded.events(), recorded.counts(), recorded.time(3)), (3, [2, 1, 0], 9));
    let mut walk = Walk::new(&recorded, Metadata::Posix);
    assert!(walk.go_to(2) && walk.coming() == "inside a sync of a", "{}", walk.coming());
    assert!(!walk.go_to(1), "it goes on alone");
    assert!(!walk.go_to(4) && walk.coming() == "the end");
    let a = walk.image(Keep::DropAll, 0).unwrap();
    let file = driver.at("/a").2;
    let content = a.item(file).unwrap().content.as_ref().unwrap();
    assert_eq!(content.size(), 5000, "what was written later is not there");
    let cut = recorded.clone().with_bytes(recorded.bytes()[1..].to_vec());
    assert!(cut.unwrap_err().to_string().contains("cut short"));
    let mut later = told(&[write(0)], Metadata::Ordered);
    later.pending.record();
    let history = later.pending.history().unwrap();
    assert!(history.recorded(history.now(), 0, &later.store).unwrap().is_none());
}
