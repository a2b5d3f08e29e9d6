use bakeoff_experiment::random::SplitMix64;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// With four rounds, places tell nothing of each other (Luby and Rackoff, *How to construct
/// pseudorandom permutations from pseudorandom functions*, 1988).
const ROUNDS: usize = 4;

#[derive(Clone, Copy, Debug)]
pub struct ClientPosition {
    pub client: usize,
    pub of: usize,
}

pub enum BlockSequence {
    Uniform {
        random: Xoshiro256PlusPlus,
        count: u64,
    },
    /// All clients together ask for each once, then again in another order.
    Once {
        seed: u64,
        count: u64,
        one: ClientPosition,
        next: u64,
        round: u64,
        order: Permutation,
    },
    InOrder {
        start: u64,
        end: u64,
        next: u64,
    },
}

impl BlockSequence {
    pub fn uniform(seed: u64, count: u64, ClientPosition { client, .. }: ClientPosition) -> Self {
        let spread = (client as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let random = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_add(spread));
        Self::Uniform { random, count: count.max(1) }
    }

    pub fn once(seed: u64, count: u64, one: ClientPosition) -> Self {
        let count = count.max(1);
        let order = Permutation::new(SplitMix64::from_words(&[seed, 0]), count);
        let next = one.client as u64 % count;
        Self::Once { seed, count, one, next, round: 0, order }
    }

    /// If there are fewer blocks than clients, each client gets all blocks.
    pub fn in_order(count: u64, ClientPosition { client, of }: ClientPosition) -> Self {
        let (count, of) = (count.max(1), of as u64);
        let at = |client: u64| (u128::from(count) * u128::from(client) / u128::from(of)) as u64;
        let (start, end) = (at(client as u64), at(client as u64 + 1));
        let (start, end) = if start < end { (start, end) } else { (0, count) };
        Self::InOrder { start, end, next: start }
    }

    pub fn next_block(&mut self) -> u64 {
        match self {
            Self::Uniform { random, count } => random.random_range(0..*count),
            Self::Once { seed, count, one, next, round, order } => {
                if *next >= *count {
                    *round += 1;
                    *next = one.client as u64 % *count;
                    *order = Permutation::new(SplitMix64::from_words(&[*seed, *round]), *count);
                }
                let block = order.number_at(*next);
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

/// The numbers below `count` in random order, without a list of them: a Feistel network over the
/// next power of four. Places beyond the end go through it again.
pub struct Permutation {
    count: u64,
    half: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    fn new(mut random: SplitMix64, count: u64) -> Self {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        let keys = std::array::from_fn(|_| random.next());
        Self { count, half: bits.div_ceil(2).max(1), keys }
    }

    fn number_at(&self, place: u64) -> u64 {
        let mut number = place;
        loop {
            number = self.permute(number);
            if number < self.count {
                return number;
            }
        }
    }

    fn permute(&self, number: u64) -> u64 {
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

    fn first(mut blocks: BlockSequence, number: usize) -> Vec<u64> {
        (0..number).map(|_| blocks.next_block()).collect()
    }

    #[test]
    fn all_clients_together_ask_for_each_block_once_and_then_again_in_another_order() {
        for (count, of) in [(1, 1), (2, 1), (3, 2), (64, 4), (1000, 3), (4097, 16)] {
            let mut rounds = [Vec::new(), Vec::new()];
            for client in 0..of {
                let places = (client as u64..count).step_by(of).count();
                let one = ClientPosition { client, of };
                let own = first(BlockSequence::once(5, count, one), 2 * places);
                rounds[0].extend(&own[..places]);
                rounds[1].extend(&own[places..]);
            }
            for seen in &rounds {
                let all: BTreeSet<u64> = seen.iter().copied().collect();
                assert_eq!((seen.len() as u64, all.len() as u64), (count, count), "{of}");
                assert_eq!(all.last(), Some(&(count - 1)));
            }
            assert!(count < 64 || rounds[0] != rounds[1], "{count}: the same order twice");
            assert!(count < 64 || !rounds[0].is_sorted(), "{count}: no order at all");
        }
    }

    #[test]
    fn a_client_has_blocks_of_its_own_or_shares_one() {
        let in_order = |client| BlockSequence::in_order(10, ClientPosition { client, of: 3 });
        assert_eq!(first(in_order(0), 5), [0, 1, 2, 0, 1]);
        assert_eq!(first(in_order(1), 5), [3, 4, 5, 3, 4]);
        assert_eq!(first(in_order(2), 5), [6, 7, 8, 9, 6]);
        let uniform = |client| BlockSequence::uniform(3, 1 << 30, ClientPosition { client, of: 2 });
        assert_ne!(first(uniform(0), 100), first(uniform(1), 100));
        assert_eq!(first(uniform(1), 100), first(uniform(1), 100));
        for client in 0..4 {
            let one = ClientPosition { client, of: 4 };
            let once = BlockSequence::once(1, 2, one);
            for blocks in [once, BlockSequence::in_order(2, one), BlockSequence::uniform(1, 2, one)]
            {
                assert!(first(blocks, 9).iter().all(|block| *block < 2));
            }
        }
    }
}
