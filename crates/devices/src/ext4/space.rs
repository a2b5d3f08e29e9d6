//! The free space of the device, in blocks.
//!
//! The device is cut into groups, as ext4's is into groups of 128 MiB that each keep their own
//! metadata; each begins with a piece of the journal, the rest holds data. A group is a sixteenth
//! to a thirty-second of what lies before it, within 512 KiB and 8 MiB: small data are a model of
//! large ones and are spread over as much of a disk, so that what has to be near (the journal) must
//! be near in proportion. The device has no end: groups are opened when no free range will do.

use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a block, and of a page of the cache.
pub const BLOCK: u64 = 4096;

/// The least and the most blocks of a group: 512 KiB and 8 MiB.
const GROUPS: (u64, u64) = ((512 << 10) / BLOCK, (8 << 20) / BLOCK);

/// How many groups of a size could lie before the first one of that size.
const BEFORE: u64 = 16;

/// The least blocks of a piece of journal: 64 KiB.
const LEAST_JOURNAL: u64 = (64 << 10) / BLOCK;

/// Which part of a large group is its piece of journal.
const JOURNAL_SHARE: u64 = 64;

/// The group that holds a block.
fn group_of(block: u64) -> Run {
    let length = (block / BEFORE).max(1).ilog2();
    let length = (1 << length).clamp(GROUPS.0, GROUPS.1);
    Run { place: block - block % length, length }
}

/// The piece of journal in the group that holds `block`.
pub fn journal_near(block: u64) -> Run {
    let Run { place, length } = group_of(block);
    Run { place, length: (length / JOURNAL_SHARE).max(LEAST_JOURNAL) }
}

/// The blocks for data in the group that holds `block`.
fn data_near(block: u64) -> Run {
    let (group, journal) = (group_of(block), journal_near(block));
    Run { place: group.place + journal.length, length: group.length - journal.length }
}

/// Blocks next to each other on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first block.
    pub place: u64,
    /// How many there are.
    pub length: u64,
}

/// What is free in the groups opened so far.
#[derive(Debug, Default)]
pub struct Space {
    /// The length of each free range, by its first block.
    by_place: BTreeMap<u64, u64>,
    /// The same ranges as (length, first block).
    by_length: BTreeSet<(u64, u64)>,
    free: u64,
    /// The end of the last group opened.
    top: u64,
    /// The end of what was taken last.
    last: u64,
}

impl Space {
    /// Takes up to `want` free blocks in one run: at `goal` if it is free (without a goal: where
    /// the last ones were taken), else from the smallest free range that has enough of them. A
    /// file of which the run falls short asks again.
    ///
    /// Where no free range has enough, a group is opened; but as long as more than half of the
    /// groups is free the largest range must do, so that the span stays below twice what is in
    /// use and a group.
    pub fn take(&mut self, goal: Option<u64>, want: u64) -> Run {
        let want = want.min(data_near(self.top).length);
        let free = self
            .around(goal.unwrap_or(self.last))
            .or_else(|| self.fitting(want))
            .or_else(|| self.largest().filter(|_| 2 * self.free > self.top))
            .unwrap_or_else(|| self.open_group());
        let run = Run { place: free.place, length: want.min(free.length) };
        self.occupy(run);
        self.last = run.place + run.length;
        run
    }

    /// Gives blocks back.
    pub fn release(&mut self, run: Run) {
        let Run { mut place, mut length } = run;
        if length == 0 {
            return;
        }
        self.free += length;
        if let Some((&before, &blocks)) = self.by_place.range(..place).next_back()
            && before + blocks == place
        {
            self.forget(Run { place: before, length: blocks });
            place = before;
            length += blocks;
        }
        if let Some(&blocks) = self.by_place.get(&(place + length)) {
            self.forget(Run { place: place + length, length: blocks });
            length += blocks;
        }
        self.note(Run { place, length });
        self.close_groups();
    }

    /// The end of the last block in use.
    pub fn end(&self) -> u64 {
        match self.by_place.last_key_value() {
            Some((&place, &length)) if place + length == self.top => place,
            _ => self.top,
        }
    }

    /// The free blocks from `goal` on, if it is free.
    fn around(&self, goal: u64) -> Option<Run> {
        let (&place, &length) = self.by_place.range(..=goal).next_back()?;
        let end = place + length;
        (goal < end).then(|| Run { place: goal, length: end - goal })
    }

    fn fitting(&self, want: u64) -> Option<Run> {
        self.by_length.range((want, 0)..).next().map(|&(length, place)| Run { place, length })
    }

    fn largest(&self) -> Option<Run> {
        self.by_length.last().map(|&(length, place)| Run { place, length })
    }

    fn open_group(&mut self) -> Run {
        let run = data_near(self.top);
        self.top = run.place + run.length;
        self.free += run.length;
        self.note(run);
        run
    }

    /// Closes the last groups if nothing in them is in use.
    fn close_groups(&mut self) {
        while let Some((&place, &length)) = self.by_place.last_key_value()
            && place + length == self.top
            && data_near(place) == (Run { place, length })
        {
            self.forget(Run { place, length });
            self.free -= length;
            self.top = group_of(place).place;
        }
    }

    /// Takes a run out of the free range that holds it.
    fn occupy(&mut self, run: Run) {
        let held = self.by_place.range(..=run.place).next_back();
        let (&place, &length) = held.expect("what is taken is free");
        self.forget(Run { place, length });
        self.free -= run.length;
        let (end, run_end) = (place + length, run.place + run.length);
        for rest in [place..run.place, run_end..end] {
            if !rest.is_empty() {
                self.note(Run { place: rest.start, length: rest.end - rest.start });
            }
        }
    }

    fn note(&mut self, run: Run) {
        self.by_place.insert(run.place, run.length);
        self.by_length.insert((run.length, run.place));
    }

    fn forget(&mut self, run: Run) {
        self.by_place.remove(&run.place);
        self.by_length.remove(&(run.length, run.place));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Checks that groups are made of what is taken, what is free and their pieces of journal, each
    /// block once, and that free neighbours are one range.
    fn check(space: &Space, taken: &[Run]) -> Result<(), TestCaseError> {
        let free = space.by_place.iter().map(|(&place, &length)| (Run { place, length }, true));
        let groups = std::iter::successors(Some(0), |start| Some(start + group_of(*start).length));
        let journal = groups.take_while(|start| *start < space.top).map(journal_near);
        let used = taken.iter().copied().chain(journal).map(|run| (run, false));
        let mut runs: Vec<(Run, bool)> = free.chain(used).collect();
        runs.sort_unstable_by_key(|(run, _)| run.place);
        let (mut end, mut was_free) = (0, false);
        for (run, is_free) in runs {
            prop_assert_eq!(run.place, end);
            prop_assert!(!(is_free && was_free));
            (end, was_free) = (run.place + run.length, is_free);
        }
        prop_assert_eq!(end, space.top);
        prop_assert_eq!(space.free, space.by_place.values().sum::<u64>());
        prop_assert_eq!(space.by_length.len(), space.by_place.len());
        Ok(())
    }

    #[test]
    fn groups_follow_each_other_and_grow_with_what_lies_before_them() {
        let mut start = 0;
        while start < 64 * GROUPS.1 {
            let group = group_of(start);
            assert_eq!(group.place, start);
            assert_eq!(group_of(start + group.length - 1), group);
            let share = start / group.length;
            assert!(
                start < BEFORE * GROUPS.0
                    || (BEFORE..2 * BEFORE).contains(&share)
                    || group.length == GROUPS.1
            );
            start += group.length;
        }
    }

    proptest! {
        #[test]
        fn no_block_is_lost_or_given_twice(
            steps in prop::collection::vec(
                (any::<bool>(), any::<prop::sample::Index>(), 1u64..3000, prop::option::of(0u64..20_000)),
                1..200,
            )
        ) {
            let (mut space, mut taken, mut most) = (Space::default(), Vec::new(), 0);
            for (take, which, want, goal) in steps {
                if take || taken.is_empty() {
                    let run = space.take(goal, want);
                    prop_assert!((1..=want).contains(&run.length));
                    taken.push(run);
                } else {
                    space.release(taken.swap_remove(which.index(taken.len())));
                }
                check(&space, &taken)?;
                most = most.max(taken.iter().map(|run| run.length).sum());
                // Each group loses its piece of journal, which is at most an eighth of it.
                prop_assert!(space.top <= 2 * most + most / 3 + 2 * GROUPS.1);
            }
            taken.into_iter().for_each(|run| space.release(run));
            prop_assert_eq!((space.top, space.free, space.end()), (0, 0, 0));
        }
    }
}
