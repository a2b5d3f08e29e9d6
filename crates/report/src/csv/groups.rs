//! Columns of groups of processes: `group.`, the group's name and the measure. The engine's fixed
//! columns are elsewhere.

use std::collections::BTreeSet;

use bakeoff_analysis::Document;
use bakeoff_results::measure::{DISK_GROUP, MeasureUnit, SYNCS};
use bakeoff_results::{Reading, Scope, TrialSummary};

use super::{FACTS, Says, format_optional};

pub struct GroupColumns(BTreeSet<(String, String, &'static str)>);

impl GroupColumns {
    pub fn from_document(document: &Document) -> Self {
        let readings = document.trials.iter().flat_map(|trial| trial.measures.iter());
        Self(readings.filter_map(read_column).collect())
    }

    pub fn names(&self) -> impl Iterator<Item = String> {
        let name = |(group, measure, unit): &(String, String, &str)| {
            format!("group.{group}.{}{unit}", measure.replace('-', "_"))
        };
        self.0.iter().map(name)
    }

    pub fn fields(&self, trial: &TrialSummary) -> Vec<String> {
        let field = |wanted: &(String, String, &'static str)| {
            let found = trial.measures.iter().find(|it| read_column(it).as_ref() == Some(wanted));
            format_optional(found.map(|reading| reading.value))
        };
        self.0.iter().map(field).collect()
    }
}

fn read_column(reading: &Reading) -> Option<(String, String, &'static str)> {
    let Scope::Processes(group) = &reading.scope else { return None };
    let is_known = |says: &Says| match says {
        Says::Measure(measure, scope) => measure.name == reading.name && *scope == reading.scope,
        Says::Follows(_) => false,
    };
    // Whose syncs these are depends on their observer.
    let elsewhere = group == DISK_GROUP || reading.name == SYNCS.name;
    if elsewhere || FACTS.iter().any(|(_, says)| is_known(says)) {
        return None;
    }
    let unit = match reading.unit {
        MeasureUnit::Seconds => "_s",
        MeasureUnit::Bytes => "_bytes",
        MeasureUnit::PerSecond => "_per_second",
        MeasureUnit::Count | MeasureUnit::Share => "",
    };
    Some((group.to_string(), reading.name.to_string(), unit))
}
