//! What one place says about an experiment: its file, the file's table `[quick]`, or the flags.
//! Layers are laid over each other; what an upper one says takes the place of what is below.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::count::Count;
use crate::message::{Place, Problem};
use crate::{Factor, Vocabulary, level};

/// Settings of a server, by name, as it takes them.
pub type Settings = BTreeMap<String, String>;

/// A value and where it was written.
#[derive(Clone, Debug)]
pub(crate) struct Given<T> {
    pub(crate) value: T,
    pub(crate) place: Place,
}

/// Levels in the order in which they were given, each in its canonical form.
pub(crate) type Levels = Vec<Given<String>>;

/// What is said, each value right in itself.
#[derive(Debug, Default)]
pub(crate) struct Layer {
    pub(crate) name: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) workload: Option<String>,
    pub(crate) text: Option<PathBuf>,
    pub(crate) compare: Option<Factor>,
    pub(crate) seconds: Option<f64>,
    pub(crate) repetitions: Option<u32>,
    pub(crate) seed: Option<u64>,
    pub(crate) noise_floor: Option<bool>,
    pub(crate) priced: Option<bool>,
    pub(crate) planner: Option<String>,
    pub(crate) max_repetitions: Option<u32>,
    pub(crate) max_time: Option<Duration>,
    pub(crate) cuts: Option<Given<Count>>,
    pub(crate) max_images: Option<Given<u32>>,
    pub(crate) keep: Option<Vec<String>>,
    pub(crate) file_systems: Option<Vec<String>>,
    pub(crate) cut_recovery: Option<bool>,
    pub(crate) cut_number: Option<Given<u32>>,
    pub(crate) factors: BTreeMap<Factor, Levels>,
    pub(crate) disks: BTreeMap<String, toml::Table>,
    pub(crate) settings: BTreeMap<String, Settings>,
}

impl Layer {
    /// This layer with another laid over it.
    pub(crate) fn under(mut self, over: Self) -> Self {
        self.factors.extend(over.factors);
        self.disks.extend(over.disks);
        self.settings.extend(over.settings);
        Self {
            name: over.name.or(self.name),
            title: over.title.or(self.title),
            workload: over.workload.or(self.workload),
            text: over.text.or(self.text),
            compare: over.compare.or(self.compare),
            seconds: over.seconds.or(self.seconds),
            repetitions: over.repetitions.or(self.repetitions),
            seed: over.seed.or(self.seed),
            noise_floor: over.noise_floor.or(self.noise_floor),
            priced: over.priced.or(self.priced),
            planner: over.planner.or(self.planner),
            max_repetitions: over.max_repetitions.or(self.max_repetitions),
            max_time: over.max_time.or(self.max_time),
            cuts: over.cuts.or(self.cuts),
            max_images: over.max_images.or(self.max_images),
            keep: over.keep.or(self.keep),
            file_systems: over.file_systems.or(self.file_systems),
            cut_recovery: over.cut_recovery.or(self.cut_recovery),
            cut_number: over.cut_number.or(self.cut_number),
            factors: self.factors,
            disks: self.disks,
            settings: self.settings,
        }
    }
}

/// Brings the levels of a factor into their canonical form, and notes what is wrong with them.
pub(crate) fn levels(
    factor: Factor,
    raw: impl IntoIterator<Item = Result<Given<String>, Problem>>,
    vocabulary: &Vocabulary,
    problems: &mut Vec<Problem>,
) -> Levels {
    let mut levels = Levels::new();
    for given in raw {
        match given.and_then(|given| canonical(factor, given, &levels, vocabulary)) {
            Ok(level) => levels.push(level),
            Err(problem) => problems.push(problem),
        }
    }
    levels
}

fn canonical(
    factor: Factor,
    given: Given<String>,
    others: &Levels,
    vocabulary: &Vocabulary,
) -> Result<Given<String>, Problem> {
    let Given { value, place } = given;
    let value = level::canonical(factor, &value, vocabulary).map_err(|p| p.at(&place))?;
    if others.iter().all(|other| other.value != value) {
        return Ok(Given { value, place });
    }
    Err(Problem::new(format!("`{value}` is twice among the levels of `{factor}`"))
        .at(&place)
        .help("leave one out"))
}

pub(crate) fn seconds(seconds: f64) -> Result<f64, Problem> {
    if (0.5..=86_400.0).contains(&seconds) {
        return Ok(seconds);
    }
    Err(Problem::new(format!("a trial can't last {seconds} seconds"))
        .help("valid: 0.5 to 86400, which is a day"))
}

pub(crate) fn repetitions(repetitions: u64) -> Result<u32, Problem> {
    match u32::try_from(repetitions) {
        Ok(repetitions @ 0..=1000) => Ok(repetitions),
        _ => Err(Problem::new(format!("blocks can't be repeated {repetitions} times"))
            .help("valid: 1 to 1000")),
    }
}

/// A seed has to fit into TOML's integers, which end at 2^63 - 1.
pub(crate) fn seed(seed: u64) -> Result<u64, Problem> {
    if i64::try_from(seed).is_ok() {
        return Ok(seed);
    }
    Err(Problem::new(format!("{seed} is too large for a seed"))
        .help(format!("valid: 0 to {}", i64::MAX)))
}
