//! The bytes of a file as pages in memory, with a sum that tells two contents apart. Pages of zeros
//! take no room.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;

use super::PAGE;

/// Stands for bytes: two different contents have the same sum by chance in one of 2^128 pairs.
pub(super) type Sum = [u64; 2];

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

pub(super) fn add_sum(to: &mut Sum, page: Sum) {
    to.iter_mut().zip(page).for_each(|(sum, page)| *sum = sum.wrapping_add(page));
}

pub(super) fn subtract_sum(from: &mut Sum, page: Sum) {
    from.iter_mut().zip(page).for_each(|(sum, page)| *sum = sum.wrapping_sub(page));
}

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

pub(super) fn touched_pages(range: &Range<u64>) -> Range<u64> {
    if range.is_empty() { 0..0 } else { range.start / PAGE..range.end.div_ceil(PAGE) }
}

impl SparseFile {
    pub fn zeros(size: u64) -> Self {
        Self { size, ..Self::default() }
    }

    pub fn sum(&self) -> Sum {
        self.sum
    }

    pub fn sum_of(&self, page: u64) -> Sum {
        self.pages.get(&page).map_or([0; 2], |page| page.sum)
    }

    pub fn filled_pages(&self, among: Range<u64>) -> impl Iterator<Item = u64> {
        self.pages.range(among).map(|(number, _)| *number)
    }

    pub fn all_pages(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.pages.iter().map(|(number, page)| (*number, &*page.bytes))
    }

    pub fn filled_end(&self, range: &Range<u64>) -> u64 {
        let last = self.filled_pages(touched_pages(range)).last();
        last.map_or(range.start, |page| ((page + 1) * PAGE).min(range.end)).max(range.start)
    }

    pub fn read(&self, offset: u64, buffer: &mut [u8]) {
        buffer.fill(0);
        let range = offset..offset + buffer.len() as u64;
        for (number, page) in self.pages.range(touched_pages(&range)) {
            let start = number * PAGE;
            let part = range.start.max(start)..range.end.min(start + PAGE);
            let from = &page.bytes[(part.start - start) as usize..(part.end - start) as usize];
            buffer[(part.start - offset) as usize..][..from.len()].copy_from_slice(from);
        }
    }

    /// Puts `bytes` into a range, and zeros behind them. The size stays.
    pub fn write_range(&mut self, range: Range<u64>, bytes: &[u8]) {
        let filled = range.start + (bytes.len() as u64).min(range.end - range.start);
        let emptied: Vec<u64> = self.filled_pages(touched_pages(&(filled..range.end))).collect();
        for number in touched_pages(&(range.start..filled)).chain(emptied) {
            let start = number * PAGE;
            let part = range.start.max(start)..range.end.min(start + PAGE);
            self.change_page(number, |page| {
                let place = &mut page[(part.start - start) as usize..(part.end - start) as usize];
                place.fill(0);
                let from = bytes.get((part.start - range.start) as usize..).unwrap_or_default();
                let length = from.len().min(place.len());
                place[..length].copy_from_slice(&from[..length]);
            });
        }
    }

    pub fn end_at(&mut self, size: u64) {
        if size < self.size {
            self.write_range(size..self.size.next_multiple_of(PAGE), &[]);
        }
        self.size = size;
    }

    fn change_page(&mut self, number: u64, change: impl FnOnce(&mut [u8])) {
        let mut page = self
            .pages
            .remove(&number)
            .unwrap_or_else(|| SparsePage { bytes: vec![0; PAGE as usize].into(), sum: [0; 2] });
        subtract_sum(&mut self.sum, page.sum);
        change(&mut page.bytes);
        page.sum = page_sum(number, &page.bytes);
        add_sum(&mut self.sum, page.sum);
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
        plain.write_range(100..9000, &[7; 8900]);
        let empty = SparseFile::zeros(plain.size);
        let mut other = empty.clone();
        other.write_range(0..2 * PAGE, &[9; 2 * PAGE as usize]);
        other.write_range(0..100, &[]);
        for start in (100..9000).step_by(100) {
            other.write_range(start..start + 100, &[7; 100]);
        }
        assert_eq!(plain.sum(), other.sum());
        let mut read = [1; 9100];
        other.read(0, &mut read);
        assert!(
            read[..100] == [0; 100] && read[100..9000] == [7; 8900] && read[9000..] == [0; 100]
        );
        other.write_range(8999..9000, &[8]);
        assert_ne!(plain.sum(), other.sum());
        other.end_at(0);
        assert_eq!((other.sum(), other.all_pages().count()), (empty.sum(), 0));
        // The same page elsewhere is another content.
        let moved = |page: u64| {
            let mut it = empty.clone();
            it.write_range(page * PAGE..(page + 1) * PAGE, &[1; PAGE as usize]);
            it.sum()
        };
        assert_ne!(moved(0), moved(1));
    }
}
