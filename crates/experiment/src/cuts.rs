//! Power cuts: how many are made, and by which rules each is judged.

use crate::count::{Count, EVERY};
use crate::cut_by::CutBy;
use crate::message::{ExperimentProblem, LocatedValue, one_of};
use crate::written::{EntryValue, TomlEntry};

/// The rules for what a power cut leaves, from mild to harsh.
pub const KEEPS: [&str; 4] = ["drop-all", "prefix", "subset", "torn"];

/// What the file system under an engine may promise of names: what a file system with a journal does
/// (the default), or what POSIX does and no more.
pub const FILE_SYSTEMS: [&str; 2] = ["ext4", "posix"];

/// The most cuts of an engine at a level on a file system.
pub const MOST_CUTS: u32 = 10_000;

/// The most images of one history that are judged, and how many where nothing is said: of each engine
/// at each level on each file system.
pub const MOST_IMAGES: u32 = 1_000_000;
pub(crate) const IMAGES: u32 = 20_000;

/// What is asked for of power cuts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cuts {
    /// How many are made of each subject at each level of its promise on each file system.
    pub count: u32,
    /// The rules that each is judged by, at least one of [`KEEPS`].
    pub keep: Vec<String>,
    /// The promises of file systems that each cut is made on, at least one of [`FILE_SYSTEMS`].
    pub file_systems: Vec<String>,
    /// Whether the power goes a second time, while the engine recovers from the first cut.
    pub recovery: bool,
    /// The number of the one cut that is made, from 0: it was made before and is to be repeated.
    pub only: Option<u32>,
    /// How many images are judged at most where every moment of one history is cut: then there is one
    /// cut, of number 0.
    pub every: Option<u32>,
    /// Whose clients are at work when the power goes, and which promises they hold.
    pub by: CutBy,
    /// The levels of the factor that promises whose promises are tried, without aliases, each once: of
    /// engines those that store something.
    pub subjects: Vec<String>,
}

impl Cuts {
    /// The numbers of the cuts that are made of each engine at each level on each file system.
    pub fn numbers(&self) -> std::ops::Range<u32> {
        match (self.every, self.only) {
            (Some(_), _) => 0..1,
            (None, Some(only)) => only..only + 1,
            (None, None) => 0..self.count,
        }
    }
}

/// How many cuts; 0 for none.
fn count(count: u64) -> Result<Count, ExperimentProblem> {
    let count_of = u32::try_from(count).ok().filter(|count| *count <= MOST_CUTS);
    count_of.map(Count::Times).ok_or_else(|| {
        ExperimentProblem::new(format!("the power can't be cut {count} times")).help(format!(
            "valid: 0 to {MOST_CUTS}, of each engine at each level of durability, or `{EVERY}`"
        ))
    })
}

/// A number of cuts, or what stands in its place.
impl EntryValue for Count {
    fn read(entry: &TomlEntry<'_>) -> Result<Self, ExperimentProblem> {
        match entry.value.get_ref().as_str() {
            Some(text) => one_of("number of cuts", text, &[EVERY]).map(|_| Self::Every),
            None => count(u64::read(entry)?),
        }
    }
}

/// How many cuts, or one at every moment.
pub(crate) fn checked(asked: Count) -> Result<Count, ExperimentProblem> {
    match asked {
        Count::Times(times) => count(times.into()),
        Count::Every => Ok(asked),
    }
}

/// How many images of every moment.
pub(crate) fn images(count: u64) -> Result<u32, ExperimentProblem> {
    u32::try_from(count).ok().filter(|count| (1..=MOST_IMAGES).contains(count)).ok_or_else(|| {
        ExperimentProblem::new(format!("{count} images can't be judged"))
            .help(format!("valid: 1 to {MOST_IMAGES}, of each engine at each level of durability"))
    })
}

/// The number of the one cut that is made.
pub(crate) fn only(number: u64) -> Result<u32, ExperimentProblem> {
    u32::try_from(number).ok().filter(|number| *number < MOST_CUTS).ok_or_else(|| {
        ExperimentProblem::new(format!("there is no power cut number {number}"))
            .help(format!("valid: 0 to {}", MOST_CUTS - 1))
    })
}

/// Rules, each once.
pub(crate) fn keep(names: Vec<LocatedValue<String>>) -> Result<Vec<String>, ExperimentProblem> {
    some_of("keep", "rule", names, &KEEPS)
}

/// File systems, each once.
pub(crate) fn file_systems(
    names: Vec<LocatedValue<String>>,
) -> Result<Vec<String>, ExperimentProblem> {
    some_of("file_system", "file system", names, &FILE_SYSTEMS)
}

/// Those of the valid names that a key gives, each once and at least one.
fn some_of(
    key: &str,
    what: &str,
    names: Vec<LocatedValue<String>>,
    valid: &[&str],
) -> Result<Vec<String>, ExperimentProblem> {
    let mut some: Vec<String> = Vec::new();
    for LocatedValue { value, place } in names {
        let name = one_of(what, &value, valid).map_err(|problem| problem.at(&place))?;
        if some.contains(&name) {
            return Err(ExperimentProblem::new(format!(
                "`{name}` is twice among the {what}s of `{key}`"
            ))
            .at(&place)
            .help("leave one out"));
        }
        some.push(name);
    }
    if some.is_empty() {
        return Err(ExperimentProblem::new(format!("`{key}` names no {what}"))
            .help(format!("valid: {}", valid.join(", "))));
    }
    Ok(some)
}
