//! The mark in a table's comment, which says that bakeoff made the table, and with which columns.

#![allow(missing_docs)]

use std::fmt;
use std::hash::{BuildHasher, RandomState};

use super::MADE_BY;

/// The whole comment of a table that bakeoff made. Nothing else is taken for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableMark {
    /// Another one for each creation, even of the same table.
    id: u64,
    /// A hash of the table's name and columns: a copy of a table may have its comment, too.
    shape: u64,
    definition: Option<u64>,
}

const FORM: &str = "form 3, id ";
const UNFINISHED: &str = "unfinished";

impl TableMark {
    pub fn new_mark<'a>(name: &str, columns: impl IntoIterator<Item = &'a str>) -> Self {
        let shape = hash_shape(name, columns);
        // Its keys are random.
        Self { id: RandomState::new().hash_one(std::process::id()), shape, definition: None }
    }

    pub fn with_definition(self, definition: &str) -> Self {
        Self { definition: Some(hash(definition)), ..self }
    }

    pub fn from_comment<'a>(
        comment: &str,
        name: &str,
        columns: impl IntoIterator<Item = &'a str>,
    ) -> Option<Self> {
        Self::parse_comment(comment).filter(|mark| mark.shape == hash_shape(name, columns))
    }

    fn parse_comment(comment: &str) -> Option<Self> {
        let rest = comment.strip_prefix(MADE_BY)?.strip_prefix(", ")?.strip_prefix(FORM)?;
        let (id, rest) = rest.split_once(", of ")?;
        let (shape, definition) = rest.split_once(", ")?;
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let definition = match definition {
            UNFINISHED => None,
            finished => Some(number(finished.strip_prefix("as ")?)?),
        };
        let mark = Self { id: number(id)?, shape: number(shape)?, definition };
        (mark.to_string() == comment).then_some(mark)
    }

    pub fn is_like(self, other: Self) -> bool {
        self.definition.is_some() && self.definition == other.definition
    }

    pub fn is_unfinished(self) -> bool {
        self.definition.is_none()
    }
}

/// FNV-1a: the same in every version.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn hash_shape<'a>(name: &str, columns: impl IntoIterator<Item = &'a str>) -> u64 {
    hash(&columns.into_iter().fold(name.to_owned(), |all, column| all + "\0" + column))
}

impl fmt::Display for TableMark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{MADE_BY}, {FORM}{:016x}, of {:016x}, ", self.id, self.shape)?;
        match self.definition {
            Some(hash) => write!(formatter, "as {hash:016x}"),
            None => formatter.write_str(UNFINISHED),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_a_whole_comment_and_nothing_else_is() {
        let fresh = || TableMark::new_mark("points", ["id", "value"]);
        let mark = fresh();
        for mark in [mark, mark.with_definition("CREATE TABLE a")] {
            assert_eq!(TableMark::parse_comment(&mark.to_string()), Some(mark));
            let good = mark.to_string();
            let upper = good.to_uppercase();
            let others = [
                "made by bakeoff".to_owned(),
                "made by bakeoffice staff".to_owned(),
                "made by bakeoff as 0123456789abcdef".to_owned(),
                format!("{good} "),
                format!(" {good}"),
                format!("{good}, kept by staff"),
                good.replace("id ", "id +"),
                good.replacen("form 3", "form 2", 1),
                good[..good.len() - 1].to_owned(),
                upper,
            ];
            for other in others {
                assert_eq!(TableMark::parse_comment(&other), None, "{other}");
            }
        }
        assert_ne!(fresh(), fresh());
        assert!(mark.with_definition("a").is_like(fresh().with_definition("a")));
        assert!(
            !mark.with_definition("a").is_like(mark.with_definition("b")) && !mark.is_like(mark)
        );
    }

    #[test]
    fn a_copied_mark_or_a_changed_table_is_not_ours() {
        let comment =
            TableMark::new_mark("points", ["id", "value"]).with_definition("a").to_string();
        let of = |name, columns: &[&'static str]| {
            TableMark::from_comment(&comment, name, columns.to_vec())
        };
        assert!(of("points", &["id", "value"]).is_some());
        assert!(of("customers", &["id", "value"]).is_none());
        assert!(of("points", &["id", "value", "owner"]).is_none());
        assert!(of("points", &["value", "id"]).is_none());
    }
}
