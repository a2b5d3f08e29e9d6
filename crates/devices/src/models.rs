//! The device models that can be had: those that are built in, and those that are registered beside
//! them.

use toml::{Table, Value};

use crate::device::model::{DeviceModel, ListedModel, NamedParameters};
use crate::device::{cloud, hdd, null, raid, ssd};
use crate::ext4;
use crate::spec::{Hint, Parameter, Spec, SpecError, SpecProblem};

/// Those that are built in, as they are listed.
const STANDARD: [DeviceModel; 7] =
    [null::MODEL, hdd::DESKTOP, hdd::NOTEBOOK, ssd::SATA, cloud::MAGNETIC, cloud::GP2, cloud::GP3];

/// Names that no model may have, and what they are.
const TAKEN: [(&str, &str); 2] =
    [("host", "the machine's own disk"), (raid::NAME, "an array of any model")];

/// The key of a device's table that names its model.
const MODEL: &str = "model";

/// Device models by their names: what a user's text is read with.
#[derive(Clone, Debug)]
pub struct Models(Vec<DeviceModel>);

/// Why a model can't be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// There is one of its name.
    #[error("two disk models are registered by the name `{0}`; rename one")]
    Twice(&'static str),
    /// Its name means something else.
    #[error("a disk model can't be named `{0}`, which is {1}; rename it")]
    Taken(&'static str, &'static str),
    /// Its name can't be told from what stands around it.
    #[error(
        "a disk model can't be named `{0}`: a name is made of letters, digits, `-`, `_` and `.`"
    )]
    Name(&'static str),
    /// Its parameters can't be used.
    #[error("the disk model `{model}` can't be had: {why}")]
    Parameters {
        /// The model.
        model: &'static str,
        /// Why, as a clause.
        why: String,
    },
}

impl Models {
    /// The built-in models.
    pub fn standard() -> Self {
        Self(Vec::new()).with(STANDARD).expect("each has a name of its own")
    }

    /// These models and more.
    ///
    /// # Errors
    /// A model's name is taken or not a name, or its parameters can't be used.
    pub fn with(
        mut self,
        more: impl IntoIterator<Item = DeviceModel>,
    ) -> Result<Self, RegisterError> {
        more.into_iter().try_for_each(|model| self.add(model))?;
        Ok(self)
    }

    /// Adds one.
    ///
    /// # Errors
    /// It can't be named as it is, or its parameters can't be used; then it is not added.
    pub fn add(&mut self, model: DeviceModel) -> Result<(), RegisterError> {
        self.check(&model)?;
        self.0.push(model);
        Ok(())
    }

    /// Sees that another model can be among these.
    fn check(&self, model: &DeviceModel) -> Result<(), RegisterError> {
        let name = model.name();
        let letters = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(letters) {
            return Err(RegisterError::Name(name));
        }
        if let Some((_, what)) = TAKEN.iter().find(|(taken, _)| *taken == name) {
            return Err(RegisterError::Taken(name, what));
        }
        if self.0.iter().any(|other| other.name() == name) {
            return Err(RegisterError::Twice(name));
        }
        check_parameters(model).map_err(|why| RegisterError::Parameters { model: name, why })
    }

    /// All that can be had, in the order of their registration: the models, and arrays of them.
    pub fn listed(&self) -> Vec<ListedModel> {
        self.0.iter().map(DeviceModel::listed).chain([raid::listed()]).collect()
    }

    /// What a device simulates, in a few words: "SATA SSD", "RAID-10 of 8 × SATA SSD".
    pub fn simulated(&self, spec: &Spec) -> String {
        let (name, disks) = spec.model();
        let plain = name.split(':').next().unwrap_or(name);
        let model = self.0.iter().find(|model| model.name() == plain);
        let one = model.map_or(name, |model| {
            let summary = model.listed().summary;
            summary.split([',', ':']).next().unwrap_or(summary)
        });
        disks.map_or_else(|| one.to_owned(), |disks| format!("RAID-10 of {disks} × {one}"))
    }

    /// Each model's name, and the parameters that it has; an array's own, beside which it has those of its
    /// disks.
    pub fn parameters(&self) -> Vec<(&'static str, Vec<Parameter>)> {
        let arrays =
            self.0.first().map(|model| (raid::NAME, smallest(model).parameters_of_array()));
        let models = self.0.iter().map(|model| (model.name(), smallest(model).parameters()));
        models.chain(arrays).collect()
    }

    /// A value of a parameter in its canonical form, or what is wrong with it; `None` where no model
    /// has such a parameter. Which devices can have that value is not looked at.
    pub fn value(&self, parameter: &str, text: &str) -> Option<Result<String, SpecProblem>> {
        let in_array = |model: &DeviceModel| smallest(model).in_array(2);
        let mut read = self.0.iter().filter_map(|model| in_array(model).value(parameter, text));
        let first = read.next()?;
        Some(first.or_else(|wrong| read.find_map(Result::ok).ok_or(wrong)))
    }

    /// Reads a device as [`Spec`] says that it is written.
    ///
    /// # Errors
    /// What is wrong with it, and what can be had.
    pub fn parse(&self, text: &str) -> Result<Spec, SpecError> {
        let Some(array) = raid::read(text) else { return self.parse_one(text, None) };
        let (disks, each) = array.map_err(SpecProblem::from)?;
        self.parse_one(each, Some(disks))
    }

    /// Reads a table: `model`, a device as [`Models::parse`] reads it, and parameters of it by name.
    ///
    /// # Errors
    /// What is wrong with it, and what can be had.
    pub fn parse_table(&self, table: &Table) -> Result<Spec, SpecError> {
        let model = table.get(MODEL).and_then(Value::as_str).ok_or(SpecProblem::NoModel)?;
        let mut spec = self.parse(model)?;
        let parameters = table.iter().filter(|(key, _)| *key != MODEL);
        let problems = parameters.filter_map(|(key, value)| spec.change(key, value).err());
        let problems = problems.collect();
        spec.settle(problems)
    }

    /// Reads a device, or an array of so many of it.
    fn parse_one(&self, text: &str, disks: Option<u32>) -> Result<Spec, SpecError> {
        let mut parts = text.split('/');
        let (name, shipped) = self.named(parts.next().unwrap_or_default())?;
        let one = Spec::shipped(name, shipped);
        let mut spec = disks.map_or(one.clone(), |disks| one.in_array(disks));
        let (mut problems, mut given) = (Vec::new(), Vec::new());
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            if given.contains(&key) {
                problems.push(SpecProblem::Twice(key.to_owned()));
            }
            given.push(key);
            problems.extend(spec.change(key, &Value::String(value.to_owned())).err());
        }
        spec.settle(problems)
    }

    /// The model of this name as it comes, and its name as it is written by us.
    fn named(&self, text: &str) -> Result<NamedParameters, SpecProblem> {
        if let Some(named) = self.0.iter().find_map(|model| model.named(text)) {
            return Ok(named?);
        }
        let names: Vec<String> = self.listed().into_iter().map(|listed| listed.name).collect();
        let hint = Hint::nearest(text, names.iter().map(String::as_str));
        Err(SpecProblem::Model { name: text.to_owned(), hint, names })
    }
}

/// A model as it comes; of a family, the smallest.
fn smallest(model: &DeviceModel) -> Spec {
    Spec::shipped(model.name().to_owned(), model.smallest())
}

/// Sees that a model's parameters can be written by their names, and are a device as they come.
fn check_parameters(model: &DeviceModel) -> Result<(), String> {
    let parameters = model.smallest();
    let table = parameters.table().map_err(|error| format!("its parameters: {error}"))?;
    for (key, value) in &table {
        if !matches!(value, Value::Integer(_) | Value::Float(_) | Value::String(_)) {
            return Err(format!("its parameter `{key}` is neither a number nor a word"));
        }
        if key == MODEL || ext4::Ext4Parameters::table().contains_key(key) {
            return Err(format!("its parameter `{key}` is one that every disk has"));
        }
        if raid::RaidParameters::table().contains_key(key) {
            return Err(format!("its parameter `{key}` is one that every array has"));
        }
    }
    let wrong = parameters.check().into_iter().next();
    wrong.map_or(Ok(()), |wrong| Err(format!("as it comes, {}", wrong.why)))
}
