//! Sources of rows that can fail: files, archives, other programs.

use std::fmt;
use std::path::{Path, PathBuf};

use bakeoff_engines::{Error, Result, Value};

/// Takes a row.
pub type Take<'a> = dyn FnMut(&[Value<'_>]) -> Result<()> + 'a;

/// What is wrong with a source of rows, and where: the user's to mend, no engine's fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError {
    file: Option<PathBuf>,
    line: Option<u64>,
    what: String,
}

impl SourceError {
    /// `what` says what is wrong and what mends it.
    pub fn new(what: impl fmt::Display) -> Self {
        Self { file: None, line: None, what: what.to_string() }
    }

    /// Adds the file, if none is named yet.
    pub fn in_file(self, file: &Path) -> Self {
        Self { file: self.file.or_else(|| Some(file.into())), ..self }
    }

    /// Adds the line, from 1.
    pub fn at_line(self, line: u64) -> Self {
        Self { line: Some(line), ..self }
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(formatter, "{}, line {line}: ", file.display())?,
            (Some(file), None) => write!(formatter, "{}: ", file.display())?,
            (None, Some(line)) => write!(formatter, "line {line}: ")?,
            (None, None) => {}
        }
        formatter.write_str(&self.what)
    }
}

impl std::error::Error for SourceError {}

/// Why not all rows were given.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    /// The source failed.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The taker refused a row.
    #[error(transparent)]
    Refused(#[from] Error),
}

impl RowsError {
    /// Adds the file, if the source failed and names none yet.
    pub(crate) fn in_file(self, file: &Path) -> Self {
        match self {
            Self::Source(error) => error.in_file(file).into(),
            Self::Refused(_) => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_where() {
        let plain = SourceError::new("no number: x");
        assert_eq!(plain.to_string(), "no number: x");
        assert_eq!(plain.clone().at_line(7).to_string(), "line 7: no number: x");
        let filed = plain.in_file("/data/it.csv".as_ref());
        assert_eq!(filed.to_string(), "/data/it.csv: no number: x");
        let whole = RowsError::from(filed.at_line(7));
        assert_eq!(whole.to_string(), "/data/it.csv, line 7: no number: x");
    }
}
