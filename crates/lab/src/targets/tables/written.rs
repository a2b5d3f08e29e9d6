//! Counts what an application writes and reads through a session: commits that changed something, the
//! bytes of their rows as the application sees them, and those of the rows that reads returned.

use bakeoff_engines::{Action, Statement, Value};

/// What was written and committed, and what was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatementTotals {
    /// Transactions that changed a row.
    pub commits: u64,
    /// Bytes of the parameters of their writing statements.
    pub bytes: u64,
    /// Bytes of the rows that reading statements returned, whatever became of their transaction.
    pub returned: u64,
}

impl StatementTotals {
    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            commits: self.commits + other.commits,
            bytes: self.bytes + other.bytes,
            returned: self.returned + other.returned,
        }
    }
}

impl StatementTotals {
    /// What has come since an earlier look.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            commits: self.commits.saturating_sub(earlier.commits),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            returned: self.returned.saturating_sub(earlier.returned),
        }
    }
}

/// Which statements write, by their numbers.
pub fn writing(statements: &[Statement]) -> Vec<bool> {
    statements.iter().map(|statement| !matches!(statement.action, Action::Read(_))).collect()
}

/// What one session writes and reads.
pub struct Writes<'a> {
    writing: &'a [bool],
    in_transaction: bool,
    /// Bytes that the open transaction wrote; `None` while it has changed nothing.
    pending: Option<u64>,
    written: StatementTotals,
}

impl<'a> Writes<'a> {
    /// Of a session whose statements write or don't.
    pub fn new(writing: &'a [bool]) -> Self {
        Self { writing, in_transaction: false, pending: None, written: StatementTotals::default() }
    }

    /// A transaction has begun.
    pub fn begun(&mut self) {
        (self.in_transaction, self.pending) = (true, None);
    }

    /// A statement was run: it changed so many rows, or returned rows of so many bytes. Outside a
    /// transaction it was one of its own.
    pub fn ran(&mut self, statement: usize, values: &[Value<'_>], rows: u64, returned: u64) {
        if !self.writing[statement] {
            self.written.returned += returned;
            return;
        }
        if rows == 0 {
            return;
        }
        *self.pending.get_or_insert(0) += values.iter().map(size).sum::<u64>();
        if !self.in_transaction {
            self.committed();
        }
    }

    /// The transaction was committed.
    pub fn committed(&mut self) {
        self.in_transaction = false;
        if let Some(bytes) = self.pending.take() {
            self.written = self.written.plus(StatementTotals { commits: 1, bytes, returned: 0 });
        }
    }

    /// The transaction has ended without an effect.
    pub fn undone(&mut self) {
        (self.in_transaction, self.pending) = (false, None);
    }

    /// What was committed and returned so far.
    pub fn written(&self) -> StatementTotals {
        self.written
    }
}

/// Bytes of a value as the application holds it.
pub fn size(value: &Value<'_>) -> u64 {
    match value {
        Value::Null => 0,
        Value::Int(_) => 8,
        Value::Text(text) => text.len() as u64,
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
        writes.begun();
        writes.ran(0, &VALUES, 5, 60);
        writes.committed();
        assert_eq!(writes.written(), returned(60), "it only read");
        writes.begun();
        writes.ran(1, &VALUES, 0, 0);
        writes.committed();
        assert_eq!(writes.written(), returned(60), "it changed no row");
        writes.begun();
        writes.ran(1, &VALUES, 1, 0);
        writes.ran(0, &VALUES, 1, 10);
        writes.undone();
        assert_eq!(writes.written(), returned(70), "it was undone, and had read");
        writes.begun();
        writes.ran(1, &VALUES, 1, 8);
        writes.ran(1, &VALUES, 1, 8);
        writes.committed();
        assert_eq!(
            writes.written(),
            one,
            "two rows, one commit; a new key is no row that was read"
        );
        writes.ran(1, &VALUES, 1, 8);
        let two = StatementTotals { commits: 1, bytes: 11, returned: 0 };
        assert_eq!(writes.written(), one.plus(two));
    }
}
