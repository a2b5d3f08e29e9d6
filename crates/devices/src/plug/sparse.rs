//! The bytes of a file, as pages in memory, with a sum by which two contents are told apart. Pages of
//! zeros take no room.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;

use super::PAGE;

/// A sum that stands for bytes: two different contents have the same sum by chance in one of 2^128
/// pairs.
pub(super) type Sum = [u64; 2];

/// The bytes of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct SparseFile {
    pub size: u64,
    pages: BTreeMap<u64, SparsePage>,
    sum: Sum,
}

#[derive(Clone, Debug)]
struct SparsePage {
    bytes: Box<[u8]>,
    sum: Sum,
}

/// Adds what a page stands for, or takes it away.
pub(super) fn add(to: &mut Sum, page: Sum) {
    to.iter_mut().zip(page).for_each(|(sum, page)| *sum = sum.wrapping_add(page));
}

/// See [`add`].
pub(super) fn subtract(from: &mut Sum, page: Sum) {
    from.iter_mut().zip(page).for_each(|(sum, page)| *sum = sum.wrapping_sub(page));
}

/// What a page at a place stands for; nothing where it is all zeros.
pub(super) fn page_sum(number: u64, bytes: &[u8]) -> Sum {
    if bytes.iter().all(|byte| *byte == 0) {
        return [0; 2];
    }
    let mut lanes = [DefaultHasher::new(), DefaultHasher::new()];
    for (lane, hasher) in lanes.iter_mut().enumerate() {
        hasher.write_u64(lane as u64);
        hasher.write_u64(number);
        hasher.write(bytes);
    }
    lanes.map(|lane| lane.finish())
}

/// The pages that a range touches.
pub(super) fn pages(range: &Range<u64>) -> Range<u64> {
    if range.is_empty() { 0..0 } else { range.start / PAGE..range.end.div_ceil(PAGE) }
}

impl SparseFile {
    /// Zeros alone.
    pub fn zeros(size: u64) -> Self {
        Self { size, ..Self::default() }
    }

    /// What all of its pages stand for together.
    pub fn sum(&self) -> Sum {
        self.sum
    }

    /// What one of them stands for.
    pub fn sum_of(&self, page: u64) -> Sum {
        self.pages.get(&page).map_or([0; 2], |page| page.sum)
    }

    /// The numbers of those of these pages that hold something.
    pub fn filled(&self, among: Range<u64>) -> impl Iterator<Item = u64> {
        self.pages.range(among).map(|(number, _)| *number)
    }

    /// All pages that hold something.
    pub fn all(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.pages.iter().map(|(number, page)| (*number, &*page.bytes))
    }

    /// Where the last bytes of a range that hold something end.
    pub fn filled_end(&self, range: &Range<u64>) -> u64 {
        let last = self.filled(pages(range)).last();
        last.map_or(range.start, |page| ((page + 1) * PAGE).min(range.end)).max(range.start)
    }

    /// Reads bytes at an offset; past the end they are zeros.
    pub fn read(&self, offset: u64, buffer: &mut [u8]) {
        buffer.fill(0);
        let range = offset..offset + buffer.len() as u64;
        for (number, page) in self.pages.range(pages(&range)) {
            let start = number * PAGE;
            let part = range.start.max(start)..range.end.min(start + PAGE);
            let from = &page.bytes[(part.start - start) as usize..(part.end - start) as usize];
            buffer[(part.start - offset) as usize..][..from.len()].copy_from_slice(from);
        }
    }

    /// Puts `bytes` into a range, and zeros where they end before it does. The size stays.
    pub fn put(&mut self, range: Range<u64>, bytes: &[u8]) {
        let filled = range.start + (bytes.len() as u64).min(range.end - range.start);
        let emptied: Vec<u64> = self.filled(pages(&(filled..range.end))).collect();
        for number in pages(&(range.start..filled)).chain(emptied) {
            let start = number * PAGE;
            let part = range.start.max(start)..range.end.min(start + PAGE);
            self.change(number, |page| {
                let place = &mut page[(part.start - start) as usize..(part.end - start) as usize];
                place.fill(0);
                let from = bytes.get((part.start - range.start) as usize..).unwrap_or_default();
                let length = from.len().min(place.len());
                place[..length].copy_from_slice(&from[..length]);
            });
        }
    }

    /// Ends the file here; what was there behind it is gone.
    pub fn end_at(&mut self, size: u64) {
        if size < self.size {
            self.put(size..self.size.next_multiple_of(PAGE), &[]);
        }
        self.size = size;
    }

    fn change(&mut self, number: u64, change: impl FnOnce(&mut [u8])) {
        let mut page = self
            .pages
            .remove(&number)
            .unwrap_or_else(|| SparsePage { bytes: vec![0; PAGE as usize].into(), sum: [0; 2] });
        subtract(&mut self.sum, page.sum);
        change(&mut page.bytes);
        page.sum = page_sum(number, &page.bytes);
        add(&mut self.sum, page.sum);
        if page.sum != [0; 2] {
            self.pages.insert(number, page);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bytes_have_equal_sums_however_they_came_about() {
        let mut plain = SparseFile::zeros(3 * PAGE);
        plain.put(100..9000, &[7; 8900]);
        let empty = SparseFile::zeros(plain.size);
        let mut other = empty.clone();
        other.put(0..2 * PAGE, &[9; 2 * PAGE as usize]);
        other.put(0..100, &[]);
        for start in (100..9000).step_by(100) {
            other.put(start..start + 100, &[7; 100]);
        }
        assert_eq!(plain.sum(), other.sum());
        let mut read = [1; 9100];
        other.read(0, &mut read);
        assert!(
            read[..100] == [0; 100] && read[100..9000] == [7; 8900] && read[9000..] == [0; 100]
        );
        other.put(8999..9000, &[8]);
        assert_ne!(plain.sum(), other.sum());
        other.end_at(0);
        assert_eq!((other.sum(), other.all().count()), (empty.sum(), 0));
        // The same page elsewhere is another content.
        let moved = |page: u64| {
            let mut it = empty.clone();
            it.put(page * PAGE..(page + 1) * PAGE, &[1; PAGE as usize]);
            it.sum()
        };
        assert_ne!(moved(0), moved(1));
    }
}
