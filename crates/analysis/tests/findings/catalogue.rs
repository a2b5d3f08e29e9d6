//! docs/results.md and docs/measures.csv: warnings and measures, as their catalogues have them.

use bakeoff_analysis::WarningKind;
use bakeoff_results::Measure;
use bakeoff_results::measure::{MEASURES, MeasureUnit};

use crate::page::{check_file, check_page};

#[test]
fn results_have_every_measure_and_warning() {
    let unit = |unit| match unit {
        MeasureUnit::Seconds => "s",
        MeasureUnit::Bytes => "B",
        MeasureUnit::Count => "1",
        MeasureUnit::PerSecond => "1/s",
        MeasureUnit::Share => "share",
    };
    let measure = |it: &&Measure| {
        let scopes: Vec<String> = it.scopes.iter().map(ToString::to_string).collect();
        let about = it.about.replace('`', "");
        assert!(!about.contains('"'), "{about}");
        format!("{},{},{},\"{about}\"\n", it.name, unit(it.unit), scopes.join(" "))
    };
    let warning = |it: &WarningKind| format!("- `{}`: {}\n", it.code(), it.about());
    let of_weight = |weight: &str| {
        let its = WarningKind::ALL.iter().filter(|it| it.weight().name() == weight);
        let rows: Vec<String> = its.map(warning).collect();
        assert!(!rows.is_empty(), "{weight}");
        (rows.len(), format!("`{weight}`:\n\n{}", rows.concat()))
    };
    let weights = ["voids", "weakens", "notes"].map(of_weight);
    assert_eq!(weights.iter().map(|(rows, _)| rows).sum::<usize>(), WarningKind::ALL.len());
    let warnings = weights.map(|(_, table)| table).join("\n");
    let measures: String = MEASURES.iter().map(measure).collect();
    check_page("docs/results.md", &[("warnings", warnings)]);
    check_file("docs/measures.csv", &format!("name,unit,of,what it says\n{measures}"));
}
