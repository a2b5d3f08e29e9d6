//! vinyl's debt: changes to dump, and runs to merge. memtx has none: beside its log it only writes
//! a snapshot once an hour.

use super::counts::ReturnedCounts;
use super::storage::TarantoolStorage;
use crate::debt::ChangeCounter;
use crate::{Debt, DebtTurn, DebtUnit, DeferredWork, Payment, Result};

pub(super) const FUNCTION: &str = "bakeoff_debt";
const NUMBERS: usize = 5;

pub(super) struct TarantoolDebtState {
    storage: TarantoolStorage,
    dumps: u64,
    compacted: ChangeCounter<u64>,
}

impl TarantoolDebtState {
    pub fn from_counts(storage: TarantoolStorage, counts: &ReturnedCounts) -> Result<Self> {
        let [.., dumps, compacted] = counts.to_numbers::<NUMBERS>()?;
        Ok(Self { storage, dumps, compacted: ChangeCounter::since(compacted) })
    }

    pub fn measure_debt(&self, counts: &ReturnedCounts) -> Result<Debt> {
        let [level_0, watermark, queue, dumps, compacted] = counts.to_numbers::<NUMBERS>()?;
        if self.storage == TarantoolStorage::Memtx {
            return Ok(Debt::default());
        }
        let dumps = dumps.saturating_sub(self.dumps);
        let compactions = self.compacted.count_changes(compacted);
        let owed =
            |name, amount, limit| DeferredWork { name, unit: DebtUnit::Bytes, amount, limit };
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
