//! More rows than a file has, made of its words: an order-2 chain of words over the file's own text.
//!
//! The text is kept as it is, with the places of its words. A row begins where one of the file's begins and
//! follows its words. Now and then it goes on at another place where the same two words come before: among the
//! nearest such places, so that a text stays with its subject as real ones do, which is what compression
//! lives by. No table of counts is needed: a place stands for its successor as often as it occurs. Where two
//! words come nowhere else, the text follows the file on.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use rand::RngExt;

use super::records::LONGEST_TEXT;
use crate::{RowsError, SourceError, TakeArticle, WorkloadRandom};

/// The most bytes of text that a model is made of. A word has at least `SHORTEST_WORD` bytes, and takes 16
/// while it is made: 200 MB at most, and of English text 3.5 times the text.
const MOST_BYTES: u64 = 40_000_000;
/// The fewest bytes of text that rows are generated from: of less, rows would repeat each other's
/// sentences within what an engine compresses together.
pub const FEWEST_BYTES: u64 = 1_000_000;
/// Fewer bytes are no word of their own, so that memory is bounded.
const SHORTEST_WORD: usize = 4;
/// A word without an end (of a language without spaces) ends here.
const LONGEST_WORD: usize = 24;
/// A text follows the file for 1 to as many words before it looks for another place to go on.
const LONGEST_RUN: usize = 11;
/// How many places on either side are near, in the order of the file, among those after the same two words.
const NEAR: usize = 4;
/// How often a row that was there before is made anew, each time a little longer.
const ATTEMPTS: usize = 100;

/// The text of a file's rows, or of every n-th where it is long.
pub struct TextSample {
    text: String,
    titles: String,
    rows: Vec<RowEnds>,
    every: u64,
    seen: u64,
    /// Hashes of the texts that were given.
    given: HashSet<u64>,
}

/// Where a row's title and its text end.
#[derive(Clone, Copy)]
struct RowEnds {
    title: u32,
    text: u32,
}

impl TextSample {
    /// Of a file whose rows come to so many bytes.
    pub fn new(bytes: u64) -> Self {
        let every = bytes.div_ceil(MOST_BYTES).max(1);
        let text = String::with_capacity(bytes.min(MOST_BYTES) as usize);
        Self {
            text,
            titles: String::new(),
            rows: Vec::new(),
            every,
            seen: 0,
            given: HashSet::new(),
        }
    }

    /// Takes note of a row of the file's own.
    pub fn add(&mut self, title: &str, text: &str) {
        self.given.insert(hash(text));
        let chosen = self.seen.is_multiple_of(self.every);
        self.seen += 1;
        let room = (MOST_BYTES as usize).saturating_sub(self.text.len() + self.titles.len());
        if chosen && title.len() + text.len() <= room {
            self.titles.push_str(title);
            self.text.push_str(text);
            let [title, text] = [&self.titles, &self.text].map(|all| all.len() as u32);
            self.rows.push(RowEnds { title, text });
        }
    }

    /// How many rows it is made of.
    #[cfg(test)]
    pub fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Gives `count` rows that are none of the file's and none twice. Their titles and lengths are those of
    /// the file's rows, in the file's order.
    ///
    /// # Errors
    /// A file whose words are too few for other rows; whatever `take` returns.
    pub fn each(
        mut self,
        count: u64,
        random: &mut WorkloadRandom,
        take: &mut TakeArticle<'_>,
    ) -> std::result::Result<(), RowsError> {
        let words =
            WordIndex::from_text(self.text.as_bytes(), self.rows.iter().map(|row| row.text));
        let mut made = String::new();
        for number in 0..count {
            let row = (number % self.rows.len() as u64) as usize;
            self.make(row, &words, random, &mut made)?;
            let before = row.checked_sub(1).map_or(0, |before| self.rows[before].title as usize);
            take(&self.titles[before..self.rows[row].title as usize], &made)?;
        }
        Ok(())
    }

    /// Makes a text like that of one of the rows.
    fn make(
        &mut self,
        row: usize,
        words: &WordIndex,
        random: &mut WorkloadRandom,
        made: &mut String,
    ) -> std::result::Result<(), SourceError> {
        let start = row.checked_sub(1).map_or(0, |before| self.rows[before].text);
        let length = (self.rows[row].text - start) as usize;
        let first = words.at(start);
        for longer in 0..ATTEMPTS {
            made.clear();
            let most = (length + longer * LONGEST_WORD).min(LONGEST_TEXT);
            words.write(first, most, &self.text, random, made);
            if self.given.insert(hash(made)) {
                return Ok(());
            }
        }
        Err(SourceError::new(
            "its words are too few to generate so many other rows from; name a longer file, or a scale of fewer rows",
        ))
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// The words of a text, each with what is between it and the next, and where else each pair of them is
/// followed.
struct WordIndex {
    /// Where each begins; then where the last one ends.
    starts: Vec<u32>,
    /// The words, those after the same two words together, these in the order of the text.
    alike: Vec<u32>,
    /// Where each word is among `alike`.
    place: Vec<u32>,
    /// A bit for each of `alike` and one more: whether it begins a group.
    begins: Vec<u64>,
}

impl WordIndex {
    /// Of a text whose rows end there.
    fn from_text(text: &[u8], ends: impl Iterator<Item = u32>) -> Self {
        let starts = starts(text, ends);
        let count = starts.len() - 1;
        let mut before = [0; 2];
        // A hash of the two words before, then the word's number: sorted, they are the groups. Where two pairs
        // have one hash of 32 bits, a text goes on after another pair: one word in a thousand.
        let mut keyed: Vec<u64> = Vec::with_capacity(count);
        for (number, ends) in starts.windows(2).enumerate() {
            let pair = before[0] ^ u64::rotate_left(before[1], 21);
            keyed.push((spread(pair) >> 32 << 32) | number as u64);
            before = [fnv(&text[ends[0] as usize..ends[1] as usize]), before[0]];
        }
        keyed.sort_unstable();
        let mut begins = vec![0; count / 64 + 1];
        for at in 0..=count {
            let first = at == 0 || at == count || keyed[at - 1] >> 32 != keyed[at] >> 32;
            begins[at / 64] |= u64::from(first) << (at % 64);
        }
        let alike: Vec<u32> = keyed.iter().map(|key| *key as u32).collect();
        drop(keyed);
        let mut place = vec![0; count];
        for (at, word) in (0..).zip(&alike) {
            place[*word as usize] = at;
        }
        Self { starts, alike, place, begins }
    }

    /// The word that begins there, as rows do.
    fn at(&self, start: u32) -> usize {
        self.starts.binary_search(&start).expect("a row begins with a word")
    }

    /// Writes a text of at most so many bytes, shorter by less than a word, from a word on.
    fn write(
        &self,
        first: usize,
        length: usize,
        text: &str,
        random: &mut WorkloadRandom,
        out: &mut String,
    ) {
        let mut word = first;
        loop {
            let from = self.starts[word] as usize;
            let last = (word + random.random_range(1..=LONGEST_RUN)).min(self.place.len());
            let left = length.saturating_sub(out.len());
            let fits = |end: u32| end as usize - from <= left;
            if !fits(self.starts[last]) {
                let fitting = self.starts[word + 1..last].partition_point(|end| fits(*end));
                out.push_str(&text[from..self.starts[word + fitting] as usize]);
                return;
            }
            out.push_str(&text[from..self.starts[last] as usize]);
            // After the last word of all comes the first.
            word = if last == self.place.len() { 0 } else { self.another(last, random) };
        }
    }

    /// A word near by that is after the same two words; itself where there is none.
    fn another(&self, word: usize, random: &mut WorkloadRandom) -> usize {
        let at = self.place[word] as usize;
        let begins = |at: usize| (self.begins[at / 64] >> (at % 64)) & 1 == 1;
        let least = at.saturating_sub(NEAR);
        let mut first = at;
        while first > least && !begins(first) {
            first -= 1;
        }
        let most = (at + NEAR).min(self.alike.len());
        let mut end = at + 1;
        while end < most && !begins(end) {
            end += 1;
        }
        self.alike[random.random_range(first..end)] as usize
    }
}

/// Where the words of a text begin, and where the last one ends. A row begins with a word of its own.
fn starts(text: &[u8], mut ends: impl Iterator<Item = u32>) -> Vec<u32> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    let mut starts = vec![0];
    let (mut start, mut end) = (0, ends.next());
    for at in 1..text.len() {
        let here = Some(at as u32) == end;
        if here {
            end = ends.next();
        }
        let long = at - start;
        let is_boundary = text[at] & 0xc0 != 0x80;
        let begins = is_word(text[at]) && !is_word(text[at - 1]) && long >= SHORTEST_WORD;
        if here || begins || (long >= LONGEST_WORD && is_boundary) {
            starts.push(at as u32);
            start = at;
        }
    }
    starts.push(text.len() as u32);
    starts
}

fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(super::START, |hash, byte| super::fnv(hash, *byte))
}

/// Spreads what tells values apart over all bits.
fn spread(value: u64) -> u64 {
    let value = (value ^ (value >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    value ^ (value >> 29)
}
