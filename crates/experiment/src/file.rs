//! The file of an experiment: TOML, by its path or by the name of a preset.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use bakeoff_workloads::{APPLICATION, FileKind};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::entries::{Around, TomlEntry, TomlValue, list_items, to_decimal, wrong_type};
use crate::keys::{DISKS, FACTORS, KEYS, Layer, PUBLISHED, QUICK, SETTINGS, TABLES};
use crate::message::{ExperimentProblem, LocatedValue, SourceSpan, SourceText};
use crate::{Factor, Preset, Vocabulary, WorkloadNames, layer, preset};

mod csv;
mod published;
mod settings;

/// A larger file was named by mistake: refuse it at once.
const MOST_BYTES: u64 = 1 << 20;

pub(crate) fn open_source(
    preset_or_path: &str,
    presets: &[Preset],
) -> Result<SourceText, ExperimentProblem> {
    if let Some(preset) = presets.iter().find(|preset| preset.name == preset_or_path) {
        return Ok(SourceText { name: preset.name.to_owned(), text: preset.toml.to_owned() });
    }
    let bytes = read_bytes(preset_or_path)
        .map_err(|error| explain_unreadable(preset_or_path, presets, &error))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(ExperimentProblem::new(format!(
            "`{preset_or_path}` is over {MOST_BYTES} bytes long: it can't be an experiment"
        )));
    }
    let text = decode_text(preset_or_path, bytes)?;
    Ok(SourceText { name: preset_or_path.to_owned(), text })
}

fn decode_text(path: &str, bytes: Vec<u8>) -> Result<String, ExperimentProblem> {
    if let Some(kind) = FileKind::from_head(&bytes) {
        return Err(ExperimentProblem::new(format!("`{path}` is {}", kind.in_words(""))));
    }
    String::from_utf8(bytes).map_err(|error| {
        let byte = error.utf8_error().valid_up_to();
        ExperimentProblem::new(format!(
            "`{path}` is not UTF-8 text: byte {byte} (counted from 0) is wrong"
        ))
    })
}

/// Keys and values, those in tables and lists among them. The largest preset has about a hundred.
const MOST_VALUES: usize = 5_000;

fn count_values(value: &DeValue<'_>) -> usize {
    match value {
        DeValue::Array(items) => items.iter().map(|item| 1 + count_values(item.get_ref())).sum(),
        DeValue::Table(table) => table.values().map(|item| 1 + count_values(item.get_ref())).sum(),
        _ => 0,
    }
}

/// Stops one byte after [`MOST_BYTES`].
fn read_bytes(path: &str) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn explain_unreadable(
    preset_or_path: &str,
    presets: &[Preset],
    error: &std::io::Error,
) -> ExperimentProblem {
    let mut names: Vec<&str> = presets.iter().map(|preset| preset.name).collect();
    names.extend(preset::all_articles(presets));
    let missing = error.kind() == std::io::ErrorKind::NotFound;
    if missing && !preset_or_path.contains(['/', '.']) {
        return ExperimentProblem::unknown("preset", preset_or_path, &names).with_help(
            "an experiment of your own is a file: `bakeoff run FILE.toml`; an application is a \
                 folder: `bakeoff run ./FOLDER`",
        );
    }
    // Names that begin with the same `articles/` can be meant.
    let group = |name: &str| name.split_once('/').map(|(group, _)| group.to_owned());
    let asked = group(preset_or_path).filter(|_| missing);
    let alike = names.iter().filter(|name| asked.is_some() && group(name) == asked);
    let alike: Vec<&str> = alike.copied().collect();
    if !alike.is_empty() && Path::new(preset_or_path).extension().is_none() {
        return ExperimentProblem::unknown("preset", preset_or_path, &alike)
            .with_help("a file of your own ends in .toml: `bakeoff run FILE.toml`");
    }
    let problem = ExperimentProblem::new(format!("can't read `{preset_or_path}`: {error}"));
    let problem = if missing { problem.with_nearest(preset_or_path, &names) } else { problem };
    problem.with_help(format!("give the path of a file, or a preset: {}", names.join(", ")))
}

/// Reads the file and its table `[quick]`. `is_quick`: that table is laid over the rest.
pub(crate) fn read_layers(
    source: &Arc<SourceText>,
    vocabulary: &Vocabulary,
    is_quick: bool,
    problems: &mut Vec<ExperimentProblem>,
) -> (Layer, Option<Layer>) {
    let mut reader = ExperimentReader { source, vocabulary, workload: None, problems };
    let table = match DeTable::parse(&source.text) {
        Ok(table) => table,
        Err(error) => {
            let place = reader.place_of_span(error.span());
            reader.problems.push(ExperimentProblem::new(error.message()).at_place(&place));
            return (Layer::default(), None);
        }
    };
    let values: usize =
        table.get_ref().values().map(|value| 1 + count_values(value.get_ref())).sum();
    if values > MOST_VALUES {
        let place = reader.place_of_span(None);
        let many = format!("{values} keys and values are too many: at most {MOST_VALUES} are read");
        reader.problems.push(ExperimentProblem::new(many).at_place(&place));
        return (Layer::default(), None);
    }
    let mut layer = Layer::default();
    let mut quick = None;
    // First of all: the set of factors depends on it.
    let (of_all, of_quick) = find_workloads(table.get_ref(), vocabulary);
    reader.workload = if is_quick { of_quick } else { of_all };
    // Before the factors: their levels may name these disks.
    if let Some(disks) = table.get_ref().get(DISKS) {
        layer.disks = reader.read_disks(disks);
    }
    let own = vocabulary.with_disks(&layer.disks);
    reader.vocabulary = &own;
    if let Some(settings) = table.get_ref().get(SETTINGS) {
        layer.settings = reader.read_settings(settings);
    }
    if let Some(published) = table.get_ref().get(PUBLISHED) {
        layer.published = reader.read_published(published);
    }
    layer.application = find_application(&source.text);
    for (key, value) in in_order(table.get_ref()) {
        let is_read = [QUICK, FACTORS].iter().all(|later| key.get_ref() != later);
        if is_read && TABLES.contains(&key.get_ref().as_ref()) {
            continue;
        } else if key.get_ref() != QUICK {
            reader.set_entry(&mut layer, key, value, &TABLES[..5]);
        } else if let DeValue::Table(table) = value.get_ref() {
            let quick = quick.insert(Layer::default());
            let outer = std::mem::replace(&mut reader.workload, of_quick);
            for (key, value) in in_order(table) {
                reader.set_entry(quick, key, value, &[]);
            }
            reader.workload = outer;
        } else {
            let problem = wrong_type(QUICK, "a table", value);
            reader.problems.push(problem.at_place(&reader.place_of_span(Some(value.span()))));
        }
    }
    problems.sort_by_key(ExperimentProblem::start);
    (layer, quick)
}

/// The files of the user's own application that a text of an experiment has; empty if it has none.
fn find_application(text: &str) -> toml::Table {
    let table = text.parse::<toml::Table>().ok();
    match table.and_then(|mut table| table.remove(APPLICATION)) {
        Some(toml::Value::Table(application)) => application,
        _ => toml::Table::new(),
    }
}

fn find_workloads<'v>(
    table: &DeTable<'_>,
    vocabulary: &'v Vocabulary,
) -> (Option<&'v WorkloadNames>, Option<&'v WorkloadNames>) {
    let named = |table: &DeTable<'_>| {
        vocabulary.find_workload(table.get("workload").and_then(|name| name.get_ref().as_str())?)
    };
    let of_all = named(table);
    let quick = table.get(QUICK).and_then(|quick| quick.get_ref().as_table());
    (of_all, quick.and_then(named).or(of_all))
}

type TomlKey<'a> = Spanned<toml::de::DeString<'a>>;

fn in_order<'t, 'a>(table: &'t DeTable<'a>) -> Vec<(&'t TomlKey<'a>, &'t TomlValue<'a>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

struct ExperimentReader<'r> {
    source: &'r Arc<SourceText>,
    vocabulary: &'r Vocabulary,
    workload: Option<&'r WorkloadNames>,
    problems: &'r mut Vec<ExperimentProblem>,
}

impl ExperimentReader<'_> {
    fn place_of_span(&self, span: Option<std::ops::Range<usize>>) -> SourceSpan {
        SourceSpan { source: Arc::clone(self.source), span }
    }

    fn read_disks(&mut self, value: &TomlValue<'_>) -> BTreeMap<String, toml::Table> {
        let mut disks = BTreeMap::new();
        let DeValue::Table(table) = value.get_ref() else {
            let problem = wrong_type(DISKS, "a table of tables", value);
            self.problems.push(problem.at_place(&self.place_of_span(Some(value.span()))));
            return disks;
        };
        // Once more, as plain values without their places.
        let plain = self.source.text.parse::<toml::Table>();
        for (key, value) in in_order(table) {
            let name = key.get_ref().as_ref();
            let device = match (&plain, value.get_ref()) {
                (Err(error), _) => Err(ExperimentProblem::new(error.message())),
                (Ok(plain), DeValue::Table(_)) => Ok(plain[DISKS][name].as_table()),
                _ => Err(wrong_type(name, "a table", value)),
            };
            let device = device.map(|device| device.cloned().unwrap_or_default());
            let known = &self.vocabulary.disks;
            let right = device.and_then(|device| known.check_own_name(name).map(|()| device));
            match right {
                Ok(device) => {
                    self.check_device(key, value, &device);
                    disks.insert(name.to_owned(), device);
                }
                Err(problem) => {
                    self.problems.push(problem.at_place(&self.place_of_span(Some(key.span()))));
                    // A wrong disk is still known, so that it is reported once.
                    disks.insert(name.to_owned(), toml::Table::new());
                }
            }
        }
        disks
    }

    fn check_device(&mut self, key: &TomlKey<'_>, value: &TomlValue<'_>, device: &toml::Table) {
        let entries = value.get_ref().as_table().map(in_order).unwrap_or_default();
        for (wrong, problem) in self.vocabulary.disks.check_own(device) {
            let entry = entries.iter().find(|(key, _)| Some(&**key.get_ref()) == wrong.as_deref());
            let span = entry.map_or(key.span(), |(key, value)| key.span().start..value.span().end);
            self.problems.push(problem.at_place(&self.place_of_span(Some(span))));
        }
    }

    /// `more` are keys that the caller would have taken.
    fn set_entry(
        &mut self,
        layer: &mut Layer,
        key: &TomlKey<'_>,
        value: &TomlValue<'_>,
        more: &[&str],
    ) {
        let name = key.get_ref().as_ref();
        let is_table = matches!(value.get_ref(), DeValue::Table(_));
        if name == FACTORS || is_table && self.vocabulary.engines.has_kind(name) {
            let before = if name == FACTORS { "" } else { name };
            return self.set_factors(layer, before, value);
        }
        if self.vocabulary.is_factor(name) {
            return self.set_factor(layer, name, key, value);
        }
        if !KEYS.contains(&name) {
            let unknown = ExperimentProblem::new(format!("unknown key `{name}`"));
            let factors = self.vocabulary.factors_of(self.workload);
            let factors: Vec<&str> = factors.into_iter().map(Factor::name).collect();
            let valid = [KEYS, &factors, more].concat();
            let problem = self.vocabulary.add_choices(unknown, name, &valid, self.workload);
            self.problems.push(problem.at_place(&self.place_of_span(Some(key.span()))));
            return;
        }
        let folder = Path::new(&self.source.name).parent().unwrap_or(Path::new(""));
        let around = Around { vocabulary: self.vocabulary, workload: self.workload, folder };
        let entry = TomlEntry { name, value, source: self.source };
        if let Err(problem) = layer.set(&entry, &around) {
            self.problems.push(problem.at_place(&self.place_of_span(Some(value.span()))));
        }
    }

    /// Of a table below an engine's name, each key is one of its settings.
    fn set_factors(&mut self, layer: &mut Layer, before: &str, value: &TomlValue<'_>) {
        let DeValue::Table(table) = value.get_ref() else {
            let problem = wrong_type(FACTORS, "a table", value);
            return self.problems.push(problem.at_place(&self.place_of_span(Some(value.span()))));
        };
        for (key, value) in in_order(table) {
            let name = match before {
                "" => key.get_ref().to_string(),
                before => format!("{before}.{}", key.get_ref()),
            };
            match value.get_ref() {
                DeValue::Table(_) => self.set_factors(layer, &name, value),
                _ => self.set_factor(layer, &name, key, value),
            }
        }
    }

    fn set_factor(
        &mut self,
        layer: &mut Layer,
        name: &str,
        key: &TomlKey<'_>,
        value: &TomlValue<'_>,
    ) {
        let place = self.place_of_span(Some(key.span()));
        match self.vocabulary.find_factor(self.workload, name) {
            Ok(factor) => {
                let levels = self.read_levels(factor, value);
                if layer.factors.insert(factor, levels).is_some() {
                    let title = format!("the levels of `{factor}` are given twice");
                    let problem = ExperimentProblem::new(title).with_help("leave one out");
                    self.problems.push(problem.at_place(&place));
                }
            }
            Err(problem) => self.problems.push(problem.at_place(&place)),
        }
    }

    fn read_levels(&mut self, factor: Factor, value: &TomlValue<'_>) -> layer::LocatedLevels {
        let items = list_items(value);
        if items.is_empty() {
            let problem = ExperimentProblem::new(format!("`{factor}` has no level"))
                .with_help(format!("valid: {}", self.vocabulary.level_syntax(factor)));
            self.problems.push(problem.at_place(&self.place_of_span(Some(value.span()))));
        }
        let raw: Vec<_> = items.iter().map(|item| self.read_level(factor, item)).collect();
        layer::read_levels(factor, raw, self.vocabulary, self.problems)
    }

    fn read_level(
        &self,
        factor: Factor,
        item: &TomlValue<'_>,
    ) -> Result<LocatedValue<String>, ExperimentProblem> {
        let place = self.place_of_span(Some(item.span()));
        match item.get_ref() {
            DeValue::String(text) => Ok(LocatedValue { value: text.to_string(), place }),
            DeValue::Integer(integer) => Ok(LocatedValue { value: to_decimal(integer), place }),
            // A parameter of a disk may be one.
            DeValue::Float(number) if matches!(factor, Factor::Option(_)) => {
                Ok(LocatedValue { value: number.as_str().to_owned(), place })
            }
            // A setting of a server may be one.
            DeValue::Boolean(on) if self.vocabulary.engines.is_setting(factor.name()) => {
                Ok(LocatedValue { value: if *on { "on" } else { "off" }.to_owned(), place })
            }
            _ => {
                let expected = "a string, a whole number, or a list of these";
                Err(wrong_type(factor.name(), expected, item).at_place(&place))
            }
        }
    }
}

pub(crate) fn default_name(source: &SourceText) -> String {
    let stem = Path::new(&source.name).file_stem().unwrap_or_default().to_string_lossy();
    layer::run_name(&stem).unwrap_or_else(|_| "experiment".to_owned())
}
