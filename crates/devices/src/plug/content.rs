//! The content of a file in some state, as the sources of its ranges of bytes.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use super::{Contents, Ino};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContentSource<'a> {
    Present,
    /// These bytes lie at `start` of the file, zeros follow.
    Bytes {
        start: u64,
        bytes: &'a [u8],
    },
    Kept(Ino),
    Zeros,
    Stale,
}

/// A byte that stands for a stale one: never zero, different from place to place.
fn stale_byte(place: u64) -> u8 {
    (place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8 | 1
}

pub(super) type ContentPiece<'a> = (Range<u64>, ContentSource<'a>);

/// Past the end all is zeros.
#[derive(Clone, Debug)]
pub struct FileContent<'a> {
    ino: Ino,
    pub(super) size: u64,
    /// Each source reaches up to the next one, the last one for ever; the first starts at 0.
    sources: BTreeMap<u64, ContentSource<'a>>,
}

impl<'a> FileContent<'a> {
    pub(super) fn from_present(ino: Ino, size: u64) -> Self {
        let sources = BTreeMap::from([(0, ContentSource::Present), (size, ContentSource::Zeros)]);
        Self { ino, size, sources }
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn set_source(&mut self, range: Range<u64>, source: ContentSource<'a>) {
        if range.is_empty() {
            return;
        }
        let behind = self.source_at(range.end);
        let old: Vec<u64> = self.sources.range(range.clone()).map(|(at, _)| *at).collect();
        for at in old {
            self.sources.remove(&at);
        }
        self.sources.insert(range.start, source);
        self.sources.entry(range.end).or_insert(behind);
    }

    pub(super) fn end_at(&mut self, size: u64) {
        self.size = size;
        self.sources.split_off(&size);
        self.sources.insert(size, ContentSource::Zeros);
    }

    pub(super) fn list_pieces(&self, range: Range<u64>) -> Vec<ContentPiece<'a>> {
        let mut pieces = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let next = self.sources.range(at + 1..).next().map_or(u64::MAX, |(next, _)| *next);
            let end = next.min(range.end);
            pieces.push((at..end, self.source_at(at)));
            at = end;
        }
        pieces
    }

    fn source_at(&self, at: u64) -> ContentSource<'a> {
        let source = self.sources.range(..=at).next_back();
        *source.expect("the first source starts at 0").1
    }

    pub fn filled_ranges(&self, contents: &dyn Contents) -> Vec<Range<u64>> {
        let pieces = self.list_pieces(0..self.size).into_iter();
        let filled = pieces.flat_map(|(range, source)| match source {
            ContentSource::Zeros => Vec::new(),
            ContentSource::Present => contents.filled_ranges(self.ino, range),
            ContentSource::Kept(_) | ContentSource::Bytes { .. } | ContentSource::Stale => {
                vec![range]
            }
        });
        filled.collect()
    }

    /// Returns fewer bytes than asked for only at the end of the file.
    pub fn read(
        &self,
        contents: &dyn Contents,
        offset: u64,
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        let end = self.size.min(offset.saturating_add(buffer.len() as u64));
        for (range, source) in self.list_pieces(offset..end.max(offset)) {
            let place = (range.start - offset) as usize..(range.end - offset) as usize;
            let part = &mut buffer[place];
            let read = match source {
                ContentSource::Present => read_full(contents, self.ino, range.start, part)?,
                ContentSource::Kept(ino) => read_full(contents, ino, range.start, part)?,
                ContentSource::Bytes { start, bytes } => {
                    let rest = bytes.get((range.start - start) as usize..).unwrap_or_default();
                    let length = rest.len().min(part.len());
                    part[..length].copy_from_slice(&rest[..length]);
                    length
                }
                ContentSource::Zeros => 0,
                ContentSource::Stale => {
                    part.iter_mut()
                        .zip(range.start..)
                        .for_each(|(it, place)| *it = stale_byte(place));
                    part.len()
                }
            };
            part[read..].fill(0);
        }
        Ok(end.saturating_sub(offset) as usize)
    }
}

pub(super) fn read_full(
    contents: &dyn Contents,
    ino: Ino,
    offset: u64,
    buffer: &mut [u8],
) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match contents.read(ino, offset + done as u64, &mut buffer[done..]) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
