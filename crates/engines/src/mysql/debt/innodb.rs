//! InnoDB: pages to write before its log is full, and old versions of rows to purge
//! (mariadb.com/kb/en/innodb-status-variables).

use mysql::Conn;

use super::{StorageDebt, one, status};
use crate::debt::ChangeCounter;
use crate::{Debt, DebtTurn, DebtUnit, Owed, Payment, Result};

const STATUS: [&str; 7] = [
    "Innodb_checkpoint_age",
    "Innodb_checkpoint_max_age",
    "Innodb_buffer_pool_pages_dirty",
    "Innodb_buffer_pool_pages_total",
    "Innodb_history_list_length",
    "Innodb_lsn_current",
    "Innodb_lsn_last_checkpoint",
];

pub(super) struct InnoDb {
    /// Bytes of its log.
    capacity: u64,
    /// How much of its pool may be dirty, in percent.
    dirty: f64,
    /// Where its log was at the opening.
    lsn: u64,
    /// Where its last checkpoint is.
    checkpoints: ChangeCounter<u64>,
}

impl InnoDb {
    pub fn since_now(server: &mut Conn) -> Result<Self> {
        let settings = "SELECT @@innodb_log_file_size, @@innodb_max_dirty_pages_pct";
        let (capacity, dirty) = one(server, settings)?;
        let [.., lsn, checkpoint] = status(server, &STATUS)?;
        Ok(Self { capacity, dirty, lsn, checkpoints: ChangeCounter::since(checkpoint) })
    }
}

impl StorageDebt for InnoDb {
    fn debt(&self, server: &mut Conn) -> Result<Debt> {
        let [age, oldest, dirty, pages, history, lsn, checkpoint] = status(server, &STATUS)?;
        let most_dirty = (pages as f64 * self.dirty / 100.0) as u64;
        let owed = |name, unit, amount, limit| Owed { name, unit, amount, limit };
        Ok(Debt {
            owed: vec![
                owed("checkpoint age", DebtUnit::Bytes, age, Some(oldest)),
                owed("dirty pages", DebtUnit::Pages, dirty, Some(most_dirty)),
                owed("history list", DebtUnit::Transactions, history, None),
            ],
            turns: vec![DebtTurn {
                name: "log capacity written",
                done: lsn.saturating_sub(self.lsn),
                whole: self.capacity,
            }],
            payments: vec![Payment {
                name: "checkpoint",
                count: self.checkpoints.seen(checkpoint),
            }],
        })
    }
}
