//! The two copies on an array. A write in flight at the power cut may be in one copy alone, and
//! either may be read afterwards: an image has the copy that lost the write.
//!
//! Each disk goes on by itself: by the rule *prefix* each has all up to some moment of its own.
//! Data without a place on the array are kept or lost as on a single disk. What a sync covered is
//! in both copies.

use std::collections::HashMap;
use std::ops::Range;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};

use super::edits::{Edit, EditKind, Fate};
use super::{Ino, Keep};
use crate::device::raid::Mirrors;
use crate::ext4::Extent;

const OF_COPIES: u64 = 0x6d69_7272_6f72_7331;

#[derive(Clone, Debug)]
pub struct MirrorCopies {
    mirrors: Mirrors,
    extents: HashMap<Ino, Vec<Extent>>,
}

impl MirrorCopies {
    pub fn new(mirrors: Mirrors, extents: HashMap<Ino, Vec<Extent>>) -> Self {
        Self { mirrors, extents }
    }

    /// The stretches of a range that lie on the same disks, each with the disks it may be read
    /// from; none without a place.
    fn split_by_disks(&self, ino: Ino, range: Range<u64>) -> Vec<(Range<u64>, Vec<usize>)> {
        let extents = self.extents.get(&ino).map_or(&[][..], Vec::as_slice);
        let mut stretches = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let behind = extents.partition_point(|extent| extent.offset + extent.length <= at);
            let (end, disks) = match extents.get(behind) {
                Some(extent) if extent.offset <= at => {
                    let place = extent.place + (at - extent.offset);
                    let of_chunk = self.mirrors.chunk_bytes() - place % self.mirrors.chunk_bytes();
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

    pub(super) fn draw_worse(&self, keep: Keep, seed: u64, changes: u64) -> Worse<'_> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ OF_COPIES);
        let share = random.random();
        let lasts = (0..self.mirrors.disk_count())
            .map(|_| if random.random() { changes } else { random.random_range(0..=changes) })
            .collect();
        Worse { copies: self, keep, random, share, lasts }
    }
}

pub(super) struct Worse<'a> {
    copies: &'a MirrorCopies,
    keep: Keep,
    random: Xoshiro256PlusPlus,
    /// For writes in any order: the probability that both copies have what one has.
    share: f64,
    /// For writes in order: how many changes each disk has.
    lasts: Vec<u64>,
}

impl Worse<'_> {
    pub fn worsen_fate(&mut self, number: u64, (ino, edit): (Ino, &Edit), fate: Fate) -> Fate {
        let kept = match &fate {
            Fate::Kept if edit.shape == EditKind::Write => vec![edit.showing_sectors()],
            Fate::Torn(kept) => kept.clone(),
            Fate::Kept | Fate::Dropped | Fate::Stale => return fate,
        };
        let mut left: Vec<Range<u64>> = Vec::new();
        let (mut lost, copies) = (false, self.copies);
        for range in kept {
            for (part, disks) in copies.split_by_disks(ino, range) {
                if !self.all_have(number, &disks) {
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

    fn all_have(&mut self, number: u64, disks: &[usize]) -> bool {
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
