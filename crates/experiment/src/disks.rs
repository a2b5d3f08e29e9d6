//! Reads the levels of disks: the machine's own, models, their parameters, and devices that the
//! experiment defines.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{self, Path, PathBuf};

use bakeoff_devices::models::Models;
use bakeoff_devices::spec::{Parameter, SpecProblem};
use bakeoff_engines::DEFAULT;
use toml::Table;

use crate::Factor;
use crate::factor::{Declarer, OptionFactor};
use crate::message::ExperimentProblem;
use crate::options::HasOptions;

pub const HOST: &str = "host";
/// A level `like:PATH` is a model of the disk at that path, with the times that it took there.
pub const LIKE: &str = "like:";
/// Messages propose it if any virtual disk will do.
pub(crate) const EXAMPLE: &str = "ssd-sata";
const MODEL: &str = "model";

/// The table of `[disks]` that describes a device by this text alone.
pub fn model_table(model: &str) -> Table {
    Table::from_iter([(MODEL.to_owned(), model.into())])
}

#[derive(Clone)]
pub struct Disks {
    models: Models,
    own: BTreeMap<String, Table>,
}

impl Disks {
    pub fn new(models: Models) -> Self {
        Self { models, own: BTreeMap::new() }
    }

    pub(crate) fn with_own(&self, own: &BTreeMap<String, Table>) -> Self {
        Self { own: own.clone(), ..self.clone() }
    }

    fn model_names(&self) -> Vec<String> {
        self.models.list_models().into_iter().map(|disk| disk.name).collect()
    }

    pub(crate) fn canonical_level(&self, text: &str) -> Result<String, ExperimentProblem> {
        if text == HOST || self.own.contains_key(text) {
            return Ok(text.to_owned());
        }
        if let Some(path) = text.strip_prefix(LIKE) {
            return self.canonical_path(path);
        }
        match self.models.parse(text) {
            Ok(spec) => Ok(spec.to_string()),
            Err(error) => Err(self.explain(text, &error.to_string())),
        }
    }

    /// A path in a file, too, begins where bakeoff was started, as it does in a flag.
    fn canonical_path(&self, path: &str) -> Result<String, ExperimentProblem> {
        let help = "name a folder on the disk that is to be timed: `like:/data`";
        // A comma in a flag ends the level.
        if path.is_empty() || path.contains(',') || path.contains(char::is_control) {
            let title = format!("the path in `{LIKE}{path}` can't be that of a disk");
            return Err(ExperimentProblem::new(title).with_help(help));
        }
        let whole = path::absolute(path).map(|path| path.components().collect::<PathBuf>());
        let wrong = |why: &dyn fmt::Display| {
            ExperimentProblem::new(format!("the disk `{LIKE}{path}` can't be timed: {why}"))
                .with_help(help)
        };
        let whole = whole.map_err(|error| wrong(&error))?;
        let level = format!("{LIKE}{}", whole.display());
        // One that was timed once has a model, whatever its path leads to by now.
        if self.own.contains_key(&level) {
            return Ok(level);
        }
        match whole.metadata() {
            Ok(about) if about.is_dir() => Ok(level),
            Ok(_) => Err(wrong(&"it is no folder")),
            Err(error) => Err(wrong(&error)),
        }
    }

    /// With the nearest name if the text has no known one.
    fn explain(&self, text: &str, message: &str) -> ExperimentProblem {
        let models = self.model_names();
        let names: Vec<&str> =
            [HOST].into_iter().chain(models.iter().chain(self.own.keys()).map(|s| &**s)).collect();
        let word = |level: &str| level.split([':', '/']).next().unwrap_or(level).to_owned();
        if names.iter().any(|name| word(name) == word(text)) {
            return ExperimentProblem::in_lines(message);
        }
        ExperimentProblem::unknown("disk", text, &names)
    }

    pub(crate) fn check_own_name(&self, name: &str) -> Result<(), ExperimentProblem> {
        // A run's experiment has the model of a disk that was timed.
        if name.strip_prefix(LIKE).is_some_and(|path| Path::new(path).is_absolute()) {
            return Ok(());
        }
        let letters = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(letters) {
            return Err(ExperimentProblem::new(format!("`{name}` can't be a disk's name"))
                .with_help("a name is made of letters, digits, `-`, `_` and `.`"));
        }
        if name == HOST || self.models.parse(name).is_ok() {
            return Err(ExperimentProblem::new(format!("there is a disk `{name}` already"))
                .with_help("give yours another name"));
        }
        Ok(())
    }

    /// All errors, each with the key of the table that is wrong, if it is one.
    pub(crate) fn check_own(&self, device: &Table) -> Vec<(Option<String>, ExperimentProblem)> {
        let wrong = self.models.parse_table(device).err().map(|error| error.0);
        let problem = |wrong: SpecProblem| {
            let key = wrong.parameter().map(str::to_owned);
            (key, ExperimentProblem::in_lines(&wrong.to_string()))
        };
        wrong.unwrap_or_default().into_iter().map(problem).collect()
    }

    /// `None` for the machine's own disk. The level has no alias.
    fn find_device(&self, level: &str) -> Option<Table> {
        // Until a disk is timed, any model stands for it that has the parameters that are timed.
        let model = if level.starts_with(LIKE) { EXAMPLE } else { level };
        (level != HOST).then(|| self.own.get(level).cloned().unwrap_or_else(|| model_table(model)))
    }

    /// Whether the level itself gives the parameter a value; `None` if it has no such parameter.
    fn find_parameter(&self, level: &str, name: &str) -> Option<bool> {
        let spec = self.models.parse_table(&self.find_device(level)?).ok()?;
        let found = spec.list_parameters().into_iter().find(|parameter| parameter.name == name)?;
        Some(found.is_changed)
    }
}

impl HasOptions for Disks {
    fn declared_options(&self) -> Vec<OptionFactor> {
        let of_model = |(model, parameters): (&str, Vec<Parameter>)| {
            let by = Declarer { of: Factor::DISK, name: model.to_owned() };
            parameters.into_iter().map(move |parameter| OptionFactor {
                declared_by: vec![by.clone()],
                name: parameter.name,
                summary: "a parameter of virtual disks".to_owned(),
                syntax: parameter.syntax.to_owned(),
                default: DEFAULT.to_owned(),
            })
        };
        self.models.list_parameters().into_iter().flat_map(of_model).collect()
    }

    fn value(&self, option: &str, text: &str) -> Option<Result<String, ExperimentProblem>> {
        let read = self.models.parse_value(option, text)?;
        Some(read.map_err(|problem| ExperimentProblem::in_lines(&problem.to_string())))
    }

    fn has(&self, level: &str, option: &str) -> bool {
        self.find_parameter(level, option).is_some()
    }

    fn gives(&self, level: &str, option: &str) -> bool {
        self.find_parameter(level, option) == Some(true)
    }

    fn takes(&self, level: &str, option: &str, value: &str) -> Result<(), ExperimentProblem> {
        let mut device = self.find_device(level).expect("it has the parameter");
        device.insert(option.to_owned(), value.into());
        match self.check_own(&device).into_iter().next() {
            Some((_, problem)) => Err(problem),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Disks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.model_names()).entries(self.own.keys()).finish()
    }
}
