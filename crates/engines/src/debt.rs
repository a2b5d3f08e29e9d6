//! Deferred work: what an engine has acknowledged and put off.

use std::sync::{Mutex, PoisonError};

/// Deferred work at a moment, and what was done of it since the database was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Debt {
    /// The work that is put off.
    pub owed: Vec<DeferredWork>,
    /// What has to happen once after the opening before the debt is at its lasting level. Empty if
    /// the engine defers nothing.
    pub turns: Vec<DebtTurn>,
    /// The work that the engine does now and then.
    pub payments: Vec<Payment>,
}

impl Debt {
    /// Whether every turn is complete.
    pub fn has_turned_over(&self) -> bool {
        self.turns.iter().all(|turn| turn.done >= turn.whole)
    }
}

/// One kind of deferred work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeferredWork {
    /// The engine's own term, in words: "dirty pages".
    pub name: &'static str,
    /// What `amount` and `limit` count.
    pub unit: DebtUnit,
    /// The amount now.
    pub amount: u64,
    /// The amount at which the engine begins to work at the latest; `None` if nothing forces it.
    pub limit: Option<u64>,
}

/// The unit of a debt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DebtUnit {
    /// Bytes.
    Bytes,
    /// Pages of the engine's own size.
    Pages,
    /// Rows, or versions of rows.
    Rows,
    /// Transactions.
    Transactions,
    /// Files or tables of a tree.
    Files,
}

impl DebtUnit {
    /// All units.
    pub const ALL: [Self; 5] =
        [Self::Bytes, Self::Pages, Self::Rows, Self::Transactions, Self::Files];

    /// The unit's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Pages => "pages",
            Self::Rows => "rows",
            Self::Transactions => "transactions",
            Self::Files => "files",
        }
    }
}

/// How far a debt has gone through its first cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DebtTurn {
    /// What turns over, in words: "log capacity written".
    pub name: &'static str,
    /// How far it is. It never falls.
    pub done: u64,
    /// One whole turn, in the same unit.
    pub whole: u64,
}

/// How often a kind of deferred work was done since the database was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payment {
    /// Its name in the singular: "checkpoint".
    pub name: &'static str,
    /// How often it has ended. It never falls.
    pub count: u64,
}

/// File calls that show that an engine does deferred work: they serve nothing else while clients
/// are at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaymentSignature {
    /// The work, in the singular: "checkpoint".
    pub payment: &'static str,
    /// The kind of call.
    pub call: PaymentCall,
    /// Patterns of file names, one of which has to match: `*` is any letters, `?` is one letter. A
    /// pattern with a slash is matched against the path below the engine's directory.
    pub files: &'static [&'static str],
}

/// A kind of file call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaymentCall {
    /// Any write.
    Write,
    /// A write that begins before this offset: in the file's header.
    WriteBelow(u64),
    /// A sync.
    Sync,
}

impl PaymentSignature {
    /// Work that shows as writes to these files.
    pub const fn writes(payment: &'static str, files: &'static [&'static str]) -> Self {
        Self { payment, call: PaymentCall::Write, files }
    }

    /// Work that shows as writes to the first `end` bytes of these files.
    pub const fn headers(payment: &'static str, end: u64, files: &'static [&'static str]) -> Self {
        Self { payment, call: PaymentCall::WriteBelow(end), files }
    }

    /// Work that shows as syncs of these files.
    pub const fn syncs(payment: &'static str, files: &'static [&'static str]) -> Self {
        Self { payment, call: PaymentCall::Sync, files }
    }
}

/// Counts changes of a value for what an engine does but doesn't count: at most one change per
/// look.
pub(crate) struct ChangeCounter<T>(Mutex<(T, u64)>);

impl<T: PartialEq> ChangeCounter<T> {
    pub fn since(now: T) -> Self {
        Self(Mutex::new((now, 0)))
    }

    pub fn count_changes(&self, now: T) -> u64 {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.0 != now {
            *seen = (now, seen.1 + 1);
        }
        seen.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debt_has_turned_over_when_every_turn_is_complete() {
        let turn = |done| DebtTurn { name: "one", done, whole: 2 };
        let debt = |turns: &[DebtTurn]| Debt { turns: turns.into(), ..Debt::default() };
        assert!(debt(&[]).has_turned_over());
        assert!(!debt(&[turn(2), turn(1)]).has_turned_over());
        assert!(debt(&[turn(2), turn(3)]).has_turned_over());
    }

    #[test]
    fn a_change_is_counted_when_it_is_seen() {
        let changes = ChangeCounter::since(7);
        assert_eq!([7, 8, 8, 9, 7].map(|now| changes.count_changes(now)), [0, 1, 1, 2, 3]);
    }
}
