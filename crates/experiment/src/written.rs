//! Values as they are written, in a file's entries and behind flags, and where each stands.

use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeInteger, DeValue};

use crate::message::{ExperimentProblem, LocatedValue, SourceSpan, SourceText};
use crate::secret::begins_plainly;
use crate::{Count, Vocabulary, WorkloadNames};

pub(crate) type TomlValue<'a> = Spanned<DeValue<'a>>;

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
pub(crate) struct TomlEntry<'r> {
    pub(crate) name: &'r str,
    pub(crate) value: &'r TomlValue<'r>,
    pub(crate) source: &'r Arc<SourceText>,
}

/// A value that an entry can hold, before it is checked.
pub(crate) trait EntryValue: Sized {
    fn read(entry: &TomlEntry<'_>) -> Result<Self, ExperimentProblem>;
}

/// A value that a flag can have, which is one of `W` before it is checked.
pub(crate) trait Flag<W> {
    /// It, and where it stands behind the flag of that name.
    fn given(&self, name: &str) -> LocatedValue<W>;
}

/// Names, and where each was written.
pub(crate) struct NameList(pub(crate) Vec<LocatedValue<String>>);

impl TomlEntry<'_> {
    /// What it says, and where.
    pub(crate) fn checked<W: EntryValue, T>(
        &self,
        around: &Around<'_>,
        check: impl FnOnce(W, &Around<'_>) -> Result<T, ExperimentProblem>,
    ) -> Result<LocatedValue<T>, ExperimentProblem> {
        Ok(LocatedValue { value: check(W::read(self)?, around)?, place: self.place() })
    }

    fn place(&self) -> SourceSpan {
        SourceSpan { source: Arc::clone(self.source), span: Some(self.value.span()) }
    }

    fn has_to_be(&self, expected: &str) -> ExperimentProblem {
        wrong_type(self.name, expected, self.value)
    }
}

/// What the flag of a key says, and where; notes what is wrong with it.
pub(crate) fn of_flag<W, T>(
    key: &str,
    flag: &impl Flag<W>,
    around: &Around<'_>,
    check: impl FnOnce(W, &Around<'_>) -> Result<T, ExperimentProblem>,
    problems: &mut Vec<ExperimentProblem>,
) -> Option<LocatedValue<T>> {
    let LocatedValue { value, place } = flag.given(&flag_name(key));
    let checked = check(value, around).map_err(|problem| problems.push(problem.at(&place)));
    checked.ok().map(|value| LocatedValue { value, place })
}

/// The name of a key's flag, without the dashes before it.
pub(crate) fn flag_name(key: &str) -> String {
    key.replace('_', "-")
}

impl EntryValue for String {
    fn read(entry: &TomlEntry<'_>) -> Result<Self, ExperimentProblem> {
        let text = entry.value.get_ref().as_str();
        text.map(str::to_owned).ok_or_else(|| entry.has_to_be("a string"))
    }
}

impl EntryValue for PathBuf {
    fn read(entry: &TomlEntry<'_>) -> Result<Self, ExperimentProblem> {
        String::read(entry).map(Self::from)
    }
}

impl EntryValue for bool {
    fn read(entry: &TomlEntry<'_>) -> Result<Self, ExperimentProblem> {
        entry.value.get_ref().as_bool().ok_or_else(|| entry.has_to_be("true or false"))
    }
}

impl EntryValue for f64 {
    fn read(entry: &TomlEntry<'_>) -> Result<Self, ExperimentProblem> {
        let number = match entry.value.get_ref() {
            DeValue::Integer(integer) => decimal(integer).parse().ok(),
            DeValue::Float(float) => float.as_str().parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| entry.has_to_be("a number"))
    }
}

impl EntryValue for u64 {
    fn read(entry: &TomlEntry<'_>) -> Result<Self, ExperimentProblem> {
        let DeValue::Integer(integer) = entry.value.get_ref() else {
            return Err(entry.has_to_be("a whole number"));
        };
        let digits = decimal(integer);
        let wrong = || ExperimentProblem::new(format!("`{}` can't be {digits}", entry.name));
        digits.parse().map_err(|_| wrong().help("valid: 0 and above"))
    }
}

/// One string, or a list of them.
impl EntryValue for NameList {
    fn read(entry: &TomlEntry<'_>) -> Result<Self, ExperimentProblem> {
        let given = |value| {
            let item = TomlEntry { value, ..*entry };
            let place = item.place();
            let value = String::read(&item).map_err(|problem| problem.at(&place))?;
            Ok(LocatedValue { value, place })
        };
        items(entry.value).iter().map(given).collect::<Result<_, _>>().map(Self)
    }
}

macro_rules! as_they_are {
    ($($type:ty),*) => {
        $(impl Flag<Self> for $type {
            fn given(&self, name: &str) -> LocatedValue<Self> {
                LocatedValue { value: ToOwned::to_owned(self), place: whole_value(name, &self.to_string()) }
            }
        })*
    };
}
as_they_are!(String, bool, f64, u64, Count);

impl Flag<u64> for u32 {
    fn given(&self, name: &str) -> LocatedValue<u64> {
        u64::from(*self).given(name)
    }
}

impl Flag<Self> for PathBuf {
    fn given(&self, name: &str) -> LocatedValue<Self> {
        LocatedValue { value: self.clone(), place: whole_value(name, &self.display().to_string()) }
    }
}

/// Names with commas between them.
impl Flag<NameList> for String {
    fn given(&self, name: &str) -> LocatedValue<NameList> {
        let value = NameList(split(&format!("--{name} "), self));
        LocatedValue { value, place: whole_value(name, self) }
    }
}

pub(crate) fn wrong_type(name: &str, expected: &str, value: &TomlValue<'_>) -> ExperimentProblem {
    let found = match value.get_ref() {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    ExperimentProblem::new(format!("`{name}` has to be {expected}, and this is {found}"))
}

/// The entries of a list; a single value counts as a list of one.
pub(crate) fn items<'v, 'a>(value: &'v TomlValue<'a>) -> &'v [TomlValue<'a>] {
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
pub(crate) fn split(before: &str, list: &str) -> Vec<LocatedValue<String>> {
    let source = source(format!("{before}{list}"));
    let mut start = before.len();
    let pieces = pieces(list).into_iter().map(|piece| {
        let value = piece.trim();
        let from = start + (piece.len() - piece.trim_start().len());
        start += piece.len() + 1;
        let span = Some(from..from + value.len());
        LocatedValue {
            value: value.to_owned(),
            place: SourceSpan { source: Arc::clone(&source), span },
        }
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
pub(crate) fn whole_value(name: &str, value: &str) -> SourceSpan {
    let source = source(format!("--{name} {value}"));
    let end = source.text.len();
    SourceSpan { source, span: Some(end - value.len()..end) }
}

pub(crate) fn source(text: String) -> Arc<SourceText> {
    Arc::new(SourceText { name: "the command line".to_owned(), text })
}
