//! An experiment: a workload, its factors and how to measure.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use bakeoff_workloads::APPLICATION;
use toml::{Table, Value};

use crate::disks::{EXAMPLE, model_table};
use crate::level::{self, each_once, without_alias};
use crate::{
    Bounds, Cuts, EVERY, Factor, HOST, LIKE, LevelMove, PublishedArticle, ResponseTimeLimit,
    RowOrigin, ServerSettings, bounds, images, keys,
};

/// Every level is valid.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    pub name: String,
    pub title: String,
    pub workload: String,
    /// An absolute path; `None` for made-up text.
    pub text: Option<PathBuf>,
    /// `None` if the workload makes its rows itself, or makes them of `text`.
    pub rows_from: Option<RowOrigin>,
    /// Whether a skipped line of a file of rows is an error.
    pub rows_strict: bool,
    /// Its first level is the baseline.
    pub compare: Factor,
    /// Canonical levels of every factor of the workload, in the order given.
    pub factors: BTreeMap<Factor, Vec<String>>,
    pub disks: BTreeMap<String, Table>,
    /// By engine; they replace bakeoff's own settings.
    pub settings: BTreeMap<String, ServerSettings>,
    pub seconds: f64,
    /// A trial ends early after this many operations of each kind; `None`: after its seconds alone.
    /// A steady trial lasts its seconds all the same.
    pub operations: Option<u32>,
    /// 0 where there are no trials; not used if the planner decides.
    pub repetitions: u32,
    /// How often each engine's data are loaded; the blocks of a condition take turns on these images.
    pub images: u32,
    pub seed: u64,
    /// Whether the baseline runs once more as `again`: the difference is noise.
    pub noise_floor: bool,
    pub priced: bool,
    pub planner: String,
    /// Only with a planner that repeats blocks until they are decided.
    pub bounds: Option<Bounds>,
    /// The limit on response times whose highest rate is searched for. Then `rate` is compared and
    /// has one level, and the plan has one repetition.
    pub limit: Option<ResponseTimeLimit>,
    pub cuts: Option<Cuts>,
    pub published: Option<PublishedArticle>,
    /// The files of the user's own application; empty if the workload is built in.
    pub application: Table,
    /// Trials that run at another level of durability than `factors` has.
    pub moves: Vec<LevelMove>,
}

impl Experiment {
    /// The given levels, those of durability that settings keep instead, and the noise floor's; none
    /// if the workload lacks the factor.
    pub fn run_levels(&self, factor: Factor) -> Vec<String> {
        let mut levels = self.factors.get(&factor).cloned().unwrap_or_default();
        for kept in self.moves.iter().filter(|_| factor == Factor::DURABILITY).map(|it| &it.kept) {
            if levels.iter().all(|level| without_alias(level) != kept) {
                levels.push(kept.clone());
            }
        }
        if self.noise_floor && factor == self.compare {
            levels.extend(level::noise_floor_level(&levels));
        }
        levels
    }

    /// For any level of the engine.
    pub fn settings_of(&self, engine: &str) -> Vec<(String, String)> {
        let own = self.settings.get(level::engine_name(engine)).into_iter().flatten();
        own.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Saturates.
    pub(crate) fn count_trials(&self) -> u64 {
        let levels = self.factors.keys().map(|factor| self.run_levels(*factor).len() as u64);
        levels.fold(self.most_repetitions().into(), u64::saturating_mul)
    }

    /// Of the rows of an image, which is counted from 0: the same for every engine.
    pub fn row_seed(&self, image: u32) -> u64 {
        images::seed_of_rows(self.seed, image)
    }

    pub fn most_repetitions(&self) -> u32 {
        let once = self.limit.map(|_| 1);
        let most = self.bounds.map(|bounds| bounds.max_repetitions).or(once);
        let most = most.unwrap_or(self.repetitions);
        if self.repetitions == 0 { 0 } else { most }
    }

    /// As a file that loads as the same experiment.
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
            put("rows_from", from.to_text().into());
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
        if self.images > 1 {
            put("images", i64::from(self.images).into());
        }
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
        put(APPLICATION, self.application.clone());
        toml
    }

    /// How many figures were published, and how many belong to levels that are run; empty fields
    /// don't count.
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

    /// Levels `like:PATH` whose disk has no model yet, each once.
    pub fn untimed_disks(&self) -> Vec<&str> {
        let levels = each_once(self.factors.get(&Factor::DISK).into_iter().flatten()).into_iter();
        levels.filter(|level| level.starts_with(LIKE) && !self.disks.contains_key(*level)).collect()
    }

    /// The same with a model for each untimed disk, so that it can be planned.
    pub fn with_stand_ins(&self) -> Self {
        let mut planned = self.clone();
        for level in self.untimed_disks() {
            planned.disks.insert(level.to_owned(), model_table(EXAMPLE));
        }
        planned
    }

    /// The first virtual disk.
    pub fn cut_disk(&self) -> Option<&str> {
        let levels = self.factors.get(&Factor::DISK).into_iter().flatten();
        levels.map(|level| without_alias(level)).find(|level| *level != HOST)
    }

    /// The most that the experiment names. Panics if a level was not checked.
    pub fn cut_clients(&self) -> usize {
        let levels = self.factors[&Factor::CLIENTS].iter();
        let numbers = levels.map(|level| without_alias(level).parse().expect("a checked level"));
        numbers.max().expect("a factor has a level")
    }

    /// Each subject and each level of its promise that power cuts try; empty without cuts.
    pub fn cut_cells(&self) -> Vec<(&str, &str)> {
        let Some(cuts) = &self.cuts else { return Vec::new() };
        let [_, factor] = cuts.by.promise;
        let levels = each_once(self.factors.get(&factor).into_iter().flatten());
        let mut tried: Vec<&str> = Vec::new();
        for level in levels {
            let level = cuts.by.level_in_cuts(factor, level);
            if !tried.contains(&level) {
                tried.push(level);
            }
        }
        let subjects = cuts.subjects.iter();
        subjects.flat_map(|it| tried.iter().map(move |level| (&**it, *level))).collect()
    }
}
