//! A private server's debt: a log to checkpoint, and dead rows to vacuum. It reports dirty buffers
//! only by looking at each (`pg_buffercache`).

use postgres::Client;

use super::to_error;
use crate::debt::ChangeCounter;
use crate::served::KeptConnection;
use crate::{Debt, DebtTurn, DebtUnit, DeferredWork, Payment, Result};

/// The log since the last checkpoint began, that checkpoint's place, the log at which the next has
/// to be over, dead rows, and automatic vacuums. The server's statistics count a checkpoint when it
/// begins; the control file has it when it has ended.
const QUESTION: &str = "SELECT \
    pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn)::bigint, \
    pg_wal_lsn_diff(checkpoint_lsn, '0/0')::bigint, \
    pg_size_bytes(current_setting('max_wal_size')), \
    dead, vacuums \
    FROM pg_control_checkpoint(), (SELECT coalesce(sum(n_dead_tup), 0)::bigint AS dead, \
    coalesce(sum(autovacuum_count), 0)::bigint AS vacuums FROM pg_stat_user_tables) AS tables";

pub(super) struct PostgresDebtWatch {
    client: KeptConnection<Client>,
    checkpoints: ChangeCounter<i64>,
    vacuums: i64,
}

struct DebtStatistics {
    log: i64,
    checkpoint: i64,
    limit: i64,
    dead: i64,
    vacuums: i64,
}

impl PostgresDebtWatch {
    pub fn begin(mut client: Client) -> Result<Self> {
        let now = ask(&mut client)?;
        Ok(Self {
            client: KeptConnection::new(client),
            checkpoints: ChangeCounter::since(now.checkpoint),
            vacuums: now.vacuums,
        })
    }

    pub fn measure_debt(&self, connect: impl FnOnce() -> Result<Client>) -> Result<Debt> {
        self.client.ask(connect, ask).map(|answer| self.tell(&answer))
    }

    fn tell(&self, now: &DebtStatistics) -> Debt {
        let number = |value: i64| u64::try_from(value).unwrap_or(0);
        let checkpoints = self.checkpoints.count_changes(now.checkpoint);
        let vacuums = number(now.vacuums - self.vacuums);
        let owed = |name, unit, amount, limit| DeferredWork { name, unit, amount, limit };
        Debt {
            owed: vec![
                owed(
                    "log since the last checkpoint",
                    DebtUnit::Bytes,
                    number(now.log),
                    Some(number(now.limit)),
                ),
                owed("dead rows", DebtUnit::Rows, number(now.dead), None),
            ],
            turns: vec![
                DebtTurn { name: "checkpoints", done: checkpoints, whole: 1 },
                DebtTurn { name: "automatic vacuums", done: vacuums, whole: 1 },
            ],
            payments: vec![
                Payment { name: "checkpoint", count: checkpoints },
                Payment { name: "automatic vacuum", count: vacuums },
            ],
        }
    }
}

fn ask(client: &mut Client) -> Result<DebtStatistics> {
    let row = client.query_one(QUESTION, &[]).map_err(to_error)?;
    let value = |number: usize| row.try_get(number).map_err(to_error);
    Ok(DebtStatistics {
        log: value(0)?,
        checkpoint: value(1)?,
        limit: value(2)?,
        dead: value(3)?,
        vacuums: value(4)?,
    })
}
