mod sources;

use toml::{Table, Value};

use crate::device::cloud::CloudParameters;
use crate::device::hdd::HddParameters;
use crate::device::model::{ConstantSource, DeviceModel, ListedModel, NamedParameters};
use crate::device::null::NullParameters;
use crate::device::raid;
use crate::device::ssd::SsdParameters;
use crate::ext4;
use crate::spec::{Hint, Parameter, Spec, SpecError, SpecProblem};

const STANDARD: [DeviceModel; 10] = [
    DeviceModel::new(
        "null",
        "disk that takes no time: the cost of the virtual disk itself",
        || Box::new(NullParameters {}),
    ),
    DeviceModel::new("hdd-7200", "desktop disk, 7200 rpm: about 78 random reads a second", || {
        Box::new(HddParameters::rpm_7200())
    })
    .with_sources(sources::HDD_7200),
    DeviceModel::new("hdd-5400", "notebook disk, 5400 rpm: about 59 random reads a second", || {
        Box::new(HddParameters::rpm_5400())
    })
    .with_sources(sources::HDD_5400),
    DeviceModel::new(
        "ssd-sata",
        "SATA SSD: 13,000 reads a second one at a time; a flush takes 0.85 ms",
        || Box::new(SsdParameters::sata()),
    )
    .with_sources(sources::SSD_SATA),
    DeviceModel::new(
        "ssd-nvme",
        "NVMe SSD: 20,000 reads a second one at a time; a flush takes 0.22 ms",
        || Box::new(SsdParameters::nvme()),
    )
    .with_sources(sources::SSD_NVME),
    DeviceModel::new(
        "ssd-nvme-slow",
        "NVMe SSD with a slow flush: 20,000 reads a second one at a time; a flush takes 1.6 ms",
        || Box::new(SsdParameters::nvme_slow()),
    )
    .with_sources(sources::SSD_NVME_SLOW),
    DeviceModel::new(
        "ssd-nvme-plp",
        "NVMe SSD of a server, with power-loss protection: a flush costs nothing",
        || Box::new(SsdParameters::nvme_plp()),
    )
    .with_sources(sources::SSD_NVME_PLP),
    DeviceModel::new(
        "ebs-magnetic",
        "magnetic cloud volume: about 100 operations a second",
        || Box::new(CloudParameters::magnetic()),
    )
    .with_sources(sources::EBS),
    DeviceModel::of_size(
        "ebs-gp2",
        "cloud volume, 3 operations a GiB and second, with a burst bucket",
        1..=16 << 10,
        |gib| Box::new(CloudParameters::gp2(gib as f64)),
    )
    .with_sources(sources::EBS),
    DeviceModel::new("ebs-gp3", "cloud volume, 3,000 operations a second and 125 MiB/s", || {
        Box::new(CloudParameters::gp3())
    })
    .with_sources(sources::EBS),
];

/// Names that no model may have, and what they mean.
const TAKEN: [(&str, &str); 2] =
    [("host", "the machine's own disk"), (raid::NAME, "an array of any model")];

const MODEL: &str = "model";

/// Device models by their names: what a user's text is read with.
#[derive(Clone, Debug)]
pub struct Models(Vec<DeviceModel>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    #[error("two disk models are registered by the name `{0}`; rename one")]
    Twice(&'static str),
    #[error("a disk model can't be named `{0}`, which is {1}; rename it")]
    Taken(&'static str, &'static str),
    #[error(
        "a disk model can't be named `{0}`: a name is made of letters, digits, `-`, `_` and `.`"
    )]
    Name(&'static str),
    #[error("the disk model `{model}` can't be had: {why}")]
    Parameters {
        model: &'static str,
        /// As a clause.
        why: String,
    },
}

impl Models {
    pub fn standard() -> Self {
        Self(Vec::new()).with_models(STANDARD).expect("each has a name of its own")
    }

    pub fn with_models(
        mut self,
        more: impl IntoIterator<Item = DeviceModel>,
    ) -> Result<Self, RegisterError> {
        more.into_iter().try_for_each(|model| self.add(model))?;
        Ok(self)
    }

    pub fn add(&mut self, model: DeviceModel) -> Result<(), RegisterError> {
        self.check_new(&model)?;
        self.0.push(model);
        Ok(())
    }

    fn check_new(&self, model: &DeviceModel) -> Result<(), RegisterError> {
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

    pub fn list_models(&self) -> Vec<ListedModel> {
        self.0.iter().map(DeviceModel::to_listed).chain([raid::describe_arrays()]).collect()
    }

    /// Each model's name, its parameters' default values, and where they come from.
    pub fn list_sources(&self) -> Vec<(String, Vec<SourcedParameters>)> {
        let listed = |model: &DeviceModel| (model.to_listed().name, list_sourced(model));
        self.0.iter().map(listed).filter(|(_, sourced)| !sourced.is_empty()).collect()
    }

    /// What a device simulates, in a few words: "SATA SSD", "RAID-10 of 8 × SATA SSD".
    pub fn describe_simulation(&self, spec: &Spec) -> String {
        let (name, disks) = spec.model();
        let plain = name.split(':').next().unwrap_or(name);
        let model = self.0.iter().find(|model| model.name() == plain);
        let one = model.map_or(name, |model| {
            let summary = model.to_listed().summary;
            summary.split([',', ':']).next().unwrap_or(summary)
        });
        disks.map_or_else(|| one.to_owned(), |disks| format!("RAID-10 of {disks} × {one}"))
    }

    /// Each model's name and its parameters. An array has those of its disks besides its own.
    pub fn list_parameters(&self) -> Vec<(&'static str, Vec<Parameter>)> {
        let arrays =
            self.0.first().map(|model| (raid::NAME, smallest_spec(model).parameters_of_array()));
        let models =
            self.0.iter().map(|model| (model.name(), smallest_spec(model).list_parameters()));
        models.chain(arrays).collect()
    }

    /// A parameter's value in canonical form, or what is wrong with it; `None` if no model has the
    /// parameter. Whether some device can have that value is not checked.
    pub fn parse_value(&self, parameter: &str, text: &str) -> Option<Result<String, SpecProblem>> {
        let in_array = |model: &DeviceModel| smallest_spec(model).in_array(2);
        let mut read =
            self.0.iter().filter_map(|model| in_array(model).parse_value(parameter, text));
        let first = read.next()?;
        Some(first.or_else(|wrong| read.find_map(Result::ok).ok_or(wrong)))
    }

    /// Reads a device written as [`Spec`] describes.
    pub fn parse(&self, text: &str) -> Result<Spec, SpecError> {
        let Some(array) = raid::parse_array(text) else { return self.parse_one(text, None) };
        let (disks, each) = array.map_err(SpecProblem::from)?;
        self.parse_one(each, Some(disks))
    }

    /// Reads a table: `model`, as in [`Models::parse`], and parameters by name.
    pub fn parse_table(&self, table: &Table) -> Result<Spec, SpecError> {
        let model = table.get(MODEL).and_then(Value::as_str).ok_or(SpecProblem::NoModel)?;
        let mut spec = self.parse(model)?;
        let parameters = table.iter().filter(|(key, _)| *key != MODEL);
        let problems =
            parameters.filter_map(|(key, value)| spec.change_parameter(key, value).err());
        let problems = problems.collect();
        spec.apply_changes(problems)
    }

    fn parse_one(&self, text: &str, disks: Option<u32>) -> Result<Spec, SpecError> {
        let mut parts = text.split('/');
        let (name, shipped) = self.find_parameters(parts.next().unwrap_or_default())?;
        let one = Spec::from_defaults(name, shipped);
        let mut spec = disks.map_or(one.clone(), |disks| one.in_array(disks));
        let (mut problems, mut given) = (Vec::new(), Vec::new());
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            if given.contains(&key) {
                problems.push(SpecProblem::Twice(key.to_owned()));
            }
            given.push(key);
            problems.extend(spec.change_parameter(key, &Value::String(value.to_owned())).err());
        }
        spec.apply_changes(problems)
    }

    fn find_parameters(&self, text: &str) -> Result<NamedParameters, SpecProblem> {
        if let Some(named) = self.0.iter().find_map(|model| model.find_parameters(text)) {
            return Ok(named?);
        }
        let names: Vec<String> = self.list_models().into_iter().map(|listed| listed.name).collect();
        let hint = Hint::find_nearest(text, names.iter().map(String::as_str));
        Err(SpecProblem::Model { name: text.to_owned(), hint, names })
    }
}

/// Parameters of a model that come from one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcedParameters {
    /// `name=value`, as a user writes it.
    pub values: Vec<String>,
    /// How far published values differ, in words; empty if that is not known.
    pub spread: &'static str,
    /// `None` for what is our own.
    pub source: Option<&'static str>,
}

fn list_sourced(model: &DeviceModel) -> Vec<SourcedParameters> {
    let spec = smallest_spec(model);
    let own = spec.own_values();
    let find = |wanted: &dyn Fn(&str) -> bool| -> Vec<String> {
        let found = own.iter().filter(|(name, _)| wanted(name));
        found.map(|(name, value)| format!("{name}={value}")).collect()
    };
    let of_source = |it: &ConstantSource| SourcedParameters {
        values: find(&|name| it.parameters.contains(&name)),
        spread: it.spread,
        source: Some(it.source),
    };
    let is_sourced = |name: &str| model.sources().iter().any(|it| it.parameters.contains(&name));
    let mut all: Vec<SourcedParameters> = model.sources().iter().map(of_source).collect();
    let values = find(&|name| !is_sourced(name));
    if !values.is_empty() {
        all.push(SourcedParameters { values, spread: "", source: None });
    }
    all
}

fn smallest_spec(model: &DeviceModel) -> Spec {
    Spec::from_defaults(model.name().to_owned(), model.smallest_parameters())
}

/// Checks that a model's parameters can be written by name, and that its defaults make a device.
fn check_parameters(model: &DeviceModel) -> Result<(), String> {
    let parameters = model.smallest_parameters();
    let table = parameters.to_table().map_err(|error| format!("its parameters: {error}"))?;
    for (key, value) in &table {
        if !matches!(value, Value::Integer(_) | Value::Float(_) | Value::String(_)) {
            return Err(format!("its parameter `{key}` is neither a number nor a word"));
        }
        if key == MODEL || ext4::Ext4Parameters::default_table().contains_key(key) {
            return Err(format!("its parameter `{key}` is one that every disk has"));
        }
        if raid::RaidParameters::default_table().contains_key(key) {
            return Err(format!("its parameter `{key}` is one that every array has"));
        }
    }
    let wrong = parameters.check().into_iter().next();
    wrong.map_or(Ok(()), |wrong| Err(format!("as it comes, {}", wrong.why)))
}
