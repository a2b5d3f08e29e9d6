//! The content of files: incompressible bytes, different for each page and each writing, so that a
//! page shows whether it is whole and in its place.

use bakeoff_experiment::random::SplitMix64;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};

/// Requests are whole pages; direct ones need this alignment.
pub const PAGE: usize = 4096;
/// Holds the page's number and the writing's number.
const HEAD: usize = 16;
/// Random bytes. Each page copies a piece: making new bytes would add to the latency of a write.
pub const POOL: usize = 8 << 20;

pub struct DataFileContent {
    seed: u64,
    pool: Vec<u8>,
}

impl DataFileContent {
    pub fn new(seed: u64, zeros: bool) -> Self {
        let mut pool = vec![0; if zeros { 0 } else { POOL }];
        Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut pool);
        Self { seed, pool }
    }

    pub fn is_verifiable(&self) -> bool {
        !self.pool.is_empty()
    }

    fn page_bytes(&self, page: u64, writing: u64) -> &[u8] {
        let random = SplitMix64::from_words(&[self.seed, page, writing]).next();
        let start = random as usize % (POOL - PAGE);
        &self.pool[start..][..PAGE - HEAD]
    }

    /// `writing` makes this time differ from all others.
    pub fn fill(&self, buffer: &mut [u8], first: u64, writing: u64) {
        if !self.is_verifiable() {
            return buffer.fill(0);
        }
        for (bytes, page) in buffer.chunks_exact_mut(PAGE).zip(first..) {
            bytes[..8].copy_from_slice(&page.to_le_bytes());
            bytes[8..HEAD].copy_from_slice(&writing.to_le_bytes());
            bytes[HEAD..].copy_from_slice(self.page_bytes(page, writing));
        }
    }

    pub fn find_writing(&self, bytes: &[u8], page: u64) -> Result<u64, String> {
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let (found, writing) = (number(0), number(8));
        if bytes.iter().all(|byte| *byte == 0) {
            return Err("zeros".into());
        }
        if found == page && bytes[HEAD..] == *self.page_bytes(page, writing) {
            return Ok(writing);
        }
        Err(match bytes[HEAD..] == *self.page_bytes(found, writing) {
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
            assert_eq!(content.find_writing(bytes, page), Ok(4), "{page}");
        }
        let wrong = |bytes: &[u8]| content.find_writing(bytes, 10).unwrap_err();
        assert_eq!(wrong(&pages[PAGE..2 * PAGE]), "page 11");
        assert_eq!(wrong(&[0; PAGE]), "zeros");
        // The last sector of another writing.
        let mut again = vec![0; PAGE];
        content.fill(&mut again, 10, 5);
        assert_eq!(content.find_writing(&again, 10), Ok(5));
        again[PAGE - 512..].copy_from_slice(&pages[PAGE - 512..PAGE]);
        assert!(wrong(&again).contains("several writes"), "{}", wrong(&again));
        let other_seed = DataFileContent::new(8, false);
        assert!(other_seed.find_writing(&pages[..PAGE], 10).is_err());
        let zeros = DataFileContent::new(7, true);
        zeros.fill(&mut again, 0, 1);
        assert!(again == [0; PAGE] && !zeros.is_verifiable());
    }
}
