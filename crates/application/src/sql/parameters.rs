//! Texts of a statement and where their parameters come from.

use bakeoff_engines::sql::Dialect;

use crate::SourcePlace;

/// A value that is written in a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum SqlLiteral {
    /// `NULL`.
    Null,
    /// `TRUE` or `FALSE`.
    Bool(bool),
    /// `-7`.
    Int(i64),
    /// `1.50`: a number with a point or an exponent, as it is written.
    Decimal(String),
    /// `'text'`, without quotes.
    Text(String),
}

/// Where the value of a parameter comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterSource {
    /// `:name`; `now` stands for the present time, too.
    Named {
        /// Without the colon.
        name: String,
        /// Where it is written.
        place: SourcePlace,
    },
    /// The negative of `:name`: `stock = stock - :name` adds that.
    Negated {
        /// Without the colon.
        name: String,
        /// Where it is written.
        place: SourcePlace,
    },
    /// One element of the list `:name[8]`.
    Element {
        /// Without the colon.
        name: String,
        /// From 0.
        number: usize,
        /// Where it is written.
        place: SourcePlace,
    },
    /// A value of the statement itself.
    Literal(SqlLiteral),
}

impl ParameterSource {
    /// The variable of a name.
    pub fn from_name(name: &str, place: &SourcePlace) -> Self {
        Self::Named { name: name.into(), place: place.clone() }
    }

    /// What it is, without its place.
    pub fn describe(&self) -> String {
        match self {
            Self::Named { name, .. } => format!(":{name}"),
            Self::Negated { name, .. } => format!("-:{name}"),
            Self::Element { name, number, .. } => format!(":{name}[{number}]"),
            Self::Literal(literal) => format!("{literal:?}"),
        }
    }

    /// An element of a list, from 0.
    pub fn from_element(name: &str, number: usize, place: &SourcePlace) -> Self {
        Self::Element { name: name.into(), number, place: place.clone() }
    }
}

/// The text for one dialect, and its parameters from left to right.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DialectText {
    /// With `?` or `$1` for each parameter.
    pub text: String,
    /// One each; a name that is written twice is here twice.
    pub parameters: Vec<ParameterSource>,
}

/// The texts for all dialects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DialectTexts {
    /// For SQLite.
    pub sqlite: DialectText,
    /// For MySQL and MariaDB.
    pub mysql: DialectText,
    /// For PostgreSQL.
    pub postgres: DialectText,
    /// Whether the user wrote one for each, so that databases run different statements.
    pub differ: bool,
}

impl DialectTexts {
    /// The text for a dialect.
    pub fn get(&self, dialect: Dialect) -> &DialectText {
        match dialect {
            Dialect::Sqlite => &self.sqlite,
            Dialect::MySql => &self.mysql,
            Dialect::Postgres => &self.postgres,
        }
    }

    pub(super) fn set(&mut self, dialect: Dialect, text: DialectText) {
        *match dialect {
            Dialect::Sqlite => &mut self.sqlite,
            Dialect::MySql => &mut self.mysql,
            Dialect::Postgres => &mut self.postgres,
        } = text;
    }
}
