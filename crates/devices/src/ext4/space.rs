//! The free space of the device, in blocks. The device has no end: a group is opened when no free
//! range will do.

use std::collections::{BTreeMap, BTreeSet};

use crate::device::DeviceRequest;

use super::groups::{BlockRun, data_near, group_of, journal_near};
use super::layout::JournalLayout;
use super::parameters::JournalPlace;
use super::requests::DeviceRange;

#[derive(Debug, Default)]
pub struct FreeSpace {
    by_place: BTreeMap<u64, u64>,
    by_length: BTreeSet<(u64, u64)>,
    free: u64,
    top: u64,
    last: u64,
    journal: JournalPlace,
}

impl FreeSpace {
    pub fn new(journal: JournalPlace) -> Self {
        Self { journal, ..Self::default() }
    }

    pub fn nearest_journal(&self, near: u64) -> BlockRun {
        match self.journal_layout() {
            Some(layout) => layout.journal,
            None => journal_near(near.min(self.used_end().saturating_sub(1))),
        }
    }

    /// How the data lie around the journal; `None` if it lies among them in pieces.
    pub fn journal_layout(&self) -> Option<JournalLayout> {
        (self.journal == JournalPlace::Middle).then(|| JournalLayout::from_end(self.used_end()))
    }

    pub fn on_device(&self, piece: DeviceRange) -> impl Iterator<Item = DeviceRange> + use<> {
        let whole = self.journal_layout().is_none().then_some(piece);
        let parts = self.journal_layout().map(|layout| layout.lay_out(piece));
        whole.into_iter().chain(parts.into_iter().flatten())
    }

    pub fn place_requests(&self, step: Vec<DeviceRequest>) -> Vec<DeviceRequest> {
        let there = |request: DeviceRequest| {
            let piece = DeviceRange { place: request.offset, length: request.length };
            let part = move |DeviceRange { place, length }| DeviceRequest {
                offset: place,
                length,
                ..request
            };
            self.on_device(piece).map(part)
        };
        step.into_iter().flat_map(there).collect()
    }

    fn data_near(&self, block: u64) -> BlockRun {
        data_near(block, self.journal)
    }

    /// Takes up to `want` free blocks in one run: at `goal` if it is free (without a goal: after
    /// the last ones taken), else from the smallest free range that has enough. A file that gets
    /// too few asks again.
    ///
    /// If no free range has enough, a group is opened. But while more than half of the groups is
    /// free, the largest range must do: so the span stays below twice what is in use and a group.
    pub fn take_run(&mut self, goal: Option<u64>, want: u64) -> BlockRun {
        let want = want.min(self.data_near(self.top).length);
        let free = self
            .free_run_at(goal.unwrap_or(self.last))
            .or_else(|| self.find_fitting(want))
            .or_else(|| self.find_largest().filter(|_| 2 * self.free > self.top))
            .unwrap_or_else(|| self.open_group());
        let run = BlockRun { place: free.place, length: want.min(free.length) };
        self.occupy_run(run);
        self.last = run.place + run.length;
        run
    }

    pub fn release_run(&mut self, run: BlockRun) {
        let BlockRun { mut place, mut length } = run;
        if length == 0 {
            return;
        }
        self.free += length;
        if let Some((&before, &blocks)) = self.by_place.range(..place).next_back()
            && before + blocks == place
        {
            self.remove_free(BlockRun { place: before, length: blocks });
            place = before;
            length += blocks;
        }
        if let Some(&blocks) = self.by_place.get(&(place + length)) {
            self.remove_free(BlockRun { place: place + length, length: blocks });
            length += blocks;
        }
        self.add_free(BlockRun { place, length });
        self.close_groups();
    }

    pub fn used_end(&self) -> u64 {
        match self.by_place.last_key_value() {
            Some((&place, &length)) if place + length == self.top => place,
            _ => self.top,
        }
    }

    fn free_run_at(&self, goal: u64) -> Option<BlockRun> {
        let (&place, &length) = self.by_place.range(..=goal).next_back()?;
        let end = place + length;
        (goal < end).then(|| BlockRun { place: goal, length: end - goal })
    }

    fn find_fitting(&self, want: u64) -> Option<BlockRun> {
        self.by_length.range((want, 0)..).next().map(|&(length, place)| BlockRun { place, length })
    }

    fn find_largest(&self) -> Option<BlockRun> {
        self.by_length.last().map(|&(length, place)| BlockRun { place, length })
    }

    fn open_group(&mut self) -> BlockRun {
        let run = self.data_near(self.top);
        self.top = run.place + run.length;
        self.free += run.length;
        self.add_free(run);
        run
    }

    fn close_groups(&mut self) {
        while let Some((&place, &length)) = self.by_place.last_key_value()
            && place + length == self.top
            && let group = self.data_near(self.top - 1)
            && place <= group.place
        {
            self.remove_free(BlockRun { place, length });
            self.free -= group.length;
            self.top = group_of(group.place).place;
            if place < group.place {
                self.add_free(BlockRun { place, length: group.place - place });
            }
        }
    }

    fn occupy_run(&mut self, run: BlockRun) {
        let held = self.by_place.range(..=run.place).next_back();
        let (&place, &length) = held.expect("what is taken is free");
        self.remove_free(BlockRun { place, length });
        self.free -= run.length;
        let (end, run_end) = (place + length, run.place + run.length);
        for rest in [place..run.place, run_end..end] {
            if !rest.is_empty() {
                self.add_free(BlockRun { place: rest.start, length: rest.end - rest.start });
            }
        }
    }

    fn add_free(&mut self, run: BlockRun) {
        self.by_place.insert(run.place, run.length);
        self.by_length.insert((run.length, run.place));
    }

    fn remove_free(&mut self, run: BlockRun) {
        self.by_place.remove(&run.place);
        self.by_length.remove(&(run.length, run.place));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::groups::BLOCK;
    use super::*;

    const LARGEST_GROUP: u64 = (8 << 20) / BLOCK;

    /// Checks that groups are made of what is taken, what is free and their pieces of journal, each
    /// block once, and that free neighbours are one range.
    fn check(space: &FreeSpace, taken: &[BlockRun]) -> Result<(), TestCaseError> {
        let near = space.journal == JournalPlace::Near;
        let free =
            space.by_place.iter().map(|(&place, &length)| (BlockRun { place, length }, true));
        let groups = std::iter::successors(Some(0), |start| Some(start + group_of(*start).length));
        let groups = groups.take_while(|start| near && *start < space.top);
        let journal = groups.map(journal_near);
        let used = taken.iter().copied().chain(journal).map(|run| (run, false));
        let mut runs: Vec<(BlockRun, bool)> = free.chain(used).collect();
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

    proptest! {
        #[test]
        fn no_block_is_lost_or_given_twice(
            steps in prop::collection::vec(
                (any::<bool>(), any::<prop::sample::Index>(), 1u64..3000, prop::option::of(0u64..20_000)),
                1..200,
            ),
            journal in prop_oneof![Just(JournalPlace::Middle), Just(JournalPlace::Near)],
        ) {
            let (mut space, mut taken, mut most) = (FreeSpace::new(journal), Vec::new(), 0);
            for (take, which, want, goal) in steps {
                if take || taken.is_empty() {
                    let run = space.take_run(goal, want);
                    prop_assert!((1..=want).contains(&run.length));
                    taken.push(run);
                } else {
                    space.release_run(taken.swap_remove(which.index(taken.len())));
                }
                check(&space, &taken)?;
                most = most.max(taken.iter().map(|run| run.length).sum());
                // A group may lose a piece to the journal, which is at most an eighth of it.
                prop_assert!(space.top <= 2 * most + most / 3 + 2 * LARGEST_GROUP);
            }
            taken.into_iter().for_each(|run| space.release_run(run));
            prop_assert_eq!((space.top, space.free, space.used_end()), (0, 0, 0));
        }
    }
}
