//! The lengths of the articles that rows of text stand for.

use rand::RngExt;

use crate::WorkloadRandom;

/// A text has up to `SHORTEST << n` bytes and less than twice as many, for each `n` below `DOUBLINGS` as
/// often: 256 bytes to 8 kB, 2.4 kB on average. The articles of Wikipedia that the tests of `text-oltp` were
/// made for had 2.6 kB.
const SHORTEST: usize = 256;
const DOUBLINGS: u32 = 5;

/// The bytes that an article's text is to have, at random.
pub fn length(random: &mut WorkloadRandom) -> usize {
    let least = SHORTEST << random.random_range(0..DOUBLINGS);
    random.random_range(least..2 * least)
}
