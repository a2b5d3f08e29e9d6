//! What a user calls a device: `hdd-7200`, `ebs-gp2:100G`, `raid10:4×hdd-7200`, or a table.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::device::cloud::{self, Cloud};
use crate::device::hdd::{self, Hdd};
use crate::device::null::Null;
use crate::device::raid::Raid10;
use crate::device::ssd::{self, Ssd};
use crate::device::{Device, Wrong};
use crate::ext4;

/// A device that can be had, for a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// How it is written.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
}

const LISTED: [Listed; 8] = [
    Listed { name: "null", summary: "no delay: the cost of the virtual disk itself" },
    Listed { name: "hdd-7200", summary: "desktop disk, 7200 rpm: about 78 random reads a second" },
    Listed { name: "hdd-5400", summary: "notebook disk, 5400 rpm: about 59 random reads a second" },
    Listed {
        name: "ssd-sata",
        summary: "SATA SSD: 13,000 reads a second one at a time, 97,000 at most",
    },
    Listed {
        name: "ebs-magnetic",
        summary: "magnetic cloud volume: about 100 operations a second",
    },
    Listed {
        name: "ebs-gp2:SIZE",
        summary: "cloud volume, 3 operations a GiB and second, with a burst bucket",
    },
    Listed { name: "ebs-gp3", summary: "cloud volume, 3,000 operations a second and 125 MiB/s" },
    Listed {
        name: "raid10:N×MODEL",
        summary: "RAID-10 over an even number of disks, say raid10:4×hdd-7200",
    },
];

/// The devices that can be had by name.
pub fn listed() -> &'static [Listed] {
    &LISTED
}

/// The most disks of an array.
pub const MOST_DISKS: u32 = 64;

/// All that is wrong with a device's description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError(pub Vec<Problem>);

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentences: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&sentences.join("; "))
    }
}

impl std::error::Error for SpecError {}

impl From<Problem> for SpecError {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

/// One thing that is wrong with a device's description.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// No such model.
    #[error("there is no disk model `{0}`{1}; there are {names}", names = names())]
    Model(String, Hint),
    /// A model without such a parameter.
    #[error("{model} has no parameter `{key}`{hint}; it has {}", keys.join(", "))]
    Key {
        /// The model.
        model: String,
        /// What was written.
        key: String,
        /// The nearest one.
        hint: Hint,
        /// Those it has.
        keys: Vec<String>,
    },
    /// A parameter whose value can't be read.
    #[error("{key} is `{value}`, and must be {wanted}")]
    Value {
        /// The parameter.
        key: String,
        /// What was written.
        value: String,
        /// What can be.
        wanted: &'static str,
    },
    /// A parameter that was given before.
    #[error("{0} is given twice")]
    Twice(String),
    /// A device that can't be.
    #[error("no such {model} can be: {reason}")]
    Absurd {
        /// The model.
        model: String,
        /// The changed parameter that keeps it from being.
        key: String,
        /// Why, as a sentence.
        reason: String,
    },
    /// A part of the stroke of a device that has none.
    #[error("the used fraction is for hard disks, and {0} is none: leave it out")]
    NoStroke(String),
    /// A size that is missing or can't be read.
    #[error("ebs-gp2 needs a size from 1G to 16T, written like `ebs-gp2:100G`")]
    Size,
    /// A number of disks that no such array has, or an array of arrays.
    #[error(
        "a RAID-10 needs an even number of disks from 2 to {MOST_DISKS}, each of one model that is \
         no array itself, written like `raid10:4×hdd-7200`"
    )]
    Array,
    /// A table without `model`.
    #[error("a disk's table needs `model`, the name of the model that it is based on")]
    NoModel,
}

impl Problem {
    /// The parameter that is wrong, if it is one.
    pub fn parameter(&self) -> Option<&str> {
        match self {
            Self::Key { key, .. }
            | Self::Value { key, .. }
            | Self::Twice(key)
            | Self::Absurd { key, .. } => Some(key),
            _ => None,
        }
    }
}

/// The name that was most likely meant, as the end of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint(Option<String>);

impl Hint {
    /// The name that differs from the written one in at most a third of its letters, if any.
    fn nearest<'a>(written: &str, names: impl Iterator<Item = &'a str>) -> Self {
        let distances = names.map(|name| (strsim::osa_distance(written, name), name));
        let near = distances.filter(|&(distance, name)| distance <= name.len().max(3) / 3);
        Self(near.min().map(|(_, name)| name.to_owned()))
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|name| write!(f, ", perhaps `{name}` was meant"))
    }
}

fn names() -> String {
    LISTED.map(|listed| listed.name).join(", ")
}

/// A kind of device and its own parameters.
#[derive(Clone, Debug, PartialEq)]
enum Model {
    Null,
    Hdd(hdd::Parameters),
    Ssd(ssd::Parameters),
    Cloud(cloud::Parameters),
}

/// A device as a user describes it.
///
/// Written as a model and, if its parameters are to be others, `/name=value` for each:
/// `hdd-7200/used=0.02/cache=64M`. The parameters are the fields of the models' `Parameters`, and
/// of the file system's, which every model has ([`ext4::Parameters`]). After `raid10:N×` a model's
/// are those of each disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    disks: Option<u32>,
    name: String,
    model: Model,
    file_system: ext4::Parameters,
    /// The parameters that differ from the model's, or from the file system's default.
    changed: Table,
}

impl Spec {
    /// Reads what a user wrote.
    ///
    /// # Errors
    /// What is wrong with it, and what can be had.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let Some(array) = text.strip_prefix("raid10:") else {
            return Self::parse_one(text);
        };
        let (disks, each) = array.split_once(['×', 'x']).ok_or(Problem::Array)?;
        let disks = disks
            .parse()
            .ok()
            .filter(|n: &u32| n.is_multiple_of(2) && (2..=MOST_DISKS).contains(n));
        let disks = disks.ok_or(Problem::Array)?;
        if each.starts_with("raid10") {
            return Err(Problem::Array.into());
        }
        Ok(Self { disks: Some(disks), ..Self::parse_one(each)? })
    }

    /// Reads a table: `model`, a device as [`Spec::parse`] reads it, and parameters of it by name.
    ///
    /// # Errors
    /// What is wrong with it, and what can be had.
    pub fn from_table(table: &Table) -> Result<Self, SpecError> {
        let model = table.get("model").and_then(Value::as_str).ok_or(Problem::NoModel)?;
        let mut spec = Self::parse(model)?;
        let parameters = table.iter().filter(|(key, _)| *key != "model");
        let problems = parameters.filter_map(|(key, value)| spec.change(key, value).err());
        let problems = problems.collect();
        spec.settle(problems)
    }

    /// The same with the data on this part of a hard disk's stroke; all of it is right for any
    /// device.
    ///
    /// # Errors
    /// It has no stroke, the part is said already, or there is no such part.
    pub fn with_used_fraction(mut self, fraction: f64) -> Result<Self, SpecError> {
        const USED: &str = "used";
        match &self.model {
            Model::Hdd(_) if self.changed.contains_key(USED) => {
                Err(Problem::Twice(USED.to_owned()).into())
            }
            Model::Hdd(_) => {
                let problems = self.change(USED, &Value::Float(fraction)).err();
                self.settle(problems.into_iter().collect())
            }
            _ if fraction == 1.0 => Ok(self),
            _ => Err(Problem::NoStroke(self.name).into()),
        }
    }

    fn parse_one(text: &str) -> Result<Self, SpecError> {
        let mut parts = text.split('/');
        let (name, model) = model(parts.next().unwrap_or_default())?;
        let (file_system, changed) = (ext4::Parameters::default(), Table::new());
        let mut spec = Self { disks: None, name, model, file_system, changed };
        let (mut problems, mut given) = (Vec::new(), Vec::new());
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            if given.contains(&key) {
                problems.push(Problem::Twice(key.to_owned()));
            }
            given.push(key);
            problems.extend(spec.change(key, &Value::String(value.to_owned())).err());
        }
        spec.settle(problems)
    }

    /// The model's parameters.
    fn own(&self) -> Table {
        match &self.model {
            Model::Null => Table::new(),
            Model::Hdd(parameters) => table(parameters),
            Model::Ssd(parameters) => table(parameters),
            Model::Cloud(parameters) => table(parameters),
        }
    }

    /// Notes that a parameter is to have another value.
    fn change(&mut self, key: &str, value: &Value) -> Result<(), Problem> {
        let mut all = self.own();
        all.extend(table(&ext4::Parameters::default()));
        let Some(default) = all.get(key) else {
            let hint = Hint::nearest(key, all.keys().map(String::as_str));
            let keys = all.keys().cloned().collect();
            return Err(Problem::Key { model: self.name.clone(), key: key.into(), hint, keys });
        };
        let value = read(key, value, default)?;
        if value == *default {
            self.changed.remove(key);
        } else {
            self.changed.insert(key.to_owned(), value);
        }
        Ok(())
    }

    /// Puts the changed parameters into the model and checks that such a device can be. `problems`
    /// are those with the parameters that could not be changed.
    fn settle(mut self, mut problems: Vec<Problem>) -> Result<Self, SpecError> {
        let file_system = table(&ext4::Parameters::default());
        let (shared, own): (Table, Table) =
            self.changed.clone().into_iter().partition(|(key, _)| file_system.contains_key(key));
        let (model, mut wrong) = match &self.model {
            Model::Null => (Model::Null, Vec::new()),
            Model::Hdd(model) => {
                let (changed, wrong) = with(&own, model, hdd::Parameters::check);
                (Model::Hdd(changed), wrong)
            }
            Model::Ssd(model) => {
                let (changed, wrong) = with(&own, model, ssd::Parameters::check);
                (Model::Ssd(changed), wrong)
            }
            Model::Cloud(model) => {
                let (changed, wrong) = with(&own, model, cloud::Parameters::check);
                (Model::Cloud(changed), wrong)
            }
        };
        let any = |_: &ext4::Parameters| Vec::new();
        let (file_system, more) = with(&shared, &ext4::Parameters::default(), any);
        wrong.extend(more);
        self.file_system = file_system;
        self.model = model;
        for Wrong { parameters, why } in wrong {
            // What goes with a value that is wrong by itself is not to be judged yet.
            let told = |name: &String| problems.iter().any(|told| told.parameter() == Some(name));
            let changed = parameters.iter().find(|name| self.changed.contains_key(*name));
            if let Some(key) = changed.filter(|_| !parameters.iter().any(told)) {
                let (model, key) = (self.name.clone(), key.clone());
                problems.push(Problem::Absurd { model, key, reason: why });
            }
        }
        if problems.is_empty() { Ok(self) } else { Err(SpecError(problems)) }
    }

    /// The device. Its random numbers, and a disk's angle at the start, come from the seed.
    pub fn build(&self, seed: u64) -> Box<dyn Device> {
        let Some(disks) = self.disks else { return self.build_one(seed) };
        let seed_of = |disk| seed.wrapping_mul(u64::from(MOST_DISKS)).wrapping_add(disk);
        Box::new(Raid10::new((0..disks.into()).map(|disk| self.build_one(seed_of(disk))).collect()))
    }

    fn build_one(&self, seed: u64) -> Box<dyn Device> {
        match &self.model {
            Model::Null => Box::new(Null::default()),
            Model::Hdd(parameters) => {
                Box::new(Hdd::new(parameters.clone(), seed).expect("checked when it was read"))
            }
            Model::Ssd(parameters) => Box::new(Ssd::new(parameters.clone())),
            Model::Cloud(parameters) => Box::new(Cloud::new(parameters.clone(), seed)),
        }
    }

    /// Bytes that the device may have acknowledged and would lose with the power, as nobody had
    /// them flushed. A cloud volume keeps what it acknowledged.
    pub fn cache(&self) -> u64 {
        let each = match &self.model {
            Model::Null | Model::Cloud(_) => 0,
            Model::Hdd(parameters) => parameters.cache,
            Model::Ssd(parameters) => parameters.cache,
        };
        // Of an array, each byte is in two of them.
        each * self.disks.map_or(1, |disks| u64::from(disks) / 2)
    }

    /// What was chosen of the file system on it.
    pub fn file_system(&self) -> ext4::Parameters {
        self.file_system
    }

    /// Whether the device takes no time.
    pub fn is_null(&self) -> bool {
        self.model == Model::Null
    }
}

/// Parameters with the changed ones among them, and what is wrong with them.
fn with<P: Serialize + DeserializeOwned>(
    changes: &Table,
    own: &P,
    check: fn(&P) -> Vec<Wrong>,
) -> (P, Vec<Wrong>) {
    let mut all = table(own);
    let mut wrong = Vec::new();
    for (key, value) in changes {
        let before = all.insert(key.clone(), value.clone());
        if let Err(error) = all.clone().try_into::<P>() {
            let why = format!("{key} has an {}", error.message());
            wrong.push(Wrong { parameters: vec![key.clone()], why });
            all.extend(before.map(|before| (key.clone(), before)));
        }
    }
    let parameters = all.try_into().expect("each was tried");
    wrong.extend(check(&parameters));
    (parameters, wrong)
}

fn table(parameters: &impl Serialize) -> Table {
    Table::try_from(parameters).expect("numbers and words by name")
}

impl std::str::FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        Self::parse(text)
    }
}

/// The one way to write it that all others are turned into.
impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(disks) = self.disks {
            write!(f, "raid10:{disks}×")?;
        }
        f.write_str(&self.name)?;
        self.changed.iter().try_for_each(|(key, value)| match value {
            Value::Integer(number) => write!(f, "/{key}={}", size_text(*number)),
            Value::Float(number) => write!(f, "/{key}={number}"),
            other => write!(f, "/{key}={}", other.as_str().unwrap_or_default()),
        })
    }
}

/// The model of this name, and the name as it is written by us.
fn model(name: &str) -> Result<(String, Model), Problem> {
    if let Some(size) = name.strip_prefix("ebs-gp2") {
        let gib = size.strip_prefix(':').and_then(size_of).map(|bytes| bytes >> 30);
        let gib = gib.filter(|gib| (1..=16 << 10).contains(gib)).ok_or(Problem::Size)?;
        let model = Model::Cloud(cloud::Parameters::gp2(gib as f64));
        return Ok((format!("ebs-gp2:{gib}G"), model));
    }
    let model = match name {
        "null" => Model::Null,
        "hdd-7200" => Model::Hdd(hdd::Parameters::rpm_7200()),
        "hdd-5400" => Model::Hdd(hdd::Parameters::rpm_5400()),
        "ssd-sata" => Model::Ssd(ssd::Parameters::sata()),
        "ebs-magnetic" => Model::Cloud(cloud::Parameters::magnetic()),
        "ebs-gp3" => Model::Cloud(cloud::Parameters::gp3()),
        "raid10" => return Err(Problem::Array),
        _ => {
            let hint = Hint::nearest(name, LISTED.iter().map(|listed| listed.name));
            return Err(Problem::Model(name.to_owned(), hint));
        }
    };
    Ok((name.to_owned(), model))
}

/// A parameter's value, of the same type as its default: words of a level are read, whole numbers
/// become fractions where those are meant, and sizes may have a letter.
fn read(key: &str, value: &Value, default: &Value) -> Result<Value, Problem> {
    let (read, wanted) = match (default, value) {
        (Value::Integer(_), Value::Integer(number)) => (Some((*number).into()), ""),
        (Value::Integer(_), Value::String(text)) => (
            size_of(text).and_then(|bytes| i64::try_from(bytes).ok()).map(Value::Integer),
            "a whole number; bytes may be written like 64M",
        ),
        (Value::Integer(_), _) => (None, "a whole number"),
        (Value::Float(_), Value::Float(number)) => (Some((*number).into()), ""),
        (Value::Float(_), Value::Integer(number)) => (Some((*number as f64).into()), ""),
        (Value::Float(_), Value::String(text)) => {
            (text.parse::<f64>().ok().map(Value::Float), "a number")
        }
        (Value::Float(_), _) => (None, "a number"),
        (_, Value::String(text)) => (Some(text.clone().into()), ""),
        _ => (None, "a word"),
    };
    let written = || value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    read.ok_or_else(|| Problem::Value { key: key.to_owned(), value: written(), wanted })
}

const UNITS: [(char, u32); 4] = [('T', 40), ('G', 30), ('M', 20), ('K', 10)];

/// Bytes as they are written: `4096`, `64M`, `100G`; the letters are powers of 1024.
pub fn size_of(text: &str) -> Option<u64> {
    let unit = UNITS.iter().find(|(letter, _)| text.ends_with(*letter));
    let (digits, shift) =
        unit.map_or((text, 0), |&(letter, shift)| (text.trim_end_matches(letter), shift));
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// The other way round, for what is a whole number of MiB or more.
fn size_text(number: i64) -> String {
    let large = UNITS.iter().filter(|(_, shift)| *shift >= 20);
    let mut exact = large.filter(|(_, shift)| number != 0 && number % (1 << shift) == 0);
    exact.next().map_or_else(
        || number.to_string(),
        |(letter, shift)| format!("{}{letter}", number >> shift),
    )
}
