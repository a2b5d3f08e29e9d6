//! What is wrong in a folder's files, each at its place.

use std::fmt;
use std::sync::Arc;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourcePlace {
    /// The file, as the user names it: `shop/buy.sql`.
    pub file: Arc<str>,
    /// From 1; 0 stands for the file as a whole.
    pub line: u32,
    /// In characters, from 1; 0 stands for the line as a whole.
    pub column: u32,
}

impl SourcePlace {
    /// The beginning of a file.
    pub fn from_file(file: &str) -> Self {
        Self { file: file.into(), line: 0, column: 0 }
    }

    /// The place of a byte of `text`, which begins here.
    pub fn advance(&self, text: &str, byte: usize) -> Self {
        let before = &text[..byte];
        let (line, column) = (self.line.max(1), self.column.max(1));
        let count = |text: &str| text.chars().count() as u32;
        match before.rfind('\n') {
            None => Self { file: self.file.clone(), line, column: column + count(before) },
            Some(end) => Self {
                file: self.file.clone(),
                line: line + before.matches('\n').count() as u32,
                column: count(&before[end + 1..]) + 1,
            },
        }
    }
}

impl fmt::Display for SourcePlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.file)?;
        if self.line > 0 {
            write!(formatter, ":{}", self.line)?;
        }
        if self.column > 0 {
            write!(formatter, ":{}", self.column)?;
        }
        Ok(())
    }
}

/// What is wrong at a place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mistake {
    /// Where.
    pub place: SourcePlace,
    /// What is wrong, and how to mend it; in one or more lines.
    pub what: String,
}

/// All mistakes of a folder, in the order of files and lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mistakes(Vec<Mistake>);

impl Mistakes {
    /// Adds one.
    pub fn add(&mut self, place: SourcePlace, what: impl Into<String>) {
        let mistake = Mistake { place, what: what.into() };
        let at = self.0.partition_point(|known| *known < mistake);
        if self.0.get(at) != Some(&mistake) {
            self.0.insert(at, mistake);
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Drops those about a table or a column that is not there, but for those of one file: the others
    /// follow from its mistakes.
    pub(crate) fn drop_unknown_names(&mut self, but_of: &SourcePlace) {
        const UNKNOWN: [&str; 4] =
            ["there is no table", "has no table", "has no column", "is no table or column"];
        let follows = |mistake: &Mistake| UNKNOWN.iter().any(|words| mistake.what.contains(words));
        self.0.retain(|mistake| mistake.place.file == but_of.file || !follows(mistake));
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Mistake> {
        self.0.iter()
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Mistake { place, what }) in self.0.iter().enumerate() {
            let end = if number == 0 { "" } else { "\n" };
            write!(formatter, "{end}{place}: {}", what.replace('\n', "\n  "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_told_once_by_file_line_and_column() {
        let file = SourcePlace::from_file("shop/buy.sql");
        let text = "\\set é 1\nSELECT :x;";
        let mut mistakes = Mistakes::default();
        for byte in [17, 5, 17] {
            mistakes.add(file.advance(text, byte), "wrong\nmend it");
        }
        mistakes.add(file, "is empty");
        let expected = "shop/buy.sql: is empty\nshop/buy.sql:1:6: wrong\n  mend it\n\
                        shop/buy.sql:2:8: wrong\n  mend it";
        assert_eq!(mistakes.to_string(), expected);
    }
}
