//! Values as they are written, in a file's entries and behind flags, and where each stands.

use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeInteger, DeValue};

use crate::message::{Given, Place, Problem, Source};
use crate::secret::begins_plainly;
use crate::{Count, Vocabulary, WorkloadNames};

pub(crate) type Value<'a> = Spanned<DeValue<'a>>;

/// What a value is checked beside.
pub(crate) struct Around<'r> {
    pub(crate) vocabulary: &'r Vocabulary,
    /// The workload that it is said of, where that is known.
    pub(crate) workload: Option<&'r WorkloadNames>,
    /// Where relative paths start.
    pub(crate) folder: &'r Path,
}

/// An entry of a file.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'r> {
    pub(crate) name: &'r str,
    pub(crate) value: &'r Value<'r>,
    pub(crate) source: &'r Arc<Source>,
}

/// A value that an entry can hold, before it is checked.
pub(crate) trait Written: Sized {
    fn read(entry: &Entry<'_>) -> Result<Self, Problem>;
}

/// A value that a flag can have, which is one of `W` before it is checked.
pub(crate) trait Flag<W> {
    /// It, and where it stands behind the flag of that name.
    fn given(&self, name: &str) -> Given<W>;
}

/// Names, and where each was written.
pub(crate) struct List(pub(crate) Vec<Given<String>>);

impl Entry<'_> {
    /// What it says, and where.
    pub(crate) fn checked<W: Written, T>(
        &self,
        around: &Around<'_>,
        check: impl FnOnce(W, &Around<'_>) -> Result<T, Problem>,
    ) -> Result<Given<T>, Problem> {
        Ok(Given { value: check(W::read(self)?, around)?, place: self.place() })
    }

    fn place(&self) -> Place {
        Place { source: Arc::clone(self.source), span: Some(self.value.span()) }
    }

    fn has_to_be(&self, expected: &str) -> Problem {
        wrong_type(self.name, expected, self.value)
    }
}

/// What the flag of a key says, and where; notes what is wrong with it.
pub(crate) fn of_flag<W, T>(
    key: &str,
    flag: &impl Flag<W>,
    around: &Around<'_>,
    check: impl FnOnce(W, &Around<'_>) -> Result<T, Problem>,
    problems: &mut Vec<Problem>,
) -> Option<Given<T>> {
    let Given { value, place } = flag.given(&flag_name(key));
    let checked = check(value, around).map_err(|problem| problems.push(problem.at(&place)));
    checked.ok().map(|value| Given { value, place })
}

/// The name of a key's flag, without the dashes before it.
pub(crate) fn flag_name(key: &str) -> String {
    key.replace('_', "-")
}

impl Written for String {
    fn read(entry: &Entry<'_>) -> Result<Self, Problem> {
        let text = entry.value.get_ref().as_str();
        text.map(str::to_owned).ok_or_else(|| entry.has_to_be("a string"))
    }
}

impl Written for PathBuf {
    fn read(entry: &Entry<'_>) -> Result<Self, Problem> {
        String::read(entry).map(Self::from)
    }
}

impl Written for bool {
    fn read(entry: &Entry<'_>) -> Result<Self, Problem> {
        entry.value.get_ref().as_bool().ok_or_else(|| entry.has_to_be("true or false"))
    }
}

impl Written for f64 {
    fn read(entry: &Entry<'_>) -> Result<Self, Problem> {
        let number = match entry.value.get_ref() {
            DeValue::Integer(integer) => decimal(integer).parse().ok(),
            DeValue::Float(float) => float.as_str().parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| entry.has_to_be("a number"))
    }
}

impl Written for u64 {
    fn read(entry: &Entry<'_>) -> Result<Self, Problem> {
        let DeValue::Integer(integer) = entry.value.get_ref() else {
            return Err(entry.has_to_be("a whole number"));
        };
        let digits = decimal(integer);
        let wrong = || Problem::new(format!("`{}` can't be {digits}", entry.name));
        digits.parse().map_err(|_| wrong().help("valid: 0 and above"))
    }
}

/// One string, or a list of them.
impl Written for List {
    fn read(entry: &Entry<'_>) -> Result<Self, Problem> {
        let given = |value| {
            let item = Entry { value, ..*entry };
            let place = item.place();
            let value = String::read(&item).map_err(|problem| problem.at(&place))?;
            Ok(Given { value, place })
        };
        items(entry.value).iter().map(given).collect::<Result<_, _>>().map(Self)
    }
}

macro_rules! as_they_are {
    ($($type:ty),*) => {
        $(impl Flag<Self> for $type {
            fn given(&self, name: &str) -> Given<Self> {
                Given { value: ToOwned::to_owned(self), place: whole_value(name, &self.to_string()) }
            }
        })*
    };
}
as_they_are!(String, bool, f64, u64, Count);

impl Flag<u64> for u32 {
    fn given(&self, name: &str) -> Given<u64> {
        u64::from(*self).given(name)
    }
}

impl Flag<Self> for PathBuf {
    fn given(&self, name: &str) -> Given<Self> {
        Given { value: self.clone(), place: whole_value(name, &self.display().to_string()) }
    }
}

/// Names with commas between them.
impl Flag<List> for String {
    fn given(&self, name: &str) -> Given<List> {
        let value = List(split(&format!("--{name} "), self));
        Given { value, place: whole_value(name, self) }
    }
}

pub(crate) fn wrong_type(name: &str, expected: &str, value: &Value<'_>) -> Problem {
    let found = match value.get_ref() {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    Problem::new(format!("`{name}` has to be {expected}, and this is {found}"))
}

/// The entries of a list; a single value counts as a list of one.
pub(crate) fn items<'v, 'a>(value: &'v Value<'a>) -> &'v [Value<'a>] {
    match value.get_ref() {
        DeValue::Array(array) => &array[..],
        _ => slice::from_ref(value),
    }
}

/// An integer in decimal digits, however it was written.
pub(crate) fn decimal(integer: &DeInteger<'_>) -> String {
    i128::from_str_radix(integer.as_str(), integer.radix())
        .map_or_else(|_| integer.as_str().to_owned(), |value| value.to_string())
}

/// The pieces of a comma list and where each stands in its flag, behind what stands before them.
pub(crate) fn split(before: &str, list: &str) -> Vec<Given<String>> {
    let source = source(format!("{before}{list}"));
    let mut start = before.len();
    let pieces = pieces(list).into_iter().map(|piece| {
        let value = piece.trim();
        let from = start + (piece.len() - piece.trim_start().len());
        start += piece.len() + 1;
        let span = Some(from..from + value.len());
        Given { value: value.to_owned(), place: Place { source: Arc::clone(&source), span } }
    });
    pieces.collect()
}

/// What stands between commas. A URL that is not plainly one has all up to the next URL: a comma may
/// be one of its password's, of which nothing may be shown.
fn pieces(list: &str) -> Vec<&str> {
    let (mut pieces, mut start, mut open) = (Vec::new(), 0, None);
    for piece in list.split(',') {
        let end = start + piece.len();
        match open.filter(|_| !piece.contains(":/")) {
            Some(first) => {
                pieces.pop();
                pieces.push(&list[first..end]);
            }
            None => {
                pieces.push(piece);
                let is_open = piece.contains(":/") && !begins_plainly(&list[start..]);
                open = is_open.then_some(start);
            }
        }
        start = end + 1;
    }
    pieces
}

/// The place of a flag's value.
pub(crate) fn whole_value(name: &str, value: &str) -> Place {
    let source = source(format!("--{name} {value}"));
    let end = source.text.len();
    Place { source, span: Some(end - value.len()..end) }
}

pub(crate) fn source(text: String) -> Arc<Source> {
    Arc::new(Source { name: "the command line".to_owned(), text })
}
