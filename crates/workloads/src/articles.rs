use rand::RngExt;

use crate::WorkloadRandom;

/// From `SHORTEST << n` to twice that for each `n` below `DOUBLINGS`: 256 bytes to 8 kB, 2.4 kB on
/// average. The tests of `text-oltp` were made for articles of Wikipedia with 2.6 kB.
const SHORTEST: usize = 256;
const DOUBLINGS: u32 = 5;

pub fn draw_length(random: &mut WorkloadRandom) -> usize {
    let least = SHORTEST << random.random_range(0..DOUBLINGS);
    random.random_range(least..2 * least)
}
