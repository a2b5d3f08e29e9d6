//! What vinyl owes: changes to dump, and runs to merge. memtx owes nothing: what it writes beside its log are
//! snapshots, once an hour.

use super::counts::ReturnedCounts;
use super::storage::TarantoolStorage;
use crate::debt::ChangeCounter;
use crate::{Debt, DebtTurn, DebtUnit, Owed, Payment, Result};

/// The function that tells what is owed.
pub(super) const FUNCTION: &str = "bakeoff_debt";
/// How many numbers it gives back.
const NUMBERS: usize = 5;

/// What was before the opening, and what was seen since.
pub(super) struct TarantoolDebtState {
    storage: TarantoolStorage,
    dumps: u64,
    /// The bytes that compactions had written.
    compacted: ChangeCounter<u64>,
}

impl TarantoolDebtState {
    /// As it stands by this answer.
    pub fn now(storage: TarantoolStorage, counts: &ReturnedCounts) -> Result<Self> {
        let [.., dumps, compacted] = counts.numbers::<NUMBERS>()?;
        Ok(Self { storage, dumps, compacted: ChangeCounter::since(compacted) })
    }

    /// What is owed by this answer.
    pub fn debt(&self, counts: &ReturnedCounts) -> Result<Debt> {
        let [level_0, watermark, queue, dumps, compacted] = counts.numbers::<NUMBERS>()?;
        if self.storage == TarantoolStorage::Memtx {
            return Ok(Debt::default());
        }
        let dumps = dumps.saturating_sub(self.dumps);
        let compactions = self.compacted.seen(compacted);
        let owed = |name, amount, limit| Owed { name, unit: DebtUnit::Bytes, amount, limit };
        Ok(Debt {
            owed: vec![
                owed("memory to dump", level_0, Some(watermark)),
                owed("runs to compact", queue, None),
            ],
            turns: vec![
                DebtTurn { name: "dumps", done: dumps, whole: 1 },
                DebtTurn { name: "compactions", done: compactions, whole: 1 },
            ],
            payments: vec![
                Payment { name: "dump", count: dumps },
                Payment { name: "compaction", count: compactions },
            ],
        })
    }
}
