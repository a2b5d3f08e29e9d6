//! Counts what an application writes and reads through a session: commits that changed something,
//! bytes of their rows as the application sees them, and bytes of returned rows.

use bakeoff_engines::{Statement, Value};
use serde::{Deserialize, Serialize};

use crate::targets::ClientTally;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementTotals {
    pub commits: u64,
    /// Bytes of the parameters of writing statements.
    pub bytes: u64,
    /// Counted whether or not the transaction succeeds.
    pub returned: u64,
}

impl StatementTotals {
    pub fn plus(self, other: Self) -> Self {
        Self {
            commits: self.commits + other.commits,
            bytes: self.bytes + other.bytes,
            returned: self.returned + other.returned,
        }
    }

    pub fn since(self, earlier: Self) -> Self {
        Self {
            commits: self.commits.saturating_sub(earlier.commits),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            returned: self.returned.saturating_sub(earlier.returned),
        }
    }

    /// `inside` is the share of the drivers' processor time in the engine.
    pub fn tally(self, inside: f64) -> ClientTally {
        let Self { commits, bytes, returned } = self;
        ClientTally { commits, bytes, returned: Some(returned), inside }
    }
}

pub fn writing_statements(statements: &[Statement]) -> Vec<bool> {
    statements.iter().map(|statement| statement.action.writes()).collect()
}

pub struct Writes<'a> {
    writing: &'a [bool],
    in_transaction: bool,
    /// Bytes of the open transaction; `None` while it has changed nothing.
    pending: Option<u64>,
    written: StatementTotals,
}

impl<'a> Writes<'a> {
    pub fn new(writing: &'a [bool]) -> Self {
        Self { writing, in_transaction: false, pending: None, written: StatementTotals::default() }
    }

    pub fn note_begin(&mut self) {
        (self.in_transaction, self.pending) = (true, None);
    }

    /// Outside a transaction, the statement is one of its own.
    pub fn note_statement(
        &mut self,
        statement: usize,
        values: &[Value<'_>],
        rows: u64,
        returned: u64,
    ) {
        if !self.writing[statement] {
            self.written.returned += returned;
            return;
        }
        if rows == 0 {
            return;
        }
        *self.pending.get_or_insert(0) += values.iter().map(value_bytes).sum::<u64>();
        if !self.in_transaction {
            self.note_commit();
        }
    }

    pub fn note_commit(&mut self) {
        self.in_transaction = false;
        if let Some(bytes) = self.pending.take() {
            self.written = self.written.plus(StatementTotals { commits: 1, bytes, returned: 0 });
        }
    }

    pub fn note_rollback(&mut self) {
        (self.in_transaction, self.pending) = (false, None);
    }

    pub fn statement_totals(&self) -> StatementTotals {
        self.written
    }
}

/// As the application counts them.
pub fn value_bytes(value: &Value<'_>) -> u64 {
    match value {
        Value::Null => 0,
        Value::Int(_) | Value::Real(_) => 8,
        Value::Text(text) => text.len() as u64,
        Value::Bytes(bytes) => bytes.len() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: [Value<'static>; 3] = [Value::Int(1), Value::Text("abc"), Value::Null];

    #[test]
    fn only_what_changed_a_row_and_was_committed_counts() {
        let mut writes = Writes::new(&[false, true]);
        let returned = |bytes| StatementTotals { returned: bytes, ..StatementTotals::default() };
        let one = StatementTotals { commits: 1, bytes: 22, returned: 70 };
        writes.note_begin();
        writes.note_statement(0, &VALUES, 5, 60);
        writes.note_commit();
        assert_eq!(writes.statement_totals(), returned(60), "it only read");
        writes.note_begin();
        writes.note_statement(1, &VALUES, 0, 0);
        writes.note_commit();
        assert_eq!(writes.statement_totals(), returned(60), "it changed no row");
        writes.note_begin();
        writes.note_statement(1, &VALUES, 1, 0);
        writes.note_statement(0, &VALUES, 1, 10);
        writes.note_rollback();
        assert_eq!(writes.statement_totals(), returned(70), "it was undone, and had read");
        writes.note_begin();
        writes.note_statement(1, &VALUES, 1, 8);
        writes.note_statement(1, &VALUES, 1, 8);
        writes.note_commit();
        assert_eq!(
            writes.statement_totals(),
            one,
            "two rows, one commit; a new key is no row that was read"
        );
        writes.note_statement(1, &VALUES, 1, 8);
        let two = StatementTotals { commits: 1, bytes: 11, returned: 0 };
        assert_eq!(writes.statement_totals(), one.plus(two));
    }
}
