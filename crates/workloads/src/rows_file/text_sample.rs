//! More rows than a file has: its text, cut at other places.
//!
//! The texts stand one after the other. Each round through the rows begins at a random place and
//! goes on from row to row. So neighbours share a subject as in the file, which decides how well
//! they compress, and nothing repeats within a round.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use rand::RngExt;

use crate::text::find_stretch;
use crate::{ArticleCallback, RowsError, SourceError, WorkloadRandom};

/// Bytes of text and titles in memory.
const MOST_BYTES: u64 = 40_000_000;
/// With less text, rows would repeat within what an engine compresses together.
pub const FEWEST_BYTES: u64 = 1_000_000;
const ATTEMPTS: usize = 100;

pub struct TextSample {
    text: String,
    titles: String,
    rows: Vec<SampledRow>,
    every: u64,
    seen: u64,
    given: HashSet<u64>,
}

#[derive(Clone, Copy)]
struct SampledRow {
    title_end: u32,
    text_length: u32,
}

impl TextSample {
    /// `bytes` is the size of all the file's rows.
    pub fn new(bytes: u64) -> Self {
        Self {
            text: String::with_capacity(bytes.min(MOST_BYTES) as usize),
            titles: String::new(),
            rows: Vec::new(),
            every: bytes.div_ceil(MOST_BYTES).max(1),
            seen: 0,
            given: HashSet::new(),
        }
    }

    pub fn add_row(&mut self, title: &str, text: &str) {
        self.given.insert(hash_text(text));
        let chosen = self.seen.is_multiple_of(self.every);
        self.seen += 1;
        let room = (MOST_BYTES as usize).saturating_sub(self.text.len() + self.titles.len());
        if chosen && title.len() + text.len() <= room {
            self.titles.push_str(title);
            self.text.push_str(text);
            // Keeps the words of two rows apart.
            self.text.push('\n');
            let [title_end, text_length] = [self.titles.len(), text.len()].map(|it| it as u32);
            self.rows.push(SampledRow { title_end, text_length });
        }
    }

    #[cfg(test)]
    pub fn count_rows(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Gives rows that differ from the file's and from each other, with titles and lengths of the
    /// file's rows in turn.
    pub fn give_rows(
        mut self,
        count: u64,
        random: &mut WorkloadRandom,
        take: &mut ArticleCallback<'_>,
    ) -> std::result::Result<(), RowsError> {
        let (mut made, mut place, mut title_start) = (String::new(), 0, 0);
        for number in 0..count {
            let row = (number % self.rows.len() as u64) as usize;
            if row == 0 {
                (place, title_start) = (random.random_range(0..self.text.len()), 0);
            }
            let SampledRow { title_end, text_length } = self.rows[row];
            place = self.write_new(place, text_length as usize, random, &mut made)?;
            take(&self.titles[title_start..title_end as usize], &made)?;
            title_start = title_end as usize;
        }
        Ok(())
    }

    /// Writes a text that was not given yet and returns where it ends.
    fn write_new(
        &mut self,
        mut place: usize,
        length: usize,
        random: &mut WorkloadRandom,
        made: &mut String,
    ) -> std::result::Result<usize, SourceError> {
        for _ in 0..ATTEMPTS {
            let end = self.write_text(place, length, made);
            if self.given.insert(hash_text(made)) {
                return Ok(end);
            }
            place = random.random_range(0..self.text.len());
        }
        Err(SourceError::new(
            "its words are too few to generate so many other rows from; name a longer file, or a scale of fewer rows",
        ))
    }

    /// Returns where the text ends. After the last row comes the first.
    fn write_text(&self, place: usize, length: usize, made: &mut String) -> usize {
        made.clear();
        let piece = find_stretch(&self.text, place, length);
        let end = piece.end;
        made.push_str(&self.text[piece]);
        if end < self.text.len() {
            return end;
        }
        let rest = find_stretch(&self.text, 0, length - made.len());
        made.push_str(&self.text[rest.clone()]);
        rest.end
    }
}

fn hash_text(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
