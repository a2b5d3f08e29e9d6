//! Which blocks a client asks for, one after the other.

use bakeoff_experiment::random::SplitMix64;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// Rounds of a permutation: with four, places say nothing of each other (Luby and Rackoff, *How to
/// construct pseudorandom permutations from pseudorandom functions*, 1988).
const ROUNDS: usize = 4;

/// One of several clients.
#[derive(Clone, Copy, Debug)]
pub struct OneOf {
    /// Its number, from 0.
    pub client: usize,
    /// How many there are.
    pub of: usize,
}

/// An endless row of blocks.
pub enum BlockSequence {
    /// Each as likely as any other.
    Uniform { random: Xoshiro256PlusPlus, count: u64 },
    /// All clients together ask for each once, then for all again in another order.
    Once { seed: u64, count: u64, one: OneOf, next: u64, round: u64, order: Permutation },
    /// A client's part of them, in order, over and over.
    InOrder { start: u64, end: u64, next: u64 },
}

impl BlockSequence {
    /// Each of `count` blocks as likely as any other.
    pub fn uniform(seed: u64, count: u64, OneOf { client, .. }: OneOf) -> Self {
        let spread = (client as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let random = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_add(spread));
        Self::Uniform { random, count: count.max(1) }
    }

    /// Each of `count` blocks once by all clients together.
    pub fn once(seed: u64, count: u64, one: OneOf) -> Self {
        let count = count.max(1);
        let order = Permutation::new(SplitMix64::from_words(&[seed, 0]), count);
        let next = one.client as u64 % count;
        Self::Once { seed, count, one, next, round: 0, order }
    }

    /// A client's part of `count` blocks, in order; where there are fewer blocks than clients, all.
    pub fn in_order(count: u64, OneOf { client, of }: OneOf) -> Self {
        let (count, of) = (count.max(1), of as u64);
        let at = |client: u64| (u128::from(count) * u128::from(client) / u128::from(of)) as u64;
        let (start, end) = (at(client as u64), at(client as u64 + 1));
        let (start, end) = if start < end { (start, end) } else { (0, count) };
        Self::InOrder { start, end, next: start }
    }

    /// The next one.
    pub fn next_block(&mut self) -> u64 {
        match self {
            Self::Uniform { random, count } => random.random_range(0..*count),
            Self::Once { seed, count, one, next, round, order } => {
                if *next >= *count {
                    *round += 1;
                    *next = one.client as u64 % *count;
                    *order = Permutation::new(SplitMix64::from_words(&[*seed, *round]), *count);
                }
                let block = order.at(*next);
                *next += one.of as u64;
                block
            }
            Self::InOrder { start, end, next } => {
                let block = *next;
                *next = if block + 1 < *end { block + 1 } else { *start };
                block
            }
        }
    }
}

/// The numbers below `count` in a random order, without a list of them: a Feistel network over the next
/// power of four, whose places beyond the end are sent through it again.
pub struct Permutation {
    count: u64,
    /// Bits of each of the two halves of a number.
    half: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    fn new(mut random: SplitMix64, count: u64) -> Self {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        let keys = std::array::from_fn(|_| random.next());
        Self { count, half: bits.div_ceil(2).max(1), keys }
    }

    /// What is at a place below `count`.
    fn at(&self, place: u64) -> u64 {
        let mut number = place;
        loop {
            number = self.through(number);
            if number < self.count {
                return number;
            }
        }
    }

    fn through(&self, number: u64) -> u64 {
        let mask = (1 << self.half) - 1;
        let (mut left, mut right) = (number >> self.half, number & mask);
        for key in self.keys {
            let mixed = SplitMix64::from_words(&[key, right]).next() & mask;
            (left, right) = (right, left ^ mixed);
        }
        (left << self.half) | right
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn first(blocks: &mut BlockSequence, number: u64) -> Vec<u64> {
        (0..number).map(|_| blocks.next_block()).collect()
    }

    #[test]
    fn all_clients_together_ask_for_each_block_once_and_then_again_in_another_order() {
        for (count, of) in [(1, 1), (2, 1), (3, 2), (64, 4), (1000, 3), (4097, 16)] {
            let mut rounds = Vec::new();
            let mut clients: Vec<BlockSequence> =
                (0..of).map(|client| BlockSequence::once(5, count, OneOf { client, of })).collect();
            for _ in 0..2 {
                let mut seen = Vec::new();
                for (client, blocks) in clients.iter_mut().enumerate() {
                    let places = (client as u64..count).step_by(of).count() as u64;
                    seen.extend(first(blocks, places));
                }
                let all: BTreeSet<u64> = seen.iter().copied().collect();
                assert_eq!((seen.len() as u64, all.len() as u64), (count, count), "{of}");
                assert_eq!(all.last(), Some(&(count - 1)));
                rounds.push(seen);
            }
            assert!(count < 64 || rounds[0] != rounds[1], "{count}: the same order twice");
            assert!(count < 64 || !rounds[0].is_sorted(), "{count}: no order at all");
        }
    }

    #[test]
    fn a_client_that_finds_no_block_of_its_own_shares_one() {
        for client in 0..4 {
            let one = OneOf { client, of: 4 };
            assert!(first(&mut BlockSequence::once(1, 2, one), 9).iter().all(|block| *block < 2));
            assert!(first(&mut BlockSequence::in_order(2, one), 9).iter().all(|block| *block < 2));
            assert!(
                first(&mut BlockSequence::uniform(1, 2, one), 9).iter().all(|block| *block < 2)
            );
        }
    }

    #[test]
    fn in_order_each_client_goes_round_its_own_part() {
        let part = |client| first(&mut BlockSequence::in_order(10, OneOf { client, of: 3 }), 5);
        assert_eq!(part(0), [0, 1, 2, 0, 1]);
        assert_eq!(part(1), [3, 4, 5, 3, 4]);
        assert_eq!(part(2), [6, 7, 8, 9, 6]);
    }

    #[test]
    fn uniform_is_another_row_for_each_client() {
        let row =
            |client| first(&mut BlockSequence::uniform(3, 1 << 30, OneOf { client, of: 2 }), 100);
        assert_ne!(row(0), row(1));
        assert_eq!(row(1), row(1));
    }
}
