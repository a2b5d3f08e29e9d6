//! Which disks of an array hold a byte, and which of these are read.

use super::{COPIES, FAILED, Health, RaidLayout, RaidParameters};

/// Where the copies of an array's bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mirrors {
    disks: u64,
    parameters: RaidParameters,
}

impl Mirrors {
    /// Of an array of so many disks.
    pub fn new(disks: u32, parameters: RaidParameters) -> Self {
        Self { disks: disks.into(), parameters }
    }

    /// How many disks there are.
    pub fn disks(&self) -> usize {
        self.disks as usize
    }

    /// Bytes of a chunk: what lies on the same disks.
    pub fn chunk(&self) -> u64 {
        self.parameters.chunk
    }

    /// The disks of the two copies of the byte at a place.
    pub(super) fn pair(&self, place: u64) -> [usize; 2] {
        let chunk = place / self.parameters.chunk;
        // An even number of disks puts near copies on two side by side.
        let first = match self.parameters.layout {
            RaidLayout::Near => COPIES * chunk % self.disks,
            RaidLayout::Far => chunk % self.disks,
        };
        [first, (first + 1) % self.disks].map(|disk| disk as usize)
    }

    /// Those of them that it may be read from.
    pub fn read_from(&self, place: u64) -> Vec<usize> {
        let is_whole = self.parameters.array == Health::Healthy;
        self.pair(place).into_iter().filter(|disk| is_whole || *disk != FAILED).collect()
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
