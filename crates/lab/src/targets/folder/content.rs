//! What the files hold: bytes that nothing can compress, different for each page and each time that it
//! is written, so that a page says by itself whether it is whole and in its place.

use bakeoff_experiment::random::SplitMix64;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};

/// Bytes of a page. Requests are for whole pages; memory, offsets and lengths of direct ones are aligned
/// to it.
pub const PAGE: usize = 4096;
/// Bytes at the start of a page that say which page it is and which writing of it.
const HEAD: usize = 16;
/// Random bytes that the rest of each page is a piece of. A page is copied from them and not made anew:
/// making it would be in the latency of each write.
pub const POOL: usize = 8 << 20;

/// What pages hold.
pub struct DataFileContent {
    seed: u64,
    /// Empty for zeros.
    pool: Vec<u8>,
}

impl DataFileContent {
    /// Of zeros, or else of random bytes by that seed.
    pub fn new(seed: u64, zeros: bool) -> Self {
        let mut pool = vec![0; if zeros { 0 } else { POOL }];
        Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut pool);
        Self { seed, pool }
    }

    /// Whether it can be verified.
    pub fn is_verifiable(&self) -> bool {
        !self.pool.is_empty()
    }

    /// The bytes of one writing of a page, behind its head.
    fn rest(&self, page: u64, writing: u64) -> &[u8] {
        let random = SplitMix64::from_words(&[self.seed, page, writing]).next();
        let start = random as usize % (POOL - PAGE);
        &self.pool[start..][..PAGE - HEAD]
    }

    /// Fills pages that follow each other; `writing` tells this time from all others.
    pub fn fill(&self, buffer: &mut [u8], first: u64, writing: u64) {
        if !self.is_verifiable() {
            return buffer.fill(0);
        }
        for (bytes, page) in buffer.chunks_exact_mut(PAGE).zip(first..) {
            bytes[..8].copy_from_slice(&page.to_le_bytes());
            bytes[8..HEAD].copy_from_slice(&writing.to_le_bytes());
            bytes[HEAD..].copy_from_slice(self.rest(page, writing));
        }
    }

    /// Which writing of a page was read.
    ///
    /// # Errors
    /// What it holds, where that is none of them.
    pub fn writing(&self, bytes: &[u8], page: u64) -> Result<u64, String> {
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let (found, writing) = (number(0), number(8));
        if bytes.iter().all(|byte| *byte == 0) {
            return Err("zeros".into());
        }
        if found == page && bytes[HEAD..] == *self.rest(page, writing) {
            return Ok(writing);
        }
        Err(match bytes[HEAD..] == *self.rest(found, writing) {
            true => format!("page {found}"),
            false => "pieces of several writes, or bytes that nobody wrote".into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_tells_what_became_of_it() {
        let content = DataFileContent::new(7, false);
        let mut pages = vec![0; 3 * PAGE];
        content.fill(&mut pages, 10, 4);
        for (bytes, page) in pages.chunks(PAGE).zip(10..) {
            assert_eq!(content.writing(bytes, page), Ok(4), "{page}");
        }
        let wrong = |bytes: &[u8]| content.writing(bytes, 10).unwrap_err();
        assert_eq!(wrong(&pages[PAGE..2 * PAGE]), "page 11");
        assert_eq!(wrong(&[0; PAGE]), "zeros");
        // The last sector of another writing.
        let mut again = vec![0; PAGE];
        content.fill(&mut again, 10, 5);
        assert_eq!(content.writing(&again, 10), Ok(5));
        again[PAGE - 512..].copy_from_slice(&pages[PAGE - 512..PAGE]);
        assert!(wrong(&again).contains("several writes"), "{}", wrong(&again));
        assert!(
            DataFileContent::new(8, false).writing(&pages[..PAGE], 10).is_err(),
            "another seed"
        );
    }

    #[test]
    fn zeros_are_zeros() {
        let content = DataFileContent::new(7, true);
        let mut page = vec![1; PAGE];
        content.fill(&mut page, 0, 1);
        assert_eq!(page, [0; PAGE]);
        assert!(!content.is_verifiable());
    }
}
