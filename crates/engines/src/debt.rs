//! What an engine owes: work that it has acknowledged and put off.

use std::sync::{Mutex, PoisonError};

/// What an engine owes at a moment, and what it has paid since its database was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Debt {
    /// What is put off.
    pub owed: Vec<Owed>,
    /// What has to happen once after opening, before the debts can be at their lasting level. An engine
    /// that puts nothing off has none.
    pub turns: Vec<DebtTurn>,
    /// What it does now and then to pay.
    pub payments: Vec<Payment>,
}

impl Debt {
    /// Whether every turn is complete.
    pub fn has_turned_over(&self) -> bool {
        self.turns.iter().all(|turn| turn.done >= turn.whole)
    }
}

/// Something that is put off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owed {
    /// The engine's own term for it, in words: "dirty pages".
    pub name: &'static str,
    /// What `amount` and `limit` count.
    pub unit: DebtUnit,
    /// How much there is.
    pub amount: u64,
    /// Where the engine begins to pay at the latest; `None` where nothing forces it to.
    pub limit: Option<u64>,
}

/// What a debt is counted in.
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
    /// Every one.
    pub const ALL: [Self; 5] =
        [Self::Bytes, Self::Pages, Self::Rows, Self::Transactions, Self::Files];

    /// Its name.
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

/// How far a debt has come in being run up and paid for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DebtTurn {
    /// What turns over, in words: "log capacity written".
    pub name: &'static str,
    /// How far it is; never falls.
    pub done: u64,
    /// What makes one whole turn, in the same unit.
    pub whole: u64,
}

/// How often something that pays a debt has happened since the database was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payment {
    /// What it is, in the singular: "checkpoint".
    pub name: &'static str,
    /// How often it has ended; never falls.
    pub count: u64,
}

/// What shows in an engine's files that the engine is paying a debt: calls of files that serve nothing
/// else while clients are at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaymentSignature {
    /// What it does then, in the singular: "checkpoint".
    pub payment: &'static str,
    /// The calls that pay.
    pub call: PaymentCall,
    /// Patterns of the files' names, one of which has to fit: `*` stands for any letters, `?` for one.
    /// One with a slash is held against the whole path below the engine's directory.
    pub files: &'static [&'static str],
}

/// A kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaymentCall {
    /// A write.
    Write,
    /// A write that begins before so many bytes of the file: in its header.
    WriteBelow(u64),
    /// A sync.
    Sync,
}

impl PaymentSignature {
    /// A payment by writes to files.
    pub const fn writes(payment: &'static str, files: &'static [&'static str]) -> Self {
        Self { payment, call: PaymentCall::Write, files }
    }

    /// A payment by writes to the first `end` bytes of files.
    pub const fn headers(payment: &'static str, end: u64, files: &'static [&'static str]) -> Self {
        Self { payment, call: PaymentCall::WriteBelow(end), files }
    }

    /// A payment by syncs of files.
    pub const fn syncs(payment: &'static str, files: &'static [&'static str]) -> Self {
        Self { payment, call: PaymentCall::Sync, files }
    }
}

/// How often something was seen to have changed, for what an engine does but doesn't count: once a look at
/// most.
pub(crate) struct ChangeCounter<T>(Mutex<(T, u64)>);

impl<T: PartialEq> ChangeCounter<T> {
    /// None so far.
    pub fn since(now: T) -> Self {
        Self(Mutex::new((now, 0)))
    }

    /// How many there were, with the one that there is now.
    pub fn seen(&self, now: T) -> u64 {
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
        assert_eq!([7, 8, 8, 9, 7].map(|now| changes.seen(now)), [0, 1, 1, 2, 3]);
    }
}
