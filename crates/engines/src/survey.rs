//! Examines an external server over one connection, before anything is loaded. Nothing on it is
//! changed.

use std::sync::OnceLock;
use std::time::Duration;

use crate::external::panics::catch_panic;
use crate::external::{Password, Secret};
use crate::sql::MADE_BY;
use crate::{Durability, Error, OpenTerms};

/// The facts about a database from its URL, and about its server once it was asked.
pub(crate) struct UrlDatabase {
    /// The URL without its password.
    pub name: &'static str,
    secret: Option<Secret>,
    url_has_it: bool,
    survey: OnceLock<ServerSurvey>,
    process: OnceLock<Option<u32>>,
}

impl UrlDatabase {
    pub fn new(name: String, secret: Option<Secret>, url_has_it: bool) -> Self {
        let (survey, process) = (OnceLock::new(), OnceLock::new());
        Self { name: String::leak(name), secret, url_has_it, survey, process }
    }

    pub fn password(&self) -> Password {
        match &self.secret {
            None => Password::Missing,
            Some(_) if self.url_has_it => Password::Url,
            Some(_) => Password::Kept,
        }
    }

    /// A text without the password, which a server may repeat.
    pub fn hide_password(&self, text: &str) -> String {
        self.secret.as_ref().map_or_else(|| text.to_owned(), |secret| secret.hidden_in(text))
    }

    /// It is looked for once: the look is a connection.
    pub fn find_process(&self, find: impl FnOnce() -> Option<u32>) -> Option<u32> {
        *self.process.get_or_init(find)
    }

    pub fn survey(&self, ask: impl FnOnce() -> ServerSurvey) -> &ServerSurvey {
        let answer = || catch_panic(ask).unwrap_or_else(|_| ServerSurvey::from_failure(NO_SENSE));
        self.survey.get_or_init(|| answer().without_password(self.secret.as_ref()))
    }
}

/// How long a server may say nothing while it is looked at.
pub(crate) const SILENCE: Duration = Duration::from_secs(30);

/// Why there is no connection where it says nothing.
pub(crate) fn explain_silence() -> String {
    format!("it takes the connection, and says nothing for {} s", SILENCE.as_secs())
}

/// What is said where the library panics.
pub(crate) const NO_SENSE: &str = "the server's answers can't be read: look what listens at the URL's host and port, and \
                        whether it is a server of the URL's kind";

/// The user's setting that allows a database with tables that bakeoff made.
pub(crate) const REUSE: (&str, &str) = ("reuse", "yes");

/// What to do with tables that bakeoff made earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeftoverPolicy {
    Keep,
    /// Use them if they match the schema; else drop them.
    Reuse,
    Refuse,
}

impl LeftoverPolicy {
    pub fn from_terms(terms: &OpenTerms) -> Self {
        let reuses = terms.settings.iter().any(|(name, value)| (&**name, &**value) == REUSE);
        if reuses { Self::Reuse } else { Self::Refuse }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ServerSurvey {
    pub version: String,
    pub lacks: Vec<(Durability, String)>,
    /// What its settings promise; `None` if they promise nothing that can be told.
    pub own: Option<Durability>,
    pub problems: Vec<String>,
    pub tables: ObstructingTables,
    /// The part of the check after trials that can't be made, and what would allow it.
    pub unchecked: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ObstructingTables {
    pub others: Option<String>,
    pub ours: Option<String>,
}

impl ObstructingTables {
    /// `count` is the number of tables; `others` are the names of those that bakeoff didn't make.
    pub fn new<'a>(count: usize, others: impl Iterator<Item = &'a str>) -> Self {
        let others = refuse_others(others).err().map(explain_obstacle);
        let ours =
            (others.is_none() && count > 0).then(|| explain_obstacle(self::leftovers_error(count)));
        Self { others, ours }
    }
}

impl ServerSurvey {
    /// Of a server that can't be looked at.
    pub fn from_failure(what: impl Into<String>) -> Self {
        let what = what.into();
        Self { version: what.clone(), problems: vec![what], ..Self::default() }
    }

    /// Hides a password that the server received, wherever it repeats it.
    pub fn without_password(mut self, password: Option<&Secret>) -> Self {
        let Some(password) = password else { return self };
        let tables = [&mut self.tables.others, &mut self.tables.ours];
        let lacks = self.lacks.iter_mut().map(|(_, why)| why);
        let said = [&mut self.version].into_iter().chain(&mut self.problems).chain(lacks);
        for text in said.chain(tables.into_iter().chain([&mut self.unchecked]).flatten()) {
            *text = password.hidden_in(text);
        }
        self
    }

    pub fn check_level(&self, durability: Durability) -> Result<(), String> {
        let why = self.lacks.iter().find(|(level, _)| *level == durability);
        why.map_or(Ok(()), |(_, why)| Err(why.clone()))
    }

    /// A server that does not answer is reported with the obstacles.
    pub fn find_own_level(&self) -> Result<Durability, String> {
        let unknown = "with its settings a kill of the server alone takes commits, or nobody knows how many a power \
                       cut takes";
        match self.own {
            Some(own) => Ok(own),
            None if !self.problems.is_empty() => Ok(Durability::Strict),
            None => Err(unknown.into()),
        }
    }

    /// The obstacles; with `reuse`, tables that bakeoff made are none.
    pub fn check_ready(&self, reuse: bool) -> Result<(), Vec<String>> {
        let ours = self.tables.ours.iter().filter(|_| !reuse);
        let problems = self.problems.iter().chain(&self.tables.others).chain(ours);
        let problems: Vec<String> = problems.cloned().collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }
}

pub(crate) fn find_lacking_levels(
    mut confirm: impl FnMut(Durability) -> crate::Result<()>,
) -> Vec<(Durability, String)> {
    let levels = Durability::ALL.into_iter();
    levels.filter_map(|level| Some((level, explain_obstacle(confirm(level).err()?)))).collect()
}

pub(crate) fn explain_obstacle(error: Error) -> String {
    match error {
        Error::Usage(what) => what,
        other => other.to_string(),
    }
}

/// Refuses a database with `others`: the names of tables that bakeoff didn't make.
pub(crate) fn refuse_others<'a>(mut others: impl Iterator<Item = &'a str>) -> crate::Result<()> {
    let Some(first) = others.next() else { return Ok(()) };
    let tables = match 1 + others.count() {
        1 => format!("a table that is not {MADE_BY}, {first}"),
        count => format!("{count} tables that are not {MADE_BY}, {first} for one"),
    };
    Err(Error::Usage(format!("the database holds {tables}: name an empty database of its own")))
}

pub(crate) fn leftovers_error(count: usize) -> Error {
    let tables = match count {
        1 => "a table that was".to_owned(),
        _ => format!("{count} tables that were"),
    };
    Error::Usage(format!(
        "the database holds {tables} {MADE_BY} before, in a run or in a load that failed: --reuse \
         drops such tables; or name an empty database"
    ))
}
