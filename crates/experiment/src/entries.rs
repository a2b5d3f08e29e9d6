//! Values as written in a file's entries and behind flags, with their places.

use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeInteger, DeValue};

use crate::message::{ExperimentProblem, LocatedValue, SourceSpan, SourceText};
use crate::url_passwords::is_open_url;
use crate::{Count, Vocabulary, WorkloadNames};

pub(crate) type TomlValue<'a> = Spanned<DeValue<'a>>;

pub(crate) struct Around<'r> {
    pub(crate) vocabulary: &'r Vocabulary,
    pub(crate) workload: Option<&'r WorkloadNames>,
    pub(crate) folder: &'r Path,
}

#[derive(Clone, Copy)]
pub(crate) struct TomlEntry<'r> {
    pub(crate) name: &'r str,
    pub(crate) value: &'r TomlValue<'r>,
    pub(crate) source: &'r Arc<SourceText>,
}

pub(crate) trait EntryValue: Sized {
    fn read_entry(entry: &TomlEntry<'_>) -> Result<Self, ExperimentProblem>;
}

/// `W` is its type before it is checked.
pub(crate) trait Flag<W> {
    fn with_place(&self, name: &str) -> LocatedValue<W>;
}

pub(crate) struct NameList(pub(crate) Vec<LocatedValue<String>>);

impl TomlEntry<'_> {
    pub(crate) fn read_checked<W: EntryValue, T>(
        &self,
        around: &Around<'_>,
        check: impl FnOnce(W, &Around<'_>) -> Result<T, ExperimentProblem>,
    ) -> Result<LocatedValue<T>, ExperimentProblem> {
        Ok(LocatedValue { value: check(W::read_entry(self)?, around)?, place: self.own_place() })
    }

    fn own_place(&self) -> SourceSpan {
        SourceSpan { source: Arc::clone(self.source), span: Some(self.value.span()) }
    }

    fn has_to_be(&self, expected: &str) -> ExperimentProblem {
        wrong_type(self.name, expected, self.value)
    }
}

pub(crate) fn of_flag<W, T>(
    key: &str,
    flag: &impl Flag<W>,
    around: &Around<'_>,
    check: impl FnOnce(W, &Around<'_>) -> Result<T, ExperimentProblem>,
    problems: &mut Vec<ExperimentProblem>,
) -> Option<LocatedValue<T>> {
    let LocatedValue { value, place } = flag.with_place(&flag_name(key));
    let checked = check(value, around).map_err(|problem| problems.push(problem.at_place(&place)));
    checked.ok().map(|value| LocatedValue { value, place })
}

pub(crate) fn flag_name(key: &str) -> String {
    key.replace('_', "-")
}

impl EntryValue for String {
    fn read_entry(entry: &TomlEntry<'_>) -> Result<Self, ExperimentProblem> {
        let text = entry.value.get_ref().as_str();
        text.map(str::to_owned).ok_or_else(|| entry.has_to_be("a string"))
    }
}

impl EntryValue for PathBuf {
    fn read_entry(entry: &TomlEntry<'_>) -> Result<Self, ExperimentProblem> {
        String::read_entry(entry).map(Self::from)
    }
}

impl EntryValue for bool {
    fn read_entry(entry: &TomlEntry<'_>) -> Result<Self, ExperimentProblem> {
        entry.value.get_ref().as_bool().ok_or_else(|| entry.has_to_be("true or false"))
    }
}

impl EntryValue for f64 {
    fn read_entry(entry: &TomlEntry<'_>) -> Result<Self, ExperimentProblem> {
        let number = match entry.value.get_ref() {
            DeValue::Integer(integer) => to_decimal(integer).parse().ok(),
            DeValue::Float(float) => float.as_str().parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| entry.has_to_be("a number"))
    }
}

impl EntryValue for u64 {
    fn read_entry(entry: &TomlEntry<'_>) -> Result<Self, ExperimentProblem> {
        let DeValue::Integer(integer) = entry.value.get_ref() else {
            return Err(entry.has_to_be("a whole number"));
        };
        let digits = to_decimal(integer);
        let wrong = || ExperimentProblem::new(format!("`{}` can't be {digits}", entry.name));
        digits.parse().map_err(|_| wrong().with_help("valid: 0 and above"))
    }
}

impl EntryValue for NameList {
    fn read_entry(entry: &TomlEntry<'_>) -> Result<Self, ExperimentProblem> {
        let given = |value| {
            let item = TomlEntry { value, ..*entry };
            let place = item.own_place();
            let value = String::read_entry(&item).map_err(|problem| problem.at_place(&place))?;
            Ok(LocatedValue { value, place })
        };
        list_items(entry.value).iter().map(given).collect::<Result<_, _>>().map(Self)
    }
}

macro_rules! as_they_are {
    ($($type:ty),*) => {
        $(impl Flag<Self> for $type {
            fn with_place(&self, name: &str) -> LocatedValue<Self> {
                LocatedValue { value: ToOwned::to_owned(self), place: whole_value(name, &self.to_string()) }
            }
        })*
    };
}
as_they_are!(String, bool, f64, u64, Count);

impl Flag<u64> for u32 {
    fn with_place(&self, name: &str) -> LocatedValue<u64> {
        u64::from(*self).with_place(name)
    }
}

impl Flag<Self> for PathBuf {
    fn with_place(&self, name: &str) -> LocatedValue<Self> {
        LocatedValue { value: self.clone(), place: whole_value(name, &self.display().to_string()) }
    }
}

impl Flag<NameList> for String {
    fn with_place(&self, name: &str) -> LocatedValue<NameList> {
        let value = NameList(split_list(&format!("--{name} "), self));
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

/// A single value counts as a list of one.
pub(crate) fn list_items<'v, 'a>(value: &'v TomlValue<'a>) -> &'v [TomlValue<'a>] {
    match value.get_ref() {
        DeValue::Array(array) => &array[..],
        _ => slice::from_ref(value),
    }
}

pub(crate) fn to_decimal(integer: &DeInteger<'_>) -> String {
    i128::from_str_radix(integer.as_str(), integer.radix())
        .map_or_else(|_| integer.as_str().to_owned(), |value| value.to_string())
}

/// Each with its place in the flag, behind `before`.
pub(crate) fn split_list(before: &str, list: &str) -> Vec<LocatedValue<String>> {
    let source = command_line_source(format!("{before}{list}"));
    let mut start = before.len();
    let pieces = split_at_commas(list).into_iter().map(|piece| {
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

/// A comma of a URL's password ends nothing: the URL is then refused as a whole, and no piece of
/// the password is taken for a name and shown.
fn split_at_commas(list: &str) -> Vec<&str> {
    let mut pieces: Vec<&str> = Vec::new();
    let (mut first, mut start) = (0, 0);
    for piece in list.split(',') {
        let end = start + piece.len();
        if pieces.last().is_some_and(|last| is_open_url(last)) && !piece.contains(":/") {
            pieces.pop();
        } else {
            first = start;
        }
        pieces.push(&list[first..end]);
        start = end + 1;
    }
    pieces
}

pub(crate) fn whole_value(name: &str, value: &str) -> SourceSpan {
    let source = command_line_source(format!("--{name} {value}"));
    let end = source.text.len();
    SourceSpan { source, span: Some(end - value.len()..end) }
}

pub(crate) fn command_line_source(text: String) -> Arc<SourceText> {
    Arc::new(SourceText { name: "the command line".to_owned(), text })
}
