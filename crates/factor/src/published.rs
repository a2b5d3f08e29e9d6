//! Figures that somebody published: of which levels of which factors they are, in which unit, and how
//! what they were measured on differs from what is measured here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Figures of one source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Publication {
    /// The question that they answer, in one line.
    pub question: String,
    /// Who published them, or under which title.
    pub source: String,
    /// When.
    pub date: String,
    /// Where they can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What differs in set-up.
    pub differs: Vec<SetupDifference>,
    /// The tables of figures.
    pub tables: Vec<PublishedTable>,
}

/// What differs between two set-ups, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupDifference {
    /// What was used there.
    pub there: String,
    /// What is used here.
    pub here: String,
}

/// Figures of one quantity, each of which is divided by that of its base cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedTable {
    /// What its file is called.
    pub file: String,
    /// What its figures are of.
    pub of: Quantity,
    /// The levels of a figure's base cell that differ from the figure's own, by the factors' names.
    pub base: BTreeMap<String, String>,
    /// The figures, in the order of the file.
    pub figures: Vec<PublishedFigure>,
}

/// A figure, or that there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedFigure {
    /// The operation; `None` for what is of no operation, as space is.
    pub operation: Option<String>,
    /// Levels by the factors' names, each in its canonical form.
    pub levels: BTreeMap<String, String>,
    /// The name of its [`FigureUnit`].
    pub unit: String,
    /// The figure in that unit; `None` for a gap.
    pub value: Option<PublishedValue>,
}

/// What was published: a figure, or how much it is known of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PublishedValue {
    /// The figure.
    Exactly(f64),
    /// It is this or more.
    AtLeast(f64),
    /// It is this or less.
    AtMost(f64),
    /// It is said in words to lie between the two.
    Between(f64, f64),
}

/// What a figure is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Mean time of an operation.
    Time,
    /// Operations, or what they work on, a second.
    Rate,
    /// Bytes on disk.
    Space,
}

/// A unit of figures.
#[derive(Debug, PartialEq)]
pub struct FigureUnit {
    /// Its name.
    pub name: &'static str,
    /// What it is a unit of.
    pub of: Quantity,
    /// How many seconds, things a second or bytes it is.
    pub scale: f64,
    /// Whether its figures were divided by the base cell's by whoever published them.
    pub divided: bool,
}

const fn unit(name: &'static str, of: Quantity, scale: f64) -> FigureUnit {
    FigureUnit { name, of, scale, divided: false }
}

const fn divided(name: &'static str, of: Quantity) -> FigureUnit {
    FigureUnit { name, of, scale: 1.0, divided: true }
}

/// All units.
pub static UNITS: [FigureUnit; 20] = [
    unit("s", Quantity::Time, 1.0),
    unit("ms", Quantity::Time, 1e-3),
    unit("us", Quantity::Time, 1e-6),
    divided("times as long", Quantity::Time),
    unit("operations/s", Quantity::Rate, 1.0),
    unit("transactions/s", Quantity::Rate, 1.0),
    unit("queries/s", Quantity::Rate, 1.0),
    unit("requests/s", Quantity::Rate, 1.0),
    unit("rows/s", Quantity::Rate, 1.0),
    unit("MB/s", Quantity::Rate, 1.0),
    unit("MiB/s", Quantity::Rate, 1.0),
    divided("times as many", Quantity::Rate),
    unit("bytes", Quantity::Space, 1.0),
    unit("kB", Quantity::Space, 1e3),
    unit("MB", Quantity::Space, 1e6),
    unit("GB", Quantity::Space, 1e9),
    unit("KiB", Quantity::Space, 1024.0),
    unit("MiB", Quantity::Space, 1_048_576.0),
    unit("GiB", Quantity::Space, 1_073_741_824.0),
    divided("times as large", Quantity::Space),
];

impl FigureUnit {
    /// The unit of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        UNITS.iter().find(|unit| unit.name == name)
    }
}

impl PublishedValue {
    /// Reads a figure as it is written: `0.018`, `>10`, `<0.5`, or `6-7` for words; nothing for a gap.
    ///
    /// # Errors
    /// What is wrong with it, in a line.
    pub fn read(text: &str) -> Result<Option<Self>, String> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        let number = |part: &str| match part.trim().parse::<f64>() {
            Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
            Ok(_) => Err(format!("`{text}` is no figure: it has to be above 0")),
            Err(_) => Err(format!("`{text}` is no figure")),
        };
        if let Some(least) = text.strip_prefix(['>', '\u{2265}']) {
            return number(least.trim_start_matches('=')).map(|it| Some(Self::AtLeast(it)));
        }
        if let Some(most) = text.strip_prefix(['<', '\u{2264}']) {
            return number(most.trim_start_matches('=')).map(|it| Some(Self::AtMost(it)));
        }
        // A dash at the beginning is a sign, and one behind an `e` is an exponent's.
        let dash = text.char_indices().skip(1).find(|(at, letter)| {
            matches!(letter, '-' | '\u{2013}') && !text[..*at].ends_with(['e', 'E'])
        });
        let Some((at, dash)) = dash else { return number(text).map(|it| Some(Self::Exactly(it))) };
        let (low, high) = (number(&text[..at])?, number(&text[at + dash.len_utf8()..])?);
        match low < high {
            true => Ok(Some(Self::Between(low, high))),
            false => Err(format!("`{text}` is no range: its first figure is the smaller one")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_bounds_ranges_and_gaps_are_told_apart() {
        for (text, value) in [
            ("0.018", Some(PublishedValue::Exactly(0.018))),
            (" 1e-3 ", Some(PublishedValue::Exactly(0.001))),
            (">10", Some(PublishedValue::AtLeast(10.0))),
            ("\u{2265} 10", Some(PublishedValue::AtLeast(10.0))),
            ("<=0.5", Some(PublishedValue::AtMost(0.5))),
            ("6-7", Some(PublishedValue::Between(6.0, 7.0))),
            ("6 \u{2013} 7.5", Some(PublishedValue::Between(6.0, 7.5))),
            ("1e-3-2e-3", Some(PublishedValue::Between(0.001, 0.002))),
            ("", None),
            ("  ", None),
        ] {
            assert_eq!(PublishedValue::read(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn what_is_no_figure_is_never_taken_for_one_or_for_a_gap() {
        for text in ["0", "-1", "fast", "nan", "inf", ">", "7-6", "3-", "1,5", "n/a", "> -2"] {
            assert!(PublishedValue::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn each_unit_has_a_name_of_its_own() {
        for unit in &UNITS {
            assert_eq!(FigureUnit::named(unit.name), Some(unit));
        }
    }
}
