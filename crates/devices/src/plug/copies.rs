//! The two copies of what lies on an array. A write that was in flight when the power went may be in one of
//! them alone, and either may be read afterwards: an image has the one that lost the write.
//!
//! Each disk of an array goes on by itself: by the rule *prefix* each has all up to some moment of its own.
//! What has no place on the array yet is on no disk of it: it is kept or lost as on a single disk. What a sync
//! covered is in both copies.

use std::collections::HashMap;
use std::ops::Range;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};

use super::data::{Edit, EditKind, Fate};
use super::{Ino, Keep};
use crate::device::raid::Mirrors;
use crate::ext4::Extent;

/// Tells what is drawn of copies from what is drawn else of an image.
const OF_COPIES: u64 = 0x6d69_7272_6f72_7331;

/// Where the bytes of files lie on an array.
#[derive(Clone, Debug)]
pub struct MirrorCopies {
    mirrors: Mirrors,
    /// Of each file in the order of its bytes.
    extents: HashMap<Ino, Vec<Extent>>,
}

impl MirrorCopies {
    /// Of files that lie there on an array.
    pub fn new(mirrors: Mirrors, extents: HashMap<Ino, Vec<Extent>>) -> Self {
        Self { mirrors, extents }
    }

    /// The stretches of a range of a file that lie on the same disks, each with those that it may be read
    /// from; with none where it has no place yet.
    fn stretches(&self, ino: Ino, range: Range<u64>) -> Vec<(Range<u64>, Vec<usize>)> {
        let extents = self.extents.get(&ino).map_or(&[][..], Vec::as_slice);
        let mut stretches = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let behind = extents.partition_point(|extent| extent.offset + extent.length <= at);
            let (end, disks) = match extents.get(behind) {
                Some(extent) if extent.offset <= at => {
                    let place = extent.place + (at - extent.offset);
                    let of_chunk = self.mirrors.chunk() - place % self.mirrors.chunk();
                    let end = (at + of_chunk).min(extent.offset + extent.length);
                    (end, self.mirrors.read_from(place))
                }
                Some(extent) => (extent.offset, Vec::new()),
                None => (range.end, Vec::new()),
            };
            let end = end.min(range.end);
            stretches.push((at..end, disks));
            at = end;
        }
        stretches
    }

    /// Draws what the copies have of so many changes, by a rule.
    pub(super) fn worse(&self, keep: Keep, seed: u64, changes: u64) -> Worse<'_> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ OF_COPIES);
        let share = random.random();
        let lasts = (0..self.mirrors.disks())
            .map(|_| if random.random() { changes } else { random.random_range(0..=changes) })
            .collect();
        Worse { copies: self, keep, random, share, lasts }
    }
}

/// What the worse copies have.
pub(super) struct Worse<'a> {
    copies: &'a MirrorCopies,
    keep: Keep,
    random: Xoshiro256PlusPlus,
    /// The probability that both copies have what one has, where writes come in any order.
    share: f64,
    /// How many changes each disk has, where they come in order.
    lasts: Vec<u64>,
}

impl Worse<'_> {
    /// What is left of the change of that number of a file, of which one copy would have left this.
    pub fn worsen_fate(&mut self, number: u64, (ino, edit): (Ino, &Edit), fate: Fate) -> Fate {
        let kept = match &fate {
            Fate::Kept if edit.shape == EditKind::Write => vec![edit.sectors()],
            Fate::Torn(kept) => kept.clone(),
            Fate::Kept | Fate::Dropped | Fate::Stale => return fate,
        };
        let mut left: Vec<Range<u64>> = Vec::new();
        let (mut lost, copies) = (false, self.copies);
        for range in kept {
            for (part, disks) in copies.stretches(ino, range) {
                if !self.have(number, &disks) {
                    lost = true;
                    continue;
                }
                match left.last_mut() {
                    Some(last) if last.end == part.start => last.end = part.end,
                    _ => left.push(part),
                }
            }
        }
        match (lost, left.is_empty()) {
            (false, _) => fate,
            (true, true) => Fate::Dropped,
            (true, false) => Fate::Torn(left),
        }
    }

    /// Whether all of these disks have a change that one of them has.
    fn have(&mut self, number: u64, disks: &[usize]) -> bool {
        if disks.len() < 2 {
            return true;
        }
        match self.keep {
            Keep::DropAll => false,
            Keep::Prefix => disks.iter().all(|disk| number < self.lasts[*disk]),
            Keep::Subset | Keep::Torn => self.random.random_bool(self.share),
        }
    }
}
