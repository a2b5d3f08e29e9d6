//! fjall's debt: memtables to flush, and tables to compact.
//!
//! Not used: its count of compactions includes those that found nothing to do, its bytes in
//! memtables lack transactions, and its journal's size is behind the lock that commits hold while
//! they sync.

use std::sync::atomic::{AtomicU64, Ordering};

use fjall::{AbstractTree, Keyspace, OptimisticTxDatabase};

use crate::debt::ChangeCounter;
use crate::{Debt, DebtTurn, DebtUnit, DeferredWork, Payment};

/// Runs in level 0 of a key space at which writes are slowed down (fjall, `local_backpressure`).
const MOST_RUNS: u64 = 20;
/// Sealed memtables of a key space at which writes stop (ibidem).
pub(super) const MOST_SEALED: u64 = 4;

pub(super) struct FjallDebtState {
    memtables: u64,
    memtable: u64,
    flushed: AtomicU64,
    compacted: ChangeCounter<Vec<Option<u64>>>,
}

impl FjallDebtState {
    pub fn from_spaces(spaces: &[Keyspace], memtable: u64) -> Self {
        Self {
            memtables: memtables(spaces),
            memtable,
            flushed: AtomicU64::new(0),
            compacted: ChangeCounter::since(youngest(spaces)),
        }
    }

    pub fn measure_debt(&self, database: &OptimisticTxDatabase, spaces: &[Keyspace]) -> Debt {
        let begun = memtables(spaces) - self.memtables;
        let sealed = || spaces.iter().map(|space| space.sealed_memtable_count() as u64);
        // A memtable sealed between the two looks makes the difference too small for a moment.
        let flushed = begun.saturating_sub(sealed().sum());
        let flushed = flushed.max(self.flushed.fetch_max(flushed, Ordering::Relaxed));
        let compacted = self.compacted.count_changes(youngest(spaces));
        let runs = spaces.iter().map(|space| space.tree.l0_run_count() as u64);
        let active = spaces.iter().map(|space| space.tree.active_memtable().size());
        let owed = |name, unit, amount, limit| DeferredWork { name, unit, amount, limit };
        let memtables_limit = self.memtable * spaces.len() as u64;
        Debt {
            owed: vec![
                owed("active memtables", DebtUnit::Bytes, active.sum(), Some(memtables_limit)),
                owed(
                    "sealed memtables",
                    DebtUnit::Files,
                    largest_count(sealed()),
                    Some(MOST_SEALED),
                ),
                owed("runs in level 0", DebtUnit::Files, largest_count(runs), Some(MOST_RUNS)),
                owed("journals", DebtUnit::Files, database.journal_count() as u64, None),
            ],
            turns: vec![
                DebtTurn { name: "memtables flushed", done: flushed, whole: 1 },
                DebtTurn { name: "compactions below level 0", done: compacted, whole: 1 },
            ],
            payments: vec![
                Payment { name: "memtable flush", count: flushed },
                Payment { name: "compaction", count: compacted },
            ],
        }
    }
}

fn largest_count(counts: impl Iterator<Item = u64>) -> u64 {
    counts.max().unwrap_or(0)
}

fn memtables(spaces: &[Keyspace]) -> u64 {
    spaces.iter().map(|space| space.tree.active_memtable().id()).sum()
}

fn youngest(spaces: &[Keyspace]) -> Vec<Option<u64>> {
    let youngest = |space: &Keyspace| {
        let version = space.tree.current_version();
        let runs = version.iter_levels().skip(1).flat_map(|level| level.iter());
        runs.flat_map(|run| run.iter().map(|table| table.id())).max()
    };
    spaces.iter().map(youngest).collect()
}
