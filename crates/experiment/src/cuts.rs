//! Power cuts: how many are made, and the rules by which each is judged.

use crate::count::{Count, EVERY};
use crate::cut_by::CutBy;
use crate::entries::{EntryValue, TomlEntry};
use crate::message::{ExperimentProblem, LocatedValue, one_of};

/// The rules for what a power cut leaves, from mild to harsh.
pub const KEEPS: [&str; 4] = ["drop-all", "prefix", "subset", "torn"];

/// The file system's promise about names: as one with a journal (the default), or only as POSIX
/// does.
pub const FILE_SYSTEMS: [&str; 2] = ["ext4", "posix"];

pub const MOST_CUTS: u32 = 10_000;

/// Per engine, level and file system: the most images that are judged, and the default.
pub const MOST_IMAGES: u32 = 1_000_000;
pub(crate) const IMAGES: u32 = 20_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cuts {
    /// Per engine or disk, level of its promise and file system.
    pub count: u32,
    pub keep: Vec<String>,
    pub file_systems: Vec<String>,
    /// Whether the power goes a second time, while the engine recovers.
    pub recovery: bool,
    /// The one cut that is repeated, from 0.
    pub only: Option<u32>,
    /// The most images where every moment of one history is cut; there is one cut then, of number
    /// 0.
    pub every: Option<u32>,
    pub by: CutBy,
    /// The engines or disks whose promises are tested, without aliases, each once. Engines that
    /// store nothing are left out.
    pub subjects: Vec<String>,
}

impl Cuts {
    pub fn numbers(&self) -> std::ops::Range<u32> {
        match (self.every, self.only) {
            (Some(_), _) => 0..1,
            (None, Some(only)) => only..only + 1,
            (None, None) => 0..self.count,
        }
    }
}

fn check_count(count: u64) -> Result<Count, ExperimentProblem> {
    let count_of = u32::try_from(count).ok().filter(|count| *count <= MOST_CUTS);
    count_of.map(Count::Times).ok_or_else(|| {
        ExperimentProblem::new(format!("the power can't be cut {count} times")).with_help(format!(
            "valid: 0 to {MOST_CUTS}, of each engine at each level of durability, or `{EVERY}`"
        ))
    })
}

impl EntryValue for Count {
    fn read_entry(entry: &TomlEntry<'_>) -> Result<Self, ExperimentProblem> {
        match entry.value.get_ref().as_str() {
            Some(text) => one_of("number of cuts", text, &[EVERY]).map(|_| Self::Every),
            None => check_count(u64::read_entry(entry)?),
        }
    }
}

pub(crate) fn check_asked_count(asked: Count) -> Result<Count, ExperimentProblem> {
    match asked {
        Count::Times(times) => check_count(times.into()),
        Count::Every => Ok(asked),
    }
}

pub(crate) fn check_max_images(count: u64) -> Result<u32, ExperimentProblem> {
    u32::try_from(count).ok().filter(|count| (1..=MOST_IMAGES).contains(count)).ok_or_else(|| {
        ExperimentProblem::new(format!("{count} images can't be judged")).with_help(format!(
            "valid: 1 to {MOST_IMAGES}, of each engine at each level of durability"
        ))
    })
}

pub(crate) fn check_cut_number(number: u64) -> Result<u32, ExperimentProblem> {
    u32::try_from(number).ok().filter(|number| *number < MOST_CUTS).ok_or_else(|| {
        ExperimentProblem::new(format!("there is no power cut number {number}"))
            .with_help(format!("valid: 0 to {}", MOST_CUTS - 1))
    })
}

pub(crate) fn read_rules(
    names: Vec<LocatedValue<String>>,
) -> Result<Vec<String>, ExperimentProblem> {
    some_of("keep", "rule", names, &KEEPS)
}

pub(crate) fn file_systems(
    names: Vec<LocatedValue<String>>,
) -> Result<Vec<String>, ExperimentProblem> {
    some_of("file_system", "file system", names, &FILE_SYSTEMS)
}

fn some_of(
    key: &str,
    what: &str,
    names: Vec<LocatedValue<String>>,
    valid: &[&str],
) -> Result<Vec<String>, ExperimentProblem> {
    let mut some: Vec<String> = Vec::new();
    for LocatedValue { value, place } in names {
        let name = one_of(what, &value, valid).map_err(|problem| problem.at_place(&place))?;
        if some.contains(&name) {
            return Err(ExperimentProblem::new(format!(
                "`{name}` is twice among the {what}s of `{key}`"
            ))
            .at_place(&place)
            .with_help("leave one out"));
        }
        some.push(name);
    }
    if some.is_empty() {
        return Err(ExperimentProblem::new(format!("`{key}` names no {what}"))
            .with_help(format!("valid: {}", valid.join(", "))));
    }
    Ok(some)
}
