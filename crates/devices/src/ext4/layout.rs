//! Places the data and the journal on the device.
//!
//! `mkfs.ext4` puts the journal into the middle of the file system. A virtual disk has no size of
//! its own, so the middle is that of the data. It moves with them as they grow, by a group at a
//! time. Data beyond it lie behind the journal.

use super::LEAST_SPAN;
use super::groups::{BLOCK, BlockRun, group_of};
use super::requests::DeviceRange;

/// (size of the file system below which this holds, bytes of the journal), after e2fsprogs 1.47,
/// `ext2fs_default_journal_size`, with blocks of 1 KiB below 512 MiB as in `mke2fs.conf`.
const SIZES: [(u64, u64); 9] = [
    (32 << 20, 1 << 20),
    (256 << 20, 4 << 20),
    (512 << 20, 8 << 20),
    (1 << 30, 16 << 20),
    (2 << 30, 32 << 20),
    (16 << 30, 64 << 20),
    (32 << 30, 128 << 20),
    (64 << 30, 256 << 20),
    (128 << 30, 512 << 20),
];
const LARGEST: u64 = 1 << 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalLayout {
    pub journal: BlockRun,
}

impl JournalLayout {
    pub fn from_end(end: u64) -> Self {
        let place = group_of(end.max(LEAST_SPAN / BLOCK) / 2).place;
        Self { journal: BlockRun { place, length: journal_bytes(2 * place * BLOCK) / BLOCK } }
    }

    /// Where a piece of the data lies on the device: in two parts if it spans the middle.
    pub fn lay_out(&self, piece: DeviceRange) -> impl Iterator<Item = DeviceRange> + use<> {
        let middle = self.journal.place * BLOCK;
        let end = piece.place + piece.length;
        let before = DeviceRange {
            place: piece.place,
            length: end.min(middle).max(piece.place) - piece.place,
        };
        let from = piece.place.max(middle);
        let behind = DeviceRange { place: from + self.bytes(), length: end.max(from) - from };
        [before, behind].into_iter().filter(|piece| piece.length > 0)
    }

    pub fn bytes(&self) -> u64 {
        self.journal.length * BLOCK
    }
}

fn journal_bytes(file_system: u64) -> u64 {
    let smaller = SIZES.iter().find(|(below, _)| file_system < *below);
    smaller.map_or(LARGEST, |(_, journal)| *journal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_is_in_the_middle_and_as_large_as_mkfs_makes_it() {
        // Bytes of data, and of the journal that `mkfs.ext4` gave a device of that size.
        let made: [(u64, u64); 10] = [
            (8 << 20, 1 << 20),
            (16 << 20, 1 << 20),
            (64 << 20, 4 << 20),
            (136 << 20, 4 << 20),
            (1100 << 20, 32 << 20),
            (3 << 30, 64 << 20),
            (18 << 30, 128 << 20),
            (35 << 30, 256 << 20),
            (69 << 30, 512 << 20),
            (600 << 30, 1 << 30),
        ];
        for (data, journal) in made {
            let layout = JournalLayout::from_end(data / BLOCK);
            assert_eq!(layout.bytes(), journal, "{data} bytes");
            let share = layout.journal.place as f64 / (data / BLOCK) as f64;
            assert!((0.46..=0.5).contains(&share), "at {share} of {data} bytes");
        }
    }

    #[test]
    fn data_lie_before_and_behind_the_journal_and_never_in_it() {
        let layout = JournalLayout::from_end((64 << 20) / BLOCK);
        let middle = layout.journal.place * BLOCK;
        let lay = |place, length| {
            let pieces = layout.lay_out(DeviceRange { place, length });
            pieces.map(|piece| (piece.place, piece.length)).collect::<Vec<_>>()
        };
        assert_eq!(lay(0, middle), [(0, middle)]);
        assert_eq!(lay(middle, 512), [(middle + layout.bytes(), 512)]);
        let across = [(middle - 512, 512), (middle + layout.bytes(), 1024)];
        assert_eq!(lay(middle - 512, 1536), across);
    }
}
