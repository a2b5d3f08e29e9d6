//! Published figures: their levels and factors, their unit, and how their set-up differs from this
//! one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Publication {
    pub question: String,
    /// The title of the source, or its address.
    pub source: String,
    pub date: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    pub differs: Vec<SetupDifference>,
    pub tables: Vec<PublishedTable>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupDifference {
    pub there: String,
    pub here: String,
}

/// Each figure is divided by that of its base cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedTable {
    pub file: String,
    pub of: Quantity,
    /// The levels of the base cell that differ from the figure's own.
    pub base: BTreeMap<String, String>,
    pub figures: Vec<PublishedFigure>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedFigure {
    /// `None` for space, which belongs to no operation.
    pub operation: Option<String>,
    pub levels: BTreeMap<String, String>,
    pub unit: String,
    pub value: Option<PublishedValue>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PublishedValue {
    Exactly(f64),
    AtLeast(f64),
    AtMost(f64),
    /// A range in words.
    Between(f64, f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    Time,
    /// Operations, or what they work on, a second.
    Rate,
    Space,
}

#[derive(Debug, PartialEq)]
pub struct FigureUnit {
    pub name: &'static str,
    pub of: Quantity,
    /// In seconds, things a second, or bytes.
    pub scale: f64,
    /// Whether the source divided the figures by the base cell's.
    pub divided: bool,
}

const fn plain_unit(name: &'static str, of: Quantity, scale: f64) -> FigureUnit {
    FigureUnit { name, of, scale, divided: false }
}

const fn divided_unit(name: &'static str, of: Quantity) -> FigureUnit {
    FigureUnit { name, of, scale: 1.0, divided: true }
}

pub static UNITS: [FigureUnit; 20] = [
    plain_unit("s", Quantity::Time, 1.0),
    plain_unit("ms", Quantity::Time, 1e-3),
    plain_unit("us", Quantity::Time, 1e-6),
    divided_unit("times as long", Quantity::Time),
    plain_unit("operations/s", Quantity::Rate, 1.0),
    plain_unit("transactions/s", Quantity::Rate, 1.0),
    plain_unit("queries/s", Quantity::Rate, 1.0),
    plain_unit("requests/s", Quantity::Rate, 1.0),
    plain_unit("rows/s", Quantity::Rate, 1.0),
    plain_unit("MB/s", Quantity::Rate, 1.0),
    plain_unit("MiB/s", Quantity::Rate, 1.0),
    divided_unit("times as many", Quantity::Rate),
    plain_unit("bytes", Quantity::Space, 1.0),
    plain_unit("kB", Quantity::Space, 1e3),
    plain_unit("MB", Quantity::Space, 1e6),
    plain_unit("GB", Quantity::Space, 1e9),
    plain_unit("KiB", Quantity::Space, 1024.0),
    plain_unit("MiB", Quantity::Space, 1_048_576.0),
    plain_unit("GiB", Quantity::Space, 1_073_741_824.0),
    divided_unit("times as large", Quantity::Space),
];

impl FigureUnit {
    pub fn find(name: &str) -> Option<&'static Self> {
        UNITS.iter().find(|unit| unit.name == name)
    }
}

impl PublishedValue {
    /// As written: `0.018`, `>10`, `<0.5`, or `6-7` for words; nothing for a gap.
    pub fn parse(text: &str) -> Result<Option<Self>, String> {
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
        // A dash at the start is a sign, and one behind an `e` is an exponent's.
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
            assert_eq!(PublishedValue::parse(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn what_is_no_figure_is_never_taken_for_one_or_for_a_gap() {
        for text in ["0", "-1", "fast", "nan", "inf", ">", "7-6", "3-", "1,5", "n/a", "> -2"] {
            assert!(PublishedValue::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn each_unit_has_a_name_of_its_own() {
        for unit in &UNITS {
            assert_eq!(FigureUnit::find(unit.name), Some(unit));
        }
    }
}
