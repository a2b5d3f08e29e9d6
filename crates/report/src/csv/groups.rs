//! The columns of groups of processes: `group.`, the group's name, and what was measured of it. Those of
//! the engine's own that always have a column are not among them.

use std::collections::BTreeSet;

use bakeoff_analysis::Document;
use bakeoff_results::measure::{DISK_GROUP, MeasureUnit, SYNCS};
use bakeoff_results::{Reading, Scope, TrialSummary};

use super::{FACTS, Says, maybe};

/// What some trial has measured of a group: the group's name, the measure's and its unit.
pub struct GroupColumns(BTreeSet<(String, String, &'static str)>);

impl GroupColumns {
    /// Those of a run.
    pub fn from_document(document: &Document) -> Self {
        let readings = document.trials.iter().flat_map(|trial| trial.measures.iter());
        Self(readings.filter_map(column).collect())
    }

    /// Their headings.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let name = |(group, measure, unit): &(String, String, &str)| {
            format!("group.{group}.{}{unit}", measure.replace('-', "_"))
        };
        self.0.iter().map(name)
    }

    /// Their fields of a trial.
    pub fn fields(&self, trial: &TrialSummary) -> Vec<String> {
        let field = |wanted: &(String, String, &'static str)| {
            let found = trial.measures.iter().find(|it| column(it).as_ref() == Some(wanted));
            maybe(found.map(|reading| reading.value))
        };
        self.0.iter().map(field).collect()
    }
}

/// The column of a reading.
fn column(reading: &Reading) -> Option<(String, String, &'static str)> {
    let Scope::Processes(group) = &reading.scope else { return None };
    let is_known = |says: &Says| match says {
        Says::Measure(measure, scope) => measure.name == reading.name && *scope == reading.scope,
        Says::Follows(_) => false,
    };
    // Who counted the syncs says whose they are.
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
