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
/// Written as a model and `/name=value` for each changed parameter: `hdd-7200/used=0.02/cache=64M`.
/// Parameters are the fields of the model's `Parameters` and of the file system's
/// ([`ext4::Ext4Parameters`]). After `raid10:N×` a model's are those of each disk.
///
/// Two are the same if they are written alike.
#[derive(Clone, Debug)]
pub struct Spec {
    disks: Option<u32>,
    name: String,
    shipped: Box<dyn AnyParameters>,
    parameters: Box<dyn AnyParameters>,
    file_system: ext4::Ext4Parameters,
    array: raid::RaidParameters,
    /// The parameters that differ from the model's, the file system's or the array's defaults.
    changed: Table,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub name: String,
    pub syntax: &'static str,
    pub is_changed: bool,
}

impl Spec {
    pub(crate) fn from_defaults(name: String, shipped: Box<dyn AnyParameters>) -> Self {
        let (file_system, array) =
            (ext4::Ext4Parameters::default(), raid::RaidParameters::default());
        let (parameters, changed) = (shipped.clone(), Table::new());
        Self { disks: None, name, parameters, shipped, file_system, array, changed }
    }

    pub(crate) fn in_array(self, disks: u32) -> Self {
        Self { disks: Some(disks), ..self }
    }

    /// Bytes that it holds, if its name says so, as `ebs-gp2:100G` does. A RAID-10 keeps all of it
    /// twice.
    pub fn size(&self) -> Option<u64> {
        let (_, size) = self.name.split_once(':')?;
        Some(size_of(size)? * u64::from(self.disks.map_or(1, |disks| disks / 2)))
    }

    /// The model's name with its size, if any, and the number of disks in an array.
    pub(crate) fn model(&self) -> (&str, Option<u32>) {
        (&self.name, self.disks)
    }

    /// `None` if the device has no such parameter, or it is not a number.
    pub fn read_number(&self, parameter: &str) -> Option<f64> {
        let own = self.parameters.to_table().expect("seen when it was registered");
        let value = own.get(parameter)?;
        value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
    }

    /// With the data on this part of a hard disk's stroke; 1 is right for any device. Fails without
    /// a stroke, if the part was given before, or if it can't be.
    pub fn with_used_fraction(mut self, fraction: f64) -> Result<Self, SpecError> {
        if self.changed.contains_key(USED) {
            return Err(SpecProblem::Twice(USED.to_owned()).into());
        }
        if self.model_table().contains_key(USED) {
            let problems = self.change_parameter(USED, &Value::Float(fraction)).err();
            return self.apply_changes(problems.into_iter().collect());
        }
        if fraction == 1.0 { Ok(self) } else { Err(SpecProblem::NoStroke(self.name).into()) }
    }

    pub fn with_parameters(mut self, parameters: &[(&str, &str)]) -> Result<Self, SpecError> {
        let value = |text: &str| Value::String(text.to_owned());
        let changes = parameters.iter().map(|(key, text)| self.change_parameter(key, &value(text)));
        let problems = changes.filter_map(Result::err).collect();
        self.apply_changes(problems)
    }

    fn model_table(&self) -> Table {
        self.shipped.to_table().expect("seen when it was registered")
    }

    /// The model's own parameters and their values, as a user writes them.
    pub(crate) fn own_values(&self) -> Vec<(String, String)> {
        let value = |(name, value): (String, Value)| (name, value::format_value(&value));
        self.model_table().into_iter().map(value).collect()
    }

    fn full_table(&self) -> Table {
        let mut all = self.model_table();
        all.extend(ext4::Ext4Parameters::default_table());
        if self.disks.is_some() {
            all.extend(raid::RaidParameters::default_table());
        }
        all
    }

    pub fn list_parameters(&self) -> Vec<Parameter> {
        let parameter = |(name, value): (String, Value)| Parameter {
            syntax: value::describe_syntax(&value),
            is_changed: self.changed.contains_key(&name),
            name,
        };
        self.full_table().into_iter().map(parameter).collect()
    }

    pub(crate) fn parameters_of_array(self) -> Vec<Parameter> {
        let own = raid::RaidParameters::default_table();
        let all = self.in_array(2).list_parameters().into_iter();
        all.filter(|parameter| own.contains_key(&parameter.name)).collect()
    }

    /// A value in canonical form; `None` if there is no such parameter. Whether a device can have
    /// it is not checked.
    pub(crate) fn parse_value(&self, key: &str, text: &str) -> Option<Result<String, SpecProblem>> {
        let read =
            value::read_value(key, &Value::String(text.to_owned()), self.full_table().get(key)?);
        Some(read.map(|value| value::format_value(&value)))
    }

    pub(crate) fn change_parameter(&mut self, key: &str, value: &Value) -> Result<(), SpecProblem> {
        let all = self.full_table();
        let Some(default) = all.get(key) else {
            let hint = Hint::find_nearest(key, all.keys().map(String::as_str));
            let keys = all.keys().cloned().collect();
            return Err(SpecProblem::Key { model: self.name.clone(), key: key.into(), hint, keys });
        };
        let value = value::read_value(key, value, default)?;
        if value == *default {
            self.changed.remove(key);
        } else {
            self.changed.insert(key.to_owned(), value);
        }
        Ok(())
    }

    /// Puts the changed parameters into the model and checks that such a device can be. `problems`
    /// are the parameters that could not be changed.
    pub(crate) fn apply_changes(
        mut self,
        mut problems: Vec<SpecProblem>,
    ) -> Result<Self, SpecError> {
        let (file_system, array) =
            (ext4::Ext4Parameters::default_table(), raid::RaidParameters::default_table());
        let (shared, others): (Table, Table) =
            self.changed.clone().into_iter().partition(|(key, _)| file_system.contains_key(key));
        let (of_array, own): (Table, Table) =
            others.into_iter().partition(|(key, _)| array.contains_key(key));
        let (parameters, mut wrong) = self.shipped.with_changes(&own);
        let (file_system, more) = model::apply_changes(&ext4::Ext4Parameters::default(), &shared);
        wrong.extend(more);
        let (array, more) = model::apply_changes(&raid::RaidParameters::default(), &of_array);
        wrong.extend(more);
        wrong.extend(array.check());
        (self.parameters, self.file_system, self.array) = (parameters, file_system, array);
        for ParameterProblem { parameters, why } in wrong {
            // A value that is wrong by itself is reported once.
            let told = |name: &String| problems.iter().any(|told| told.parameter() == Some(name));
            let changed = parameters.iter().find(|name| self.changed.contains_key(*name));
            if let Some(key) = changed.filter(|_| !parameters.iter().any(told)) {
                let (model, key) = (self.name.clone(), key.clone());
                problems.push(SpecProblem::Absurd { model, key, reason: why });
            }
        }
        if problems.is_empty() { Ok(self) } else { Err(SpecError(problems)) }
    }

    pub fn build(&self, seed: u64) -> Box<dyn Device> {
        let Some(disks) = self.disks else { return self.parameters.build(seed) };
        let seed_of = |disk| seed.wrapping_mul(raid::MOST_DISKS.into()).wrapping_add(disk);
        let disks = (0..disks.into()).map(|disk| self.parameters.build(seed_of(disk)));
        Box::new(Raid10::new(disks.collect(), self.array))
    }

    pub fn cache_bytes(&self) -> u64 {
        // On an array, each byte is on two disks.
        self.parameters.cache_bytes() * self.disks.map_or(1, |disks| u64::from(disks) / 2)
    }

    pub fn has_fua(&self) -> bool {
        self.parameters.has_fua()
    }

    pub fn mirrors(&self) -> Option<Mirrors> {
        Some(Mirrors::new(self.disks?, self.array))
    }

    pub fn file_system(&self) -> ext4::Ext4Parameters {
        self.file_system
    }

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

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(disks) = self.disks {
            write!(f, "{}:{disks}×", raid::NAME)?;
        }
        f.write_str(&self.name)?;
        self.changed
            .iter()
            .try_for_each(|(key, value)| write!(f, "/{key}={}", value::format_value(value)))
    }
}
