//! What vinyl owes: changes to dump, and runs to merge. memtx owes nothing: what it writes beside its log are
//! snapshots, once an hour.

use super::counts::Counts;
use super::storage::Storage;
use crate::debt::Changes;
use crate::{Debt, Owed, Payment, Result, Turn, Unit};

/// The function that tells what is owed.
pub(super) const FUNCTION: &str = "bakeoff_debt";
/// How many numbers it gives back.
const NUMBERS: usize = 5;

/// What was before the opening, and what was seen since.
pub(super) struct Since {
    storage: Storage,
    dumps: u64,
    /// The bytes that compactions had written.
    compacted: Changes<u64>,
}

impl Since {
    /// As it stands by this answer.
    pub fn now(storage: Storage, counts: &Counts) -> Result<Self> {
        let [.., dumps, compacted] = counts.numbers::<NUMBERS>()?;
        Ok(Self { storage, dumps, compacted: Changes::since(compacted) })
    }

    /// What is owed by this answer.
    pub fn debt(&self, counts: &Counts) -> Result<Debt> {
        let [level_0, watermark, queue, dumps, compacted] = counts.numbers::<NUMBERS>()?;
        if self.storage == Storage::Memtx {
            return Ok(Debt::default());
        }
        let dumps = dumps.saturating_sub(self.dumps);
        let compactions = self.compacted.seen(compacted);
        let owed = |name, amount, limit| Owed { name, unit: Unit::Bytes, amount, limit };
        Ok(Debt {
            owed: vec![
                owed("memory to dump", level_0, Some(watermark)),
                owed("runs to compact", queue, None),
            ],
            turns: vec![
                Turn { name: "dumps", done: dumps, whole: 1 },
                Turn { name: "compactions", done: compactions, whole: 1 },
            ],
            payments: vec![
                Payment { name: "dump", count: dumps },
                Payment { name: "compaction", count: compactions },
            ],
        })
    }
}
