//! pgbench's hashes and its permutation, bit by bit.

/// Offset and prime of FNV-1a with 64 bits.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// Multiplier and shift of Murmur2 with 64 bits; pgbench's seed is combined with eight times it.
const MURMUR_MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
const MURMUR_SHIFT: u32 = 47;

pub fn hash_fnv1a(value: i64, seed: i64) -> i64 {
    let octets = value.to_le_bytes();
    let start = FNV_OFFSET ^ seed as u64;
    octets.iter().fold(start, |hash, octet| (hash ^ u64::from(*octet)).wrapping_mul(FNV_PRIME))
        as i64
}

pub fn hash_murmur2(value: i64, seed: i64) -> i64 {
    let mut word = (value as u64).wrapping_mul(MURMUR_MULTIPLIER);
    word = (word ^ word >> MURMUR_SHIFT).wrapping_mul(MURMUR_MULTIPLIER);
    let mut hash = seed as u64 ^ MURMUR_MULTIPLIER.wrapping_mul(8);
    hash = (hash ^ word).wrapping_mul(MURMUR_MULTIPLIER);
    hash = (hash ^ hash >> MURMUR_SHIFT).wrapping_mul(MURMUR_MULTIPLIER);
    (hash ^ hash >> MURMUR_SHIFT) as i64
}

/// Rounds of [`permute_value`].
const ROUNDS: usize = 6;

/// A bijection of the integers from 0 to `size - 1`; other values are taken modulo `size`.
pub fn permute_value(value: i64, size: i64, seed: i64) -> i64 {
    if size < 2 {
        return 0;
    }
    let mut random = PermuteRandom::new(seed as u64);
    let size = size as u64;
    let bits = size.ilog2();
    let mask = (1u64 << bits) - 1;
    // As in C, a negative value is taken for a large one.
    let mut value = value as u64 % size;
    for _ in 0..ROUNDS {
        value = scramble_low(value, bits, mask, &mut random);
        // The upper part, mirrored. The two overlap, as the size is seldom a power of two.
        value = size - 1 - scramble_low(size - 1 - value, bits, mask, &mut random);
        let offset = random.draw_up_to(size - 1);
        value = (value + offset) % size;
    }
    value as i64
}

/// Multiplies by an odd number, xors, and rotates what fits in the mask.
fn scramble_low(value: u64, bits: u32, mask: u64, random: &mut PermuteRandom) -> u64 {
    let multiplier = (random.draw_word() & mask) | 1;
    let other = random.draw_word() & mask;
    if value > mask {
        return value;
    }
    let mixed = (value.wrapping_mul(multiplier) ^ other) & mask;
    ((mixed << 1) & mask) | (mixed >> (bits - 1))
}

/// PostgreSQL's generator, xoroshiro128**, as `permute` seeds it.
struct PermuteRandom([u64; 2]);

impl PermuteRandom {
    fn new(seed: u64) -> Self {
        match [1, 2].map(|step| mix_bits(seed.wrapping_add(GOLDEN.wrapping_mul(step)))) {
            [0, 0] => Self([0x5851_f42d_4c95_7f2d, 0x1405_7b7e_f767_814f]),
            words => Self(words),
        }
    }

    fn draw_word(&mut self) -> u64 {
        let [first, second] = self.0;
        let mixed = first ^ second;
        self.0 = [first.rotate_left(24) ^ mixed ^ (mixed << 16), mixed.rotate_left(37)];
        first.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }

    /// From 0 to `most`, which is at least 1.
    fn draw_up_to(&mut self, most: u64) -> u64 {
        loop {
            let drawn = self.draw_word() >> most.leading_zeros();
            if drawn <= most {
                return drawn;
            }
        }
    }
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finish of splitmix64: a bijection in which each bit depends on all.
pub fn mix_bits(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}
