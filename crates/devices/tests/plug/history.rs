//! Images of earlier moments, made from what was remembered since, against those that were made at
//! the moments themselves.

use std::ffi::OsStr;

use bakeoff_devices::plug::{
    Before, ChangeMark, Contents, EntryPlace, HistoryMoment, Ino, Keep, Metadata, NodeKind,
    Pending, PendingState,
};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};

use crate::driver::{Store, attributes};
use crate::model::Picture;
use crate::seen::picture;

const ROOT: Ino = 1;
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// The same history, told to one that remembers it and to one of each kind that does not.
struct Told {
    recorded: Pending,
    plain: [Pending; 2],
    store: Store,
    /// What each of the names stands for.
    named: [Option<Ino>; NAMES.len()],
    next: Ino,
    random: Xoshiro256PlusPlus,
}

/// A moment, and all that was there then.
struct Seen {
    moment: HistoryMoment,
    images: Vec<Picture>,
}

impl Told {
    fn new(seed: u64, metadata: Metadata) -> Self {
        let pending = |metadata| Pending::new(ROOT, attributes(0o755), metadata);
        let mut told = Self {
            recorded: pending(metadata),
            plain: Metadata::ALL.map(pending),
            store: Store::default(),
            named: [None; NAMES.len()],
            next: ROOT,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        };
        for at in 0..2 {
            let ino = told.fresh();
            told.named[at] = Some(ino);
            told.store.0.insert(ino, vec![at as u8; 1500]);
            let adopt = |pending: &mut Pending| {
                pending.adopt(place(at), ino, NodeKind::File, attributes(0o644));
            };
            adopt(&mut told.recorded);
            told.plain.iter_mut().for_each(adopt);
        }
        told.recorded.record();
        told
    }

    fn fresh(&mut self) -> Ino {
        self.next += 1;
        self.next
    }

    fn tell(&mut self, tell: impl Fn(&mut Pending)) {
        tell(&mut self.recorded);
        self.plain.iter_mut().for_each(tell);
    }

    fn below(&mut self, end: usize) -> usize {
        self.random.random_range(0..end)
    }

    fn step(&mut self, begun: ChangeMark) {
        let at = self.below(NAMES.len());
        let mark = if self.random.random() { self.recorded.mark() } else { begun };
        let Some(ino) = self.named[at] else {
            let ino = self.fresh();
            self.named[at] = Some(ino);
            self.store.0.insert(ino, Vec::new());
            return self.tell(|it| it.create(place(at), ino, NodeKind::File, attributes(0o600)));
        };
        match self.below(12) {
            0..4 => self.write(ino),
            4 => self.truncate(ino),
            5 => {
                self.named[at] = None;
                self.tell(|it| it.remove(place(at), ino));
            }
            6 => self.rename(at, ino),
            7 | 8 => self.tell(|it| drop(it.sync_file(ino, mark))),
            9 => self.tell(|it| drop(it.sync_dir(ROOT, mark))),
            10 => self.tell(|it| drop(it.commit_journal(mark))),
            _ => self.tell(|it| {
                it.expire(ino, mark);
                it.fail_sync(ino, mark);
            }),
        }
    }

    fn write(&mut self, ino: Ino) {
        let (offset, length) = (self.below(3000), 1 + self.below(1500));
        let value = self.below(250) as u8 + 1;
        let bytes = self.store.0.get_mut(&ino).unwrap();
        let size = bytes.len();
        let old = bytes.get(offset..size.min(offset + length)).unwrap_or_default().to_vec();
        bytes.resize(size.max(offset + length), 0);
        bytes[offset..offset + length].fill(value);
        self.tell(|it| {
            it.write(ino, offset as u64, length as u64, size as u64, Before::Bytes(&old));
        });
    }

    fn truncate(&mut self, ino: Ino) {
        let size = self.below(4000);
        let bytes = self.store.0.get_mut(&ino).unwrap();
        let (before, old) = (bytes.len(), bytes.get(size..).unwrap_or_default().to_vec());
        bytes.resize(size, 0);
        self.tell(|it| it.truncate(ino, before as u64, size as u64, Before::Bytes(&old)));
    }

    fn rename(&mut self, from: usize, ino: Ino) {
        let to = (from + 1 + self.below(NAMES.len() - 1)) % NAMES.len();
        let replaced = self.named[to].replace(ino);
        self.named[from] = None;
        self.tell(|it| it.rename(place(from), place(to), ino, replaced));
    }

    /// The images of this moment, by both kinds, all rules and some seeds.
    fn see(&self) -> Seen {
        let moment = self.recorded.history().unwrap().now();
        let images =
            self.plain.iter().flat_map(|pending| pictures(pending.state(), &self.store)).collect();
        Seen { moment, images }
    }
}

fn place(at: usize) -> EntryPlace<'static> {
    EntryPlace { dir: ROOT, name: OsStr::new(NAMES[at]) }
}

fn pictures(pending: &PendingState, contents: &dyn Contents) -> Vec<Picture> {
    let each = |keep: Keep, seed: u64| {
        picture(&pending.image(keep, seed, contents).unwrap(), contents).unwrap()
    };
    Keep::ALL.into_iter().flat_map(|keep| [each(keep, 0), each(keep, 1)]).collect()
}

#[test]
fn an_earlier_moment_is_seen_as_it_was_by_all_rules_and_both_readings() {
    for seed in 0..150 {
        let metadata = Metadata::ALL[seed as usize % 2];
        let mut told = Told::new(seed, metadata);
        let (mut seen, mut begun) = (vec![told.see()], told.recorded.mark());
        for step in 0..40 {
            told.step(begun);
            if step % 5 == 0 {
                begun = told.recorded.mark();
            }
            seen.push(told.see());
        }
        let history = told.recorded.history().unwrap();
        for (step, Seen { moment, images }) in seen.iter().enumerate() {
            let earlier = history.earlier(*moment, &told.store);
            let again = Metadata::ALL.into_iter().flat_map(|metadata| {
                pictures(&history.pending(*moment, metadata).unwrap(), &earlier)
            });
            assert!(again.eq(images.iter().cloned()), "history {seed}, step {step}");
        }
    }
}

#[test]
fn of_a_history_that_began_later_the_other_reading_is_not_known() {
    let mut told = Told::new(1, Metadata::Ordered);
    told.tell(|it| drop(it.commit_names(it.mark())));
    let begun = told.recorded.mark();
    told.step(begun);
    told.recorded.record();
    let history = told.recorded.history().unwrap();
    assert!(history.pending(history.now(), Metadata::Posix).is_none());
    assert!(history.pending(history.now(), Metadata::Ordered).is_some());
}

#[test]
fn of_a_history_that_began_when_all_was_durable_both_readings_are_known() {
    for seed in 0..60 {
        let mut told = Told::new(seed, Metadata::ALL[seed as usize % 2]);
        for _ in 0..20 {
            let begun = told.recorded.mark();
            told.step(begun);
        }
        told.recorded.settle();
        told.plain.iter_mut().for_each(|it| drop(it.settle()));
        assert_eq!(told.recorded.bytes(), 0, "something is still pending");
        told.recorded.record();
        let (mut seen, begun) = (vec![told.see()], told.recorded.mark());
        let [first, others @ ..] = &seen[0].images[..] else { panic!("no image") };
        assert!(others.iter().all(|other| other == first), "nothing is left to chance");
        for _ in 0..10 {
            told.step(begun);
            seen.push(told.see());
        }
        let history = told.recorded.history().unwrap();
        for Seen { moment, images } in &seen {
            let earlier = history.earlier(*moment, &told.store);
            let again = Metadata::ALL.into_iter().flat_map(|metadata| {
                pictures(&history.pending(*moment, metadata).unwrap(), &earlier)
            });
            assert!(again.eq(images.iter().cloned()), "history {seed}");
        }
    }
}

#[test]
fn what_is_no_longer_needed_is_given_back_at_the_end_of_the_history() {
    let mut told = Told::new(1, Metadata::Ordered);
    let ino = told.named[0].unwrap();
    told.recorded.remove(place(0), ino);
    let mark = told.recorded.mark();
    assert!(told.recorded.commit_names(mark).is_empty(), "an earlier moment shows it");
    assert_eq!(told.recorded.forget(), [ino]);
}
