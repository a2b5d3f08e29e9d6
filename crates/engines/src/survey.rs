//! What a server that somebody else runs is found to be, over one connection, before anything is
//! loaded. Nothing on it is changed.

use crate::external::Secret;
use crate::sql::MADE_BY;
use crate::{Durability, Error};

/// What a server is found to be.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerSurvey {
    /// Its version, as it says it.
    pub version: String,
    /// The levels of durability that its settings don't give, and why.
    pub lacks: Vec<(Durability, String)>,
    /// What keeps bakeoff from working with it, each with its remedy.
    pub problems: Vec<String>,
    /// The tables in its database that are in the way, each group with its remedy.
    pub tables: ObstructingTables,
}

/// What is in the way in a database.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObstructingTables {
    /// Tables that are not bakeoff's.
    pub others: Option<String>,
    /// Tables of bakeoff's own making: they may be dropped when that is meant.
    pub ours: Option<String>,
}

impl ServerSurvey {
    /// The same without a password that the server was told, wherever it says it.
    pub fn without(mut self, password: Option<&Secret>) -> Self {
        let Some(password) = password else { return self };
        let tables = [&mut self.tables.others, &mut self.tables.ours];
        let lacks = self.lacks.iter_mut().map(|(_, why)| why);
        let said = [&mut self.version].into_iter().chain(&mut self.problems).chain(lacks);
        for text in said.chain(tables.into_iter().flatten()) {
            *text = password.hidden_in(text);
        }
        self
    }

    /// Whether a level is given.
    pub fn gives(&self, durability: Durability) -> Result<(), String> {
        let why = self.lacks.iter().find(|(level, _)| *level == durability);
        why.map_or(Ok(()), |(_, why)| Err(why.clone()))
    }

    /// What stands in the way; tables of bakeoff's own making do unless their `reuse` is meant.
    pub fn ready(&self, reuse: bool) -> Result<(), Vec<String>> {
        let ours = self.tables.ours.iter().filter(|_| !reuse);
        let problems = self.problems.iter().chain(&self.tables.others).chain(ours);
        let problems: Vec<String> = problems.cloned().collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }
}

/// The levels of durability that a server does not give, as `confirm` finds.
pub(crate) fn lacks(
    mut confirm: impl FnMut(Durability) -> crate::Result<()>,
) -> Vec<(Durability, String)> {
    let levels = Durability::ALL.into_iter();
    levels.filter_map(|level| Some((level, words(confirm(level).err()?)))).collect()
}

/// What stands in the way, as a user is told.
pub(crate) fn words(error: Error) -> String {
    match error {
        Error::Usage(what) => what,
        other => other.to_string(),
    }
}

/// Why so many tables, `first` among them, keep a database from being used: they are somebody's.
pub(crate) fn others(count: usize, first: &str) -> Error {
    let tables = match count {
        1 => format!("a table that is not {MADE_BY}, {first}"),
        _ => format!("{count} tables that are not {MADE_BY}, {first} for one"),
    };
    Error::Usage(format!("the database holds {tables}: name an empty database of its own"))
}

/// Why so many tables of bakeoff's own are in the way.
pub(crate) fn ours(count: usize) -> Error {
    let tables = match count {
        1 => "a table that was".to_owned(),
        _ => format!("{count} tables that were"),
    };
    Error::Usage(format!(
        "the database holds {tables} {MADE_BY} before, in a run or in a load that failed: --reuse \
         drops such tables; or name an empty database"
    ))
}
