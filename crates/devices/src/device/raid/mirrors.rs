//! Decides which disks of an array hold a byte, and which of these are read.

use super::{COPIES, FAILED, Health, RaidLayout, RaidParameters};

/// Where the copies of an array's bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mirrors {
    disks: u64,
    parameters: RaidParameters,
}

impl Mirrors {
    /// The mirrors of an array of this many disks.
    pub fn new(disks: u32, parameters: RaidParameters) -> Self {
        Self { disks: disks.into(), parameters }
    }

    /// How many disks there are.
    pub fn disk_count(&self) -> usize {
        self.disks as usize
    }

    /// Bytes of a chunk: they lie on the same disks.
    pub fn chunk_bytes(&self) -> u64 {
        self.parameters.chunk
    }

    pub(super) fn copy_disks(&self, place: u64) -> [usize; 2] {
        let chunk = place / self.parameters.chunk;
        let first = match self.parameters.layout {
            RaidLayout::Near => COPIES * chunk % self.disks,
            RaidLayout::Far => chunk % self.disks,
        };
        [first, (first + 1) % self.disks].map(|disk| disk as usize)
    }

    /// The disks that a byte may be read from.
    pub fn read_from(&self, place: u64) -> Vec<usize> {
        let is_whole = self.parameters.array == Health::Healthy;
        self.copy_disks(place).into_iter().filter(|disk| is_whole || *disk != FAILED).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_disk_and_one_that_is_filled_are_not_read() {
        let of = |array, layout| {
            let mirrors = Mirrors::new(4, RaidParameters { array, layout, chunk: 4096 });
            [0, 4096, 8191, 8192, 3 * 4096].map(|place| mirrors.read_from(place))
        };
        let near = [vec![0, 1], vec![2, 3], vec![2, 3], vec![0, 1], vec![2, 3]];
        assert_eq!(of(Health::Healthy, RaidLayout::Near), near);
        let far = [vec![0, 1], vec![1, 2], vec![1, 2], vec![2, 3], vec![3, 0]];
        assert_eq!(of(Health::Healthy, RaidLayout::Far), far);
        for array in [Health::Degraded, Health::Rebuilding] {
            let near = [vec![0], vec![2, 3], vec![2, 3], vec![0], vec![2, 3]];
            assert_eq!(of(array, RaidLayout::Near), near, "{array:?}");
        }
    }
}
