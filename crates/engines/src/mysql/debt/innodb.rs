//! InnoDB's debt: pages to write before its log is full, and old row versions to purge
//! (mariadb.com/kb/en/innodb-status-variables).

use mysql::Conn;

use super::{StorageDebt, ask_one, read_status};
use crate::debt::ChangeCounter;
use crate::{Debt, DebtTurn, DebtUnit, DeferredWork, Payment, Result};

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
    capacity: u64,
    dirty: f64,
    lsn: u64,
    checkpoints: ChangeCounter<u64>,
}

impl InnoDb {
    pub fn since_now(server: &mut Conn) -> Result<Self> {
        let settings = "SELECT @@innodb_log_file_size, @@innodb_max_dirty_pages_pct";
        let (capacity, dirty) = ask_one(server, settings)?;
        let [.., lsn, checkpoint] = read_status(server, &STATUS)?;
        Ok(Self { capacity, dirty, lsn, checkpoints: ChangeCounter::since(checkpoint) })
    }
}

impl StorageDebt for InnoDb {
    fn measure_debt(&self, server: &mut Conn) -> Result<Debt> {
        let [age, oldest, dirty, pages, history, lsn, checkpoint] = read_status(server, &STATUS)?;
        let most_dirty = (pages as f64 * self.dirty / 100.0) as u64;
        let owed = |name, unit, amount, limit| DeferredWork { name, unit, amount, limit };
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
                count: self.checkpoints.count_changes(checkpoint),
            }],
        })
    }
}
