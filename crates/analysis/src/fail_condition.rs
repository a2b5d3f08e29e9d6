//! Conditions under which a run counts as failed, as a script gives them: `p99>50ms`, `rate<1000/s`,
//! `errors>0`.

use std::fmt;

use bakeoff_results::limit::{Quantile, parse_time};
use bakeoff_results::{ALL_OPERATIONS, Levels, OperationSummary};

use crate::document::Document;

const VALID: &str = "valid: p50, p95, p99, p999 or mean above a time, as p99>50ms; rate below a number, as rate<1000/s; \
     errors above a number, as errors>0";

#[derive(Clone, Debug, PartialEq)]
pub struct FailCondition {
    figure: GatedFigure,
    /// In seconds, a second, or a number.
    limit: f64,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GatedFigure {
    Quantile(Quantile),
    Mean,
    Rate,
    Errors,
}

/// What a condition found in a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct ConditionBreach {
    pub levels: Levels,
    pub operation: String,
    pub condition: String,
    /// In the unit of the condition; `None` where it is not known, which fails too.
    pub found: Option<f64>,
}

impl FailCondition {
    /// An error says what is wrong in a line, and how it is written in another.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("`{text}` {why}\n{VALID}");
        let at = text.find(['<', '>']).ok_or_else(|| wrong("compares nothing"))?;
        let (name, sign, value) = (text[..at].trim(), &text[at..=at], text[at + 1..].trim());
        let figure = match name {
            "mean" => GatedFigure::Mean,
            "rate" => GatedFigure::Rate,
            "errors" => GatedFigure::Errors,
            name => Quantile::ALL
                .into_iter()
                .find(|it| it.name() == name)
                .map(GatedFigure::Quantile)
                .ok_or_else(|| wrong("names no figure of a run"))?,
        };
        let is_lower = figure == GatedFigure::Rate;
        if (sign == "<") != is_lower {
            return Err(wrong("would fail for what is good"));
        }
        let number =
            |text: &str| text.trim().parse().ok().filter(|it: &f64| *it >= 0.0 && it.is_finite());
        let limit = match figure {
            GatedFigure::Errors => number(value),
            GatedFigure::Rate => value.strip_suffix("/s").and_then(number),
            GatedFigure::Mean | GatedFigure::Quantile(_) => {
                parse_time(value).map(|time| time.as_secs_f64())
            }
        };
        let limit = limit.ok_or_else(|| wrong("has no such value"))?;
        Ok(Self { figure, limit, text: text.trim().to_owned() })
    }

    /// Each cell and operation that meets it, or whose figure is not known.
    pub fn find_breaches(&self, document: &Document) -> Vec<ConditionBreach> {
        let cells = document.cells.iter().filter(|cell| document.run.run.stores_at(&cell.levels));
        let breaches = cells.flat_map(|cell| {
            let together = self.figure == GatedFigure::Rate;
            let figures: Vec<(&str, Option<f64>)> = match together {
                true => vec![(
                    ALL_OPERATIONS,
                    cell.total.as_ref().map(|it| it.typical.operations_per_second),
                )],
                false => {
                    cell.operations.iter().map(|it| (it.name.as_str(), self.read(it))).collect()
                }
            };
            let is_empty = cell.trials == 0 || cell.operations.is_empty();
            let figures = if is_empty { vec![(ALL_OPERATIONS, None)] } else { figures };
            let met = |found: Option<f64>| {
                found.is_none_or(|it| if together { it < self.limit } else { it > self.limit })
            };
            figures
                .into_iter()
                .filter(move |(_, found)| met(*found))
                .map(|(operation, found)| ConditionBreach {
                    levels: cell.levels.clone(),
                    operation: operation.to_owned(),
                    condition: self.text.clone(),
                    found,
                })
                .collect::<Vec<_>>()
        });
        breaches.collect()
    }

    fn read(&self, operation: &OperationSummary) -> Option<f64> {
        match self.figure {
            GatedFigure::Quantile(Quantile::P50) => operation.p50_s,
            GatedFigure::Quantile(Quantile::P95) => operation.p95_s,
            GatedFigure::Quantile(Quantile::P99) => operation.p99_s,
            GatedFigure::Quantile(Quantile::P999) => operation.p999_s,
            GatedFigure::Mean => operation.mean_s,
            GatedFigure::Errors => Some(operation.errors as f64),
            GatedFigure::Rate => None,
        }
    }

    /// "61.2 ms", "930/s", "3".
    pub fn format_figure(&self, found: f64) -> String {
        match self.figure {
            GatedFigure::Errors => format!("{found}"),
            GatedFigure::Rate => format!("{found:.0}/s"),
            GatedFigure::Mean | GatedFigure::Quantile(_) if found < 1.0 => {
                format!("{:.3} ms", found * 1e3)
            }
            GatedFigure::Mean | GatedFigure::Quantile(_) => format!("{found:.3} s"),
        }
    }
}

impl fmt::Display for FailCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_names_a_figure_and_the_side_that_is_bad() {
        for text in ["p99>50ms", " p999 > 1.5s ", "mean>800us", "rate<1000/s", "errors>0"] {
            assert!(FailCondition::parse(text).is_ok(), "{text}");
        }
        for text in [
            "",
            "p99",
            "p90>1s",
            "p99<50ms",
            "rate>1000/s",
            "rate<1000",
            "errors<1",
            "errors>-1",
            "p99>50",
            "p99>nan s",
            "errors>inf",
        ] {
            let error = FailCondition::parse(text).expect_err(text);
            assert!(
                error.starts_with(&format!("`{text}` ")) && error.contains("valid: "),
                "{error}"
            );
        }
    }
}
