//! What an engine owes: work that it has acknowledged and put off.

/// What an engine owes at a moment, and what it has paid since its database was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Debt {
    /// What is put off.
    pub owed: Vec<Owed>,
    /// What has to happen once after opening before the debts can be at their lasting level. Empty
    /// for an engine that puts nothing off.
    pub turns: Vec<Turn>,
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
    pub unit: Unit,
    /// How much there is.
    pub amount: u64,
    /// Where the engine has to pay at the latest; `None` where nothing forces it to.
    pub limit: Option<u64>,
}

/// What a debt is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Pages of the engine's own size.
    Pages,
    /// Rows, or versions of rows.
    Rows,
    /// Files or tables of a tree.
    Files,
}

impl Unit {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Pages => "pages",
            Self::Rows => "rows",
            Self::Files => "files",
        }
    }
}

/// How far a debt has come in being run up and paid for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
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
