//! An experiment: a workload, its factors and how to measure.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use toml::{Table, Value};

use crate::level::{self, base, each_once};
use crate::{
    Bounds, Cuts, EVERY, Factor, HOST, PublishedArticle, ResponseTimeLimit, RowsFrom,
    ServerSettings, bounds, keys,
};

/// A workload, its factors and how to measure; every level is valid.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Its name; it may become part of a folder's.
    pub name: String,
    /// One line on what it asks.
    pub title: String,
    /// The workload's name.
    pub workload: String,
    /// Where the workload's text comes from, an absolute path; `None` for text that is made up.
    pub text: Option<PathBuf>,
    /// Where the workload's rows come from; `None` of a workload that makes its rows itself, or has
    /// `text` to make them of.
    pub rows_from: Option<RowsFrom>,
    /// Whether a file of rows may have no line that is skipped.
    pub rows_strict: bool,
    /// The compared factor; its first level is what the others are held against.
    pub compare: Factor,
    /// The levels of every factor that the workload has, canonical, in the order in which they were
    /// given.
    pub factors: BTreeMap<Factor, Vec<String>>,
    /// The devices of the experiment's own, by name.
    pub disks: BTreeMap<String, Table>,
    /// The settings of servers that take the place of bakeoff's, by engine.
    pub settings: BTreeMap<String, ServerSettings>,
    /// How many seconds the clients of a trial run.
    pub seconds: f64,
    /// How many operations of each kind end a trial before its seconds are over; `None` where the time alone
    /// does. A steady trial lasts its seconds all the same.
    pub operations: Option<u32>,
    /// How often each block is run, where the planner doesn't decide it; 0 where there are no trials.
    pub repetitions: u32,
    /// The seed of everything that is random.
    pub seed: u64,
    /// Whether the compared factor's first level is entered once more, under the alias `again`:
    /// what is measured between the two is noise.
    pub noise_floor: bool,
    /// Whether the requests of steady trials are traced and priced.
    pub priced: bool,
    /// The planner, by its name: what decides which block is run next.
    pub planner: String,
    /// The bounds of a planner that decides how often each block is repeated; `None` for any other.
    pub bounds: Option<Bounds>,
    /// What response times are to keep at the highest rate that is looked for, in each combination of the
    /// other factors; `None` where none is looked for. Then `rate` is the compared factor, has one level, to
    /// begin with, and the plan has one repetition.
    pub limit: Option<ResponseTimeLimit>,
    /// The power cuts that are made after the trials, if any.
    pub cuts: Option<Cuts>,
    /// What somebody else measured, to be shown beside what is measured here.
    pub published: Option<PublishedArticle>,
}

impl Experiment {
    /// The levels of a factor that are run: those given, and the one that the noise floor needs; none
    /// where the workload has no such factor.
    pub fn levels(&self, factor: Factor) -> Vec<String> {
        let mut levels = self.factors.get(&factor).cloned().unwrap_or_default();
        if self.noise_floor && factor == self.compare {
            levels.extend(level::again(&levels));
        }
        levels
    }

    /// The settings of the file's own for an engine, by any level of it: name and value. What is set for an
    /// engine holds for each of its levels.
    pub fn settings_of(&self, engine: &str) -> Vec<(String, String)> {
        let own = self.settings.get(level::engine(engine)).into_iter().flatten();
        own.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// How many trials the plan has; saturates.
    pub(crate) fn trials(&self) -> u64 {
        let levels = self.factors.keys().map(|factor| self.levels(*factor).len() as u64);
        levels.fold(self.most_repetitions().into(), u64::saturating_mul)
    }

    /// How often each block is run at most: what the plan is made of.
    pub fn most_repetitions(&self) -> u32 {
        let once = self.limit.map(|_| 1);
        let most = self.bounds.map(|bounds| bounds.max_repetitions).or(once);
        let most = most.unwrap_or(self.repetitions);
        if self.repetitions == 0 { 0 } else { most }
    }

    /// The experiment as a file, every key given that says something; loading it gives the same experiment.
    pub fn to_toml(&self) -> String {
        let mut toml = String::new();
        let mut put = |key: &str, value: Value| {
            writeln!(toml, "{key} = {value}").expect("a string takes everything");
        };
        put("name", self.name.as_str().into());
        put("title", self.title.as_str().into());
        put("workload", self.workload.as_str().into());
        if let Some(text) = &self.text {
            put("text", text.to_string_lossy().as_ref().into());
        }
        if let Some(from) = &self.rows_from {
            put("rows_from", from.written().into());
        }
        if self.rows_strict {
            put("rows_strict", true.into());
        }
        put("compare", self.compare.name().into());
        for (factor, levels) in &self.factors {
            put(factor.name(), levels.clone().into());
        }
        put("seconds", self.seconds.into());
        if let Some(operations) = self.operations {
            put("operations", i64::from(operations).into());
        }
        put("repetitions", i64::from(self.repetitions).into());
        put("seed", Value::Integer(self.seed as i64));
        put("noise_floor", self.noise_floor.into());
        if self.priced {
            put("priced", true.into());
        }
        put("planner", self.planner.as_str().into());
        if let Some(bounds) = &self.bounds {
            put("min_repetitions", i64::from(bounds.min_repetitions).into());
            put("max_repetitions", i64::from(bounds.max_repetitions).into());
            let max_time = bounds.max_time.map(bounds::time_in_words);
            max_time.into_iter().for_each(|time| put("max_time", time.into()));
        }
        if let Some(limit) = self.limit {
            put("find_limit", limit.to_string().into());
        }
        if let Some(cuts) = &self.cuts {
            match cuts.every {
                Some(images) => {
                    put("cuts", EVERY.into());
                    put("max_images", i64::from(images).into());
                }
                None => put("cuts", i64::from(cuts.count).into()),
            }
            put("keep", cuts.keep.clone().into());
            put("file_system", cuts.file_systems.clone().into());
            put("cut_recovery", cuts.recovery.into());
            if let Some(only) = cuts.only {
                put("cut_number", i64::from(only).into());
            }
        }
        let mut put = |name: &str, tables: Table| {
            if !tables.is_empty() {
                let all = Table::from_iter([(name.to_owned(), Value::Table(tables))]);
                write!(toml, "\n{all}").expect("a string takes everything");
            }
        };
        let own = self.disks.iter().map(|(name, table)| (name.clone(), table.clone().into()));
        put(keys::DISKS, own.collect());
        let settings = self.settings.iter().map(|(engine, settings)| {
            let own = settings.iter().map(|(name, value)| (name.clone(), value.clone().into()));
            (engine.clone(), Value::Table(own.collect()))
        });
        put(keys::SETTINGS, settings.collect());
        let published = self.published.as_ref().map(|article| article.toml.clone());
        put(keys::PUBLISHED, published.unwrap_or_default());
        toml
    }

    /// How many figures were published, and how many of these are of levels that are run; a field that
    /// was left empty is no figure. `None` where the experiment has none.
    pub fn published_figures(&self) -> Option<(usize, usize)> {
        let tables = &self.published.as_ref()?.published.tables;
        let all = || tables.iter().flat_map(|table| &table.figures);
        let figures = || all().filter(|figure| figure.value.is_some());
        let runs = |factor: &str, level: &String| {
            let found = self.factors.iter().find(|(known, _)| known.name() == factor);
            found.is_some_and(|(_, levels)| levels.contains(level))
        };
        let is_run = |levels: &BTreeMap<String, String>| {
            levels.iter().all(|(factor, level)| runs(factor, level))
        };
        let run = figures().filter(|figure| is_run(&figure.levels)).count();
        Some((figures().count(), run))
    }

    /// The disk that the power is cut of: the first that is a virtual one.
    pub fn cut_disk(&self) -> Option<&str> {
        let levels = self.factors.get(&Factor::DISK).into_iter().flatten();
        levels.map(|level| base(level)).find(|level| *level != HOST)
    }

    /// How many clients are at work when the power goes: the most that the experiment names.
    ///
    /// # Panics
    /// When [`Experiment::factors`] holds what was not checked.
    pub fn cut_clients(&self) -> usize {
        let levels = self.factors[&Factor::CLIENTS].iter();
        let numbers = levels.map(|level| base(level).parse().expect("a checked level"));
        numbers.max().expect("a factor has a level")
    }

    /// What promises something, and at which level: what is tried by power cuts, each once; none where
    /// no power is cut.
    pub fn cut_cells(&self) -> Vec<(&str, &str)> {
        let Some(cuts) = &self.cuts else { return Vec::new() };
        let [_, factor] = cuts.by.promise;
        let levels = each_once(self.factors.get(&factor).into_iter().flatten());
        let mut tried: Vec<&str> = Vec::new();
        for level in levels {
            let level = cuts.by.level(factor, level);
            // Two levels may have one in their place.
            if !tried.contains(&level) {
                tried.push(level);
            }
        }
        let subjects = cuts.subjects.iter();
        subjects.flat_map(|it| tried.iter().map(move |level| (&**it, *level))).collect()
    }
}
