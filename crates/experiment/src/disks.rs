//! What may be said of disks: the machine's own, models, their parameters, and devices of the
//! experiment's own.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bakeoff_factor::DEFAULT;
use toml::Table;

use crate::Factor;
use crate::factor::Declarer;
use crate::message::ExperimentProblem;
use crate::options::{Declaration, Holders};

/// The level of the machine's own disk, under the run folder.
pub const HOST: &str = "host";
/// The key of a device's table that names its model.
const MODEL: &str = "model";

/// A device as an experiment's file has it: a table of the key `model`, which is a level, and of
/// parameters by name.
pub type DeviceTable = Table;

/// The models of disks. What one is, is known to others.
pub trait DiskModels: Send + Sync {
    /// How they are listed to a user.
    fn names(&self) -> Vec<String>;

    /// The level that messages propose where any virtual disk will do.
    fn example(&self) -> String;

    /// The canonical form of a model's level.
    ///
    /// # Errors
    /// What is wrong in a line, and how to mend it in the lines after that.
    fn level(&self, text: &str) -> Result<String, String>;

    /// Checks a device.
    ///
    /// # Errors
    /// All that is wrong.
    fn check(&self, device: &DeviceTable) -> Result<(), Vec<DeviceProblem>>;

    /// The parameters that each model has.
    fn parameters(&self) -> Vec<ParameterNames>;

    /// The canonical form of a parameter's value, or what is wrong with it in a line, and how to mend
    /// it in the lines after that; `None` where no model has such a parameter.
    fn value(&self, parameter: &str, text: &str) -> Option<Result<String, String>>;

    /// The parameters of a device that is right, each with whether it says itself what it is.
    fn parameters_of(&self, device: &DeviceTable) -> Vec<(String, bool)>;
}

/// A parameter of one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterNames {
    /// The model.
    pub model: String,
    /// The parameter.
    pub name: String,
    /// How its values are written.
    pub syntax: String,
}

/// One thing that is wrong with a device of one's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceProblem {
    /// The key of its table that is wrong, if it is one.
    pub key: Option<String>,
    /// What is wrong in a line, and how to mend it in the lines after that.
    pub message: String,
}

/// The disks that an experiment may name.
#[derive(Clone)]
pub struct Disks {
    models: Arc<dyn DiskModels>,
    own: BTreeMap<String, Table>,
}

impl Disks {
    /// Disks of these models.
    pub fn new(models: impl DiskModels + 'static) -> Self {
        Self { models: Arc::new(models), own: BTreeMap::new() }
    }

    /// The same, with devices of the experiment's own.
    pub(crate) fn with_own(&self, own: &BTreeMap<String, Table>) -> Self {
        Self { own: own.clone(), ..self.clone() }
    }

    /// A virtual disk to propose.
    pub(crate) fn example(&self) -> String {
        self.models.example()
    }

    /// The canonical form of a level.
    pub(crate) fn canonical(&self, text: &str) -> Result<String, ExperimentProblem> {
        if text == HOST || self.own.contains_key(text) {
            return Ok(text.to_owned());
        }
        self.models.level(text).map_err(|message| self.explain(text, &message))
    }

    /// Why a level is wrong, with the nearest that is right when it has no known name at all.
    fn explain(&self, text: &str, message: &str) -> ExperimentProblem {
        let models = self.models.names();
        let names: Vec<&str> =
            [HOST].into_iter().chain(models.iter().chain(self.own.keys()).map(|s| &**s)).collect();
        let word = |level: &str| level.split([':', '/']).next().unwrap_or(level).to_owned();
        if names.iter().any(|name| word(name) == word(text)) {
            return ExperimentProblem::in_lines(message);
        }
        ExperimentProblem::unknown("disk", text, &names)
    }

    /// Checks the name of a device of the experiment's own.
    pub(crate) fn own_name(&self, name: &str) -> Result<(), ExperimentProblem> {
        let letters = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(letters) {
            return Err(ExperimentProblem::new(format!("`{name}` can't be a disk's name"))
                .help("a name is made of letters, digits, `-`, `_` and `.`"));
        }
        if name == HOST || self.models.level(name).is_ok() {
            return Err(ExperimentProblem::new(format!("there is a disk `{name}` already"))
                .help("give yours another name"));
        }
        Ok(())
    }

    /// Checks a device of the experiment's own. Says all that is wrong, with the key that it is.
    pub(crate) fn own(&self, device: &Table) -> Vec<(Option<String>, ExperimentProblem)> {
        let problems = self.models.check(device).err().unwrap_or_default().into_iter();
        problems
            .map(|DeviceProblem { key, message }| (key, ExperimentProblem::in_lines(&message)))
            .collect()
    }

    /// The device of a level without alias; `None` for the machine's own disk.
    fn device(&self, level: &str) -> Option<Table> {
        let of_model = || Table::from_iter([(MODEL.to_owned(), level.into())]);
        (level != HOST).then(|| self.own.get(level).cloned().unwrap_or_else(of_model))
    }

    /// Whether a level without alias has a parameter of that name, and whether it says itself what it is.
    fn parameter(&self, level: &str, name: &str) -> Option<bool> {
        let all = self.models.parameters_of(&self.device(level)?);
        all.into_iter().find(|(parameter, _)| parameter == name).map(|(_, is_given)| is_given)
    }
}

impl Holders for Disks {
    fn declarations(&self) -> Vec<Declaration> {
        let declaration = |ParameterNames { model, name, syntax }| Declaration {
            by: Declarer { of: Factor::DISK, name: model },
            name,
            summary: "a parameter of virtual disks".to_owned(),
            syntax,
            default: DEFAULT.to_owned(),
        };
        self.models.parameters().into_iter().map(declaration).collect()
    }

    fn value(&self, option: &str, text: &str) -> Option<Result<String, ExperimentProblem>> {
        let read = self.models.value(option, text)?;
        Some(read.map_err(|message| ExperimentProblem::in_lines(&message)))
    }

    fn has(&self, level: &str, option: &str) -> bool {
        self.parameter(level, option).is_some()
    }

    fn gives(&self, level: &str, option: &str) -> bool {
        self.parameter(level, option) == Some(true)
    }

    fn takes(&self, level: &str, option: &str, value: &str) -> Result<(), ExperimentProblem> {
        let mut device = self.device(level).expect("it has the parameter");
        device.insert(option.to_owned(), value.into());
        match self.own(&device).into_iter().next() {
            Some((_, problem)) => Err(problem),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Disks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.models.names()).entries(self.own.keys()).finish()
    }
}
