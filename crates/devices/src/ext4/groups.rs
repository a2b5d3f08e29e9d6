//! The groups that the device is cut into, like ext4's groups of 128 MiB that each keep their own
//! metadata.
//!
//! With the journal near the data, each group begins with a piece of it; else the journal lies
//! between two groups ([`super::layout`]). A group is a sixteenth to a thirty-second of what lies
//! before it, within 512 KiB and 8 MiB. Small data stand for large data and are spread over as much
//! of a disk, so that near things must be near in proportion.

use super::parameters::JournalPlace;

pub const BLOCK: u64 = 4096;

const GROUPS: (u64, u64) = ((512 << 10) / BLOCK, (8 << 20) / BLOCK);

/// How many groups of a size could lie before the first one of that size.
const BEFORE: u64 = 16;

const LEAST_JOURNAL: u64 = (64 << 10) / BLOCK;

const JOURNAL_SHARE: u64 = 64;

pub fn group_of(block: u64) -> BlockRun {
    let length = (block / BEFORE).max(1).ilog2();
    let length = (1 << length).clamp(GROUPS.0, GROUPS.1);
    BlockRun { place: block - block % length, length }
}

pub fn journal_near(block: u64) -> BlockRun {
    let BlockRun { place, length } = group_of(block);
    BlockRun { place, length: (length / JOURNAL_SHARE).max(LEAST_JOURNAL) }
}

pub fn data_near(block: u64, journal: JournalPlace) -> BlockRun {
    let BlockRun { place, length } = group_of(block);
    let taken = match journal {
        JournalPlace::Middle => 0,
        JournalPlace::Near => journal_near(block).length,
    };
    BlockRun { place: place + taken, length: length - taken }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRun {
    pub place: u64,
    pub length: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
