//! Keys and ranges of keys that a read has to go through, in buffers that are used again.

use crate::Result;

#[derive(Debug, Default)]
pub struct KeyRanges {
    bytes: Vec<u8>,
    /// Per range: where the first key starts, where it ends and the key after the range starts, and
    /// where that ends.
    places: Vec<(usize, usize, usize)>,
}

impl KeyRanges {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    /// `to` is the first key after the range; empty: the range has no end.
    pub fn add(&mut self, from: &[u8], to: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(from);
        self.bytes.extend_from_slice(to);
        self.places.push((start, start + from.len(), self.bytes.len()));
    }

    pub fn sort(&mut self) {
        let Self { bytes, places } = self;
        places.sort_unstable_by(|a, b| bytes[a.0..a.1].cmp(&bytes[b.0..b.1]));
    }

    /// Each range without what earlier ranges have; empty ones are left out.
    pub fn disjoint_ranges(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut reached: Option<&[u8]> = None;
        self.places.iter().filter_map(move |&(start, middle, end)| {
            let (from, to) = (&self.bytes[start..middle], &self.bytes[middle..end]);
            let from = match reached {
                Some([]) => return None,
                Some(before) => from.max(before),
                None => from,
            };
            if !to.is_empty() && from >= to {
                return None;
            }
            reached = Some(to);
            Some((from, to))
        })
    }
}

#[derive(Debug, Default)]
pub struct SortedKeys {
    bytes: Vec<u8>,
    ends: Vec<(usize, usize)>,
}

impl SortedKeys {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub fn add(&mut self, push: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        let start = self.bytes.len();
        push(&mut self.bytes)?;
        match self.ends.last() {
            Some(&(last, end)) if self.bytes[last..end] == self.bytes[start..] => {
                self.bytes.truncate(start);
            }
            _ => self.ends.push((start, self.bytes.len())),
        }
        Ok(())
    }

    pub fn add_again(&mut self, push: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        let start = self.bytes.len();
        push(&mut self.bytes)?;
        self.ends.push((start, self.bytes.len()));
        Ok(())
    }

    pub fn sort(&mut self) {
        let Self { bytes, ends } = self;
        ends.sort_unstable_by(|a, b| bytes[a.0..a.1].cmp(&bytes[b.0..b.1]));
    }

    pub fn dedup(&mut self) {
        let Self { bytes, ends } = self;
        ends.dedup_by(|a, b| bytes[a.0..a.1] == bytes[b.0..b.1]);
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.ends.iter().map(|(start, end)| &self.bytes[*start..*end])
    }
}
