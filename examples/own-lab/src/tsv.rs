//! A format of reports: a line a cell and operation, with tabs between its figures.

use bakeoff::analysis::Document;
use bakeoff::report::{Exporter, Options, Result, Section};

/// The format.
pub struct Tsv;

impl Exporter for Tsv {
    fn name(&self) -> &'static str {
        "tsv"
    }

    fn about(&self) -> &'static str {
        "A line a cell and operation: its levels, its name, operations a second, mean seconds"
    }

    fn endings(&self) -> &[&'static str] {
        &["tsv"]
    }

    fn write(&self, document: &Document, _: &[Box<dyn Section>], _: &Options) -> Result<String> {
        let mut out = String::from("cell\toperation\tper_second\tmean_s\n");
        for cell in &document.cells {
            let levels: Vec<String> =
                cell.levels.iter().map(|(factor, level)| format!("{factor}={level}")).collect();
            for operation in &cell.operations {
                let mean = operation.mean_s.map_or(String::new(), |mean| mean.to_string());
                let (name, rate) = (&operation.name, operation.per_second);
                out += &format!("{}\t{name}\t{rate}\t{mean}\n", levels.join(" "));
            }
        }
        Ok(out)
    }
}
