//! The settings of each engine, and why they differ from its defaults.

use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_results::{Applied, EngineFact, OwnFactor, Run};

use crate::block::{ColumnKind, Folded, ReportBlock, ReportColumn, ReportRow, ReportTable};

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let run = &layout.document.run.run;
    let levels = (!run.engines.is_empty()).then(|| ReportBlock::Table(build_levels(&run.engines)));
    let differing = list_differing(run);
    let rest = (!differing.is_empty()).then(|| {
        let summary = "Settings that differ from the default, and why".to_owned();
        let blocks = vec![ReportBlock::Table(differing_table(differing))];
        ReportBlock::Folded(Folded { summary, blocks, long: false })
    });
    levels.into_iter().chain(rest).collect()
}

fn build_levels(engines: &[EngineFact]) -> ReportTable {
    let durabilities = list_durabilities(engines);
    let row = |engine: &EngineFact| {
        let given = |durability: &str| {
            let found = engine.settings.iter().find(|(name, _)| name == durability);
            found.map_or("can’t give it", |(_, settings)| settings).to_owned()
        };
        let settings = durabilities.iter().map(|durability| given(durability));
        ReportRow::from_cells(
            [engine.name.clone(), engine.version.clone()].into_iter().chain(settings),
        )
    };
    let names = [
        ReportColumn::new(ColumnKind::Name, "engine"),
        ReportColumn::new(ColumnKind::Text, "version"),
    ];
    let levels = durabilities.iter().map(|name| ReportColumn::new(ColumnKind::LongCode, *name));
    ReportTable {
        caption: "Settings that give each durability level".into(),
        columns: names.into_iter().chain(levels).collect(),
        rows: engines.iter().map(row).collect(),
        ..ReportTable::default()
    }
}

fn list_durabilities(engines: &[EngineFact]) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for (durability, _) in engines.iter().flat_map(|engine| &engine.settings) {
        if !all.contains(&durability.as_str()) {
            all.push(durability);
        }
    }
    all
}

#[derive(Clone, PartialEq, Eq)]
struct SettingDeviation {
    engine: String,
    name: String,
    value: String,
    at: String,
    reason: String,
}

fn list_differing(run: &Run) -> Vec<SettingDeviation> {
    let applied = &run.applied;
    let mut rows: Vec<SettingDeviation> = Vec::new();
    for one in applied {
        let family: Vec<&Applied> = applied.iter().filter(|a| a.engine == one.engine).collect();
        for setting in &one.settings {
            let same: Vec<bool> =
                family.iter().map(|other| other.settings.contains(setting)).collect();
            let row = SettingDeviation {
                engine: one.engine.clone(),
                name: setting.name.clone(),
                value: setting.value.clone(),
                at: describe_terms(&family, &same),
                reason: setting.reason.clone().unwrap_or_else(|| "yours".into()),
            };
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
    }
    // Engines in the plan's order, a setting's values together.
    let engines = run.levels_of(OwnFactor::Engine.as_str());
    let place = |row: &SettingDeviation| {
        let engine = engines.iter().position(|engine| *engine == row.engine);
        let same = |other: &&SettingDeviation| other.engine == row.engine && other.name == row.name;
        (engine, rows.iter().position(|other| same(&other)))
    };
    let mut sorted = rows.clone();
    sorted.sort_by_cached_key(place);
    sorted
}

fn differing_table(rows: Vec<SettingDeviation>) -> ReportTable {
    let row = |it: SettingDeviation| {
        ReportRow::from_cells([it.engine, it.name, it.value, it.at, it.reason])
    };
    ReportTable {
        caption: "Settings that differ from the engine’s own default".into(),
        columns: vec![
            ReportColumn::new(ColumnKind::Name, "engine"),
            ReportColumn::new(ColumnKind::Code, "setting"),
            ReportColumn::new(ColumnKind::LongCode, "value"),
            ReportColumn::new(ColumnKind::Text, "at"),
            ReportColumn::new(ColumnKind::Reason, "why"),
        ],
        rows: rows.into_iter().map(row).collect(),
        ..ReportTable::default()
    }
}

/// Options that were factors.
fn describe_options(terms: &Applied) -> String {
    let options = terms.options.iter().map(|(name, level)| format!("{name} {level}"));
    options.collect::<Vec<_>>().join(", ")
}

/// The shortest list of factors that tells the terms that `hold` from the others.
fn describe_terms(family: &[&Applied], hold: &[bool]) -> String {
    type Label = fn(&Applied) -> String;
    let labels: [Label; 6] = [
        |_| String::new(),
        |terms| terms.durability.clone(),
        |terms| format!("{} memory", terms.memory),
        describe_options,
        |terms| format!("{} with {} memory", terms.durability, terms.memory),
        |terms| {
            format!(
                "{} with {} memory, {}",
                terms.durability,
                terms.memory,
                describe_options(terms)
            )
        },
    ];
    let those = |label: Label, wanted: bool| -> Vec<String> {
        let chosen = family.iter().zip(hold).filter(|(_, holds)| **holds == wanted);
        let mut labels: Vec<String> = chosen.map(|(terms, _)| label(terms)).collect();
        labels.dedup();
        labels
    };
    let tells = |label: &Label| {
        let others = those(*label, false);
        those(*label, true).iter().all(|label| !others.contains(label))
    };
    let label = labels.into_iter().find(tells).unwrap_or(labels[5]);
    let mut words = those(label, true);
    words.sort();
    words.dedup();
    words.join(", ")
}
