//! What may be said of disks: the machine's own, models, and devices of the experiment's own.

use std::fmt;
use std::sync::Arc;

use toml::Table;

use crate::message::Problem;

/// The level of the machine's own disk, under the run folder.
pub const HOST: &str = "host";

/// One thing that is wrong with a device of one's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceProblem {
    /// The key of its table that is wrong, if it is one.
    pub key: Option<String>,
    /// What is wrong in a line, and how to mend it in the lines after that.
    pub message: String,
}

type Level = dyn Fn(&str) -> Result<String, String> + Send + Sync;
type Device = dyn Fn(&Table) -> Result<(), Vec<DeviceProblem>> + Send + Sync;

/// The disks that an experiment may name. What a model is, is known to others: they say what is
/// right, in functions that are called here.
#[derive(Clone)]
pub struct Disks {
    models: Vec<String>,
    example: String,
    level: Arc<Level>,
    device: Arc<Device>,
    own: Vec<String>,
}

impl Disks {
    /// Disks of the models that are listed under these names; `example` is the level that messages
    /// propose where any virtual disk will do. `level` brings a model's level into its canonical
    /// form, or says what is wrong in a line, and how to mend it in the lines after that; `device`
    /// checks a device of one's own, and says all that is wrong.
    pub fn new(
        models: Vec<String>,
        example: String,
        level: impl Fn(&str) -> Result<String, String> + Send + Sync + 'static,
        device: impl Fn(&Table) -> Result<(), Vec<DeviceProblem>> + Send + Sync + 'static,
    ) -> Self {
        let (level, device) = (Arc::new(level), Arc::new(device));
        Self { models, example, level, device, own: Vec::new() }
    }

    /// The same, with devices of the experiment's own by these names.
    pub(crate) fn with_own<'a>(&self, own: impl Iterator<Item = &'a String>) -> Self {
        Self { own: own.cloned().collect(), ..self.clone() }
    }

    /// A virtual disk to propose.
    pub(crate) fn example(&self) -> &str {
        &self.example
    }

    /// The canonical form of a level.
    pub(crate) fn canonical(&self, text: &str) -> Result<String, Problem> {
        if text == HOST || self.own.iter().any(|name| name == text) {
            return Ok(text.to_owned());
        }
        (self.level)(text).map_err(|message| self.explain(text, &message))
    }

    /// Why a level is wrong, with the nearest that is right when it has no known name at all.
    fn explain(&self, text: &str, message: &str) -> Problem {
        let names: Vec<&str> =
            [HOST].into_iter().chain(self.models.iter().chain(&self.own).map(|s| &**s)).collect();
        let word = |level: &str| level.split([':', '/']).next().unwrap_or(level).to_owned();
        if names.iter().any(|name| word(name) == word(text)) {
            return Problem::in_lines(message);
        }
        Problem::unknown("disk", text, &names)
    }

    /// Checks the name of a device of the experiment's own.
    pub(crate) fn own_name(&self, name: &str) -> Result<(), Problem> {
        let letters = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(letters) {
            return Err(Problem::new(format!("`{name}` can't be a disk's name"))
                .help("a name is made of letters, digits, `-`, `_` and `.`"));
        }
        if name == HOST || (self.level)(name).is_ok() {
            return Err(Problem::new(format!("there is a disk `{name}` already"))
                .help("give yours another name"));
        }
        Ok(())
    }

    /// Checks a device of the experiment's own. Says all that is wrong, with the key that it is.
    pub(crate) fn own(&self, device: &Table) -> Vec<(Option<String>, Problem)> {
        let problems = (self.device)(device).err().unwrap_or_default().into_iter();
        problems.map(|DeviceProblem { key, message }| (key, Problem::in_lines(&message))).collect()
    }
}

impl fmt::Debug for Disks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.models).entries(&self.own).finish()
    }
}
