//! Shares of a plan: which machine runs which blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use crate::plan::{Cell, TrialBlock, TrialPlan, group_sequences};
use crate::random::SplitMix64;
use crate::{Experiment, RowOrigin};

/// Written `2/8`: the second of eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard {
    index: u32,
    count: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardCountError {
    pub shards: u32,
    pub parts: usize,
}

impl Shard {
    /// The error is a sentence.
    pub fn new(index: u32, count: u32) -> Result<Self, String> {
        if count == 0 {
            return Err(format!("{index}/0 is a part of nothing; name how many shards there are"));
        }
        if !(1..=count).contains(&index) {
            return Err(format!(
                "there is no shard {index} of {count}; they are numbered from 1 to {count}"
            ));
        }
        Ok(Self { index, count })
    }

    pub fn index(self) -> u32 {
        self.index
    }

    pub fn count(self) -> u32 {
        self.count
    }

    pub fn own_blocks(self, plan: &TrialPlan) -> Result<BTreeSet<u32>, ShardCountError> {
        let dealt = deal_blocks(plan, self.count)?.into_iter();
        Ok(dealt.filter(|(_, shard)| *shard == self.index).map(|(block, _)| block).collect())
    }

    /// How many combinations of levels its blocks have, and how many the whole plan has.
    pub fn count_combinations(self, plan: &TrialPlan) -> Result<(usize, usize), ShardCountError> {
        let numbers = self.own_blocks(plan)?;
        let all: BTreeSet<BTreeSet<&Cell>> = plan.blocks.iter().map(combination_of).collect();
        let own = plan.blocks.iter().filter(|block| numbers.contains(&block.number));
        let own: BTreeSet<BTreeSet<&Cell>> = own.map(combination_of).collect();
        Ok((own.len(), all.len()))
    }

    /// Whether this shard has the item at `place`, if a list is dealt one by one.
    pub fn owns_item(self, place: usize) -> bool {
        place % self.count as usize == self.index as usize - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts =
            text.split_once('/').filter(|(index, count)| is_digits(index) && is_digits(count));
        let Some((index, count)) = parts else {
            return Err("give which shard it is and how many there are, as 2/8".into());
        };
        Self::new(parse_number(index)?, parse_number(count)?)
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn parse_number(digits: &str) -> Result<u32, String> {
    digits.parse().map_err(|_| {
        format!(
            "{digits} is too large: the number of a shard, and of shards, is {} at most",
            u32::MAX
        )
    })
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl fmt::Display for ShardCountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shards, parts } = self;
        write!(
            f,
            "{shards} shards are more than the plan has parts: it has {parts}. Blocks are never divided, \
             nor are blocks that share their preconditioning; take {parts} shards at most, or more \
             repetitions"
        )
    }
}

impl std::error::Error for ShardCountError {}

/// Which shard, from 1, runs each block, by the blocks' numbers. It depends only on the plan and
/// the number of shards, so every machine finds the same.
///
/// Blocks that share a conditioning stay together. Of each combination every shard has as many
/// repetitions as all can have, one after the other, so that orders that balance each other are on
/// one machine. The rest is dealt in turn: no shard has more than one part more than another.
pub fn deal_blocks(plan: &TrialPlan, shards: u32) -> Result<BTreeMap<u32, u32>, ShardCountError> {
    let parts = group_sequences(&plan.blocks, |block| block);
    if shards == 0 || shards as usize > parts.len() {
        return Err(ShardCountError { shards, parts: parts.len() });
    }
    let mut left_over = (0..shards).cycle();
    let mut owners = BTreeMap::new();
    for kind in by_kind(parts) {
        let each = kind.len() / shards as usize;
        for (place, sequence) in kind.into_iter().enumerate() {
            let whole = place.checked_div(each).and_then(|owner| u32::try_from(owner).ok());
            let owner = whole.filter(|owner| *owner < shards).or_else(|| left_over.next());
            let owner = owner.unwrap_or_default();
            owners.extend(sequence.into_iter().map(|block| (block.number, owner + 1)));
        }
    }
    Ok(owners)
}

fn combination_of(block: &TrialBlock) -> BTreeSet<&Cell> {
    block.trials.iter().map(|trial| &trial.cell).collect()
}

/// Groups blocks that differ only in the repetition and the order of their trials.
fn by_kind(sequences: Vec<Vec<&TrialBlock>>) -> Vec<Vec<Vec<&TrialBlock>>> {
    let mut kinds: Vec<Vec<Vec<&TrialBlock>>> = Vec::new();
    let mut known: BTreeMap<BTreeSet<&Cell>, usize> = BTreeMap::new();
    for sequence in sequences {
        let trials = sequence.iter().flat_map(|block| &block.trials);
        let cells: BTreeSet<&Cell> = trials.map(|trial| &trial.cell).collect();
        let kind = *known.entry(cells).or_insert(kinds.len());
        if kind == kinds.len() {
            kinds.push(Vec::new());
        }
        kinds[kind].push(sequence);
    }
    kinds
}

impl Experiment {
    /// 16 hexadecimal digits that identify a plan: made from the settled experiment with its seed,
    /// its text or rows (`text`), and the `version` that lays the plan out. The places of files do
    /// not count.
    pub fn plan_id(&self, version: &str, text: &str) -> String {
        let mut text = text.to_owned();
        let rows = self.rows_from.as_ref().and_then(|from| match from {
            RowOrigin::File(path) => Some(path),
            RowOrigin::Generated | RowOrigin::Collection(_) => None,
        });
        for path in self.text.iter().chain(rows) {
            text = text.replace(&*path.to_string_lossy(), "");
        }
        let placeless = Self { text: None, rows_from: None, ..self.clone() };
        let all = [placeless.to_toml(), version.to_owned(), text].join("\0");
        let word = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        };
        let mut words: Vec<u64> = all.as_bytes().chunks(8).map(word).collect();
        words.push(all.len() as u64);
        format!("{:016x}", SplitMix64::from_words(&words).next())
    }
}
