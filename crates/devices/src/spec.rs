//! A device as a user describes it: `hdd-7200`, `ebs-gp2:100G`, `raid10:4×hdd-7200`, or a table.

mod problem;
mod value;

use std::fmt;

use toml::{Table, Value};

use crate::device::model::{self, AnyParameters, USED};
use crate::device::raid::{self, Mirrors, Raid10};
use crate::device::{Device, ParameterProblem};
use crate::ext4;
use crate::size::size_of;

pub use problem::{Hint, SpecError, SpecProblem};

/// A device as a user describes it. [`Models`](crate::models::Models) read it.
///
/// Written as a model and, if its parameters are to be others, `/name=value` for each:
/// `hdd-7200/used=0.02/cache=64M`. The parameters are the fields of the models' `Parameters`, and
/// of the file system's, which every model has ([`ext4::Ext4Parameters`]). After `raid10:N×` a model's
/// are those of each disk.
///
/// Two are the same if they are written alike.
#[derive(Clone, Debug)]
pub struct Spec {
    disks: Option<u32>,
    name: String,
    /// The model's parameters as it comes.
    shipped: Box<dyn AnyParameters>,
    /// The same with those that were changed.
    parameters: Box<dyn AnyParameters>,
    file_system: ext4::Ext4Parameters,
    array: raid::RaidParameters,
    /// The parameters that differ from the model's, or from the default of the file system or the array.
    changed: Table,
}

/// A parameter of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// How its values are written.
    pub syntax: &'static str,
    /// Whether it was given another value than the model comes with.
    pub is_changed: bool,
}

impl Spec {
    /// A model by its name, as it comes.
    pub(crate) fn shipped(name: String, shipped: Box<dyn AnyParameters>) -> Self {
        let (file_system, array) =
            (ext4::Ext4Parameters::default(), raid::RaidParameters::default());
        let (parameters, changed) = (shipped.clone(), Table::new());
        Self { disks: None, name, parameters, shipped, file_system, array, changed }
    }

    /// A RAID-10 of so many of it.
    pub(crate) fn in_array(self, disks: u32) -> Self {
        Self { disks: Some(disks), ..self }
    }

    /// Bytes that it holds, where its name says so, as that of `ebs-gp2:100G` does. A RAID-10 keeps all of
    /// it twice.
    pub fn size(&self) -> Option<u64> {
        let (_, size) = self.name.split_once(':')?;
        Some(size_of(size)? * u64::from(self.disks.map_or(1, |disks| disks / 2)))
    }

    /// The model's name with its size, where it has one, and how many of it are in an array.
    pub(crate) fn model(&self) -> (&str, Option<u32>) {
        (&self.name, self.disks)
    }

    /// The value of a parameter that is a number; `None` where the device has no such parameter.
    pub fn number(&self, parameter: &str) -> Option<f64> {
        let own = self.parameters.table().expect("seen when it was registered");
        let value = own.get(parameter)?;
        value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
    }

    /// The same with the data on this part of a hard disk's stroke; all of it is right for any
    /// device.
    ///
    /// # Errors
    /// It has no stroke, the part is said already, or there is no such part.
    pub fn with_used_fraction(mut self, fraction: f64) -> Result<Self, SpecError> {
        if self.changed.contains_key(USED) {
            return Err(SpecProblem::Twice(USED.to_owned()).into());
        }
        if self.own().contains_key(USED) {
            let problems = self.change(USED, &Value::Float(fraction)).err();
            return self.settle(problems.into_iter().collect());
        }
        if fraction == 1.0 { Ok(self) } else { Err(SpecProblem::NoStroke(self.name).into()) }
    }

    /// The same with other values of parameters.
    ///
    /// # Errors
    /// All that is wrong with them.
    pub fn with(mut self, parameters: &[(&str, &str)]) -> Result<Self, SpecError> {
        let value = |text: &str| Value::String(text.to_owned());
        let changes = parameters.iter().map(|(key, text)| self.change(key, &value(text)));
        let problems = changes.filter_map(Result::err).collect();
        self.settle(problems)
    }

    /// The model's own parameters as it comes.
    fn own(&self) -> Table {
        self.shipped.table().expect("seen when it was registered")
    }

    /// All parameters that a user may change, as the model comes.
    fn all(&self) -> Table {
        let mut all = self.own();
        all.extend(ext4::Ext4Parameters::table());
        if self.disks.is_some() {
            all.extend(raid::RaidParameters::table());
        }
        all
    }

    /// The parameters that it has, in the order of their names.
    pub fn parameters(&self) -> Vec<Parameter> {
        let parameter = |(name, value): (String, Value)| Parameter {
            syntax: value::syntax(&value),
            is_changed: self.changed.contains_key(&name),
            name,
        };
        self.all().into_iter().map(parameter).collect()
    }

    /// Those of them that are an array's own, whatever its disks are.
    pub(crate) fn parameters_of_array(self) -> Vec<Parameter> {
        let own = raid::RaidParameters::table();
        let all = self.in_array(2).parameters().into_iter();
        all.filter(|parameter| own.contains_key(&parameter.name)).collect()
    }

    /// A value of a parameter in its canonical form; `None` where it has no such parameter. Whether a
    /// device can have it is not looked at.
    pub(crate) fn value(&self, key: &str, text: &str) -> Option<Result<String, SpecProblem>> {
        let read = value::read(key, &Value::String(text.to_owned()), self.all().get(key)?);
        Some(read.map(|value| value::text(&value)))
    }

    /// Notes that a parameter is to have another value.
    pub(crate) fn change(&mut self, key: &str, value: &Value) -> Result<(), SpecProblem> {
        let all = self.all();
        let Some(default) = all.get(key) else {
            let hint = Hint::nearest(key, all.keys().map(String::as_str));
            let keys = all.keys().cloned().collect();
            return Err(SpecProblem::Key { model: self.name.clone(), key: key.into(), hint, keys });
        };
        let value = value::read(key, value, default)?;
        if value == *default {
            self.changed.remove(key);
        } else {
            self.changed.insert(key.to_owned(), value);
        }
        Ok(())
    }

    /// Puts the changed parameters into the model and checks that such a device can be. `problems`
    /// are those with the parameters that could not be changed.
    pub(crate) fn settle(mut self, mut problems: Vec<SpecProblem>) -> Result<Self, SpecError> {
        let (file_system, array) = (ext4::Ext4Parameters::table(), raid::RaidParameters::table());
        let (shared, others): (Table, Table) =
            self.changed.clone().into_iter().partition(|(key, _)| file_system.contains_key(key));
        let (of_array, own): (Table, Table) =
            others.into_iter().partition(|(key, _)| array.contains_key(key));
        let (parameters, mut wrong) = self.shipped.with(&own);
        let (file_system, more) = model::changed(&ext4::Ext4Parameters::default(), &shared);
        wrong.extend(more);
        let (array, more) = model::changed(&raid::RaidParameters::default(), &of_array);
        wrong.extend(more);
        wrong.extend(array.check());
        (self.parameters, self.file_system, self.array) = (parameters, file_system, array);
        for ParameterProblem { parameters, why } in wrong {
            // What goes with a value that is wrong by itself is not to be judged yet.
            let told = |name: &String| problems.iter().any(|told| told.parameter() == Some(name));
            let changed = parameters.iter().find(|name| self.changed.contains_key(*name));
            if let Some(key) = changed.filter(|_| !parameters.iter().any(told)) {
                let (model, key) = (self.name.clone(), key.clone());
                problems.push(SpecProblem::Absurd { model, key, reason: why });
            }
        }
        if problems.is_empty() { Ok(self) } else { Err(SpecError(problems)) }
    }

    /// The device. Its random numbers, and a disk's angle at the start, come from the seed.
    pub fn build(&self, seed: u64) -> Box<dyn Device> {
        let Some(disks) = self.disks else { return self.parameters.build(seed) };
        let seed_of = |disk| seed.wrapping_mul(raid::MOST_DISKS.into()).wrapping_add(disk);
        let disks = (0..disks.into()).map(|disk| self.parameters.build(seed_of(disk)));
        Box::new(Raid10::new(disks.collect(), self.array))
    }

    /// Bytes that the device may have acknowledged and would lose with the power, as nobody had
    /// them flushed.
    pub fn cache(&self) -> u64 {
        // Of an array, each byte is in two of them.
        self.parameters.cache() * self.disks.map_or(1, |disks| u64::from(disks) / 2)
    }

    /// Where the copies of its bytes are; `None` where there is one of each.
    pub fn mirrors(&self) -> Option<Mirrors> {
        Some(Mirrors::new(self.disks?, self.array))
    }

    /// What was chosen of the file system on it.
    pub fn file_system(&self) -> ext4::Ext4Parameters {
        self.file_system
    }

    /// Whether the device takes no time.
    pub fn is_null(&self) -> bool {
        self.parameters.takes_no_time()
    }
}

impl PartialEq for Spec {
    fn eq(&self, other: &Self) -> bool {
        let one = (self.disks, &self.name, &self.changed);
        one == (other.disks, &other.name, &other.changed)
    }
}

/// The one way to write it that all others are turned into.
impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(disks) = self.disks {
            write!(f, "{}:{disks}×", raid::NAME)?;
        }
        f.write_str(&self.name)?;
        self.changed.iter().try_for_each(|(key, value)| write!(f, "/{key}={}", value::text(value)))
    }
}
