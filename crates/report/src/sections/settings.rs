//! What each engine was set to, and why that is not its default.

use bakeoff_results::{Applied, EngineFact, Run};

use crate::block::{ColumnKind, Folded, ReportBlock, ReportColumn, ReportRow, ReportTable};
use crate::layout::DocumentLayout;
use crate::section::Section;

/// The settings of the engines.
pub struct SettingsSection;

impl Section for SettingsSection {
    fn name(&self) -> &str {
        "settings"
    }

    fn title(&self) -> &str {
        "What each engine was set to"
    }

    fn link(&self) -> &str {
        "Settings"
    }

    fn blocks(&self, layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
        let run = &layout.document.run.run;
        let levels = (!run.engines.is_empty()).then(|| ReportBlock::Table(levels(&run.engines)));
        let differing = differing(run);
        let rest = (!differing.is_empty()).then(|| {
            let summary = "Settings that differ from the default, and why".to_owned();
            let blocks = vec![ReportBlock::Table(differing_table(differing))];
            ReportBlock::Folded(Folded { summary, blocks, long: false })
        });
        levels.into_iter().chain(rest).collect()
    }

    fn is_background(&self) -> bool {
        true
    }
}

/// The settings that give each durability level.
fn levels(engines: &[EngineFact]) -> ReportTable {
    let durabilities = durabilities(engines);
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

/// Every durability level that some engine says something of, in the order of the first.
fn durabilities(engines: &[EngineFact]) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for (durability, _) in engines.iter().flat_map(|engine| &engine.settings) {
        if !all.contains(&durability.as_str()) {
            all.push(durability);
        }
    }
    all
}

/// A setting that an engine was opened with, in words.
#[derive(Clone, PartialEq, Eq)]
struct Differing {
    /// The engine.
    engine: String,
    /// Its name.
    name: String,
    /// Its value.
    value: String,
    /// The levels of durability, memory or options at which it applies; empty if it applies at all.
    at: String,
    /// Why.
    reason: String,
}

/// Every setting that differs from an engine's own default, engine by engine.
fn differing(run: &Run) -> Vec<Differing> {
    let applied = &run.applied;
    let mut rows: Vec<Differing> = Vec::new();
    for one in applied {
        let family: Vec<&Applied> = applied.iter().filter(|a| a.engine == one.engine).collect();
        for setting in &one.settings {
            let same: Vec<bool> =
                family.iter().map(|other| other.settings.contains(setting)).collect();
            let row = Differing {
                engine: one.engine.clone(),
                name: setting.name.clone(),
                value: setting.value.clone(),
                at: terms(&family, &same),
                reason: setting.reason.clone().unwrap_or_else(|| "yours".into()),
            };
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
    }
    // Engines as the plan has them, and a setting's values together.
    let engines = run.factors.iter().find(|(factor, _)| factor == "engine");
    let engines = engines.map_or(&[][..], |(_, levels)| levels);
    let place = |row: &Differing| {
        let engine = engines.iter().position(|engine| *engine == row.engine);
        let same = |other: &&Differing| other.engine == row.engine && other.name == row.name;
        (engine, rows.iter().position(|other| same(&other)))
    };
    let mut sorted = rows.clone();
    sorted.sort_by_cached_key(place);
    sorted
}

fn differing_table(rows: Vec<Differing>) -> ReportTable {
    let row =
        |it: Differing| ReportRow::from_cells([it.engine, it.name, it.value, it.at, it.reason]);
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

/// The options that were factors, in words.
fn options(terms: &Applied) -> String {
    let options = terms.options.iter().map(|(name, level)| format!("{name} {level}"));
    options.collect::<Vec<_>>().join(", ")
}

/// What the terms that `hold` have in common against the others, by the fewest factors that tell.
fn terms(family: &[&Applied], hold: &[bool]) -> String {
    type Label = fn(&Applied) -> String;
    let labels: [Label; 6] = [
        |_| String::new(),
        |terms| terms.durability.clone(),
        |terms| format!("{} memory", terms.memory),
        options,
        |terms| format!("{} with {} memory", terms.durability, terms.memory),
        |terms| format!("{} with {} memory, {}", terms.durability, terms.memory, options(terms)),
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
