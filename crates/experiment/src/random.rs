//! Our own generator: a seed has to give the same plan on every machine and with every version. A
//! library's generator may change.

/// SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA
/// 2014; the constants are those of Java's `SplittableRandom`.
#[derive(Debug)]
pub struct SplitMix64 {
    state: u64,
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl SplitMix64 {
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// A generator for one purpose: each list of words has its own.
    pub fn from_words(words: &[u64]) -> Self {
        Self::new(
            words.iter().fold(0, |state, word| mix_bits(state ^ mix_bits(word.wrapping_add(STEP)))),
        )
    }

    #[expect(clippy::should_implement_trait, reason = "it never ends, and borrows nothing")]
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix_bits(self.state)
    }

    /// By multiplication (Lemire 2019); below 2^24, its bias is below one in 2^40.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    /// Fisher and Yates's shuffle.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last + 1));
        }
    }
}

fn mix_bits(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::SplitMix64;

    /// The numbers of the authors' own code in C for this seed.
    #[test]
    fn gives_the_published_numbers() {
        let mut random = SplitMix64::new(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
        assert_eq!(random.next(), 9_817_491_932_198_370_423);
    }

    #[test]
    fn shuffles_evenly() {
        let mut random = SplitMix64::from_words(&[1, 2]);
        let mut first = [0u32; 4];
        for _ in 0..4000 {
            let mut list = [0, 1, 2, 3];
            random.shuffle(&mut list);
            first[list[0]] += 1;
        }
        assert!(first.iter().all(|&count| (850..1150).contains(&count)), "{first:?}");
    }
}
