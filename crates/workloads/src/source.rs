//! Where rows come from, where that can fail: files, archives, what another program writes.

use std::fmt;
use std::path::{Path, PathBuf};

use bakeoff_engines::{Error, Result, Value};

/// Takes a row, or says why not.
pub type Take<'a> = dyn FnMut(&[Value<'_>]) -> Result<()> + 'a;

/// What is wrong with where rows come from, and where: it is the user's to mend, and no engine's fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError {
    file: Option<PathBuf>,
    line: Option<u64>,
    what: String,
}

impl SourceError {
    /// What is wrong, and what mends it.
    pub fn new(what: impl fmt::Display) -> Self {
        Self { file: None, line: None, what: what.to_string() }
    }

    /// The file that it is in, where it does not name one already.
    pub fn in_file(self, file: &Path) -> Self {
        Self { file: self.file.or_else(|| Some(file.into())), ..self }
    }

    /// The line that it is in, from 1.
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

/// Why a table's rows were not all given.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    /// Where they come from failed.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Whoever takes them did not take one.
    #[error(transparent)]
    Refused(#[from] Error),
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
